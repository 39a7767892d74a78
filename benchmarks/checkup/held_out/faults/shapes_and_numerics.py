"""Models that do not run, start badly, work with one shape only, or break at extreme inputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.base_models import (
    RNN,
    WIDTH,
    Attention,
    Autoencoder,
    Decoder,
    Encoder,
    Patches,
    cnn,
    mlp,
)
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList("reporting")
RUNS, SANE, SHAPES = "runs_on_the_batch", "parameters_are_sane", "shapes_follow_the_batch"
REACHES, USED = "gradient_reaches_every_parameter", "every_parameter_is_used"
MEMORY, EDGE, LOWER = "memory_is_bounded", "survives_edge_inputs", "survives_lower_precision"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


@cases.fault(RUNS, "mlp, rows in double precision")
def _() -> Inputs:
    rows, labels = data.table()
    return Inputs(mlp(), (rows.double(), labels), CE)


@cases.fault(RUNS, "cnn, the way around is larger than what it is added to")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head((net.first(x) + net.second(net.first(x))).mean((2, 3))),
        first=nn.Conv2d(1, 8, 3, padding=1),
        second=nn.Conv2d(8, 8, 3, stride=2, padding=1),
        head=nn.Linear(8, 4),
    )
    return Inputs(model, data.images(), CE)


@cases.fault(RUNS, "transformer, the width is no multiple of the heads")
def _() -> Inputs:
    model = Encoder()
    model.blocks[1].attention = Attention(heads=5)
    return Inputs(model, data.text(), CE)


@cases.fault(SANE, "cnn, uniform weights from -10 to 10")
def _() -> Inputs:
    model = cnn()
    for place in (0, 4):
        nn.init.uniform_(model.get_parameter(f"{place}.weight"), -10, 10)
    return Inputs(model, data.images(), CE)


@cases.fault(SANE, "rnn, recurrent weights are a hundred times the identity")
def _() -> Inputs:
    rnn = nn.RNN(4, WIDTH, batch_first=True)
    with torch.no_grad():
        rnn.get_parameter("weight_hh_l0").copy_(100 * torch.eye(WIDTH))
    model = Net(lambda net, x: net.head(net.rnn(x)[0][:, -1]), rnn=rnn, head=nn.Linear(WIDTH, 3))
    return Inputs(model, data.series(), CE)


@cases.fault(SHAPES, "rnn, the last states of 32 samples are picked")
def _() -> Inputs:
    class Picks(RNN):
        def last(self, states: Tensor) -> Tensor:
            return states[torch.arange(32), torch.full((32,), states.shape[1] - 1)]

    return Inputs(Picks(), data.series(), CE)


@cases.fault(SHAPES, "transformer, squeeze(1) takes a length of one away")
def _() -> Inputs:
    class Squeezed(Decoder):
        def forward(self, tokens: Tensor) -> Any:
            return super().forward(tokens).squeeze(1)

    return Inputs(Squeezed(), data.language(), data.next_token)


@cases.fault(SHAPES, "mlp, the batch is cut in two halves")
def _() -> Inputs:
    def halves(net: Any, x: Tensor) -> Any:
        one, other = x.chunk(2)
        return torch.cat([net.body(one), net.body(other)])

    return Inputs(Net(halves, body=mlp()), data.table(), CE)


@cases.fault(REACHES, "autoencoder, the code goes through NumPy")
def _() -> Inputs:
    class Through(Autoencoder):
        def bottleneck(self, code: Tensor) -> Tensor:
            return torch.from_numpy(code.detach().numpy().copy())

    rows = data.table()[0]
    return Inputs(Through(), (rows, rows), MSE)


@cases.fault(REACHES, "mlp, steps of 0 and 1 for activations")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last((net.first(x) > 0).float()),
        first=nn.Linear(8, 32),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)


@cases.fault(REACHES, "rnn, clamp(min=1) where max=1 is meant")
def _() -> Inputs:
    class Clamped(RNN):
        def last(self, states: Tensor) -> Tensor:
            return states[:, -1].clamp(min=1)

    return Inputs(Clamped(), data.series(), CE)


@cases.fault(USED, "rnn, a first state that is learnt is not handed on")
def _() -> Inputs:
    class Starts(RNN):
        def __init__(self) -> None:
            super().__init__()
            self.start = nn.Parameter(torch.zeros(2, 1, WIDTH))

    return Inputs(Starts(), data.series(), CE)


@cases.fault(USED, "cnn, the convolution of the way around is made and not taken")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head((x + net.body(x)).relu().mean((2, 3))),
        body=nn.Conv2d(1, 16, 3, padding=1),
        around=nn.Conv2d(1, 16, 1),
        head=nn.Linear(16, 4),
    )
    return Inputs(model, data.images(), CE)


@cases.fault(MEMORY, "transformer, a hundred thousand words for a million tokens")
def _() -> Inputs:
    model = Decoder(vocabulary=100_000)
    return Inputs(model, data.language(16_384, 64, 100_000), data.next_token)


@cases.fault(MEMORY, "autoencoder, codes are kept by the number of the pass")
def _() -> Inputs:
    class Kept(Autoencoder):
        def __init__(self) -> None:
            super().__init__()
            self.codes: dict[int, Tensor] = {}

        def bottleneck(self, code: Tensor) -> Tensor:
            self.codes[len(self.codes)] = code.detach()
            return code

    rows = data.table()[0]
    return Inputs(Kept(), (rows, rows), MSE)


@cases.fault(EDGE, "mlp, one over each value as further columns")
def _() -> Inputs:
    rows, labels = data.table()
    model = Net(lambda net, x: net.body(torch.cat([x, 1 / x], 1)), body=mlp(16))
    return Inputs(model, (0.5 + rows.sigmoid(), labels), CE)


@cases.fault(EDGE, "rnn, prices against the first one")
def _() -> Inputs:
    waves, labels = data.series()
    model = Net(lambda net, x: net.body(x / x[:, :1] - 1), body=RNN())
    return Inputs(model, (3 + waves.tanh(), labels), CE)


@cases.fault(EDGE, "patches, each is brought to length one")
def _() -> Inputs:
    class Unit(Patches):
        def forward(self, x: Tensor) -> Any:
            pieces = x.unfold(2, 4, 4).unfold(3, 4, 4)
            size = pieces.square().sum((-2, -1), keepdim=True).sqrt()
            whole = (pieces / size).permute(0, 1, 2, 4, 3, 5).reshape(x.shape)
            return super().forward(4 * whole)

    return Inputs(Unit(), data.images(), CE)


@cases.fault(LOWER, "transformer, what is seen is scattered among the words")
def _() -> Inputs:
    class Sees(Encoder):
        def __init__(self) -> None:
            super().__init__()
            self.image = nn.Linear(8, WIDTH)

        def forward(self, tokens: Tensor, seen: Any = None) -> Any:
            words = self.embedded(tokens)
            first = torch.zeros_like(words, dtype=torch.bool)
            first[:, 0] = True
            words = words.masked_scatter(first, self.image(seen))
            return self.head(self.pooled(self.through(words), None))

    tokens, labels = data.text()
    return Inputs(Sees(), ((tokens, torch.randn(32, 8)), labels), CE)


@cases.fault(LOWER, "mlp, waves of angles that have too few digits")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last((300 * net.first(x)).sin()),
        first=nn.Linear(8, 32),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)
