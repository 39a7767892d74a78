"""Layers that require no gradient but are moved by hand, or stand aside, are not frozen."""

import copy

import pytest
import torch
from torch import nn

import sickbay


class WithTeacher(nn.Module):
    """A student, and a teacher that starts as its copy."""

    def __init__(self) -> None:
        super().__init__()
        self.student = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)

    def forward(self, x: torch.Tensor, both: bool) -> torch.Tensor:
        answers: torch.Tensor = self.student(x)
        return answers + 0.1 * self.teacher(x) if both else answers

    @torch.no_grad()
    def follow(self) -> None:
        pairs = zip(self.teacher.parameters(), self.student.parameters(), strict=True)
        for mine, new in pairs:
            mine.lerp_(new, 0.01)


@pytest.mark.parametrize(
    ("used", "follows", "expected"),
    [
        pytest.param(True, False, {"warning"}, id="random-layers-in-use"),
        pytest.param(True, True, {"info"}, id="moved-by-hand"),
        pytest.param(False, False, set(), id="stands-aside"),
    ],
)
def test_teachers(used: bool, follows: bool, expected: set[str]) -> None:
    torch.manual_seed(0)
    model = WithTeacher()
    optimizer = torch.optim.SGD(model.student.parameters(), lr=1e-3)
    doctor = sickbay.watch(
        model, optimizer, every=1, problems=["frozen_by_accident"], on_finding="silent"
    )
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(32, 20), used), torch.arange(32) % 5)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if follows:
            model.follow()
        doctor.step(loss)
    doctor.close()
    assert {each.severity for each in doctor.findings} == expected
