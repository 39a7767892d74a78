"""Which suggestions a finding gets, and which findings belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sickbay.findings import Finding, Suggestion
from sickbay.problems import Problem

if TYPE_CHECKING:
    from sickbay.remedies import Remedy

WINDOW = 50  # steps (or validations) within which a problem counts as repeated


class Adviser:
    """Adds suggestions to findings: those of the problem's paper, or else the best remedies.

    What the problem itself suggests for a finding goes before the remedies, unless the caller chose
    them.

    A problem that is found again within `WINDOW` gets stronger published suggestions.
    """

    def __init__(
        self, problems: Sequence[Problem], remedies: Mapping[str, Sequence[Remedy]] | None = None
    ) -> None:
        self._problems = {problem.name(): problem for problem in problems}
        self._remedies = remedies
        self._own: dict[str, tuple[Suggestion, ...]] = {}  # ranking reads files: once is enough
        self._last: dict[str, tuple[int, int]] = {}  # where each was found, how often in a row

    def advise(self, finding: Finding) -> Finding:
        """Return the finding with suggestions, best first."""
        problem = self._problems[finding.problem]
        times = self._count(finding, problem)
        published = () if self._remedies is not None else problem.suggest(times)
        if not published:
            first = finding.suggestions if self._remedies is None else ()
            best = self._remedies_for(finding.problem)
            return replace(finding, suggestions=(*first, *best))
        from sickbay.remedies.suggest import with_odds  # a slow import, needed only with a finding

        made = tuple(with_odds(finding.problem, each) for each in published)
        return replace(finding, suggestions=made)

    def _count(self, finding: Finding, problem: Problem) -> int:
        """Return how often a problem was found, each time within the window of the last."""
        place = finding.epoch if problem.reads == ("epoch",) else finding.step
        last, times = self._last.get(finding.problem, (place, 0))
        times = times + 1 if place - last < WINDOW else 1
        self._last[finding.problem] = place, times
        return times

    def _remedies_for(self, problem: str) -> tuple[Suggestion, ...]:
        """Return the remedies with the best odds, or else the general advice."""
        if problem not in self._own:
            from sickbay.remedies.suggest import suggested  # slow, as above

            advice = self._problems[problem].advice
            general = (Suggestion(words=advice),) if advice else ()
            self._own[problem] = suggested(problem, self._remedies) or general
        return self._own[problem]


def together(findings: Sequence[Finding], standing: Sequence[str], step: int) -> list[Finding]:
    """Return the newest finding of each problem that is present or was found in the window.

    >>> found = [Finding(problem=name, step=step) for name, step in (("a", 3), ("b", 40))]
    >>> [each.problem for each in together(found, standing=["b"], step=52)]
    ['a', 'b']
    >>> [each.problem for each in together(found, standing=["b"], step=53)]
    ['b']
    """
    newest = {each.problem: each for each in findings}
    return [
        each for each in newest.values() if each.problem in standing or each.step > step - WINDOW
    ]
