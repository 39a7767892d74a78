"""Remedies as suggestions, with their odds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sickbay.findings import Suggestion
from sickbay.remedies.base import Remedy
from sickbay.remedies.by_problem import CHOICES, EVERY
from sickbay.remedies.odds import odds, ranked

MOST = 3  # suggestions for a finding


def suggested(
    problem: str, remedies: Mapping[str, Sequence[Remedy]] | None = None
) -> tuple[Suggestion, ...]:
    """Return the best remedies for a problem with their odds, best first.

    Of the remedies shipped with sickbay, only those that have worked before are suggested. Of the
    caller's own `remedies`, the best are suggested in any case.

    >>> print(suggested("improper_output")[0].code)
    model = sickbay.surgery.change_output(model, (x,), task)
    """
    found = ranked(problem, (CHOICES if remedies is None else remedies).get(problem, ()))
    made = (_suggestion(problem, remedy) for remedy in found)
    return tuple(each for each in made if remedies is not None or (each.odds and each.odds.worked))[
        :MOST
    ]


def with_odds(problem: str, suggestion: Suggestion) -> Suggestion:
    """Return a published suggestion with the odds of its remedy."""
    remedy = EVERY.get(suggestion.remedy)
    return suggestion if remedy is None else replace(suggestion, odds=odds(problem, remedy))


def _suggestion(problem: str, remedy: Remedy) -> Suggestion:
    return Suggestion(
        words=str(remedy), code=remedy.code, remedy=remedy.key, odds=odds(problem, remedy)
    )
