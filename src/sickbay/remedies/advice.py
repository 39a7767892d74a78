"""The advice printed with a finding: the best remedy, with its odds and as code."""

from collections.abc import Mapping, Sequence

from sickbay.remedies.base import Remedy
from sickbay.remedies.by_problem import CHOICES
from sickbay.remedies.odds import odds, ranked


def advised(
    problem: str, remedies: Mapping[str, Sequence[Remedy]] | None = None
) -> tuple[str, ...]:
    """Return the best remedy in words with its odds, then as code.

    Of the remedies shipped with sickbay, only those that have worked before are advised. Of the
    caller's own `remedies`, the best is advised in any case.
    """
    for remedy in ranked(problem, (CHOICES if remedies is None else remedies).get(problem, ())):
        counted = odds(problem, remedy)
        if counted.worked or remedies is not None:
            return f"{remedy}  ({counted})", *remedy.code.splitlines()
    return ()
