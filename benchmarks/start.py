"""Measure how long `sickbay.watch` takes to start: `python -m benchmarks.start`.

The run is a linear regression of 60 steps of about 0.1 ms, so short that the start dominates.
Plain and watched runs take turns. Times are medians of CPU time. The first watch of a process also
imports modules and is timed separately.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from time import thread_time

import torch
from torch import nn

import sickbay
from benchmarks.command_line import new_parser

STEPS = 60
LIMIT = 20.0  # ms


def regression(watching: bool) -> float:
    """Train once and return the milliseconds."""
    torch.manual_seed(0)
    model = nn.Linear(10, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = torch.randn(100, 10), torch.randn(100, 1)
    start = thread_time()
    doctor = sickbay.watch(model, optimizer, on_finding="silent") if watching else None
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = (model(inputs) - targets).square().mean()
        loss.backward()
        optimizer.step()
        if doctor is not None:
            doctor.step(loss)
    if doctor is not None:
        doctor.close()
    return 1000 * (thread_time() - start)


def measure(rounds: int) -> dict[str, object]:
    """Return how many milliseconds watching adds to a short run."""
    first = regression(watching=True)
    regression(watching=False)
    pairs = [(regression(watching=False), regression(watching=True)) for _ in range(rounds)]
    added = [watched - plain for plain, watched in pairs]
    return {
        "steps": STEPS,
        "rounds": rounds,
        "plain_ms": median(plain for plain, _ in pairs),
        "watched_ms": median(watched for _, watched in pairs),
        "added_ms": median(added),
        "added_ms_quartiles": quantiles(added, n=4)[::2],
        "limit_ms": LIMIT,
        "first_in_a_process_ms": first,
    }


def main(args: Sequence[str] | None = None) -> int:
    parser = new_parser("start", __doc__)
    parser.add_argument(
        "--rounds", type=int, default=41, help="pairs of a plain and a watched run (41)"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the results to FILE")
    given = parser.parse_args(args)
    if given.rounds < 2:
        parser.error(f"--rounds must be at least 2, got {given.rounds}.")
    torch.set_num_threads(1)
    report = json.dumps(measure(given.rounds), indent=2)
    print(report)
    if given.json is not None:
        given.json.write_text(report + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
