from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements.limits.survives_edge_inputs import SurvivesEdgeInputs
from tests.checkups.attention_models import GPT, TOKENS, WIDTH, mlp, sentences, tokens
from tests.checkups.sound_models import Residual, images, rows, series


class Fed(nn.Module):
    """A model whose input, or hidden state, goes through a function."""

    def __init__(self, function: Any, hidden: bool = False) -> None:
        super().__init__()
        self.function, self.hidden = function, hidden
        self.one, self.two = nn.Linear(12, 16, bias=False), nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Any:
        if not self.hidden:
            return self.two(self.one(self.function(x)))
        return self.two(self.function(self.one(x)))


class Averaged(nn.Module):
    """The mean of what is no padding."""

    def __init__(self, known: int = TOKENS) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(TOKENS, WIDTH, padding_idx=0), nn.Linear(WIDTH, 3)
        self.weights = nn.Embedding(known, 1)

    def forward(self, x: Tensor) -> Any:
        counts = (x != 0).unsqueeze(-1)
        summed = (self.tokens(x) * counts * self.weights(x)).sum(1)
        return self.head(summed / counts.sum(1))


class Spread(Averaged):
    def forward(self, x: Tensor) -> Any:
        out = self.tokens(x)
        return self.head((out / out.std(1, keepdim=True)).sum(1))


class Weighed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.head = nn.GRU(5, WIDTH, batch_first=True), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.rnn(x / x.abs().sum(1, keepdim=True))[0][:, -1])


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        pytest.param(
            Fed(lambda x: x / x.norm(dim=-1, keepdim=True)), rows(), "all zero", id="norm"
        ),
        pytest.param(
            Fed(lambda x: (x - x.mean(-1, True)) / x.std(-1, keepdim=True)),
            rows(),
            "outputs that are NaN",
            id="std-of-a-constant",
        ),
        pytest.param(Fed(lambda x: x.abs().log()), rows(), "all zero", id="logarithm"),
        pytest.param(
            Fed(lambda x: x.square().sqrt(), hidden=True),
            rows(),
            "gradient of one.weight",
            id="slope-of-the-root",
        ),
        pytest.param(
            Fed(lambda x: (9 * x).exp() / (9 * x).exp().sum(-1, True)), rows(), "20 times", id="exp"
        ),
        pytest.param(Weighed(), series(), "all zero", id="recurrent-sum"),
        pytest.param(Spread(), sentences(), "one token repeated", id="std-over-tokens"),
        pytest.param(Averaged(TOKENS - 1), (sentences()[0].clamp(max=5),), "last", id="last-token"),
    ],
)
def test_fails(model: nn.Module, batch: Any, message: str) -> None:
    batch = batch if len(batch) > 1 else batch[0]
    result = checkup(model, batch, tests=SurvivesEdgeInputs()).results[0]
    assert result.outcome == "failed"
    assert message in result.message


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(mlp(nn.BatchNorm1d(16)), rows(), id="mlp"),
        pytest.param(Residual(), images(), id="residual"),
        pytest.param(GPT(), tokens(), id="gpt"),
        pytest.param(Averaged(), sentences(), id="nothing-but-padding"),
        pytest.param(Fed(lambda x: nn.functional.normalize(x)), rows(), id="norm-with-eps"),
        pytest.param(
            Fed(lambda x: (x.square() + 1e-6).sqrt(), hidden=True), rows(), id="root-with-eps"
        ),
    ],
)
def test_passes(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=SurvivesEdgeInputs()).results[0].outcome == "passed"


def test_skips_if_the_output_is_not_finite_anyway() -> None:
    model = Fed(lambda x: x * torch.inf)
    assert checkup(model, rows(), tests=SurvivesEdgeInputs()).results[0].outcome == "skipped"


class WholeBatch(nn.Module):
    """Divides by a size that only a batch without any signal makes zero."""

    def forward(self, x: Tensor) -> Any:
        return x / x.abs().mean()


def test_one_sample_is_changed_and_not_the_whole_batch() -> None:
    assert checkup(WholeBatch(), rows()[0], tests=SurvivesEdgeInputs()).passed


def test_a_single_sample_is_changed_as_a_whole() -> None:
    assert checkup(WholeBatch(), rows()[0][:1], tests=SurvivesEdgeInputs()).failed


class Refusing(nn.Module):
    """Raises for inputs that a function does not accept."""

    def __init__(self, accepts: Any, training: bool = False) -> None:
        super().__init__()
        self.accepts, self.only, self.layer = accepts, training, nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Any:
        if (self.training or not self.only) and not self.accepts(x):
            raise ValueError("no such sample")
        return self.layer(x)


class OnlyTrains(Refusing):
    def forward(self, x: Tensor) -> Any:
        if not self.training:
            raise ValueError("it is not ready")
        return super().forward(x)


def varies(x: Tensor) -> bool:
    return bool((x.std(1) > 0).all())


@pytest.mark.parametrize("training", [False, True])
def test_a_sample_that_raises_is_a_warning(training: bool) -> None:
    result = checkup(Refusing(varies, training), rows(), tests=SurvivesEdgeInputs()).results[0]
    assert (result.outcome, result.severity) == ("failed", "warning")
    assert result.message == "inputs that are all zero raise ValueError: no such sample"


def test_values_outside_the_range_of_the_batch_may_be_refused() -> None:
    batch = torch.rand(8, 12) * 0.9
    model = Refusing(lambda x: x.max() < 0.95)
    result = checkup(model, batch, tests=SurvivesEdgeInputs()).results[0]
    assert result.outcome == "passed"
    assert result.message == "inputs that are all zero or tiny gave finite outputs and gradients"


def test_gradients_that_were_not_seen_are_not_claimed() -> None:
    def loss(output: Tensor, targets: Tensor) -> Tensor:
        if len(targets) < 3:
            raise ValueError("too few samples")
        return nn.functional.cross_entropy(output, targets)

    [result] = checkup(Refusing(lambda _: True), rows(), loss, tests=SurvivesEdgeInputs()).results
    assert result.outcome == "passed"
    assert result.message.endswith("gave finite outputs")


def test_skips_a_model_that_only_runs_in_training() -> None:
    [result] = checkup(OnlyTrains(varies), rows(), tests=SurvivesEdgeInputs()).results
    assert result.outcome == "skipped"


class Ending(Averaged):
    """Wants a token in every sentence."""

    def __init__(self, refuse: Any) -> None:
        super().__init__()
        self.refuse = refuse

    def forward(self, x: Tensor) -> Any:
        return self.tokens(x)[:, 0] if (x == 2).any(1).all() else self.refuse(x)


def ended() -> Tensor:
    return sentences()[0].clone().index_fill_(1, torch.tensor([3]), 2)


def raises(_: Tensor) -> None:
    raise ValueError("no end of the sentence")


def asserts(x: Tensor) -> None:
    assert (x == 2).any(1).all(), "no end of the sentence"


def checks(x: Tensor) -> None:
    known = bool((x == 2).any(1).all())
    torch._check_value(known, lambda: "no end")  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("refuse", [raises, asserts, checks])
def test_tokens_may_be_refused_on_purpose(refuse: Any) -> None:
    result = checkup(Ending(refuse), ended(), tests=SurvivesEdgeInputs()).results[0]
    assert result.outcome == "skipped", result.message


def test_tokens_that_torch_cannot_multiply_are_a_warning() -> None:
    model = Ending(lambda x: x.float() @ x.float())
    result = checkup(model, ended(), tests=SurvivesEdgeInputs()).results[0]
    assert (result.outcome, result.severity) == ("failed", "warning")
    assert "RuntimeError" in result.message
