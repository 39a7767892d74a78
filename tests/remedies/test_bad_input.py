"""Remedies say what they cannot use, and read nothing into an untrusted file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay import remedies
from sickbay.errors import Declined, UsageError
from sickbay.remedies import odds

FINDING = sickbay.Finding(problem="exploding_gradient", step=0)
r: Any = remedies  # so that it may be given what it does not take
KINDS = [
    kind
    for kind in vars(remedies).values()
    if isinstance(kind, type) and issubclass(kind, r.Remedy) and kind is not r.Remedy
]


def recipe() -> sickbay.Recipe:
    model = nn.Linear(2, 1)
    return sickbay.Recipe(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1))


@pytest.mark.parametrize("kind", KINDS)
def test_what_prescribe_refuses(kind: Any) -> None:
    with pytest.raises(UsageError, match=r"^finding must be a sickbay\.Finding, got None\.$"):
        kind().prescribe(None, recipe())
    with pytest.raises(UsageError, match=r"^recipe must be a sickbay\.Recipe, got 3\.$"):
        kind().prescribe(FINDING, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: r.ClipNorm(limit="high"), "limit must be a number above 0, got 'high'."),
        (lambda: r.ClipNorm(limit=torch.ones(2)), "limit must be a number above 0, got tensor"),
        (lambda: r.WarmUp(steps=True), "steps must be a whole number of at least 1, got True."),
        (lambda: r.ChangeOptimizer(to=[]), "There is no to '[]'"),
        (lambda: r.Together(first=3), "first must be a Remedy, got 3."),
        (lambda: r.Together(second=r.ClipNorm), "second must be a Remedy, got <class"),
    ],
)
def test_what_remedies_refuse(make: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert str(caught.value).startswith(message)


class Plain(torch.optim.Optimizer):
    """An optimizer that cannot be recreated, and has no learning rate."""

    def __init__(self, held: Any, *, needed: int) -> None:
        super().__init__(held, {"needed": needed})

    def step(self, closure: Any = None) -> Any: ...


def test_an_optimizer_of_somebodys_own() -> None:
    model = nn.Linear(2, 1)
    own = sickbay.Recipe(model, nn.MSELoss(), Plain(model.parameters(), needed=1))
    with pytest.raises(Declined, match="The optimizer Plain has no learning rate"):
        r.ScaleLearningRate().prescribe(FINDING, own)
    with pytest.raises(Declined, match="The optimizer Plain cannot be recreated: "):
        r.InitialiseAgain().prescribe(FINDING, own)


@pytest.mark.parametrize(
    "text", ["[]", "{", "3", '{"a": 3}', '{"a": {"clip_norm limit=1.0": "xx"}}', "[" * 99_999]
)
def test_odds_that_are_none(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path))
    (tmp_path / "odds.json").write_text(text)
    assert odds.odds("a", r.ClipNorm()) == odds.Odds(0, 0)
    odds.note("a", r.ClipNorm(), worked=True)
    assert odds.odds("a", r.ClipNorm()) == odds.Odds(1, 1)
