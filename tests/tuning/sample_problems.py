"""Searches made of plain numbers, and problems that are easy to predict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from sickbay.chart import ChartWriter
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import ComparedProblem, Comparison
from sickbay.thresholds import choice, threshold
from sickbay.tuning.charted_trials import note
from sickbay.tuning.recorded_search import Epoch, RecordedSearch, RecordedTrial
from sickbay.vitals import Setup, Vitals


@dataclass(frozen=True, kw_only=True)
class HighLoss(Problem):
    """The loss is above a limit, once some epochs are over."""

    advice = "none"
    limit: float = threshold(5.0, "Loss that is too high.", above=0)
    epochs: int = threshold(1, "Epochs that must be over.", least=1)

    def check(self, history: History) -> Finding | None:
        losses = history.epochs("loss")
        if len(losses) < self.epochs or not losses[-1] > self.limit:
            return None
        return self.found(history, f"loss {losses[-1]:g}")


@dataclass(frozen=True, kw_only=True)
class Rising(Problem):
    """The loss rises; benign."""

    advice = "none"
    benign = True

    def check(self, history: History) -> Finding | None:
        losses = history.epochs("loss")[-2:]
        return self.found(history, "it rises") if losses != sorted(losses, reverse=True) else None


@dataclass(frozen=True, kw_only=True)
class Yielding(HighLoss):
    """The same as high loss, but not for the best trials."""

    yields_to_the_best = True


@dataclass(frozen=True, kw_only=True)
class WorseThanAll(ComparedProblem):
    """The newest value is below that of every other trial at this epoch, of which there are two."""

    advice = "none"

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        done, newest = beside.done, beside.own.values[-1]
        there = [each.values[done - 1] for each in beside.others if len(each.values) >= done]
        worse = newest < min(there) if beside.maximize else newest > max(there)
        return self.found(history, f"of {len(there)}") if len(there) > 1 and worse else None


@dataclass(frozen=True, kw_only=True)
class SeesOthers(ComparedProblem):
    """Three other trials are over."""

    advice = "none"

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        told = f"over: {[each.over for each in beside.others]}"
        return self.found(history, told) if len(beside.others) == 3 else None


@dataclass(frozen=True, kw_only=True)
class FewOthers(ComparedProblem):
    """Of forty other trials or more, too few have got this far."""

    advice = "none"
    limit: float = threshold(30.0, "Trials that are enough.", above=0)

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        there = sum(len(each.values) >= beside.done for each in beside.others)
        few = len(beside.others) >= 40 and there < self.limit
        return self.found(history, f"only {there}") if few else None


@dataclass(frozen=True, kw_only=True)
class Always(Problem):
    """Anything."""

    advice = "none"
    when: str = choice("ever", "When it is there.", ["ever", "always"])

    def check(self, history: History) -> Finding | None:
        return self.found(history, "it trains")


@dataclass(frozen=True, kw_only=True)
class Outdone(ComparedProblem):
    """The first epoch is over, and others are said to be better."""

    advice = "none"
    severity = "info"

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        return self.found(history, "by others") if beside.done else None


@dataclass(frozen=True, kw_only=True)
class Raising(Problem):
    """Raises."""

    advice = "none"

    def check(self, history: History) -> Finding | None:
        raise ZeroDivisionError(f"at epoch {history.epoch}")


def trial(
    name: str,
    losses: Sequence[float],
    values: Sequence[float] = (),
    seconds: Sequence[float] = (),
    epochs: int | None = None,
) -> RecordedTrial:
    """Return a trial of as many epochs as there are losses; values are what 10 leaves of them."""
    values = values or [10 - loss for loss in losses]
    seconds = seconds or [1.0] * len(losses)
    lived = [
        Epoch({"loss": loss, "score": value}, seconds=taken)
        for loss, value, taken in zip(losses, values, seconds, strict=True)
    ]
    return RecordedTrial(name, Setup(epochs=epochs or len(losses)), lived)


def save_charts(
    folder: Path, trials: Iterable[RecordedTrial], metric: str = "", direction: str = "maximize"
) -> str:
    """Write a chart for each trial, as `watch(..., chart=folder)` does; return the folder."""
    for number, each in enumerate(trials):
        with patch("time.time", lambda number=number: 1000.0 * number):
            writer = ChartWriter(folder / each.name, each.setup)
        seconds = 1000.0 * number
        for epoch, ended in enumerate(each.epochs):
            seconds += ended.seconds
            writer.append(Vitals(epoch, epoch, seconds))
            writer.end_epoch(epoch, ended.scalars)
        writer.close()
        if metric:
            note(writer.path, metric, direction)
    return str(folder)


def search(*trials: RecordedTrial, maximize: bool = True) -> RecordedSearch:
    return RecordedSearch("made up", trials, "score", maximize)


def thirds(count: int = 60) -> RecordedSearch:
    """Return good trials, middling ones that stay at a loss of 5 and bad ones at 6, in turn.

    Every epoch of four takes a second; the good ones begin at 3, and each is better than the last.
    """
    trials = []
    for number in range(0, count, 3):
        least = 1 - 0.01 * number
        trials += [
            trial(f"good {number}", [3, 2, 1, least]),
            trial(f"middling {number}", [5, 5, 5, 5]),
            trial(f"bad {number}", [6, 6, 6, 6]),
        ]
    return search(*trials)
