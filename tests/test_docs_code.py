"""The code in the guide runs. The pages inject, treat and tuning have tests of their own."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import sickbay

ROOT = Path(__file__).parent.parent
PAGES = [
    "README.md",
    "docs/guide/watch.md",
    "docs/guide/checkup.md",
    "docs/guide/charts.md",
    "docs/guide/repair.md",
    "docs/reference/problems.md",
]
NOT_HERE = ("torch.compile(", "trial, model", "doctor = sickbay.watch(model, optimizer)\nfor")


def blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return [block for block in found if not any(part in block for part in NOT_HERE)]


def names() -> dict[str, Any]:
    """Return what the snippets take for granted: a model, data, a loss and an optimizer."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = torch.randn(60, 4), torch.arange(60) % 3
    return {
        "sickbay": sickbay, "torch": torch, "nn": nn, "model": model, "optimizer": optimizer,
        "x": x, "y": y, "x_held": x[:20], "y_held": y[:20], "batch": (x, y),
        "loss": nn.CrossEntropyLoss(), "accuracy": 0.5, "acc": 0.5, "val_loss": 1.0,
        "outputs": model(x), "targets": y,
    }  # fmt: skip


def recorded(folder: Path, namespace: dict[str, Any]) -> None:
    model, optimizer = namespace["model"], namespace["optimizer"]
    with sickbay.watch(model, optimizer, chart=folder) as doctor:
        for _ in range(3):
            optimizer.zero_grad()
            loss = namespace["loss"](model(namespace["x"]), namespace["y"])
            loss.backward()
            optimizer.step()
            doctor.step(loss)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path / "home"))
    namespace = names()
    if "charts" in page:
        recorded(tmp_path / "runs" / "today", namespace)
    if "watch" in page:
        namespace["loss"] = namespace["loss"](namespace["outputs"], namespace["y"])
    if "repair" in page:
        namespace["batches"] = lambda _: [(namespace["x"], namespace["y"])]
        namespace["accuracy"] = lambda _: 0.5
    code = blocks(page)
    assert code
    scope: dict[str, Any] = {}
    for block in code:
        scope |= namespace
        exec(compile(shortened(block), page, "exec"), scope)


def shortened(block: str) -> str:
    """Return a snippet with fewer epochs and without the wish that everything passes."""
    block = block.replace("epochs=50", "epochs=2")
    return block.replace("assert report.ok", "assert report.results")
