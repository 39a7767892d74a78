"""What `workers=` may be, and who trains then."""

from __future__ import annotations

from typing import Literal, TypeAlias

from sickbay.errors import UsageError
from sickbay.repairs.crew import Crew

Workers: TypeAlias = int | Literal["ray"] | None


def check_workers(workers: Workers) -> Workers:
    """Return `workers`, or say what it must be; None is this process."""
    whole = isinstance(workers, int) and not isinstance(workers, bool) and workers >= 1
    if workers is not None and workers != "ray" and not whole:
        raise UsageError(f"workers must be a number from 1 on, 'ray' or None, got {workers!r}.")
    return None if workers == 1 else workers


def crew_of(workers: Workers) -> Crew:
    """Return who trains."""
    if workers is None:
        return Crew()
    if workers == "ray":
        from sickbay.repairs.cluster import Cluster

        return Cluster()
    from sickbay.repairs.processes import Processes

    return Processes(workers)
