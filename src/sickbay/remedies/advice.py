"""What a person is told to try: the best remedy for a problem, with its odds and as code."""

from sickbay.remedies.choices import CHOICES
from sickbay.remedies.odds import odds, ranked


def advised(problem: str) -> tuple[str, ...]:
    """Return the best remedy in words with its odds, then as code; nothing if none was counted."""
    for remedy in ranked(problem, CHOICES.get(problem, ())):
        counted = odds(problem, remedy)
        if counted.worked:
            return f"{remedy}  ({counted})", *remedy.code.splitlines()
    return ()
