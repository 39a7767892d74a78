from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.limits.works_when_compiled import WorksWhenCompiled
from tests.checkups.function_models import inputs, mlp


def examined(model: nn.Module) -> Result:
    return checkup(model, inputs(), tests=WorksWhenCompiled(backend="eager")).results[0]


class Printing(nn.Module):
    """One whose graph breaks where a value is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Any:
        return self.a(x) * (2 if x.sum().item() > 0 else 1)


class Aware(Printing):
    """One that does something else when it is compiled."""

    def forward(self, x: Tensor) -> Any:
        return self.a(x) + torch.compiler.is_compiling()


class Refusing(Printing):
    """One that cannot be."""

    def forward(self, x: Tensor) -> Any:
        return self.a(x[:, :3] if torch.compiler.is_compiling() else x)


def test_passes() -> None:
    result = examined(mlp())
    assert result.outcome == "passed", result.message
    assert result.message == "the output is the same, with 0 graph breaks"


def test_breaks_are_counted() -> None:
    result = examined(Printing())
    assert result.outcome == "passed", result.message
    assert result.evidence["breaks"] >= 1


def test_another_output() -> None:
    result = examined(Aware())
    assert result.outcome == "failed"
    assert "the output differs by" in result.message


def test_a_model_that_cannot_be_compiled() -> None:
    result = examined(Refusing())
    assert result.outcome == "failed"
    assert "it raised" in result.message


def test_it_runs_only_on_request() -> None:
    assert all(each.test != "works_when_compiled" for each in checkup(nn.Linear(2, 2)).results)
