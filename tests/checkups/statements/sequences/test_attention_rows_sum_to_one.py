import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import checkup
from sickbay.checkups.statements.sequences.attention_rows_sum_to_one import AttentionRowsSumToOne
from tests.checkups.attention_models import (
    GPT,
    Attention,
    Bert,
    Classifier,
    EinsumAttention,
    FlashAttention,
    LinearAttention,
    named,
    sentences,
    tokens,
)
from tests.checkups.sound_models import Pooled, Recurrent, SelfAttention2d, images, series

Weigh = Callable[[Attention, Tensor], Tensor]


def attention(weigh: Weigh, causal: bool = True) -> Callable[[], nn.Module]:
    """Attention whose weights are made of the scores in another way."""

    class Other(Attention):
        def forward(self, x: Tensor) -> Any:
            q, k, v = self.split(x)
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            return self.join(weigh(self, scores) @ v)

    return lambda: Other(causal)


def late(layer: Attention, scores: Tensor) -> Tensor:
    length = scores.shape[-1]
    return scores.softmax(-1).masked_fill(~layer.mask[:length, :length], 0)


def together(_: Attention, scores: Tensor) -> Tensor:
    return scores.flatten(-2).softmax(-1).view(scores.shape)


def by_hand(layer: Attention, scores: Tensor) -> Tensor:
    powers = layer.masked(scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


class Dropping(Attention):
    def forward(self, x: Tensor) -> Any:
        q, k, v = self.split(x)
        return self.join(F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True))


class Einsum(Attention):
    def forward(self, x: Tensor) -> Any:
        q, k, v = self.split(x)
        weights = torch.einsum("bhqd,bhkd->bhqk", q, k).softmax(dim=2)
        return self.join(torch.einsum("bhqk,bhkd->bhqd", weights, v))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        pytest.param(attention(lambda _, s: s.softmax(-2), False), "dimension 2", id="queries"),
        pytest.param(attention(lambda _, s: s.softmax(1), False), "dimension 1", id="heads"),
        pytest.param(attention(lambda _, s: F.softmax(s, 0), False), "dimension 0", id="batch"),
        pytest.param(attention(together, False), "dimensions from 2 on", id="all-pairs"),
        pytest.param(attention(lambda _, s: s, False), "no softmax", id="no-softmax"),
        pytest.param(attention(lambda _, s: s.sigmoid(), False), "changed after", id="sigmoid"),
        pytest.param(attention(lambda _, s: s.log_softmax(-1), False), "changed", id="logarithm"),
        pytest.param(attention(late), "changed after", id="masked-too-late"),
        pytest.param(
            attention(lambda _, s: F.dropout(s.softmax(-1), 0.2)), "dropout in", id="dropped"
        ),
        pytest.param(Dropping, "dropout_p", id="dropped-by-torch"),
        pytest.param(Einsum, "dimension 2", id="einsum"),
    ],
)
def test_fails(made: Callable[[], nn.Module], message: str) -> None:
    result = checkup(GPT(made), tokens(), tests=AttentionRowsSumToOne()).results[0]
    assert result.outcome == "failed"
    assert message in result.message


def test_a_softmax_of_one_value_fails() -> None:
    result = checkup(Pooled(dim=-1), series(), tests=AttentionRowsSumToOne()).results[0]
    assert result.outcome == "failed"
    assert "size one" in result.message


class Selected(nn.Module):
    """Weighs variables, as a temporal fusion transformer does, and has only one."""

    def __init__(self, product: bool) -> None:
        super().__init__()
        self.product, self.weigh, self.head = product, nn.Linear(5, 1), nn.Linear(5, 1)

    def forward(self, x: Tensor) -> Any:
        weights = self.weigh(x).softmax(-1).unsqueeze(-1)
        variables = x.unsqueeze(-2)
        chosen = weights @ variables if self.product else weights * variables
        return self.head(chosen.squeeze(-2).mean(1))


@pytest.mark.parametrize("product", [True, False])
def test_a_choice_among_one_variable_does_not_fail(product: bool) -> None:
    result = checkup(Selected(product), series(), tests=AttentionRowsSumToOne()).results[0]
    assert (result.outcome, result.message) == ("skipped", "the model has no attention")


class OverHeads(Attention):
    """One head, whose softmax runs over the heads."""

    def __init__(self) -> None:
        super().__init__(causal=False)
        self.heads = 1

    def forward(self, x: Tensor) -> Any:
        q, k, v = self.split(x)
        return self.join((q @ k.transpose(-2, -1)).softmax(1) @ v)


def test_a_softmax_over_a_single_head_fails() -> None:
    result = checkup(GPT(OverHeads), tokens(), tests=AttentionRowsSumToOne()).results[0]
    assert result.outcome == "failed"


@pytest.mark.parametrize(
    ("made", "count"),
    [
        pytest.param(Attention, 2, id="own"),
        pytest.param(FlashAttention, 2, id="of-torch"),
        pytest.param(EinsumAttention, 2, id="einsum"),
        pytest.param(attention(by_hand), 2, id="by-hand"),
    ],
)
def test_passes(made: Callable[[], nn.Module], count: int) -> None:
    result = checkup(GPT(made), tokens(), tests=AttentionRowsSumToOne()).results[0]
    assert (result.outcome, result.evidence) == ("passed", {"attentions": count})


def test_other_layers_of_attention_are_seen() -> None:
    for model, batch in ((Bert(), named()), (SelfAttention2d(), images())):
        result = checkup(model, batch, tests=AttentionRowsSumToOne()).results[0]
        assert result.outcome == "passed"


def decayed(_: Attention, scores: Tensor) -> Tensor:
    """Weigh scores by their distance, as retention does."""
    places = torch.arange(scores.shape[-1])
    return scores * 0.9 ** (places[:, None] - places).clamp(min=0)


@pytest.mark.parametrize(
    "weigh",
    [
        pytest.param(decayed, id="retention"),
        pytest.param(lambda _, scores: scores / scores.shape[-1], id="mean-over-keys"),
    ],
)
def test_attention_without_softmax_by_design_does_not_fail(weigh: Weigh) -> None:
    model = Classifier(attention(weigh, causal=False))
    result = checkup(model, sentences(), tests=AttentionRowsSumToOne()).results[0]
    assert result.outcome == "skipped"


class LinearEinsum(Attention):
    """Averages the values with the keys first, and then asks for them."""

    def forward(self, x: Tensor) -> Any:
        q, k, v = self.split(x)
        context = torch.einsum("bhnd,bhne->bhde", k.softmax(dim=-2), v)
        return self.join(torch.einsum("bhde,bhnd->bhne", context, q.softmax(dim=-1)))


def test_linear_attention_in_einsum_has_no_scores() -> None:
    result = checkup(Classifier(LinearEinsum), sentences(), tests=AttentionRowsSumToOne())
    assert result.results[0].outcome == "skipped"


class SparseGraph(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Any:
        edges = torch.eye(len(x)).to_sparse_csr()
        return self.head((edges @ edges).to_dense() @ x)


def test_products_of_sparse_matrices_are_no_attention() -> None:
    [result] = checkup(SparseGraph(), torch.randn(6, 5), tests=AttentionRowsSumToOne()).results
    assert (result.outcome, result.message) == ("skipped", "the model has no attention")


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(Recurrent(), series(), id="recurrent"),
        pytest.param(Classifier(lambda: LinearAttention(False)), sentences(), id="linear"),
        pytest.param(nn.Sequential(nn.Linear(5, 3), nn.Softmax(-1)), series()[0], id="head"),
    ],
)
def test_skips(model: nn.Module, batch: object) -> None:
    result = checkup(model, batch, tests=AttentionRowsSumToOne()).results[0]
    assert (result.outcome, result.message) == ("skipped", "the model has no attention")
