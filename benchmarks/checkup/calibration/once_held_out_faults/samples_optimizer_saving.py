"""Faults of mixed samples, incomplete optimizers, and saved states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, WIDTH, Autoencoder, Decoder, Encoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
APART, HOLDS, SAVING = "samples_stay_apart", "optimizer_holds_every_parameter", "survives_saving"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


@cases.fault(APART, "rnn, the state goes from sample to sample")
def _() -> Inputs:
    class Onwards(RNN):
        def forward(self, x: Tensor) -> Any:
            outputs, state = [], None
            for sample in x:
                states, state = self.rnn(sample[None], state)
                outputs.append(self.head(self.last(states)))
            return torch.cat(outputs)

    return Inputs(Onwards(), data.series(length=4), CE)


@cases.fault(APART, "cnn, divided by the largest value of the batch")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(3 * x / (x.abs().max() + 1e-6)), body=cnn())
    return Inputs(model, data.images(), CE)


@cases.fault(APART, "transformer, tokens are weighed over the samples")
def _() -> Inputs:
    class Weighed(Encoder):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Linear(WIDTH, 1)

        def pooled(self, x: Tensor, mask: Tensor | None) -> Tensor:
            del mask
            pooled: Tensor = (x * self.score(x).softmax(0)).sum(1)
            return pooled

    return Inputs(Weighed(), data.text(), CE)


@cases.fault(APART, "autoencoder, batch norm that always takes the batch")
def _() -> Inputs:
    class Normed(Autoencoder):
        def bottleneck(self, code: Tensor) -> Tensor:
            return F.batch_norm(code, None, None, training=True)

    rows = data.table()[0]
    return Inputs(Normed(), (rows, rows), MSE)


@cases.fault(APART, "mlp, each column is brought to length one")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(5 * F.normalize(x, dim=0)), body=mlp())
    return Inputs(model, data.table(), CE)


@cases.fault(HOLDS, "mlp, biases are in no group")
def _() -> Inputs:
    model = mlp()
    weights = [each for name, each in model.named_parameters() if name.endswith("weight")]
    optimizer = torch.optim.AdamW([{"params": weights, "weight_decay": 0.1}], lr=1e-3)
    return Inputs(model, data.table(), CE, optimizer)


@cases.fault(HOLDS, "cnn, thawed after the optimizer was made")
def _() -> Inputs:
    model = cnn()
    model[:4].requires_grad_(False)
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.05, momentum=0.9)
    model.requires_grad_(True)
    return Inputs(model, data.images(), CE, optimizer)


@cases.fault(HOLDS, "rnn, weights were made anew afterwards")
def _() -> Inputs:
    model = RNN()
    optimizer = torch.optim.Adam(model.parameters())
    model.head.weight = nn.Parameter(0.1 * torch.randn(3, WIDTH))
    model.head.bias = nn.Parameter(torch.zeros(3))
    return Inputs(model, data.series(), CE, optimizer)


@cases.fault(HOLDS, "transformer, the blocks only")
def _() -> Inputs:
    model = Decoder()
    optimizer = torch.optim.AdamW(model.blocks.parameters(), lr=3e-4)
    return Inputs(model, data.language(), data.next_token, optimizer)


@cases.fault(SAVING, "mlp, a running mean that is a plain attribute")
def _() -> Inputs:
    class Centred(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.mean = mlp(), torch.zeros(8)

        def forward(self, x: Tensor) -> Any:
            if self.training:
                self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
            return self.body(x - self.mean)

    rows, labels = data.table()
    return Inputs(Centred(), (rows + 3, labels), CE)


@cases.fault(SAVING, "cnn, names get a prefix that loading passes over")
def _() -> Inputs:
    class Prefixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = cnn()

        def forward(self, x: Tensor) -> Any:
            return self.body(x)

        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            kept = super().state_dict(*args, **kwargs)
            return {f"module.{name}": each for name, each in kept.items()}

        def load_state_dict(
            self, state_dict: Any, strict: bool = True, assign: bool = False
        ) -> Any:
            del strict
            return super().load_state_dict(state_dict, strict=False, assign=assign)

    return Inputs(Prefixed(), data.images(), CE)


@cases.fault(SAVING, "rnn, cells in a plain tuple")
def _() -> Inputs:
    class Celled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells = (nn.GRUCell(4, WIDTH), nn.GRUCell(WIDTH, WIDTH))
            self.head = nn.Linear(WIDTH, 3)

        def forward(self, x: Tensor) -> Any:
            first, second = torch.zeros(2, len(x), WIDTH).unbind()
            for step in x.unbind(1):
                first = self.cells[0](step, first)
                second = self.cells[1](first, second)
            return self.head(second)

    return Inputs(Celled(), data.series(), CE)


@cases.fault(SAVING, "autoencoder, the state of the start is handed out")
def _() -> Inputs:
    class Remembered(Autoencoder):
        def __init__(self) -> None:
            super().__init__()
            with torch.no_grad():
                self.start = {name: each.clone() for name, each in super().state_dict().items()}
                for each in self.parameters():
                    each.add_(0.05 * torch.randn_like(each))

        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            del args, kwargs
            return self.start

    rows = data.table()[0]
    return Inputs(Remembered(), (rows, rows), MSE)
