"""The outcome of a repair: the best model, its recipe, and every attempt."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from torch import nn

from sickbay.findings import Finding
from sickbay.printable import printable
from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.recipe import Recipe

NUMBERS = (
    "solved", "score", "before", "constant", "reference", "trained", "doubt", "held_out",
    "epochs",
)  # fmt: skip


@dataclass
class Attempt:
    """The summary of one run: one training of one recipe."""

    number: int  # 0 is the recipe as given
    parent: int | None = None  # the attempt whose recipe it changes
    problem: str = ""  # what it should cure
    remedy: str = ""  # the remedy's key
    words: str = "as given"  # what the remedy does
    epochs: float = 0.0
    score: float = float("-inf")  # the best one
    result: str = ""  # `healthy`, a problem, `slower`, `stopped`, `uncertain`, or why it failed

    def __str__(self) -> str:
        score = f"score {self.score:.3f}, " if isfinite(self.score) else ""
        return f"{self.words}: {score}{self.epochs:.1f} epochs, {self.result or 'under way'}"


def plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Return values as JSON has them. NaN and infinity become None.

    >>> plain({"score": float("-inf"), "layers": ("0", "1")})
    {'score': None, 'layers': ['0', '1']}
    """
    values: dict[str, Any] = json.loads(json.dumps(fields), parse_constant=lambda _: None)
    return values


@dataclass(frozen=True)
class Outcome:
    """The outcome of a repair.

    Attributes:
        model: The best model seen, with its best weights.
        recipe: The recipe it was trained with.
        original: The recipe as given.
        solved: Whether training reached the target or, if there is no target, ended without a
            finding that stands, surely above the best constant answer and not clearly below a quick
            reference. If neither could be measured, or on too few held-out samples, it is False;
            also if inputs are constant, targets stand in the inputs, or samples mix.
        score: Its score on the validation data.
        before: The best score of the recipe as given, or the score before training if that was
            stopped in its first epoch.
        findings: The findings of the recipe as given, and of the attempts that led to this model.
        attempts: Every attempt, in order. They form a tree by `parent`.
        history: The metrics after each epoch of the attempt with the best model.
        chart: The folder that everything is recorded in, if any.
        constant: The score of the best constant answer, None if it is not known.
        reference: The score of a quick reference model, None if there is none.
        trained: Its score on training samples that it has not seen, if that is so much lower that
            training labels must be wrong.
        doubt: Why it is not solved, in a few words.
        held_out: Whether scores are on samples that were not trained on, None if a loop of your own
            makes the scores.
    """

    model: nn.Module = field(repr=False)
    recipe: Recipe = field(repr=False)
    original: Recipe = field(repr=False)
    solved: bool
    score: float
    before: float
    findings: Sequence[Finding] = field(repr=False, default=())
    attempts: Sequence[Attempt] = field(repr=False, default=())
    history: Sequence[dict[str, float]] = field(repr=False, default=())
    chart: Path | None = None
    constant: float | None = None
    reference: float | None = None
    trained: float | None = None
    doubt: str = ""
    held_out: bool | None = None

    @property
    def diff(self) -> str:
        """The change to the recipe, as code."""
        return self.original.diff(self.recipe)

    @property
    def epochs(self) -> float:
        """Epochs of all attempts together."""
        return sum(each.epochs for each in self.attempts)

    def as_json(self) -> dict[str, Any]:
        """Return everything but the models. NaN and infinity become None."""
        fields = {name: getattr(self, name) for name in NUMBERS}
        fields |= {
            "diff": self.diff.splitlines(),
            "findings": [asdict(each) for each in self.findings],
            "attempts": [asdict(each) for each in self.attempts],
            "chart": None if self.chart is None else str(self.chart),
        }
        return plain(fields)

    def summary(self) -> str:
        """Return a few lines about what happened."""
        verdict = "solved" if self.solved else "not solved"
        faults = any(each.severity != "info" for each in self.findings)
        if self.solved and len(self.attempts) == 1 and not faults:
            verdict = "healthy"
        problems = ", ".join(dict.fromkeys(each.title for each in self.findings)) or "nothing"
        trained = bool(self.attempts) and self.attempts[0].epochs >= 1
        when = "before" if trained else "untrained"
        before = f"{self.before:.3f} {when}, " if isfinite(self.before) else ""
        where = " on the training data" if self.held_out is False else ""
        head = f"{verdict}: score {before}{self.score:.3f} now{where}"
        compared = Yardstick(self.constant, self.reference, trained=self.trained).told()
        head = "; ".join(each for each in (head, compared, self.doubt) if each)
        tree = _tree(self.attempts, None, "")
        return printable("\n".join([head, "", f"found: {problems}", *tree, "", self.diff]))


def _tree(attempts: Sequence[Attempt], parent: int | None, indent: str) -> Iterator[str]:
    for each in attempts:
        if each.parent == parent:
            cure = f"{each.problem.replace('_', ' ')}: " if each.problem else ""
            yield f"{indent}{each.number}  {cure}{each}"
            yield from _tree(attempts, each.number, indent + "   ")
