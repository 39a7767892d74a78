"""The cheap strategy: candidates train for short heats, and the one that learns best goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from sickbay.findings import Finding
from sickbay.problems import Problem
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.remedies.by_problem import CHOICES
from sickbay.remedies.odds import odds
from sickbay.repairs.candidates import first_heat, has_problem, heat_of, prescribed, start
from sickbay.repairs.doubts import is_falling, not_overcome
from sickbay.repairs.going_on import pays
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.run import GAIN, Run
from sickbay.repairs.scoring import key
from sickbay.repairs.search import UNDERFITTING, Search
from sickbay.repairs.shortfall import noted

CANDIDATES = 4  # that race against each other
FEW = 2  # that race while the budget is better spent on going on
CLEAR_LEAD = 0.3  # lead in score that ends the race
CLOSE = 1.3  # candidates within this many times the leader's distance from 1 are ranked by odds
DEPTH = 5  # problems that are treated one after the other


@dataclass(frozen=True)
class Race:
    """Remedies compete in short runs, and the best goes on."""

    profile: ClassVar[str] = "default"
    budget: ClassVar[float] = 2.5
    most: ClassVar[float] = 6.0
    check_every: ClassVar[None] = None

    def remedies(self) -> Mapping[str, Sequence[Remedy]]:
        return CHOICES

    def adapt(self, problem: Problem) -> Problem:
        return problem

    def run(self, search: Search) -> Outcome:
        return race(search)


def race(search: Search) -> Outcome:
    """Train. At a finding, let remedies race and go on with the winner, until nothing is found."""
    run = noted(search, search.begin())
    tried: dict[str, set[str]] = {}
    for _ in range(DEPTH):
        finding = run.progress.finding
        if finding is None or not search.affords():
            break
        if not run.result:
            search.journal.show(finding)
            search.finish(run)
        winner = find_winner(search, run, finding, tried.setdefault(finding.problem, set()))
        if winner is None:
            break
        if winner.progress.finding is None:
            search.complete(winner)
        worked = not has_problem(winner, finding) and not winner.progress.failed
        noted(search, winner)
        search.count(winner, worked)
        run = further(search, run, winner)
    return conclude(search, run)


def further(search: Search, run: Run, winner: Run) -> Run:
    """Return the run to go on from: the winner, unless it falls short and is no better."""
    finding = winner.progress.finding
    short = finding is not None and finding.problem == UNDERFITTING and has_problem(run, finding)
    if not short or winner.progress.score > run.progress.score:
        return winner
    search.finish(winner)
    return run


def find_winner(search: Search, parent: Run, finding: Finding, tried: set[str]) -> Run | None:
    """Return the candidate that learns best, trained up to its last heat. None if none helps.

    If none learns, one with a new problem in place of the old one wins, then any other. To go on
    with the parent needs no heats.
    """
    choices = [pair for pair in prescribed(search, parent, finding) if pair[0].key not in tried]
    continuing = [pair for pair in choices if pair[0].continues]
    longer = next((pair for pair in continuing if continuing_pays(search, parent, pair[1])), None)
    most = FEW if longer is not None and is_falling(parent) else CANDIDATES
    choices = [pair for pair in choices if not pair[0].continues]
    learning, others = first_heat(search, parent, finding, choices, most, tried)
    winner = best_of(search, learning, others)
    worthy = winner is not None and promises(search, winner, parent)
    ahead = winner is not None and winner in learning and leads(winner, parent)
    longer = longer if search.affords() else None
    if worthy and (longer is None or ahead):
        return winner
    if winner is not None:
        search.finish(winner, "slower" if winner.progress.finding is None else "")
    if longer is None:
        return None
    tried.add(longer[0].key)
    return start(search, parent, finding, *longer)


def best_of(search: Search, learning: Sequence[Run], others: Sequence[Run]) -> Run | None:
    """Return the winner among those that learn, else the most promising of the others."""
    ranking = sorted(others, key=lambda run: (run.progress.finding is not None, *standing(run)))
    promising = ranking[-1] if ranking else None
    winner = run_heats(search, learning) if learning else promising
    for run in others:
        if run is not winner:
            search.finish(run, "slower" if run.progress.finding is None else "")
    return winner


def continuing_pays(search: Search, run: Run, recipe: Recipe) -> bool:
    """Return whether it should pay to go on with a run for the epochs of another recipe."""
    more = search.settings.of(run).epochs_of(recipe) - int(run.progress.epochs)
    return pays(run.yardstick, run.progress.scores, more)


def promises(search: Search, run: Run, parent: Run) -> bool:
    """Return whether a candidate may be trained to its end.

    Beyond the usual budget, one for a run that only falls short must be ahead of where that run was
    after as many epochs, or of its end if it goes on with its weights.
    """
    usual = search.spent + search.epochs_of(run) <= search.usual_budget
    if usual or run.problem != UNDERFITTING or run.remedy is None:
        return True
    if not parent.yardstick.beats_constant(parent.progress.score):
        return True
    done = len(parent.progress.scores if run.remedy.keeps_weights else run.progress.scores)
    before = max(map(key, parent.progress.scores[:done]), default=-inf)
    return run.progress.score > before


def leads(run: Run, parent: Run) -> bool:
    """Return whether a candidate promises more than to go on with its parent.

    If the parent's loss was still falling, it must be ahead of where the parent ended.
    """
    return not is_falling(parent) or run.progress.score > parent.progress.score + GAIN


def run_heats(search: Search, field: Sequence[Run]) -> Run:
    """Return the winner. After each heat the better half goes on, for twice as long."""
    heat = heat_of(search)
    while True:
        field = in_order(field)
        lead = field[0].progress.score - field[1].progress.score if len(field) > 1 else inf
        keep = len(field) // 2
        if lead > CLEAR_LEAD or not search.affords(keep):
            keep = 1
        for run in field[keep:]:
            search.finish(run, "slower")
        field = field[:keep]
        if keep == 1:
            return field[0]
        heat *= 2
        search.advance(field, heat)


def in_order(field: Sequence[Run]) -> list[Run]:
    """Sort candidates, best first. So early, a small lead says less than the odds."""
    missing = {run: 1.0 - run.progress.score for run in field}
    limit = CLOSE * min(missing.values())
    close = [run for run in field if missing[run] <= limit]
    others = [run for run in field if run not in close]
    chances = {run: odds(run.problem, run.remedy).mean for run in close if run.remedy}
    close.sort(key=lambda run: (chances[run], *standing(run)), reverse=True)
    return close + sorted(others, key=standing, reverse=True)


def standing(run: Run) -> tuple[bool, float, float]:
    """Return what candidates are ranked by: health, then score, then loss."""
    losses = [each["val_loss"] for each in run.progress.scores if "val_loss" in each]
    return run.progress.finding is None, run.progress.score, -min(losses, default=inf)


def conclude(search: Search, run: Run) -> Outcome:
    """Return the last run if it is healthy, else the best model seen.

    If nothing helped, train the original recipe to its end: it may be better than it looks.
    """
    if run.progress.healthy:
        complete, met = search.is_complete(run), search.succeeds(run)
        short = "uncertain" if search.suffices(run) else UNDERFITTING
        short = short if complete else "out of budget"
        short = "stopped" if run.progress.stopped else short
        search.finish(run, "healthy" if complete and met else short)
        learnt = run.remedy is None or run.progress.learns
        good = search.settings.reached(run.progress.score)
        clear = good or not not_overcome(run, search.settings)
        return search.cured(run, solved=complete and learnt and met and clear)
    if not run.result:
        search.finish(run)
    if not (search.best.yardstick.known and search.best.meets_yardstick):
        search.train_to_the_end()
    return search.failed()
