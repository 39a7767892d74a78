"""A run is only resumed by the same, and what was interrupted is not lost."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import Dataset

import sickbay
from sickbay.demo.flawed_models import circles
from sickbay.repairs import journal, run_files
from tests.repairs.loops import recipe_of, step
from tests.repairs.samples import refused
from tests.repairs.test_fit import fit, healthy, sick

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SICKBAY_HOME", os.devnull)  # what was learnt changes what comes next


class Net(nn.Module):
    def __init__(self, activation: Callable[[Tensor], Tensor] = torch.relu) -> None:
        super().__init__()
        self.activation = activation
        self.first, self.last = nn.Linear(2, 8), nn.Linear(8, 1)
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.last(self.activation(self.first(x)))
        return made


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


def made(kind: Callable[..., nn.Module] = Net, *args: Any) -> nn.Module:
    torch.manual_seed(3)
    return kind(*args)


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


def adam(**settings: Any) -> Callable[..., Any]:
    return lambda held: torch.optim.Adam(held, **{"lr": 3e-3, **settings})


POINTS, LABELS = circles(128)
WEIGHTED = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0]))
USUAL: dict[str, Any] = {
    "loss": nn.BCEWithLogitsLoss(), "optimizer": adam(), "validation": circles(64, seed=1),
    "batch_size": 64, "epochs": 1, "progress": False,
}  # fmt: skip


def run(path: Path, **more: Any) -> sickbay.Outcome:
    settings = {**USUAL, "data": (POINTS, LABELS), "model": made(), **more}
    return sickbay.fit(settings.pop("model"), settings.pop("data"), chart=path, **settings)


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
import sys, torch
from tests.repairs.test_resuming import made, run, Net, Path
print(run(Path(sys.argv[1]), model=made(Net, lambda x: x.relu() if {"a", "b", "c"} else x),
    resume=True).score)
"""


def test_the_same_run_is_the_same_in_every_process(tmp_path: Path) -> None:
    for salt in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "run")],
            env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


class Hostile:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


def test_a_file_runs_nothing(tmp_path: Path) -> None:
    run(tmp_path / "run")
    file, trace = tmp_path / "run" / "attempt-0.pt", tmp_path / "trace"
    for save in (torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))):
        save((("None", "", ""), Hostile(trace)), file)
        told = refused(lambda: run(tmp_path / "run", resume=True))
        assert told.startswith(f"{str(file)!r} cannot be read: ")
        assert not trace.exists()


def spoil_the_text(**changes: Any) -> Callable[[Path], object]:
    def spoil(file: Path) -> None:
        kept = torch.load(file, weights_only=True)
        told = json.loads(kept["told"])
        told.update(changes)
        torch.save({**kept, "told": json.dumps(told)}, file)

    return spoil


def spoil(**changes: Any) -> Callable[[Path], object]:
    return lambda file: torch.save({**torch.load(file, weights_only=True), **changes}, file)


def make_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def make_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def point_to_nothing(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


SPOILT: list[Callable[[Path], object]] = [
    lambda file: file.write_bytes(b""),
    lambda file: file.write_bytes(file.read_bytes()[:-500]),
    lambda file: file.write_bytes(os.urandom(3000)),
    lambda file: torch.save([1, 2], file),
    lambda file: torch.save({"format": 1}, file),
    make_a_pipe,
    point_to_nothing,
    make_a_folder,
    spoil(best={}),
    spoil(best={"first.weight": torch.ones(3)}),
    spoil(best=[1]),
    spoil(healthy={1: 2}),
    spoil(examples=None),
    spoil(told=3),
    spoil(told="{"),
    spoil(told="[" * 100_000),
    spoil(told="[]"),
    spoil_the_text(over="yes"),
    spoil_the_text(reports=3),
    spoil_the_text(reports=[]),
    spoil_the_text(reports=[{"epochs": "many"}]),
    spoil_the_text(reports=[{"finding": {"problem": "x"}}]),
    spoil_the_text(reports=[{"finding": {"problem": "x", "step": 1, "severity": "odd"}}]),
    spoil_the_text(reports=[{"error": "x"}]),
    spoil_the_text(reports=[{"example": ["x"]}]),
    spoil_the_text(best={"a": 1}),
]


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda each: str(SPOILT.index(each)))
def test_a_damaged_record(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    run(tmp_path / "run")
    file = tmp_path / "run" / "attempt-0.pt"
    spoil(file)
    told = refused(lambda: run(tmp_path / "run", resume=True))
    assert told.startswith(f"{str(file)!r} cannot be read: ")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"\xff\xfe{"),
        lambda file: file.write_text("[1]"),
        lambda file: file.write_text("[" * 9000),
        lambda file: file.write_bytes(bytes(20_000)),
        make_a_pipe,
        point_to_nothing,
    ],
    ids=range(7),
)
def test_a_damaged_fingerprint(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    run(tmp_path / "run")
    file = tmp_path / "run" / journal.FINGERPRINT
    spoil(file)
    told = refused(lambda: run(tmp_path / "run", resume=True))
    assert told.startswith(f"{str(file)!r} cannot be read: ")


def test_links_and_pipes_are_not_written_through(tmp_path: Path) -> None:
    run(tmp_path / "run")
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in (journal.ATTEMPTS, journal.OUTCOME):
        (tmp_path / "run" / name).unlink()
    (tmp_path / "run" / journal.OUTCOME).symlink_to(precious)
    os.mkfifo(tmp_path / "run" / journal.ATTEMPTS)
    run(tmp_path / "run", resume=True)
    assert precious.read_text() == "mine"
    assert json.loads((tmp_path / "run" / journal.OUTCOME).read_text())["solved"] is not None
    assert len((tmp_path / "run" / journal.ATTEMPTS).read_text().splitlines()) == 1


def test_a_folder_of_something_else_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_text("")
    told = refused(lambda: run(tmp_path, resume=True))
    assert told == (
        f"{str(tmp_path)!r} holds no repair to resume, but other files, such as 'photo.jpg'."
    )


PASSES = {"left": 10**9}  # not in the class, whose values tell one run from another


class Interrupting(nn.Sequential):
    """Is interrupted in training, after so many passes."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and torch.is_grad_enabled():
            PASSES["left"] -= 1
            if PASSES["left"] < 0:
                raise KeyboardInterrupt
        made: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return made


@pytest.fixture
def interrupted_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda passes: monkeypatch.setitem(PASSES, "left", passes)


def of(model: nn.Module) -> nn.Module:
    return Interrupting(*model.children())


def test_an_interrupted_first_attempt_is_kept_and_resumed(
    interrupted_after: Callable[[int], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    whole = fit(of(healthy()))
    interrupted_after(3 * 8 + 4)  # of 8 batches an epoch
    with pytest.raises(KeyboardInterrupt):
        fit(of(healthy()), chart=path, progress=True)
    assert "attempt 0 was interrupted after 3 epochs" in capsys.readouterr().err
    assert sickbay.Chart.open(path / "attempt-0").history().step > 0
    kept = run_files.load(path / "attempt-0.pt")
    assert (kept.over, kept.epochs) == (False, 3)
    healthy().load_state_dict(kept.best)
    interrupted_after(10**9)
    resumed = fit(of(healthy()), chart=path, resume=True, progress=True)
    said = capsys.readouterr().err
    assert "attempt 0 was interrupted after 3 of 20 epochs; it is trained again" in said
    assert (resumed.score, resumed.history) == (whole.score, whole.history)
    for one, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_an_interrupted_repair_comes_to_the_same(
    interrupted_after: Callable[[int], None], tmp_path: Path
) -> None:
    whole = fit(of(sick()))
    assert len(whole.attempts) > 2
    first = int(whole.attempts[0].epochs * 8)
    interrupted_after(first + 60)
    with pytest.raises(KeyboardInterrupt):
        fit(of(sick()), chart=tmp_path / "run")
    assert run_files.load(tmp_path / "run" / "attempt-0.pt").over
    interrupted_after(10**9)
    resumed = fit(of(sick()), chart=tmp_path / "run", resume=True)
    assert resumed.as_json() | {"chart": None} == whole.as_json()
    lines = (tmp_path / "run" / journal.ATTEMPTS).read_text().splitlines()
    assert len(lines) == len(whole.attempts)


def test_the_best_weights_are_kept_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    real = run_files.save

    def save(path: Path, record: run_files.Record) -> None:
        seen.append(record.epochs if not record.over else -1)
        real(path, record)

    monkeypatch.setattr(journal, "SECONDS", 0.0)
    monkeypatch.setattr(journal, "SHARE", 1e9)
    monkeypatch.setattr(run_files, "save", save)
    run(tmp_path / "run", epochs=3)
    assert seen == [1, 2, 3, -1]


class Odd(Net):
    """Keeps something that is no tensor."""

    def get_extra_state(self) -> Any:
        return {"words": ["a"]}

    def set_extra_state(self, state: Any) -> None: ...


def test_a_model_that_keeps_more_than_tensors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run(tmp_path / "run", model=made(Odd), progress=True)
    assert outcome.attempts
    assert "attempt 0 cannot be resumed later" in capsys.readouterr().err
    assert run(tmp_path / "run", model=made(Odd), resume=True).score == outcome.score


def test_what_cannot_be_written_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_files, "save", full)
    run(tmp_path / "run", progress=True)
    assert "attempt 0 cannot be resumed later: [Errno 28] No space left" in capsys.readouterr().err
