from dataclasses import replace
from math import nan

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import FrozenByAccident
from sickbay.vitals import Setup
from tests.models import features, mlp


def mostly_frozen(
    frozen: tuple[str, ...], score: float = 0.6, *, steps: int = 60, ended: bool = True
) -> History:
    """Return a finished run of a model with two layers that train, and with frozen ones."""
    shapes = {"a.weight": (4, 4), "a.bias": (4,), "b.weight": (4, 4)}
    made = History(
        Setup(shapes=shapes, frozen=frozen), score=[score] * steps, constant_score=[0.5] * steps
    )
    made.add_table("gradient", {name: {"norm": 1.0} for name in shapes}, steps - 1)
    made.ended = ended
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(mostly_frozen(("x", "y")), True, id="half"),
        pytest.param(mostly_frozen(("x",)), False, id="less-than-half"),
        pytest.param(mostly_frozen(("x", "y"), ended=False), False, id="not-over"),
        pytest.param(mostly_frozen(("x", "y"), 0.84), True, id="learns-little"),
        pytest.param(mostly_frozen(("x", "y"), 0.86), False, id="learns"),
        pytest.param(mostly_frozen(("x", "y"), steps=40), False, id="too-early"),
        pytest.param(mostly_frozen(("x", "y"), nan), False, id="nan"),
        pytest.param(mostly_frozen(()), False, id="nothing-frozen"),
    ],
)
def test_a_model_of_which_most_is_frozen_is_told_at_the_end(made: History, expected: bool) -> None:
    finding = FrozenByAccident(gain=0.7, after=40).check(made)
    assert bool(finding) is expected
    if finding is not None:
        assert (finding.severity, finding.layers) == ("info", ("x", "y"))
        assert finding.message == ("2 of 4 layers require no gradient, and the others learn little")


def test_the_setup_names_what_is_frozen() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))
    model[0].requires_grad_(False)
    model[1].requires_grad_(False)
    optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, on_finding="silent")
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    doctor.step(1.0)
    assert doctor.history.setup.frozen == ("0",)


@pytest.mark.parametrize(
    ("kind", "score", "expected"),
    [
        pytest.param("Embedding", 0.84, True, id="embedding"),
        pytest.param("Embedding", 0.86, False, id="learns"),
        pytest.param("Conv1d", 0.84, False, id="another-layer"),
    ],
)
def test_a_frozen_embedding(kind: str, score: float, expected: bool) -> None:
    made = mostly_frozen(("x",), score)
    made.setup = replace(made.setup, layers={"x": kind})
    finding = FrozenByAccident().check(made)
    assert bool(finding) is expected
    assert finding is None or finding.severity == "info"


def test_a_head_first_and_then_all_layers() -> None:
    torch.manual_seed(0)
    model = mlp()
    body = list(model.parameters())[:-2]
    for parameter in body:
        parameter.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="silent")
    for epoch in range(3):
        if epoch == 1:
            for parameter in body:
                parameter.requires_grad_(True)
        for _ in range(6):
            optimizer.zero_grad()
            model(features()).sum().backward()
            optimizer.step()
            doctor.step(1.0)
        doctor.epoch()
    assert doctor.history.setup.since == 11
    assert [each for each in doctor.findings if each.problem == "frozen_by_accident"] == []
