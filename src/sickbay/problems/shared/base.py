"""What every problem is, and all that most of them import."""

from abc import ABC, abstractmethod
from dataclasses import dataclass as dataclass
from typing import ClassVar, Literal, TypeAlias

from sickbay.arguments import check_choice
from sickbay.findings import Finding as Finding
from sickbay.findings import Severity, Suggestion
from sickbay.history import History as History
from sickbay.thresholds import Tunable
from sickbay.thresholds import choice as choice
from sickbay.thresholds import switch as switch
from sickbay.thresholds import threshold as threshold
from sickbay.vitals import KINDS, Kind

# A table, the scalars of a step or of an epoch, or the end of the run.
Source: TypeAlias = Kind | Literal["step", "epoch", "end"]
SOURCES: tuple[Source, ...] = ("step", "epoch", "end", *KINDS)


class Problem(Tunable, ABC):
    """Something that can go wrong in training, and how to tell from the history.

    Attributes:
        severity: How bad it is.
        advice: What a person should try first, "" if there is nothing to suggest.
        reads: The parts of the history it looks at; it is checked when one of them is new.
        explains: The names of problems that are consequences of this one.
        loss_may_recover: The loss may return to its old level by itself, so live treatment waits
            a few steps before it acts.
        spares_weights: The weights stay healthy while the problem lasts, so live treatment goes on
            taking snapshots of them.
        batches_are_skipped: Live treatment skips the batches that show the problem, so it acts only
            if the weights are damaged.
        tolerated_at_best: A repair goes on in spite of the problem while the score is at its best.
        yields_to_the_best: It does not end a trial that is among the best of a search.
        protection_lasts: Nor a trial that was among the best at an earlier epoch.
        benign: A trial that it ends has nothing wrong with it and stays a candidate.
        reads_dead_gradients: It reads how many units get no gradient. On a GPU that takes extra
            work, which is done only for such problems.
    """

    severity: ClassVar[Severity] = "warning"
    advice: ClassVar[str] = ""
    reads: ClassVar[tuple[Source, ...]] = SOURCES
    explains: ClassVar[tuple[str, ...]] = ()
    loss_may_recover: ClassVar[bool] = False
    spares_weights: ClassVar[bool] = False
    batches_are_skipped: ClassVar[bool] = False
    tolerated_at_best: ClassVar[bool] = False
    yields_to_the_best: ClassVar[bool] = False
    protection_lasts: ClassVar[bool] = False
    benign: ClassVar[bool] = False
    reads_dead_gradients: ClassVar[bool] = False

    def __init_subclass__(cls, like: "type[Problem] | None" = None) -> None:
        """Take all of the above from the problem `like`, except what the class body defines.

        A misspelt part in `reads` is an error here: the problem would never be checked.
        """
        super().__init_subclass__()
        for name in Problem.__annotations__.keys() - vars(cls).keys() if like else ():
            setattr(cls, name, getattr(like, name))
        for source in cls.reads:
            check_choice(f"part of the history that {cls.__name__} reads", source, SOURCES)

    @abstractmethod
    def check(self, history: History) -> Finding | None:
        """Return a finding if the problem is present now.

        Pure: it only reads `history`, so any recorded run can be replayed through it.
        """

    def lasts(self, _finding: Finding) -> bool:
        """Return whether the damage may outlast the problem, so that it explains later problems."""
        return True

    def stands_alone(self, _finding: Finding) -> bool:
        """Return whether this is a cause of its own, whatever else is present."""
        return False

    def suggest(self, times: int) -> tuple[Suggestion, ...]:  # noqa: ARG002
        """Return what a paper suggests at the n-th finding in a row, best first.

        Empty if no paper does; the doctor suggests its own remedies then.
        """
        return ()

    def found(
        self,
        history: History,
        message: str,
        *,
        step: int | None = None,
        layers: tuple[str, ...] = (),
        **evidence: float,
    ) -> Finding:
        """Return a finding of this problem, at the newest step by default."""
        return Finding(
            problem=self.name(),
            severity=self.severity,
            step=history.step if step is None else step,
            epoch=history.epoch,
            layers=tuple(dict.fromkeys(layers)),
            message=message,
            evidence=evidence,
        )
