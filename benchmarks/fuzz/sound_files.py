"""Valid files to damage: charts, searches, pools, journals and a resumable repair.

Sickbay writes them once per process. Charts of schema 1 are written here, because sickbay no longer
writes that schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import torch
from torch import nn

import sickbay
from benchmarks.fuzz import odd_models
from benchmarks.fuzz.damage_folder import Tree
from benchmarks.fuzz.damage_with_valid_checksums import OLD_TABLE
from benchmarks.tuning import pool
from sickbay.chart import ChartWriter
from sickbay.findings import Event, Finding
from sickbay.tuning import charted_trials
from sickbay.tuning.recorded_search import Epoch, RecordedTrial
from sickbay.vitals import STATISTICS, Setup, Table, Vitals

NAMES = ("0.weight", "0.bias")
SETUP = Setup(
    layers={"0": "Linear", "1": "ReLU"},
    shapes={"0.weight": (2, 3), "0.bias": (2,)},
    optimizer="SGD",
    epochs=4,
    loss="cross_entropy",
    output="linear",
    task="multiclass",
    output_shape=(8, 2),
    target_shape=(8,),
)


def made(write: Callable[[Path], object]) -> Tree:
    """Return the files that a function writes into a folder, by name."""
    with TemporaryDirectory() as home:
        write(Path(home))
        found = sorted(each for each in Path(home).rglob("*") if each.is_file())
        return {str(each.relative_to(home)): each.read_bytes() for each in found}


def table(step: int, kind: str = "gradient") -> Table:
    rows = {name: {"norm": 1.0 + step, "count": 6.0, "nonfinite": 0.0} for name in NAMES}
    return Table.of(kind, step, rows)  # type: ignore[arg-type]


def write_chart(folder: Path, better: float = 0.0) -> None:
    writer = ChartWriter(folder, SETUP)
    for step in range(8):
        scalars = {"loss": 2.0 / (step + 1), "grad_norm": float("nan") if step == 5 else 1.0}
        tables = [table(step), table(step, "weight")] if step % 2 else []
        writer.append(Vitals(step, step // 2, 1e9 + step, scalars, tables))
        if step % 2:
            writer.end_epoch(step // 2, {"val_accuracy": 0.1 * step + better})
    evidence = {"norm": float("inf"), "limit": 1.0}
    finding = Finding(problem="loss_spike", step=3, layers=("0",), message="m", evidence=evidence)
    writer.finding(finding)
    writer.event(Event(kind="notice", step=4, text="it was noticed"))
    writer.setup(SETUP)
    writer.close()


@cache
def chart() -> Tree:
    return made(write_chart)


@cache
def watched() -> Tree:
    """Return the chart of a watched loop."""

    def train(folder: Path) -> None:
        model, (x, y) = odd_models.sound(), odd_models.batch()
        optimizer = odd_models.optimizer_of(model)
        with sickbay.watch(
            model, optimizer, every=1, chart=folder / "c", on_finding="silent"
        ) as doctor:
            for step in range(6):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y) * (1e9 if step == 4 else 1.0)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                doctor.step(loss, accuracy=0.5)
                doctor.epoch(val_loss=1.0)

    return {name.removeprefix("c/"): data for name, data in made(train).items()}


@cache
def old_chart() -> Tree:
    """Return a chart of schema 1, written without sickbay."""
    statistics = list(STATISTICS)
    setup = {**vars(SETUP), "layers": dict(SETUP.layers), "shapes": dict(SETUP.shapes)}
    head = {"schema": 1, "started": 1e9, "setup": setup, "statistics": statistics}
    scalars, tables = [], []
    for step in range(6):
        line = {"step": step, "epoch": step // 2, "time": 1e9 + step, "scalars": {"loss": 1.0}}
        scalars.append({**line, "tables": step % 2})
        if step % 2:
            tables.append(record(step, len(NAMES), np.ones((len(NAMES), len(statistics)))))
            scalars.append({"epoch_end": step // 2, "metrics": {"val_accuracy": "nan"}})
    found = {"type": "finding", "problem": "loss_spike", "severity": "warning", "step": 1}
    found |= {"epoch": 0, "layers": ["0"], "message": "m", "evidence": {"a": "inf"}}
    events = [
        {"type": "rows", "id": 0, "names": NAMES},
        {**found, "consequences": []},
        {"type": "event", "kind": "notice", "step": 2, "text": "t"},
        {"type": "setup", **setup},
    ]
    return {
        "chart.json": json.dumps(head).encode(),
        "scalars.jsonl": b"".join(json.dumps(each).encode() + b"\n" for each in scalars),
        "events.jsonl": b"".join(json.dumps(each).encode() + b"\n" for each in events),
        "tables.bin": b"".join(tables),
    }


def record(step: int, rows: int, values: np.ndarray) -> bytes:
    """Return a table of schema 1."""
    data = values.astype("<f4").tobytes()
    kind = b"gradient".ljust(16, b"\0")
    head = OLD_TABLE.pack(b"SBT1", kind, step, 0, 0, rows, len(data), 0)[:-4]
    return head + crc32(data, crc32(head)).to_bytes(4, "little") + data


@cache
def search() -> Tree:
    """Return a folder of charts with their notes."""

    def write(folder: Path) -> None:
        for number in range(3):
            place = folder / f"trial-{number}"
            write_chart(place, 0.1 * number)
            charted_trials.note(place, "val_accuracy", "maximize", number=number)

    return made(write)


@cache
def pooled() -> Tree:
    def write(folder: Path) -> None:
        trials = []
        for number in range(4):
            epochs = [
                Epoch({"loss": 1.0 / (1 + epoch), "val_accuracy": 0.2 * epoch}, [table(epoch)])
                for epoch in range(3)
            ]
            trials.append(RecordedTrial(f"t{number}", SETUP, epochs, {"x": 1}, {"loss": 2.0}))
        about = {"metric": "val_accuracy", "direction": "maximize"}
        pool.save(pool.Pool("made up", about, trials), folder / "pool.zip")

    return made(write)


@cache
def journal() -> Tree:
    """Return the journal of an Optuna study."""

    def write(folder: Path) -> None:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.CRITICAL)
        storage = JournalStorage(JournalFileBackend(str(folder / "study.log")))
        study = optuna.create_study(study_name="s", storage=storage, direction="maximize")
        for number in range(3):
            trial = study.ask()
            trial.suggest_float("lr", 0.0, 1.0)
            course = {"losses": [2.0, 1.0], "values": [0.1, 0.2 * number], "first": 2.0, "steps": 4}
            trial.set_user_attr("sickbay:course", course)
            trial.set_user_attr("sickbay:metric", "val_accuracy")
            trial.set_user_attr("sickbay:epochs", 3)
            trial.report(0.1, 0)
            study.tell(trial, 0.1 * number)

    return made(write)


def fit_in(folder: Path, resume: bool = False) -> None:
    """Train for an epoch and record it in a folder."""
    torch.manual_seed(0)
    model = odd_models.sound()
    sickbay.fit(
        model,
        odd_models.batch(),
        loss=nn.CrossEntropyLoss(),
        optimizer=odd_models.optimizer_of(model),
        epochs=1,
        batch_size=6,
        chart=folder,
        resume=resume,
        progress=False,
    )


@cache
def repair() -> Tree:
    tree = made(lambda folder: fit_in(folder / "r"))
    return {name.removeprefix("r/"): data for name, data in tree.items()}
