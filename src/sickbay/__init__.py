"""Watch a neural network train, say what is wrong, why, and what to do.

>>> import sickbay
>>> sickbay.Finding(problem="non_finite", step=3).title
'non finite'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sickbay.errors import Declined, Diagnosed, SickbayError, UsageError
from sickbay.findings import Event, Finding, Suggestion
from sickbay.version import __version__ as __version__

if TYPE_CHECKING:
    from sickbay.chart import Chart
    from sickbay.checkups import Report, checkup
    from sickbay.doctor import Doctor, watch
    from sickbay.health import Health
    from sickbay.history import History
    from sickbay.problems import Problem
    from sickbay.recipe import Recipe
    from sickbay.remedies import Remedy
    from sickbay.repairs.autotrainer import AutoTrainer
    from sickbay.repairs.fit import fit, repair
    from sickbay.repairs.outcome import Outcome

__all__ = [
    "AutoTrainer", "Chart", "Declined", "Diagnosed", "Doctor", "Event", "Finding", "Health",
    "History", "Outcome", "Problem", "Recipe", "Remedy", "Report", "SickbayError", "Suggestion",
    "UsageError", "checkup", "fit", "repair", "watch",
]  # fmt: skip

# Found when first used, so that `import sickbay` costs next to nothing.
_LATER = {
    "AutoTrainer": "sickbay.repairs.autotrainer",
    "Chart": "sickbay.chart",
    "Doctor": "sickbay.doctor",
    "Health": "sickbay.health",
    "History": "sickbay.history",
    "Outcome": "sickbay.repairs.outcome",
    "Problem": "sickbay.problems",
    "Recipe": "sickbay.recipe",
    "Remedy": "sickbay.remedies",
    "Report": "sickbay.checkups",
    "checkup": "sickbay.checkups",
    "fit": "sickbay.repairs.fit",
    "repair": "sickbay.repairs.fit",
    "watch": "sickbay.doctor",
}


_MODULES = ("checkups", "inject", "problems", "remedies", "repairs", "surgery", "tuning")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"sickbay.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'sickbay' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
