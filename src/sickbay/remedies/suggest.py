"""Remedies as suggestions, with their odds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sickbay.findings import Odds, Suggestion
from sickbay.remedies.base import Remedy
from sickbay.remedies.by_problem import CHOICES, EVERY
from sickbay.remedies.odds import is_proven, odds, ranked

MOST = 3  # suggestions for a finding
# Published problems, and those of ours that they resemble most. Only for ours are odds measured.
ALIKE: Mapping[str, Sequence[str]] = {
    "large_gradient": ("exploding_gradient", "learning_rate_too_high"),
    "loss_explosion": ("exploding_gradient", "learning_rate_too_high"),
    "small_gradient": ("vanishing_gradient", "learning_rate_too_low"),
    "unstable_gradient": ("exploding_gradient", "learning_rate_too_high"),
}


def suggested(
    problem: str, remedies: Mapping[str, Sequence[Remedy]] | None = None
) -> tuple[Suggestion, ...]:
    """Return the best remedies for a problem with their odds, best first.

    Of the remedies shipped with sickbay, only those are suggested that have worked in the
    benchmark, or twice for this user. Of the caller's own `remedies`, the best are suggested in any
    case.

    >>> from sickbay.remedies import ClipNorm
    >>> print(suggested("loss_spike", {"loss_spike": [ClipNorm()]})[0].code)
    nn.utils.clip_grad_norm_(model.parameters(), 1)
    """
    found = ranked(problem, (CHOICES if remedies is None else remedies).get(problem, ()))
    if remedies is None:
        found = [each for each in found if is_proven(problem, each)]
    return tuple(_suggestion(problem, remedy) for remedy in found[:MOST])


def with_odds(problem: str, suggestion: Suggestion) -> Suggestion:
    """Return a published suggestion with the odds of its remedy, for this problem and its like."""
    remedy = EVERY.get(suggestion.remedy)
    if remedy is None:
        return suggestion
    counted = (odds(each, remedy) for each in (problem, *ALIKE.get(problem, ())))
    return replace(suggestion, odds=sum(counted, Odds()))


def _suggestion(problem: str, remedy: Remedy) -> Suggestion:
    return Suggestion(
        words=str(remedy), code=remedy.code, remedy=remedy.key, odds=odds(problem, remedy)
    )
