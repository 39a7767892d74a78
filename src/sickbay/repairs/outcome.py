"""What came of a repair: the best model, the recipe it is from, and every attempt on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from torch import nn

from sickbay.findings import Finding
from sickbay.printable import printable
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

    def __str__(self) -> str:
        score = f"score {self.score:.3f}, " if isfinite(self.score) else ""
        return f"{self.words}: {score}{self.epochs:.1f} epochs, {self.result or 'under way'}"


def plain(told: dict[str, Any]) -> dict[str, Any]:
    """Return values as JSON has them: what is no number is None.

    >>> plain({"score": float("-inf"), "layers": ("0", "1")})
    {'score': None, 'layers': ['0', '1']}
    """
    values: dict[str, Any] = json.loads(json.dumps(told), parse_constant=lambda _: None)
    return values


@dataclass(frozen=True)
class Outcome:
    """What came of a repair.

    Attributes:
        model: The best model seen, with its best weights.
        recipe: The recipe it was trained by.
        original: The recipe as it was given.
        solved: Whether its training came to its end with nothing found, and the target, if there is
            one, was met; or the target was met anyway.
        score: Its score on the validation data: accuracy where there is one.
        before: The best score of the plain training; where that ended within the first epoch, the
            score before training.
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

    def as_json(self) -> dict[str, Any]:
        """Return all but the models, as JSON has it: what is no number is None."""
        told = {
            "solved": self.solved,
            "score": self.score,
            "before": self.before,
            "epochs": self.epochs,
            "diff": self.diff.splitlines(),
            "findings": [asdict(each) for each in self.findings],
            "attempts": [asdict(each) for each in self.attempts],
            "chart": None if self.chart is None else str(self.chart),
        }
        return plain(told)

    def summary(self) -> str:
        """Return what happened, in a few lines."""
        verdict = "solved" if self.solved else "not solved"
        if self.solved and len(self.attempts) == 1 and not self.findings:
            verdict = "healthy"
        problems = ", ".join(dict.fromkeys(each.title for each in self.findings)) or "nothing"
        trained = bool(self.attempts) and self.attempts[0].epochs >= 1
        when = "before" if trained else "untrained"
        before = f"{self.before:.3f} {when}, " if isfinite(self.before) else ""
        head = f"{verdict}: score {before}{self.score:.3f} now"
        tree = _tree(self.attempts, None, "")
        return printable("\n".join([head, "", f"found: {problems}", *tree, "", self.diff]))


def _tree(attempts: Sequence[Attempt], parent: int | None, indent: str) -> Iterator[str]:
    for each in attempts:
        if each.parent == parent:
            cure = f"{each.problem.replace('_', ' ')}: " if each.problem else ""
            yield f"{indent}{each.number}  {cure}{each}"
            yield from _tree(attempts, each.number, indent + "   ")
