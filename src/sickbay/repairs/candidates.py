"""Candidates of a race: the remedies that are tried, and their first heat."""

from collections.abc import Sequence
from itertools import zip_longest
from math import ceil

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.remedies.odds import odds, worth
from sickbay.repairs.doubts import is_cut_short
from sickbay.repairs.run import GAIN, Run
from sickbay.repairs.search import UNDERFITTING, Search

FIRST_HEAT = 0.05  # of the epochs; each further heat is twice as long
SURE, STEEP = 0.9, 0.2  # odds at which a candidate runs alone, and gain in score by which it wins
COOLDOWN = 0.2  # of the epochs, added at a tenth of the learning rate: makes up for the race


def first_heat(
    search: Search,
    parent: Run,
    finding: Finding,
    choices: Sequence[tuple[Remedy, Recipe]],
    most: int,
    tried: set[str],
) -> tuple[list[Run], list[Run]]:
    """Train candidates for a heat. Return those that learn, and others that have not failed.

    A candidate that fails costs next to nothing, so others take its place until enough of them
    learn. The keys of all that were tried are added to `tried`.
    """
    waiting = sorted(choices, key=lambda pair: -worth(finding.problem, pair[0]))
    learning: list[Run] = []
    others: list[Run] = []
    most = most if search.executor.pausable else 1
    while waiting and len(learning) < most and search.affords():
        first = waiting[0][0]
        sure = not learning and (first.specific or odds(finding.problem, first).mean >= SURE)
        count = 1 if sure else most - len(learning)
        batch, waiting = waiting[:count], waiting[count:]
        tried |= {remedy.key for remedy, _ in batch}
        field = [start(search, parent, finding, *pair) for pair in batch]
        search.advance(field, heat_of(search))
        left = drop_failed(search, field, finding)
        learning += [run for run in left if run.progress.healthy and run.progress.learns]
        others += [run for run in left if run not in learning]
        if sure and learning and wins_alone(learning[0], parent):
            break
    return learning, others


def heat_of(search: Search) -> int:
    """Return the epochs of the first heat."""
    return max(1, round(FIRST_HEAT * search.settings.epochs))


def wins_alone(run: Run, parent: Run) -> bool:
    """Return whether a candidate that is sure to work needs no others beside it.

    One that goes on with the weights of its parent must have gained something over it: layers, for
    instance, may be frozen on purpose.
    """
    if run.remedy is None or not run.remedy.specific:
        return run.progress.gain > STEEP
    return not run.remedy.keeps_weights or run.progress.score > parent.progress.score + GAIN


def prescribed(search: Search, run: Run, finding: Finding) -> list[tuple[Remedy, Recipe]]:
    """Return the remedies for a finding and their recipes.

    A run that falls short may have said why: those remedies take turns with the general ones. There
    are no general ones if only a loss that was still falling says so.
    """
    causes = [finding]
    if finding.problem == UNDERFITTING:
        causes = [] if is_cut_short(run) and run.meets_yardstick else causes
        causes += {each.problem: each for each in run.progress.findings}.values()
    lists = [search.prescribe(run, each) for each in {c.problem: c for c in causes}.values()]
    turns = [pair for pairs in zip_longest(*lists) for pair in pairs if pair is not None]
    return list({remedy.key: (remedy, recipe) for remedy, recipe in turns}.values())


def start(search: Search, parent: Run, finding: Finding, remedy: Remedy, recipe: Recipe) -> Run:
    """Start a candidate, from the last healthy weights if its remedy keeps them.

    One that only goes on with its parent has had the epochs of the parent.
    """
    healthy = parent.healthy if remedy.keeps_weights else None
    done = parent.done + int(parent.progress.epochs) if remedy.continues else 0
    ends_by_itself = recipe.cooldown or recipe.scheduler is not None
    if search.executor.pausable and not ends_by_itself:
        recipe = recipe.but(cooldown=ceil(COOLDOWN * search.settings.epochs_of(recipe)))
    return search.start(recipe, parent, finding, remedy, healthy, done)


def drop_failed(search: Search, field: Sequence[Run], finding: Finding) -> list[Run]:
    """Finish candidates that failed or still have the problem. Return the others."""
    left = []
    for run in field:
        if run.progress.failed:
            search.finish(run, f"failed: {run.progress.failed}")
        elif has_problem(run, finding):
            search.finish(run)
            search.count(run, worked=False)
        else:
            left.append(run)
    return left


def has_problem(run: Run, finding: Finding) -> bool:
    """Return whether a run was stopped by the same problem."""
    found = run.progress.finding
    return found is not None and found.problem == finding.problem
