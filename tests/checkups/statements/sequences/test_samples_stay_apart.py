from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements.sequences.samples_stay_apart import SamplesStayApart
from tests.checkups.attention_models import (
    GPT,
    SAMPLES,
    WIDTH,
    Bert,
    Clip,
    encoder,
    mlp,
    named,
    tokens,
)
from tests.checkups.sound_models import (
    Recurrent,
    Residual,
    TokenRecurrent,
    images,
    rows,
    sequence_first,
    series,
)


class Confused(Recurrent):
    """Is fed samples where it takes time."""

    def __init__(self) -> None:
        super().__init__(first=False)
        self.first = True


class Series(nn.Module):
    def __init__(self, first: bool) -> None:
        super().__init__()
        self.wide, self.body, self.head = nn.Linear(5, WIDTH), encoder(first), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.body(self.wide(x)).mean(1))


class Viewed(Recurrent):
    """Has samples and time change places by a view."""

    def __init__(self) -> None:
        super().__init__(first=False)

    def forward(self, x: Tensor) -> Any:
        return super().forward(x.reshape(x.shape[1], x.shape[0], -1))


class Scaled(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x / x.max()


class Overflowing(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return (1 + (20 * x).exp()).log() / 20


RISING = torch.rand(6, 4) + torch.arange(6)[:, None]


class Over(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.body, self.function = mlp(), function

    def forward(self, x: Tensor) -> Any:
        return self.function(self.body(x))


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(Confused(), series(), id="lstm-batch-first"),
        pytest.param(Series(first=False), series(), id="encoder-batch-first"),
        pytest.param(Series(first=False), series()[0], id="encoder-without-targets"),
        pytest.param(TokenRecurrent(first=False), tokens(), id="tokens-batch-first"),
        pytest.param(Viewed(), series(), id="view"),
        pytest.param(Over(lambda x: x.softmax(0)), rows(), id="softmax-over-the-batch"),
        pytest.param(Over(lambda x: x - x.mean(0)), rows()[0], id="mean-of-the-batch"),
        pytest.param(Scaled(), (RISING, torch.arange(6) % 4), id="largest-of-the-batch"),
        pytest.param(Scaled(), (RISING[:, None], RISING[:, None]), id="one-channel"),
        pytest.param(
            mlp(nn.BatchNorm1d(16, track_running_stats=False)), rows(), id="statistics-of-the-batch"
        ),
        pytest.param(
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, track_running_stats=False)),
            images()[0],
            id="convolution",
        ),
    ],
)
def test_fails(model: nn.Module, batch: Any) -> None:
    result = checkup(model, batch, tests=SamplesStayApart()).results[0]
    assert result.outcome == "failed"
    assert "changing one of" in result.message


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(mlp(nn.BatchNorm1d(16), nn.Dropout()), rows(), id="mlp"),
        pytest.param(Residual(), images(), id="residual"),
        pytest.param(Overflowing(), RISING, id="overflows-beyond-the-batch"),
        pytest.param(Recurrent(), series(), id="lstm"),
        pytest.param(Recurrent(first=False), sequence_first(), id="sequence-first"),
        pytest.param(Series(first=True), series(), id="encoder"),
        pytest.param(GPT(), tokens(), id="gpt"),
        pytest.param(Bert(), named(), id="bert"),
    ],
)
def test_passes(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=SamplesStayApart()).results[0].outcome == "passed"


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        pytest.param(Clip(), (*[torch.randn(6, 12)] * 2, torch.arange(6)), "compares", id="clip"),
        pytest.param(encoder(False), torch.randn(8, SAMPLES, 16), "second", id="sequence-first"),
        pytest.param(encoder(False), None, "second", id="made-up"),
    ],
)
def test_skips(model: nn.Module, batch: Any, message: str) -> None:
    result = checkup(model, batch, tests=SamplesStayApart()).results[0]
    assert result.outcome == "skipped"
    assert message in result.message


class Standardised(nn.Module):
    """Divides by the deviation over the batch, in evaluation too."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head((x - x.mean(0)) / (x.std(0) + 1e-5))
        return out


def test_statistics_of_a_batch_are_found_if_three_is_a_dimension_too() -> None:
    torch.manual_seed(0)
    batch = torch.randn(8, 3), torch.randn(8, 3)
    [result] = checkup(Standardised(), batch, tests=SamplesStayApart()).results
    assert result.outcome == "failed"
    [result] = checkup(nn.Linear(3, 3), batch, tests=SamplesStayApart()).results
    assert result.outcome == "passed"


class Means(nn.Module):
    """Averages the nodes of each graph, which lie one after the other."""

    def __init__(self, sound: bool) -> None:
        super().__init__()
        self.layer, self.sound = nn.Linear(4, 3), sound

    def forward(self, nodes: Tensor, owner: Tensor) -> Any:
        states, graphs = self.layer(nodes), int(owner.max()) + 1
        if self.sound:
            return states.view(graphs, -1, 3).mean(1)
        return states.view(-1, graphs, 3).mean(0)


class Sums(Means):
    """Has one number for each graph."""

    def forward(self, nodes: Tensor, owner: Tensor) -> Any:
        return super().forward(nodes, owner).sum(1)


class Centred(nn.Module):
    """Moves the nodes of each graph, or of all graphs, to their centre."""

    def __init__(self, sound: bool) -> None:
        super().__init__()
        self.layer, self.sound = nn.Linear(4, 3), sound

    def forward(self, nodes: Tensor, owner: Tensor) -> Any:
        own = nodes.view(int(owner.max()) + 1, -1, 4)
        centre = own.mean(1, keepdim=True) if self.sound else own.mean((0, 1))
        return self.layer((own - centre).view(-1, 4))


@pytest.mark.parametrize("sound", [True, False])
@pytest.mark.parametrize(
    ("make", "targets", "loss"),
    [
        pytest.param(Means, torch.arange(6) % 3, nn.CrossEntropyLoss(), id="a-row-for-each-graph"),
        pytest.param(Sums, torch.rand(6), nn.MSELoss(), id="a-number-for-each-graph"),
        pytest.param(
            Centred, torch.arange(30) % 3, nn.CrossEntropyLoss(), id="a-row-for-each-node"
        ),
    ],
)
def test_graphs_stay_apart(make: Any, targets: Tensor, loss: nn.Module, sound: bool) -> None:
    nodes, owner = torch.rand(30, 4), torch.arange(6).repeat_interleave(5)
    batch = (nodes, owner), targets
    [result] = checkup(make(sound), batch, loss, tests="samples_stay_apart").results
    assert result.outcome == ("passed" if sound else "failed"), result.message
