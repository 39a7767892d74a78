"""What `workers=` may be, and who trains then."""

from __future__ import annotations

from numbers import Integral
from typing import Literal, TypeAlias

from sickbay.arguments import bad_argument
from sickbay.repairs.crew import Crew

Workers: TypeAlias = int | Literal["ray"] | None


def check_workers(workers: Workers) -> Workers:
    """Return `workers`, or say what it must be; None is this process."""
    if workers is None or (isinstance(workers, str) and workers == "ray"):
        return workers
    if isinstance(workers, bool) or not isinstance(workers, Integral) or workers < 1:
        raise bad_argument("workers", "a number from 1 on, 'ray' or None", workers)
    return None if workers == 1 else int(workers)


def crew_of(workers: Workers) -> Crew:
    """Return who trains."""
    if workers is None:
        return Crew()
    if workers == "ray":
        from sickbay.repairs.cluster import Cluster

        return Cluster()
    from sickbay.repairs.processes import Processes

    return Processes(workers)
