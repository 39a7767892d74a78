"""All runs of the zoo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.detection.case import Case
from benchmarks.detection.data import REAL
from benchmarks.detection.healthy import HEALTHY
from benchmarks.detection.healthy_loops import RUNS
from benchmarks.detection.sick import SICK
from benchmarks.detection.training_loop import train
from benchmarks.detection.variant import Variant, dressed

QUICK = 9  # one variant in so many belongs to the quick benchmark


def cases(data: Path | None) -> list[Case]:
    """Return all runs, or without a data folder those that need none."""
    made: list[Case] = []
    for problem, variants in SICK.items():
        made += grown(problem, variants, data)
    made += grown("", HEALTHY, data)
    made += [
        Case(
            f"healthy/{name}-{seed}",
            "",
            seed,
            source,
            partial(run, seed, data),
            None,
            quick=place % QUICK == 0,
        )
        for place, (name, source, run) in enumerate(RUNS)
        for seed in (2 * place + 1000, 2 * place + 1001)
    ]
    return [case for case in made if data is not None or case.data not in REAL]


def grown(problem: str, variants: Sequence[Variant], folder: Path | None) -> Iterator[Case]:
    """Yield an even and an odd case of each variant; the odd one differs a little in shape."""
    for place, variant in enumerate(variants):
        for half in (0, 1):
            seed = 2 * place + half
            plan = dressed(variant.plan, place, half)
            twin = dressed(variant.twin, place, half) if variant.twin else None
            yield Case(
                name=f"{problem or 'healthy'}/{variant.name}-{seed}",
                problem=problem,
                seed=seed,
                data=plan.data,
                train=partial(train, plan, seed, folder),
                twin=partial(train, twin, seed, folder) if twin else None,
                first=variant.first,
                quick=place % QUICK == 0,
            )
