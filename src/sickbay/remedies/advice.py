"""Advice for people: the best remedy for a problem, with its odds and as code."""

from sickbay.remedies.choices import CHOICES
from sickbay.remedies.odds import odds, ranked


def advised(problem: str) -> tuple[str, ...]:
    """Return the best remedy in words, then as code. Return nothing if none has ever worked."""
    for remedy in ranked(problem, CHOICES.get(problem, ())):
        counted = odds(problem, remedy)
        if counted.worked:
            return f"{remedy}  ({counted})", *remedy.code.splitlines()
    return ()
