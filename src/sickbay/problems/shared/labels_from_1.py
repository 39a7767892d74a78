"""Labels of classes that are counted from 1, of which none is the first class."""

from math import nan

from sickbay.history import History
from sickbay.problems.shared.small_batches import LOOK_BACK, pooled
from sickbay.vitals import Setup

FEW_CLASSES = 50  # of more, the first may be rare


def labels_from_1(history: History, per_class: int) -> float:
    """Return how many labels there are if they run from 1 to the last class, NaN if they do not.

    >>> setup = Setup(task="multiclass", output_shape=(8, 3))
    >>> history = History(setup)
    >>> history.add_table("batch", {"target": {"count": 64, "minimum": 1, "maximum": 2}})
    >>> labels_from_1(history, 20), labels_from_1(history, 30)
    (64.0, nan)
    """
    setup, target = history.setup, pooled(history.tables("batch", LOOK_BACK), "target")
    width = (*setup.output_shape, 0, 0)[1]
    if not (setup.task == "multiclass" or are_of_texts(setup)) or not 2 < width <= FEW_CLASSES:
        return nan
    if not target or not (target["minimum"] == 1 and target["maximum"] == width - 1):
        return nan
    return target["count"] if target["count"] >= per_class * width else nan


def are_of_texts(setup: Setup) -> bool:
    """Return whether labels are classes of whole texts, not tokens: another number is embedded.

    >>> shapes = {"words.weight": (100, 32), "head.weight": (5, 32)}
    >>> layers = {"words": "Embedding", "head": "Linear"}
    >>> known = {"task": "next_token", "shapes": shapes, "layers": layers}
    >>> [are_of_texts(Setup(**known, output_shape=(8, each))) for each in (5, 100)]
    [True, False]
    """
    if setup.task != "next_token" or len(setup.output_shape) != 2:
        return False
    embedded = [name for name, kind in setup.layers.items() if kind == "Embedding"]
    sizes = [setup.shapes.get(f"{name}.weight".lstrip("."), (0,))[0] for name in embedded]
    return bool(sizes) and setup.output_shape[1] not in sizes
