"""The cheap way: candidates run short heats, and the one that learns gets the epochs."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.remedies.odds import odds, ranked
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.search import Node, Search

HEAT = 0.05  # of the epochs: the first heat; each further one is twice as long
SURE, STEEP = 0.9, 0.2  # odds to run alone, and the gain in score to win by that
CLEAR = 0.3  # lead in score that ends the race
CLOSE = 1.3  # times the leader's distance from a perfect score: that says nothing yet
COOLDOWN = 0.2  # of the epochs, more, at a tenth of the rate: what was lost in the race comes back
DEEP = 5  # problems that are treated one after the other


def race(search: Search) -> Outcome:
    """Train; at a finding, let remedies race and go on with the winner; until nothing is found."""
    node = search.begin()
    tried: dict[str, set[str]] = {}
    for _ in range(DEEP):
        finding = node.report.finding
        if finding is None or not search.affords():
            break
        search.journal.found(finding)
        search.finish(node, finding.problem)
        winner = heats(search, node, finding, tried.setdefault(finding.problem, set()))
        if winner is None:
            break
        if winner.report.finding is None:
            search.advance([winner], search.whole(winner))
        again = winner.report.finding
        same = again is not None and again.problem == finding.problem
        search.count(winner, not same and not winner.report.failed)
        node = winner
    return conclude(search, node)


def heats(search: Search, parent: Node, finding: Finding, tried: set[str]) -> Node | None:
    """Return the remedy that learns best, trained as far as its last heat; None if none helps.

    One that fails costs next to nothing, so others take its place until enough of them learn. If
    none does, one that has a new problem instead of the old comes next, then any that is healthy.
    """
    choices = [pair for pair in by_odds(search, parent, finding) if pair[0].key not in tried]
    heat = max(1, round(HEAT * search.terms.epochs))
    learning: list[Node] = []
    others: list[Node] = []
    while choices and len(learning) < search.crew.runners and search.affords():
        sure = not learning and odds(finding.problem, choices[0][0]).mean >= SURE
        count = 1 if sure else search.crew.runners - len(learning)
        batch, choices = choices[:count], choices[count:]
        tried |= {remedy.key for remedy, _ in batch}
        field = [begin(search, parent, finding, *pair) for pair in batch]
        search.advance(field, heat)
        left = drop_failed(search, field, finding)
        learning += [node for node in left if node.report.healthy and node.report.learns]
        others += [node for node in left if node not in learning]
        if sure and learning and learning[0].report.gain > STEEP:
            break
    winner = run(search, learning, heat) if learning else best_of(others)
    for node in others:
        if node is not winner:
            search.finish(node, node.report.finding.problem if node.report.finding else "slower")
    return winner


def begin(search: Search, parent: Node, finding: Finding, remedy: Remedy, recipe: Recipe) -> Node:
    """Start a candidate, with what was learnt so far if that is of use to it."""
    healthy = parent.weights()[1] if remedy.keeps_weights else None
    if search.data is not None and not recipe.cooldown:
        recipe = recipe.but(cooldown=ceil(COOLDOWN * search.terms.epochs))
    return search.start(recipe, parent, finding, remedy, healthy)


def run(search: Search, field: Sequence[Node], heat: int) -> Node:
    """Let candidates race: after each heat the better half goes on, for twice as long."""
    while True:
        field = in_order(field)
        lead = field[0].report.score - field[1].report.score if len(field) > 1 else inf
        keep = max(1, len(field) // 2)
        if lead > CLEAR or not search.affords(keep):
            keep = 1
        for node in field[keep:]:
            search.finish(node, "slower")
        field = field[:keep]
        if keep == 1:
            return field[0]
        heat *= 2
        search.advance(field, heat)


def in_order(field: Sequence[Node]) -> list[Node]:
    """Return candidates, the best first: so early small leads say less than the odds."""
    missing = [1.0 - node.report.score for node in field]
    far = CLOSE * min(missing)
    close = [node for node, each in zip(field, missing, strict=True) if each <= far]
    close.sort(key=lambda node: (chances(node), *standing(node)), reverse=True)
    others = [node for node in field if node not in close]
    return close + sorted(others, key=standing, reverse=True)


def chances(node: Node) -> float:
    """Return the odds of the remedy that an attempt is about."""
    return 0.0 if node.remedy is None else odds(node.attempt.problem, node.remedy).mean


def best_of(others: Sequence[Node]) -> Node | None:
    """Return the most promising of those that do not learn: rather a new problem than none."""
    ranked = sorted(others, key=lambda node: (node.report.finding is not None, *standing(node)))
    return ranked[-1] if ranked else None


def drop_failed(search: Search, field: Sequence[Node], finding: Finding) -> list[Node]:
    """Return those without the old problem; with a new one they have solved the old."""
    left = []
    for node in field:
        again = node.report.finding
        if node.report.failed:
            search.finish(node, f"failed: {node.report.failed}")
        elif again is not None and again.problem == finding.problem:
            search.finish(node, again.problem)
            search.count(node, worked=False)
        else:
            left.append(node)
    return left


def standing(node: Node) -> tuple[bool, float, float]:
    """Return what candidates are ranked by: healthy ones first, then by score, then by loss."""
    losses = [each["val_loss"] for each in node.report.scores if "val_loss" in each]
    return node.report.finding is None, node.report.score, -min(losses, default=inf)


def by_odds(search: Search, parent: Node, finding: Finding) -> list[tuple[Remedy, Recipe]]:
    """Return what may be tried, by odds."""
    made = search.prescribe(parent, finding)
    order = ranked(finding.problem, [remedy for remedy, _ in made])
    return sorted(made, key=lambda pair: order.index(pair[0]))


def conclude(search: Search, node: Node) -> Outcome:
    """End: with the last attempt if it is healthy, else with the best model there is.

    Where nothing helps, the plain training is taken to its end: it may be better than it looks.
    """
    if node.report.healthy:
        whole = search.is_whole(node)
        search.finish(node, "healthy" if whole else "out of budget")
        learnt = node.remedy is None or node.report.learns
        return search.cured(node, solved=whole and learnt)
    if not node.attempt.result:
        search.finish(node, search.ill(node))
    search.to_the_end()
    return search.failed()
