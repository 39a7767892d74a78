"""AutoTrainer's two demos, rebuilt: circles with sigmoid layers, blobs with batches of one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter

import torch
from sklearn.datasets import make_blobs, make_circles  # type: ignore[import-untyped]
from torch import Tensor, nn

from benchmarks.repair.repair_run import Record
from benchmarks.report_page import Sheet
from sickbay.recipe import Recipe
from sickbay.repairs.fit import repair
from sickbay.repairs.strategy import StrategyName

# By demo: epochs planned, epochs allowed in total, and epochs that AutoTrainer itself needs.
LIMITS = {"circles": (300, 330, 451), "blobs": (200, 220, 303)}
GOOD = 0.85
Halves = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


def circles() -> tuple[Recipe, Halves]:
    """Return seven hidden sigmoid layers on two circles."""
    x, y = make_circles(n_samples=1000, noise=0.1, random_state=1)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise((2, *[10] * 7, 1)):
        layers += [nn.Linear(inputs, outputs), nn.Sigmoid()]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    recipe = Recipe(model, nn.BCELoss(), optimizer, batch_size=128, epochs=LIMITS["circles"][0])
    return recipe, halves(torch.from_numpy(x).float(), torch.from_numpy(y).float()[:, None])


def blobs() -> tuple[Recipe, Halves]:
    """Return one hidden layer on three overlapping blobs, with a batch size of 1."""
    x, y = make_blobs(n_samples=1000, centers=3, n_features=2, cluster_std=1.8, random_state=2)
    model = nn.Sequential(nn.Linear(2, 50), nn.ReLU(), nn.Linear(50, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    recipe = Recipe(
        model, nn.CrossEntropyLoss(), optimizer, batch_size=1, epochs=LIMITS["blobs"][0]
    )
    return recipe, halves(torch.from_numpy(x).float(), torch.from_numpy(y).long())


def halves(x: Tensor, y: Tensor) -> Halves:
    return (x[:500], y[:500]), (x[500:], y[500:])


DEMOS: dict[str, Callable[[], tuple[Recipe, Halves]]] = {"circles": circles, "blobs": blobs}


def run(name: str, strategy: StrategyName) -> Record:
    """Repair a demo and return the results."""
    torch.manual_seed(0)
    recipe, (data, validation) = DEMOS[name]()
    start = perf_counter()
    outcome = repair(
        recipe, data, validation=validation, target=GOOD, strategy=strategy, progress=False
    )
    return {
        "name": name,
        "strategy": strategy,
        "score": outcome.score,
        "solved": outcome.solved,
        "epochs": outcome.epochs,
        "seconds": perf_counter() - start,
        "found": [each.problem for each in outcome.findings],
        "attempts": [str(each) for each in outcome.attempts],
    }


def sheet(records: list[Record]) -> Sheet:
    rows = []
    for each in records:
        planned, allowed, theirs = LIMITS[each["name"]]
        allowed = allowed if each["strategy"] == "race" else theirs
        holds = each["score"] >= GOOD and each["epochs"] <= allowed
        rows.append(
            [
                each["name"],
                each["strategy"],
                f"{each['score']:.3f}",
                f"{each['epochs']:.0f}",
                str(planned),
                str(allowed),
                str(theirs),
                ", ".join(dict.fromkeys(each["found"])) or "nothing",
                "holds" if holds else "FAILS",
            ]
        )
    columns = (
        "demo", "strategy", "accuracy", "epochs", "planned", "limit", "AutoTrainer itself",
        "found", "",
    )  # fmt: skip
    note = (
        "Trained to an accuracy of 0.85 on held-out samples. "
        "AutoTrainer was run to count its epochs."
    )
    return Sheet("AutoTrainer's two demos", note, columns, rows)
