"""Models that mix the samples of a batch, and sound ones that look like it."""

from threading import Lock

import pytest
import torch
from torch import Tensor, nn

from sickbay.probe.mixed_samples import mixes_samples
from sickbay.probe.trial import Trial

SIGNALS = torch.randn(32, 5, 3, generator=torch.Generator().manual_seed(0))
TABLE = SIGNALS[:, 0]
WORDS = torch.randint(9, (32, 5), generator=torch.Generator().manual_seed(0))


class Model(nn.Module):
    """A model with one layer, which answers as a function of both and the inputs says."""

    def __init__(self, layer: nn.Module, respond: object) -> None:
        super().__init__()
        self.layer, self.respond = layer, respond

    def forward(self, *inputs: Tensor) -> Tensor:
        answers: Tensor = self.respond(self.layer, *inputs)  # type: ignore[operator]
        return answers


class Counting(nn.Module):
    """A layer with a state."""

    def __init__(self) -> None:
        super().__init__()
        self.before = torch.zeros(1, 3)

    def forward(self, x: Tensor) -> Tensor:
        self.before = x[:1] + 0.5 * self.before
        return x + self.before


def reshaped(rnn: nn.Module, x: Tensor) -> Tensor:
    hidden: Tensor = rnn(x.reshape(x.shape[1], x.shape[0], -1))[0]
    return hidden.reshape(x.shape[0], x.shape[1], -1)


def last_state(rnn: nn.Module, x: Tensor) -> Tensor:
    state: Tensor = rnn(x)[1]
    return state.view(len(x), -1)


def placed(x: Tensor) -> Tensor:
    return x + torch.linspace(-1, 1, x.shape[1])[:, None]


def encoder(batch_first: bool = False) -> nn.Module:
    layer = nn.TransformerEncoderLayer(3, 1, 8, batch_first=batch_first)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


SICK = {
    "recurrent": Model(nn.LSTM(3, 4), lambda rnn, x: rnn(x)[0][:, -1]),
    "reshape-for-transpose": Model(nn.GRU(3, 4), reshaped),
    "both-directions": Model(nn.GRU(3, 4, batch_first=True, bidirectional=True), last_state),
    "transformer": Model(encoder(), lambda layers, x: layers(x).mean(1)),
    "transformer-with-places": Model(encoder(), lambda layers, x: layers(placed(x))),
    "swapped-dimensions": Model(nn.Flatten(), lambda _, x: x.reshape(5, -1, 3).transpose(0, 1)),
}


@pytest.mark.parametrize("model", SICK.values(), ids=SICK)
def test_samples_are_mixed(model: nn.Module) -> None:
    trial = Trial.of(model, (SIGNALS,), {})
    assert trial is not None
    assert mixes_samples(trial)


def frames(layer: nn.Module, x: Tensor) -> Tensor:
    """Take films of two pictures each, all in one batch."""
    films = x.reshape(-1, 2, 15)
    answers: Tensor = layer(torch.cat([films, films.roll(1, 1)], 2)).reshape(len(x), -1)
    return answers


def groups(layer: nn.Module, x: Tensor) -> Tensor:
    """Compare groups of four samples, as the discriminators of some GANs do."""
    spread = x.reshape(2, -1, 15).std(0).repeat(2, 1)
    answers: Tensor = layer(torch.cat([x.flatten(1), spread], 1))
    return answers


SOUND = {
    "rows": (nn.Linear(3, 2), TABLE),
    "recurrent": (Model(nn.LSTM(3, 4, batch_first=True), lambda rnn, x: rnn(x)[0]), SIGNALS),
    "time-first": (Model(nn.LSTM(3, 4), lambda rnn, x: rnn(x)[0]), SIGNALS),
    "time-first-flat": (Model(nn.LSTM(3, 4), lambda rnn, x: rnn(x)[0].flatten(0, 1)), SIGNALS),
    "time-first-transformer": (Model(encoder(), lambda layers, x: layers(x)), SIGNALS),
    "transformer": (Model(encoder(True), lambda layers, x: layers(placed(x))), SIGNALS),
    "own-transpose": (
        Model(encoder(), lambda layers, x: layers(placed(x).transpose(0, 1)).mean(0)),
        SIGNALS,
    ),
    "one-sequence": (Model(nn.GRU(3, 4), lambda rnn, x: rnn(x)[0]), TABLE),
    "one-sequence-in-a-batch": (
        Model(nn.GRU(3, 4), lambda rnn, x: rnn(x[:, None])[0][:, 0]),
        TABLE,
    ),
    "one-signal": (
        Model(nn.Conv1d(3, 4, 3, padding=1), lambda layer, x: layer(x.T[None])[0].T),
        TABLE,
    ),
    "statistics": (
        Model(nn.Linear(3, 2), lambda layer, x: layer((x - x.mean(0)) / x.std(0))),
        TABLE,
    ),
    "batch-norm": (nn.BatchNorm1d(3, track_running_stats=False), TABLE),
    "attention-among-samples": (
        Model(encoder(True), lambda layers, x: layers(x[None])[0]),
        TABLE,
    ),
    "films": (Model(nn.Linear(30, 2), frames), SIGNALS),
    "groups": (Model(nn.Linear(30, 2), groups), SIGNALS),
    "environments-in-a-row": (
        Model(nn.GRU(3, 4), lambda rnn, x: rnn(x.reshape(-1, 2, 3))[0].reshape(len(x), -1)),
        TABLE,
    ),
    "all-pairs": (Model(nn.Linear(3, 2), lambda layer, x: layer(x) @ layer(x).T), TABLE),
    "state": (Model(Counting(), lambda layer, x: layer(x)), TABLE),
    "noise": (Model(nn.Linear(3, 2), lambda layer, x: layer(x + torch.randn_like(x))), TABLE),
    "equal-answers": (Model(nn.Linear(3, 2), lambda layer, x: 0 * layer(x) + 1), TABLE),
    "words": (Model(nn.Embedding(9, 4), lambda layer, x: layer(x).mean(1)), WORDS),
}


@pytest.mark.parametrize(("model", "inputs"), SOUND.values(), ids=SOUND)
def test_samples_are_apart(model: nn.Module, inputs: Tensor) -> None:
    trial = Trial.of(model, (inputs,), {})
    assert trial is not None
    assert not mixes_samples(trial)


def test_a_model_that_cannot_be_copied_is_left_alone() -> None:
    model = nn.Linear(3, 2)
    model.lock = Lock()  # type: ignore[assignment]
    assert Trial.of(model, (TABLE,), {}) is None


class Talking(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        print("shape", x.shape)
        return super().forward(x)


def test_what_a_model_prints_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    trial = Trial.of(Talking(3, 2), (torch.ones(32, 3),), {})
    assert trial is not None
    assert trial.first is not None
    assert capsys.readouterr().out == ""
