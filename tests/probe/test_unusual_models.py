"""Models and batches that are not a tensor in and a tensor out, and what is still read of them."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

import sickbay
from sickbay.doctor import Doctor
from sickbay.probe.batch_scalars import BatchScalars
from sickbay.probe.spread import spread
from tests.models import mlp


class OwnLoss(nn.Module):
    """Returns its loss, as many language models do."""

    def __init__(self) -> None:
        super().__init__()
        self.net = mlp(1)

    def forward(self, x: Tensor) -> Tensor:
        return f.mse_loss(self.net(x), x[:, :4].sin())


class Distilled(nn.Module):
    """Keeps a teacher in a list, so that it is no part of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.student, self.teacher = nn.Linear(8, 4), [nn.Linear(8, 4)]

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            wanted = self.teacher[0](x)
        return f.mse_loss(self.student(x), wanted)


class Sparse(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = torch.sparse.mm(x, self.weight)
        return out


def trained(
    model: nn.Module, parameters: Sequence[nn.Parameter] = (), *, sparse: bool = False
) -> Doctor:
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(parameters or model.parameters(), lr=1e-2)
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="silent")
    for _ in range(6):
        x = torch.randn(16, 8)
        optimizer.zero_grad()
        out = model(x.to_sparse() if sparse else x)
        loss = f.mse_loss(out, x[:, :4].sin()) if out.ndim else out
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return doctor


def troubles(doctor: Doctor) -> list[str]:
    return [event.text for event in doctor.events if event.kind == "trouble"]


def test_a_model_that_returns_its_loss() -> None:
    doctor = trained(OwnLoss())
    assert troubles(doctor) == []
    assert doctor.history.table("batch") is not None
    assert doctor.history.setup.loss == "mse"


def test_a_sparse_input() -> None:
    doctor = trained(Sparse(), sparse=True)
    assert troubles(doctor) == []
    assert "output_spread" in doctor.history.scalars()
    assert "input_spread" not in doctor.history.scalars()


def test_the_spread_of_a_sparse_tensor_is_unknown() -> None:
    rows = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    assert spread(rows) > 0
    assert spread(rows.to_sparse()) != spread(rows.to_sparse())


def test_a_scalar_that_fails_ends_no_other_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no scalars")

    monkeypatch.setattr(BatchScalars, "of", fails)
    doctor = trained(mlp(1))
    assert len(troubles(doctor)) == 1
    assert "batch scalars failed" in troubles(doctor)[0]
    assert doctor.history.setup.task == "regression"
    table = doctor.history.table("batch")
    assert table is not None
    assert table.step == doctor.history.step


def test_a_teacher_in_a_list_is_kept_on_purpose() -> None:
    doctor = trained(Distilled())
    assert doctor.history.setup.strays == 0
    assert doctor.findings == []


def head_is_new() -> tuple[nn.Sequential, list[nn.Parameter]]:
    """Return a model with a frozen body and a new head, and what it had before the new head."""
    body, head = nn.Linear(8, 8), nn.Linear(8, 4)
    model = nn.Sequential(body, nn.ReLU(), head).requires_grad_(False)
    body.weight.mul_(1.5)  # trained
    before = list(model.parameters())
    model[2] = nn.Linear(8, 4)
    return model, before


def test_a_new_head_that_the_optimizer_does_not_hold() -> None:
    model, before = head_is_new()
    [finding] = trained(model, before).findings
    assert (finding.problem, finding.layers) == ("frozen_by_accident", ("2",))
    assert finding.message == "1 of 1 trainable kernels are missing from the optimizer"


def test_a_new_head_that_the_optimizer_holds() -> None:
    model, _ = head_is_new()
    assert trained(model, list(model.parameters())).findings == []


class Pooled(nn.Module):
    """Takes features and the graph that they are spread over."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(8, 4)

    def forward(self, features: Tensor, graph: Tensor) -> Tensor:
        out: Tensor = self.net(graph @ features)
        return out


@pytest.mark.parametrize(("spare", "expected"), [(True, False), (False, True)])
def test_a_constant_input_beside_another_one(spare: bool, expected: bool) -> None:
    torch.manual_seed(0)
    model = Pooled() if spare else nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="silent")
    for _ in range(6):
        features, graph = torch.ones(16, 8), torch.rand(16, 16)
        optimizer.zero_grad()
        loss = f.mse_loss(model(features, graph) if spare else model(features), graph[:, :4])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    assert ("constant_input" in [each.problem for each in doctor.findings]) is expected
