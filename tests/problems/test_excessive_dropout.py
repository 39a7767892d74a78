from math import nan

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import ExcessiveDropout
from sickbay.vitals import Setup

problem = ExcessiveDropout(certain=0.875, share=0.625, gain=0.5, after=40)


def history(dropout: dict[str, float], score: float = 0.5, steps: int = 60) -> History:
    made = Setup(dropout=dropout)
    return History(made, loss=steps * [1.0], score=steps * [score], constant_score=steps * [0.5])


@pytest.mark.parametrize(
    ("dropout", "score", "expected"),
    [
        pytest.param({"1": 0.875}, 1.0, True, id="certain-at-the-limit"),
        pytest.param({"1": 0.874}, 1.0, False, id="certain-below-the-limit"),
        pytest.param({"1": 1.0}, 1.0, True, id="everything"),
        pytest.param({"1": 0.625}, 0.5, True, id="share-at-the-limit"),
        pytest.param({"1": 0.624}, 0.5, False, id="share-below-the-limit"),
        pytest.param({"1": 0.7}, 0.75, False, id="gain-at-the-limit"),
        pytest.param({"1": 0.7}, 0.74, True, id="gain-below-the-limit"),
        pytest.param({"1": 0.7}, nan, False, id="gain-not-known"),
        pytest.param({"1": 0.1, "4": 0.9}, 1.0, True, id="one-of-them"),
        pytest.param({"1": 0.0}, 0.0, False, id="none-dropped"),
        pytest.param({}, 0.0, False, id="no-dropout"),
    ],
)
def test_check(dropout: dict[str, float], score: float, expected: bool) -> None:
    assert bool(problem.check(history(dropout, score))) is expected


@pytest.mark.parametrize(
    ("share", "steps", "expected"),
    [
        pytest.param(0.7, 41, True, id="at-the-limit"),
        pytest.param(0.7, 40, False, id="too-early"),
        pytest.param(0.9, 1, True, id="certain-at-once"),
    ],
)
def test_when(share: float, steps: int, expected: bool) -> None:
    assert bool(problem.check(history({"1": share}, steps=steps))) is expected


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    finding = problem.check(history({"1": 0.5, "4": 0.9, "7": 0.95}))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("excessive_dropout", "warning")
    assert (finding.step, finding.layers, finding.evidence) == (59, ("4", "7"), {"share": 0.95})
    assert finding.message == "95 % of the values are dropped (limit 87.5 %)"
    finding = problem.check(history({"1": 0.5, "4": 0.75}))
    assert finding is not None
    assert (finding.layers, finding.evidence) == (("4",), {"share": 0.75})
    assert finding.message == "75 % of the values are dropped (limit 62.5 %)"


@pytest.mark.parametrize(("share", "layers"), [(0.95, [("1",)]), (0.5, [])])
def test_in_a_loop(share: float, layers: list[tuple[str, ...]]) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(share), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = sickbay.watch(
        model, optimizer, every=1, problems=["excessive_dropout"], on_finding="silent"
    )
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 8)), torch.arange(8) % 2)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    assert [each.layers for each in doctor.findings] == layers


@pytest.mark.parametrize(
    ("share", "score", "ended", "severity"),
    [
        pytest.param(0.6, 0.5, True, "info", id="more-than-usual"),
        pytest.param(0.5, 0.5, True, "", id="usual"),
        pytest.param(0.6, 0.5, False, "", id="not-over"),
        pytest.param(0.6, 0.95, True, "", id="learns-well"),
        pytest.param(0.8, 0.5, True, "warning", id="far-more"),
    ],
)
def test_a_high_share_is_told_at_the_end(
    share: float, score: float, ended: bool, severity: str
) -> None:
    setup, scores = Setup(dropout={"3": share}), 99 * [score]
    made = History(setup, loss=99 * [1.0], score=scores, constant_score=99 * [0.0])
    made.ended = ended
    finding = ExcessiveDropout().check(made)
    assert (finding.severity if finding else "") == severity
