"""Longer than 60 lines: a layer can fail to train in six ways, and each is told apart."""

from dataclasses import dataclass, replace

from sickbay.findings import Severity
from sickbay.history import EMBEDDINGS
from sickbay.problems.shared.base import Finding, History, Problem, threshold
from sickbay.problems.shared.problem_groups import NO_PROGRESS
from sickbay.problems.shared.small_batches import LOOK_BACK
from sickbay.problems.shared.training_score import gains_less
from sickbay.vitals import Setup, layer_of

CHANGE = 1e-6  # of a norm, above what rounding does
WHY = "the loss does not depend on the model, or backward() is missing"


@dataclass(frozen=True, kw_only=True)
class FrozenByAccident(Problem):
    """Trainable layers do not train: they are not in the optimizer, or no gradient reaches them.

    Why it matters:
        They keep their random initial weights, which nobody intended.

    How it is judged:
        Kernels that require a gradient and are called are missing from the optimizer. Or kernels
        that the optimizer holds had no gradient in `checks` readings in a row since layers were
        frozen or unfrozen last, and have not changed meanwhile, as another optimizer may train
        them. If none of them ever had one, the loss does not depend on the model: it was computed
        from an argmax, from numbers or from detached outputs. Or backward left gradients, but the
        optimizer found none, in `checks` readings in a row. Or the model uses kernels that are not
        registered in it, such as layers in a plain list. Layers that require no gradient count
        if their weights are spread as torch draws the first ones, and from step `after` on the
        model gains less than `gain` over a constant answer. The severity is `info` if there are
        three or more kernels and the optimizer holds only the last quarter or less of them, because
        this may be the fine-tuning of a head. So it is at the end of a run with so little gain, if
        an embedding, or half of the layers with a kernel or more, require no gradient, whatever
        their weights.

    Example:
        >>> from sickbay.vitals import Setup
        >>> shapes = {"a.weight": (4, 4), "b.weight": (4, 4), "c.weight": (1, 4)}
        >>> history = History(Setup(shapes=shapes, unheld=("b.weight",)), loss=[1.0])
        >>> print(FrozenByAccident().check(history))
        step 0  frozen by accident  b  1 of 3 trainable kernels are missing from the optimizer

    Reference:
        Jiang et al. (2025), TrainCheck: training with confidence, on parameters that silently do
        not update.
    """

    advice = (
        "pass model.parameters() to the optimizer, keep layers in a ModuleList, call "
        "requires_grad_(True) on layers that should train, look for detach(), item(), argmax() and "
        "for zero_grad() between backward() and step()"
    )
    reads = ("gradient", "batch", "end")
    spares_weights = True
    explains = (
        "unchanged_weights", "dying_relu", "vanishing_gradient", "layer_imbalance", *NO_PROGRESS,
    )  # fmt: skip

    checks: int = threshold(3, "Readings in a row without a gradient.", least=1)
    gain: float = threshold(0.7, "Gain of a model that copes with random layers.", above=0)
    after: int = threshold(40, "Steps to wait for that gain.", least=0)

    def check(self, history: History) -> Finding | None:
        setup, newest = history.setup, history.table("gradient")
        if setup.untrained and gains_less(history, self.gain, self.after):
            count = len(setup.untrained)
            have = "layer has" if count == 1 else "layers have"
            message = f"{count} {have} random weights but requires_grad=False"
            return self.found(history, message, layers=setup.untrained)
        erased = history.recent("erased", self.checks)
        if len(erased) == self.checks and all(erased):
            message = f"gradients were gone when the optimizer stepped, in {self.checks} readings"
            return self.found(history, f"{message} in a row")
        complete = newest is not None and len(newest.names) == len(setup.shapes)
        if complete and not setup.unheld and not setup.strays:
            return self._mostly_frozen(history)
        if missing := _missing(setup):
            message, severity = _not_held(setup, missing)
            found = self.found(history, message, layers=tuple(map(layer_of, missing)))
            return replace(found, severity=severity)
        if setup.strays:
            message = f"the model uses layers that it does not hold: {setup.strays}"
            return self.found(history, f"{message}; model.parameters() lacks them")
        return self._without_gradient(history)

    def _without_gradient(self, history: History) -> Finding | None:
        setup = history.setup
        tables = history.tables("gradient", self.checks)
        tables = [table for table in tables if table.step > setup.since]
        if len(tables) < self.checks:
            return None
        reached = {name for table in tables for name in table.names}
        kernels = _kernels(setup)
        if not reached:
            message = f"no gradient reaches any of the {len(kernels)} kernels: {WHY}"
            earlier = any(table.names for table in history.tables("gradient", LOOK_BACK))
            return None if earlier else self.found(history, message)
        lost = [name for name in _called(setup) if name not in reached | {*setup.unheld}]
        lost = [name for name in lost if not _moves(history, name, self.checks)]
        message = f"{len(lost)} of {len(kernels)} kernels get no gradient"
        return self.found(history, message, layers=tuple(map(layer_of, lost))) if lost else None

    def _mostly_frozen(self, history: History) -> Finding | None:
        message = mostly_frozen(history.setup)
        if not (message and history.ended and gains_less(history, self.gain, self.after)):
            return None
        return replace(self.found(history, message, layers=history.setup.frozen), severity="info")


def _kernels(setup: Setup) -> list[str]:
    return [name for name, shape in setup.shapes.items() if len(shape) > 1]


def _called(setup: Setup) -> list[str]:
    return [name for name in _kernels(setup) if layer_of(name) not in setup.uncalled]


def _moves(history: History, kernel: str, readings: int) -> bool:
    """Return whether a kernel changes, as one does that another optimizer holds too."""
    tables = [each for each in history.tables("weight", readings) if kernel in each.names]
    norms = [each.row(kernel)["norm"] for each in tables]
    return bool(norms) and max(norms) - min(norms) > CHANGE * max(norms)


def _missing(setup: Setup) -> list[str]:
    """Return the kernels that are missing from the optimizer, none if it is for other models."""
    held = [name for name in _kernels(setup) if name not in setup.unheld]
    missing = [name for name in _called(setup) if name in setup.unheld]
    return missing if held or len(setup.unheld) == len(setup.shapes) else []


def _not_held(setup: Setup, missing: list[str]) -> tuple[str, Severity]:
    """Return what to say of kernels that are missing from the optimizer, and how bad it is."""
    kernels = _kernels(setup)
    held = [name for name in kernels if name not in setup.unheld]
    message = f"{len(missing)} of {len(kernels)} trainable kernels are missing from the optimizer"
    few = held and len(kernels) > 2 and len(held) <= max(1, len(kernels) // 4)
    if not few or kernels.index(missing[-1]) > kernels.index(held[0]):
        return message, "warning"
    return f"{message}; to train only a head, freeze them with requires_grad_(False)", "info"


def mostly_frozen(setup: Setup) -> str:
    """Return what to say if an embedding, or half of the layers or more, require no gradient."""
    kernels = {layer_of(name) for name, shape in setup.shapes.items() if len(shape) > 1}
    used = {*setup.frozen} - {*setup.uncalled}  # not a teacher that stands aside
    frozen, trained = len(used), len(kernels - used)
    fixed = [name for name in setup.frozen if setup.layers.get(name) in EMBEDDINGS]
    if trained and fixed and frozen < trained:
        return f"the embedding {fixed[0]} requires no gradient, and the other layers learn little"
    if not frozen or frozen < trained:
        return ""
    return f"{frozen} of {frozen + trained} layers require no gradient, and the others learn little"
