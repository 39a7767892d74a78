"""What the user's own code raises is not swallowed: its file and line are in the traceback."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

import sickbay
from tests.repairs.test_fit import fit, healthy
from tests.repairs.user_loops import recipe_of


class Fragile(nn.Module):
    """Works when it is tried out, and fails in training."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        if self.training and torch.is_grad_enabled():
            raise IndexError("out of range")  # the model's own line
        made: Tensor = self.layer(x)
        return made


def cannot_be_trained(**more: Any) -> str:
    with pytest.raises(sickbay.SickbayError) as caught:
        fit(more.pop("model", Fragile()), **more)
    assert str(caught.value) == "The model as given could not be trained: out of range."
    return "".join(traceback.format_exception(caught.value))


def test_what_a_model_raises() -> None:
    told = cannot_be_trained()
    assert "test_failures.py" in told
    assert 'raise IndexError("out of range")  # the model\'s own line' in told


def test_what_a_model_raises_in_a_worker() -> None:
    told = cannot_be_trained(workers=2)
    assert "test_failures.py" in told
    assert 'raise IndexError("out of range")  # the model\'s own line' in told


def test_what_a_model_raises_is_the_cause() -> None:
    with pytest.raises(sickbay.SickbayError) as caught:
        fit(Fragile())
    assert isinstance(caught.value.__cause__, IndexError)


class Short(Dataset[Any]):
    """Has fewer samples than it says."""

    def __len__(self) -> int:
        return 300

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        if row == 299:
            raise IndexError("out of range")  # the dataset's own line
        return torch.rand(2), torch.rand(1)


def test_what_a_dataset_raises() -> None:
    settings: dict[str, Any] = {
        "loss": nn.MSELoss(), "optimizer": torch.optim.SGD, "progress": False, "epochs": 1,
    }  # fmt: skip
    with pytest.raises((sickbay.SickbayError, IndexError)) as caught:
        sickbay.fit(healthy(), Short(), **settings)
    assert "# the dataset's own line" in "".join(traceback.format_exception(caught.value))


def test_what_an_optimizer_raises() -> None:
    def made(_held: Any) -> Any:
        raise IndexError("out of range")  # the optimizer's own line

    with pytest.raises(sickbay.UsageError) as caught:
        fit(healthy(), optimizer=made)
    assert isinstance(caught.value.__cause__, IndexError)


def test_what_a_loop_of_ones_own_raises() -> None:
    def train(_recipe: sickbay.Recipe, _doctor: Any) -> None:
        raise IndexError("out of range")  # the loop's own line

    with pytest.raises(IndexError) as caught:
        sickbay.repair(recipe_of(healthy()), train=train, progress=False)
    assert "# the loop's own line" in "".join(traceback.format_exception(caught.value))


def test_names_and_errors_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    class Rude(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            if self.training and torch.is_grad_enabled():
                raise IndexError("\x1b[2J[/red]out")
            made: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
            return made

    with pytest.raises(sickbay.SickbayError, match=r"\\x1b\[2J\[/red\]out"):
        fit(Rude(*healthy().children()), progress=True)
    assert "\x1b[2J" not in capsys.readouterr().err
