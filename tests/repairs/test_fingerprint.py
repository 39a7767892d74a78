"""A repair is only resumed with the same model, data and settings."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import Dataset

import sickbay
from sickbay.demo.flawed_models import circles
from sickbay.repairs.digest import Digest
from sickbay.repairs.fingerprint import check
from tests.repairs.datasets import refused
from tests.repairs.resumable import LABELS, POINTS, Net, adam, made, run, with_a_lambda
from tests.repairs.user_loops import recipe_of, step

WEIGHTED = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0]))


class Otherwise(Net):
    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.last(torch.tanh(self.first(x)))
        return made


class Sloped(Net):
    slope = 0.1

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.last(self.bent(self.first(x)))
        return made

    def bent(self, x: Tensor) -> Tensor:
        return self.bend(x, self.slope)

    @staticmethod
    def bend(x: Tensor, slope: float) -> Tensor:
        return F.leaky_relu(x, slope)


class Again(Dataset[Any]):
    def __init__(self, flipped: bool = False, noisy: bool = False) -> None:
        self.points, labels = circles(128)
        self.labels, self.noisy = 1 - labels if flipped else labels, noisy
        self.asked = itertools.count()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        return self.points[row] + (1e-3 * next(self.asked) if self.noisy else 0), self.labels[row]


def scaled(model: nn.Module) -> nn.Module:
    model.get_buffer("scale").mul_(2)
    return model


def shrunk(model: nn.Module) -> nn.Module:
    with torch.no_grad():
        next(model.parameters()).mul_(0.999)
    return model


def squared(outputs: Tensor, targets: Tensor) -> Tensor:
    return ((outputs - targets) ** 2).mean()


def absolute(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).abs().mean()


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"model": made(Net, torch.tanh)}, "model"),
        ({"model": made(Net, lambda x: F.relu(x) * 2)}, "model"),
        ({"model": made(Otherwise)}, "model"),
        ({"model": shrunk(made())}, "initial weights"),
        ({"model": scaled(made())}, "initial weights"),
        ({"data": (POINTS, 1 - LABELS)}, "data"),
        ({"data": (POINTS + 1e-6, LABELS)}, "data"),
        ({"validation": circles(64, seed=2)}, "data"),
        ({"loss": nn.BCEWithLogitsLoss(reduction="sum")}, "loss"),
        ({"loss": WEIGHTED}, "loss"),
        ({"loss": squared}, "loss"),
        ({"optimizer": adam(weight_decay=0.1)}, "optimizer"),
        ({"optimizer": adam(betas=(0.9, 0.99))}, "optimizer"),
        ({"epochs": 2}, "settings"),
        ({"seed": 1}, "settings"),
        ({"budget": 9}, "settings"),
        ({"remedies": ["clip_norm"]}, "settings"),
        ({"strategy": "autotrainer"}, "settings"),
    ],
    ids=range(18),
)
def test_another_run_is_not_taken_up(more: dict[str, Any], part: str, tmp_path: Path) -> None:
    run(tmp_path / "run")
    told = refused(lambda: run(tmp_path / "run", resume=True, **more))
    assert "holds a repair with another model, data or settings" in told
    assert repr(part) in told


def nested(x: Tensor) -> list[Tensor]:
    return [*map(lambda each: each + 1, x)]  # noqa: C417


def test_the_hash_of_code_stays_as_it_is() -> None:
    """Else folders of earlier versions could not be resumed."""
    hashed = blake2b(digest_size=16)

    def write(*words: Any) -> None:
        for word in words:
            data = word if isinstance(word, bytes) else repr(word).encode()
            hashed.update(len(data).to_bytes(8, "little") + data)

    def write_code(code: CodeType) -> None:
        write("code", code.co_code, code.co_names, code.co_varnames)
        for each in code.co_consts:
            if isinstance(each, CodeType):
                write_code(each)
            else:
                write(type(each).__name__, str(each))

    write("function", nested.__module__, "nested")
    write_code(nested.__code__)
    write("several", "NoneType", "None", "NoneType", "None", "several", "end", "end")
    assert Digest().add(nested).text == hashed.hexdigest()


@pytest.mark.parametrize("changed", [("settings",), ("model", "settings"), ("model",)])
def test_another_version_is_suspected_if_settings_differ(
    changed: tuple[str, ...], tmp_path: Path
) -> None:
    kept = dict.fromkeys(("model", "loss", "settings"), "0")
    (tmp_path / "run.json").write_text(json.dumps(kept))
    message = refused(lambda: check(tmp_path / "run.json", kept | dict.fromkeys(changed, "1")))
    hint = message.endswith(" Another version of sickbay may have other settings.")
    assert hint == ("settings" in changed)


def test_functions_count_by_their_code(tmp_path: Path) -> None:
    run(tmp_path / "run", loss=squared)
    absolute.__qualname__ = absolute.__name__ = "squared"
    assert "'loss'" in refused(lambda: run(tmp_path / "run", loss=absolute, resume=True))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slope", 0.2),
        ("bend", staticmethod(lambda x, slope: F.elu(x, slope))),
        ("bent", property(lambda self: lambda x: F.elu(x, self.slope))),
    ],
)
def test_all_that_is_in_a_class_counts(
    name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "run", model=made(Sloped))
    run(tmp_path / "run", model=made(Sloped), resume=True)
    monkeypatch.setattr(Sloped, name, value)
    told = refused(lambda: run(tmp_path / "run", model=made(Sloped), resume=True))
    assert "'model'" in told


def test_the_labels_of_a_dataset_count(tmp_path: Path) -> None:
    run(tmp_path / "run", data=Again())
    run(tmp_path / "run", data=Again(), resume=True)
    assert "'data'" in refused(lambda: run(tmp_path / "run", data=Again(True), resume=True))


def test_a_dataset_that_is_never_the_same_counts_by_its_shapes(tmp_path: Path) -> None:
    run(tmp_path / "run", data=Again(noisy=True))
    run(tmp_path / "run", data=Again(noisy=True), resume=True)


def test_the_data_of_a_loop_of_ones_own_counts(tmp_path: Path) -> None:
    def again(labels: Tensor, resume: bool) -> sickbay.Outcome:
        def train(recipe: sickbay.Recipe, doctor: Any) -> None:
            step(recipe, doctor, POINTS, labels)

        recipe = recipe_of(made(), epochs=1)
        return sickbay.repair(
            recipe, train=train, chart=tmp_path / "run", resume=resume, progress=False
        )

    again(LABELS, resume=False)
    again(LABELS.clone(), resume=True)
    assert "'settings'" in refused(lambda: again(1 - LABELS, resume=True))


SCRIPT = """
import sys
from pathlib import Path
from tests.repairs.resumable import run, with_a_lambda
run(Path(sys.argv[1]), model=with_a_lambda(), resume=True)
"""


def test_a_repair_is_the_same_in_every_process(tmp_path: Path) -> None:
    run(tmp_path / "run", model=with_a_lambda())
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "run")],
        env={**os.environ, "PYTHONHASHSEED": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
