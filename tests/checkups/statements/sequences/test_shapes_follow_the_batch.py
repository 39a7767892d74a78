from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements.sequences.shapes_follow_the_batch import ShapesFollowTheBatch
from tests.checkups.attention_models import GPT, LENGTH, SAMPLES, Attention, ViT, mlp, tokens
from tests.checkups.sound_models import Mixer, Recurrent, images, rows, series


class Squeezed(Recurrent):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x).squeeze()


class Kept(Recurrent):
    """Goes on from where the last batch ended."""

    state: Any = None

    def forward(self, x: Tensor) -> Any:
        out, self.state = self.rnn(x, self.state)
        return self.head(out[:, -1])


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = mlp()

    def forward(self, x: Tensor) -> Any:
        return self.body(x).reshape(SAMPLES, -1)


class Averaged(Counted):
    def forward(self, x: Tensor) -> Any:
        return self.body(x).mean(0, keepdim=True)


class FixedMask(Attention):
    def masked(self, scores: Tensor) -> Tensor:
        return scores.masked_fill(~self.mask[:LENGTH, :LENGTH], float("-inf"))


class SmallMask(Attention):
    def __init__(self) -> None:
        super().__init__()
        self.mask = self.mask[: 2 * LENGTH, : 2 * LENGTH]


class OneLength(GPT):
    """Adds the embeddings of all positions, whatever the length of its input is."""

    def forward(self, x: Tensor) -> Any:
        if x.shape[1] != LENGTH:
            raise RuntimeError(f"no length of {x.shape[1]}")
        return super().forward(x)


class Pairs(Recurrent):
    """Takes two steps of time at once."""

    def forward(self, x: Tensor) -> Any:
        if x.shape[1] % 2:
            raise ValueError("an odd length")
        return super().forward(x)


class Flat(GPT):
    """Loses the length of one."""

    def forward(self, x: Tensor) -> Any:
        return super().forward(x).squeeze(1)


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        pytest.param(Squeezed(), series(), "a batch of 1 gives", id="squeezed"),
        pytest.param(Kept(), series(), "a batch of 1 raises", id="state-of-the-last-batch"),
        pytest.param(Counted(), rows(), "a batch of 1 raises", id="size-in-a-view"),
        pytest.param(Averaged(), rows()[0], "a batch of 1 gives", id="averaged"),
        pytest.param(GPT(FixedMask), tokens(), "in masked_fill", id="mask-of-one-length"),
        pytest.param(GPT(SmallMask), tokens(), "a length of 32 raises", id="mask-below-context"),
        pytest.param(Flat(), tokens(), "a length of 1 gives", id="squeezed-length"),
    ],
)
def test_fails(model: nn.Module, batch: Any, message: str) -> None:
    result = checkup(model, batch, tests=ShapesFollowTheBatch()).results[0]
    assert result.outcome == "failed"
    assert message in result.message


def test_a_single_position_is_a_warning() -> None:
    [result] = checkup(Flat(), tokens(), tests=ShapesFollowTheBatch()).results
    assert (result.outcome, result.severity) == ("failed", "warning")


class Horizon(Recurrent):
    """Puts out the last three steps, so it needs that many."""

    def forward(self, x: Tensor) -> Any:
        return self.head(self.rnn(x)[0])[:, -3:]


def test_a_model_may_need_a_least_length() -> None:
    [result] = checkup(Horizon(), series()[0], tests=ShapesFollowTheBatch()).results
    assert result.outcome == "passed", result.message
    assert "lengths of 1 and 2 do not run" in result.message


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        pytest.param(mlp(), rows(), "batches of 1, 2 and 3 gave", id="mlp"),
        pytest.param(Mixer(), series(), "batches of 1, 2 and 3 gave", id="made-for-one-length"),
        pytest.param(ViT(), images(), "batches of 1, 2 and 3 gave", id="patches"),
        pytest.param(Recurrent(), series(), "lengths of 4, 1", id="recurrent"),
        pytest.param(GPT(), tokens(), "lengths of 4, 1, 32", id="up-to-the-context"),
    ],
)
def test_passes(model: nn.Module, batch: Any, message: str) -> None:
    result = checkup(model, batch, tests=ShapesFollowTheBatch()).results[0]
    assert result.outcome == "passed"
    assert message in result.message


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        pytest.param(
            OneLength(),
            tokens(),
            "batches of 1, 2 and 3 gave matching outputs; only lengths of 8 were tested: "
            "a length of 4 raises RuntimeError: no length of 4",
            id="one-length",
        ),
        pytest.param(
            Pairs(),
            series(),
            "batches of 1, 2 and 3 and lengths of 4 gave matching outputs; lengths of 1 and 7 do "
            "not run: a length of 1 raises ValueError: an odd length",
            id="pairs",
        ),
    ],
)
def test_a_length_that_raises_does_not_count_as_run(
    model: nn.Module, batch: Any, message: str
) -> None:
    result = checkup(model, batch, tests=ShapesFollowTheBatch()).results[0]
    assert (result.outcome, result.message) == ("passed", message)


def test_skips_the_nodes_of_a_graph() -> None:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, nodes: Tensor, edges: Tensor) -> Any:
            return self.layer(edges @ nodes)

    for count in (4, 30):
        targets = torch.zeros(count, dtype=torch.long)
        batch = (torch.randn(count, 3), torch.rand(count, count), targets)
        assert checkup(Graph(), batch, tests=ShapesFollowTheBatch()).skipped


class SizedPositions(nn.Embedding):
    """Gets the shape of the tokens, not the places themselves."""

    def forward(self, shape: torch.Size) -> Tensor:  # type: ignore[override]
        return super().forward(torch.arange(shape[1]))


class Sized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places, self.head = (
            nn.Embedding(9, 8), SizedPositions(32, 8), nn.Linear(8, 9)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.tokens(x) + self.places(x.shape))
        return out


def test_an_embedding_may_get_a_shape() -> None:
    tokens = torch.randint(9, (4, 8), generator=torch.Generator().manual_seed(0))
    [result] = checkup(Sized(), tokens, tests="shapes_follow_the_batch").results
    assert result.outcome == "passed", result.message


class OwnLoss(GPT):
    """Computes a loss that needs two positions, if it gets labels, as in transformers."""

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
        logits = super().forward(input_ids)
        if labels is None:
            return {"logits": logits}
        following = labels[:, 1:].reshape(labels.shape[0], labels.shape[1] - 1, 1)
        chosen = logits[:, :-1].log_softmax(-1).gather(2, following).view(len(labels), -1)
        return {"logits": logits, "loss": -chosen.amax(1).mean()}


def test_a_loss_of_the_model_is_left_out() -> None:
    inputs, _ = tokens()
    batch = {"input_ids": inputs, "labels": inputs}
    assert checkup(OwnLoss(), batch, tests=ShapesFollowTheBatch()).passed
