"""The way of the paper: one solution after the other, each from the original initial weights."""

from __future__ import annotations

from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.search import Node, Search


def autotrainer(search: Search) -> Outcome:
    """Train; at a problem apply its first solution and train again, until none is left.

    The same problem again: the solution has failed, and the next one is tried from the state before
    it. Another one: the first is solved, and the new one is treated from here.
    """
    node = search.begin()
    base, treated, waiting = node, "", list[tuple[Remedy, Recipe]]()
    while (finding := node.report.finding) is not None and search.spent < search.budget:
        search.journal.found(finding)
        search.finish(node, finding.problem)
        if finding.problem != treated:
            base, treated = node, finding.problem
            waiting = search.prescribe(base, finding)
        node = next_one(search, base, node, waiting)
        if node.report.finding is finding:  # no solution is left
            search.to_the_end()
            return search.failed()
    if node.report.healthy:
        search.finish(node, "healthy")
        return search.cured(node, solved=True)
    search.finish(node, search.ill(node))
    return search.failed()


def next_one(search: Search, base: Node, last: Node, waiting: list[tuple[Remedy, Recipe]]) -> Node:
    """Train with the next solution; return the last attempt if there is none."""
    finding = base.report.finding
    while waiting and finding is not None:
        remedy, recipe = waiting.pop(0)
        node = search.start(recipe, base, finding, remedy)
        search.advance([node], search.whole(node))
        if not node.report.failed:
            return node
        search.finish(node, f"failed: {node.report.failed}")
    return last
