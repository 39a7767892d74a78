"""All runs of the detection benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.detection.case import Case
from benchmarks.detection.data_sets import REAL
from benchmarks.detection.faulty_runs import FAULTY
from benchmarks.detection.healthy_loops import RUNS
from benchmarks.detection.healthy_runs import HEALTHY
from benchmarks.detection.run_variants import Variant, for_half
from benchmarks.detection.training_loop import train

QUICK = 9  # one in nine variants belongs to the quick benchmark


def cases(data: Path | None) -> list[Case]:
    """Return all runs, or only those without real data if there is no data folder."""
    made: list[Case] = []
    for problem, variants in FAULTY.items():
        made += cases_of(problem, variants, data)
    made += cases_of("", HEALTHY, data)
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


def cases_of(problem: str, variants: Sequence[Variant], folder: Path | None) -> Iterator[Case]:
    """Yield two cases of each variant, with an even and an odd seed and slightly other shapes."""
    for place, variant in enumerate(variants):
        for half in (0, 1):
            seed = 2 * place + half
            plan = for_half(variant.plan, place, half)
            twin = for_half(variant.twin, place, half) if variant.twin else None
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
