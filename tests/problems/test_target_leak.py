from math import nan

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.history import History
from sickbay.probe.leaks import repeated
from sickbay.problems import TargetLeak

problem = TargetLeak(share=0.75, checks=3)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param([1.0] * 3, True, id="all"),
        pytest.param([0.75] * 3, True, id="at-the-limit"),
        pytest.param([0.74] * 3, False, id="below-the-limit"),
        pytest.param([1.0] * 2, False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([1.0, 0.1, 1.0], False, id="another-between"),
        pytest.param([0.1, 1.0, 1.0, 1.0], True, id="forgets-what-left-the-window"),
        pytest.param([1.0, 1.0, nan], False, id="nan-now"),
        pytest.param([nan, 1.0, 1.0], False, id="nan-before"),
    ],
)
def test_check(shares: list[float], expected: bool) -> None:
    assert bool(problem.check(History(leak=shares))) is expected


def test_the_finding_names_the_step_and_the_numbers() -> None:
    finding = problem.check(History(leak=[1.0, 0.875, 1.0], leak_ahead=3 * [0.0]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("target_leak", "critical")
    assert (finding.step, finding.layers, finding.evidence) == (2, (), {"share": 0.875})
    assert finding.message == ("87.5 % of the targets stand in the inputs (limit 75 %)")


@pytest.mark.parametrize(
    ("ahead", "whole", "severity"),
    [
        pytest.param(0.0, 0.0, "critical", id="same-place"),
        pytest.param(1.0, 0.0, "critical", id="next-place-is-seen"),
        pytest.param(-1.0, 0.0, "warning", id="may-be-an-echo"),
        pytest.param(nan, nan, "warning", id="columns"),
        pytest.param(0.0, 1.0, "info", id="may-be-an-autoencoder"),
    ],
)
def test_what_may_be_meant_so_is_not_critical(ahead: float, whole: float, severity: str) -> None:
    history = History(leak=3 * [1.0], leak_ahead=3 * [ahead], leak_is_whole=3 * [whole])
    finding = problem.check(history)
    assert finding is not None
    assert finding.severity == severity


class Tokens(nn.Module):
    """A model of tokens, with classes in the last dimension."""

    def __init__(self, flat: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11))
        self.flat = flat

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(x)
        return out.reshape(-1, 11) if self.flat else out


@pytest.mark.parametrize("flat", [True, False], ids=["flat", "sequences"])
@pytest.mark.parametrize("functional", [True, False], ids=["function", "module"])
@pytest.mark.parametrize(("shifted", "expected"), [(False, True), (True, False)])
def test_in_a_loop(flat: bool, functional: bool, shifted: bool, expected: bool) -> None:
    torch.manual_seed(0)
    model = Tokens(flat)
    compare = nn.functional.cross_entropy if functional else nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = sickbay.watch(model, optimizer, every=1, problems=["target_leak"], on_finding="silent")
    for _ in range(4):
        tokens = torch.randint(11, (6, 9))
        y = tokens[:, 1:] if shifted else tokens[:, :-1]
        optimizer.zero_grad()
        loss = compare(model(tokens[:, :-1]).reshape(-1, 11), y.reshape(-1))
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    assert ([each.problem for each in doctor.findings] == ["target_leak"]) is expected


class Answering(nn.Module):
    """A recurrent layer that answers at every place."""

    def __init__(self, layer: nn.RNNBase, words: int = 0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 6) if words else nn.Identity()
        self.rnn, self.out = layer, nn.LazyLinear(words or 6)

    def forward(self, x: Tensor) -> Tensor:
        answers: Tensor = self.out(self.rnn(self.embedding(x))[0])
        return answers


def severities(model: nn.Module, targets_from: int, words: int) -> list[str]:
    """Return how bad the leak is where targets are so many places ahead of the inputs."""
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = sickbay.watch(model, optimizer, every=1, problems=["target_leak"], on_finding="silent")
    for _ in range(8):
        rows = torch.randint(words, (12, 11)) if words else torch.randn(12, 11, 6)
        x, y = rows[:, 1:-1], rows[:, 1 + targets_from : 10 + targets_from]
        optimizer.zero_grad()
        answers = model(x)
        compare = nn.functional.cross_entropy if words else nn.functional.mse_loss
        loss = compare(answers.flatten(0, 1), y.flatten(0, 1))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    return [each.severity for each in doctor.findings]


@pytest.mark.parametrize(
    ("both_ways", "ahead", "words", "expected"),
    [
        pytest.param(False, 1, 9, [], id="next-token"),
        pytest.param(True, 1, 9, ["critical"], id="both-ways"),
        pytest.param(False, 0, 9, ["critical"], id="not-shifted"),
        pytest.param(True, 0, 9, ["info"], id="both-ways-and-not-shifted"),
        pytest.param(False, -1, 9, ["warning"], id="shifted-back"),
        pytest.param(False, 1, 0, [], id="next-value"),
        pytest.param(True, 1, 0, ["critical"], id="next-value-both-ways"),
    ],
)
def test_places(both_ways: bool, ahead: int, words: int, expected: list[str]) -> None:
    rnn = nn.GRU(6, 8, batch_first=True, bidirectional=both_ways)
    model = Answering(rnn, words)
    model(torch.zeros(1, 2, dtype=torch.long) if words else torch.zeros(1, 2, 6))
    assert severities(model, ahead, words) == expected


def test_padding_is_no_leak() -> None:
    """Short sequences: nearly every target is the padding that stands in the input as well."""
    rows = torch.zeros(8, 101, dtype=torch.long)
    rows[:, :4] = torch.randint(1, 9, (8, 4), generator=torch.Generator().manual_seed(0))
    assert repeated(rows[:, :-1], rows[:, 1:]) == 0
