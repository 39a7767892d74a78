"""Bad arguments raise one clear sentence before anything is examined."""

from threading import Lock
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import sickbay
from sickbay.checkups import Statement

DATA = torch.randn(8, 4), torch.arange(8) % 3
DEEP: list[Any] = []
DEEP.append(DEEP)


class Untold:
    def __repr__(self) -> str:
        raise ZeroDivisionError


class Gone(Dataset[Tensor]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Tensor:
        raise OSError(f"{index} is gone")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": 3}, "model must be a torch.nn.Module, got int."),
        ({"model": nn.Linear}, "got the class Linear; pass an instance."),
        ({"loss": nn.CrossEntropyLoss}, "got the class CrossEntropyLoss; pass an instance."),
        ({"loss": Untold()}, "loss must be a function of outputs and targets, or None, got a Unt"),
        ({"optimizer": "Adam"}, "optimizer must be a torch.optim.Optimizer or None, got str."),
        ({"task": ["binary"]}, "There is no task"),
        ({"task": ""}, "There is no task ''."),
        ({"progress": 1}, "progress must be True or False, got 1."),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"seed": "1"}, "seed must be a whole number of at least 0"),
        ({"seed": 2**64}, "seed must be a whole number of at least 0"),
        ({"tests": 3}, "tests must be names of tests or tests themselves, got 3."),
        ({"tests": {"all": 1}}, "tests must be names of tests or tests themselves"),
        ({"tests": torch.tensor(1)}, "tests must be names of tests or tests themselves"),
        ({"tests": [["all"]]}, "There is no test"),
        ({"tests": Statement}, "There is no test"),
        ({"tests": []}, "tests must name at least one test"),
        ({"batch": DEEP}, "batch must be nested at most 50 deep"),
        ({"batch": torch.zeros(2, 4, device="meta")}, "got a tensor on the meta device."),
        ({"batch": np.zeros((2, 4), np.longdouble)}, "batch must hold arrays of a type that torch"),
        ({"batch": DataLoader(Gone())}, "The DataLoader raised OSError: 0 is gone."),
    ],
)
def test_wrong_arguments(options: dict[str, Any], expected: str) -> None:
    given = {"model": nn.Linear(4, 3), "batch": DATA, "progress": False, **options}
    with pytest.raises(sickbay.UsageError) as error:
        sickbay.checkup(**given)
    assert expected in str(error.value)


def test_numbers_and_arrays_may_be_numpy_s() -> None:
    batch = np.ones((8, 4), ">f4"), np.arange(8)[::-1] % 3
    options: dict[str, Any] = {"tests": "runs_on_the_batch", "seed": np.int64(3)}
    report = sickbay.checkup(nn.Linear(4, 3), batch, progress=False, **options)
    assert report.ok


class Locked(nn.Sequential):
    """Cannot be copied."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.lock = Lock()


def test_a_model_that_cannot_be_copied_is_examined_itself_with_a_note() -> None:
    report = sickbay.checkup(Locked(), DATA, nn.CrossEntropyLoss(), progress=False)
    assert report["survives_lower_precision"].outcome == "passed"
    assert (
        "the model itself was run, and restored afterwards. "
        "The model cannot be copied: cannot pickle '_thread.lock' object."
    ) in report.untested


def test_no_note_about_a_model_that_can_be_copied() -> None:
    report = sickbay.checkup(nn.Linear(4, 3), DATA, progress=False)
    assert not any("put back" in each for each in report.untested)


class Hostile(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleDict({"[/red]\x1b[31m": nn.Linear(4, 3), "two\x07": nn.Linear(4, 3)})

    def forward(self, x: Tensor) -> Tensor:
        raise ValueError(f"val[/red]\x1b]0;title\x07{x.ndim}\r")


@pytest.mark.parametrize("batch", [DATA, None])
def test_names_and_errors_are_escaped_for_terminals(batch: Any) -> None:
    printed = str(sickbay.checkup(Hostile(), batch, progress=False))
    assert not set("\x1b\x07\r") & set(printed)
    if batch is not None:
        assert "val[/red]\\x1b]0;title\\x07" in printed


def test_what_the_model_says_is_safe_to_print_from_data_too() -> None:
    report = sickbay.checkup(Hostile(), DATA, tests="runs_on_the_batch", progress=False)
    assert "\\x1b]0;title" in report.as_json()["results"][0]["message"]
    assert "\\x1b]0;title" in str(report.results[0])
