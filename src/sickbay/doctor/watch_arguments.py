"""Check the arguments of `watch` and prepare the run, before the model is touched."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from torch import distributed, nn
from torch.optim import Optimizer

from sickbay.arguments import bad_argument, check_bool, check_int, short_repr
from sickbay.doctor.governor import KINDS_READ, Every, Governor
from sickbay.doctor.run_log import OnFinding, RunLog
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.model_arguments import check_model, check_optimizer
from sickbay.probe.distributed import is_one_of_several
from sickbay.problems import Problem
from sickbay.vitals import Setup

if TYPE_CHECKING:
    from sickbay.remedies import Remedy

Chart: TypeAlias = str | os.PathLike[str] | None


@dataclass(frozen=True)
class Watched:
    """A run to watch, its arguments checked. Without `remedies`, treatment uses those shipped."""

    model: nn.Module
    optimizers: Sequence[Optimizer]
    governor: Governor
    problems: Sequence[Problem]
    history: History
    log: RunLog
    remedies: Mapping[str, Sequence[Remedy]] | None = None

    @property
    def reads_dead_gradients(self) -> bool:
        """Whether any problem reads how many units get no gradient."""
        return any(each.reads_dead_gradients for each in self.problems)


def prepare_watched(
    model: nn.Module,
    optimizer: object,
    problems: Sequence[Problem],
    *,
    every: Every,
    budget: float,
    epochs: int | None,
    chart: Chart,
    on_finding: OnFinding,
    activations: bool,
    eager: bool = True,
    remedies: Sequence[str | Remedy] | None = None,
    report_every: int = 0,
) -> Watched:
    """Check the arguments and return the run to watch; raise `UsageError` if one is wrong."""
    check_model(model, trainable=True)
    optimizers = check_optimizers(optimizer, model)
    check_on_finding(on_finding, optimizers, model)
    if epochs is not None:
        epochs = check_int("epochs", epochs, least=1)
    report_every = check_int("report_every", report_every, least=0)
    kinds = list(KINDS_READ)
    if not check_bool("activations", activations):
        kinds.remove("activation")
    governor = Governor(every, budget, kinds, eager)
    chosen = None
    if remedies is not None:
        from sickbay.remedies.by_problem import choose  # a slow import

        chosen = choose(remedies)
    history = History(Setup(epochs=epochs))
    log = RunLog(history, problems, on_finding, chart, chosen, report_every)
    return Watched(model, optimizers, governor, problems, history, log, chosen)


def check_optimizers(optimizer: object, model: nn.Module) -> list[Optimizer]:
    """Return a list of optimizers; raise `UsageError` unless they hold parameters of `model`."""
    if optimizer is None:
        return []
    rule = "a torch.optim.Optimizer, a list of them, or None"
    listed = optimizer if isinstance(optimizer, list | tuple) else [optimizer]
    return [check_optimizer(each, model, rule) for each in listed]


def check_on_finding(on_finding: object, optimizers: Sequence[Optimizer], model: nn.Module) -> None:
    """Raise `UsageError` unless `on_finding` is possible with this model and these optimizers."""
    named = isinstance(on_finding, str) and on_finding in ("advise", "silent", "stop", "treat")
    if not named and not callable(on_finding):
        rule = "'advise', 'silent', 'stop', 'treat' or a function"
        raise bad_argument("on_finding", rule, on_finding)
    if not named or on_finding != "treat":
        return
    if not optimizers:
        raise UsageError("on_finding must not be 'treat' without an optimizer, got no optimizer.")
    others = "'advise', 'silent', 'stop' or a function is possible."
    if is_one_of_several():
        raise UsageError(
            "on_finding must not be 'treat' where several processes train together, got "
            f"{distributed.get_world_size()} processes; {others}"
        )
    spread = [name for name, each in model.named_parameters() if hasattr(each, "to_local")]
    if spread:
        raise UsageError(
            "on_finding must not be 'treat' where parameters are DTensors, got one in "
            f"{short_repr(spread[0])}; {others}"
        )
