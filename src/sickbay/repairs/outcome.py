"""What came of a repair: the best model, the recipe it is from, and every attempt on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from torch import nn

from sickbay.findings import Finding
from sickbay.recipe import Recipe


@dataclass
class Attempt:
    """One training of one recipe.

    Attributes:
        number: Its place, from 0, which is the plain training.
        parent: The attempt whose recipe it changes.
        problem: What it is to cure.
        remedy: The remedy's key.
        words: What the remedy does.
        epochs: Epochs spent.
        score: The best score.
        result: What came of it: `healthy`, the name of a problem, `slower`, or why it failed.
    """

    number: int
    parent: int | None = None
    problem: str = ""
    remedy: str = ""
    words: str = "as given"
    epochs: float = 0.0
    score: float = float("-inf")
    result: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "score": finite(self.score)}

    def __str__(self) -> str:
        score = f"score {self.score:.3f}, " if isfinite(self.score) else ""
        return f"{self.words}: {score}{self.epochs:.1f} epochs, {self.result or 'under way'}"


def finite(value: float) -> float | None:
    """Return a number as JSON has it: None where it is none."""
    return value if isfinite(value) else None


@dataclass(frozen=True)
class Outcome:
    """What came of a repair.

    Attributes:
        model: The best model seen, with its best weights.
        recipe: The recipe it was trained by.
        original: The recipe as it was given.
        solved: Whether nothing was found in its training, or the target was met.
        score: Its score on the validation data: accuracy where there is one.
        before: The best score of the plain training, as far as that went.
        findings: All that was found, in all attempts.
        attempts: Every attempt, in order; `parent` makes them a tree.
        history: What was evaluated after each epoch of the attempt that the model is from.
        chart: The folder that everything is recorded in, if it is.
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

    @property
    def diff(self) -> str:
        """The change that was made, as code."""
        return self.original.diff(self.recipe)

    @property
    def epochs(self) -> float:
        """Epochs spent in all attempts."""
        return sum(each.epochs for each in self.attempts)

    def summary(self) -> str:
        """Return what happened, in a few lines."""
        verdict = "solved" if self.solved else "not solved"
        problems = ", ".join(dict.fromkeys(each.title for each in self.findings)) or "nothing"
        lines = [f"{verdict}: score {self.before:.3f} before, {self.score:.3f} now", ""]
        lines[0] = lines[0].replace("-inf before, ", "")
        lines += [f"found: {problems}", *_tree(self.attempts, None, "")]
        return "\n".join([*lines, "", self.diff])


def _tree(attempts: Sequence[Attempt], parent: int | None, indent: str) -> Iterator[str]:
    for each in attempts:
        if each.parent == parent:
            cure = f"{each.problem.replace('_', ' ')}: " if each.problem else ""
            yield f"{indent}{each.number}  {cure}{each}"
            yield from _tree(attempts, each.number, indent + "   ")
