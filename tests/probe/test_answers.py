"""How good answers are on a batch, beside the best constant answer."""

from collections.abc import Callable
from math import isfinite, nan

import pytest
import torch
from torch import Tensor
from torch.nn import functional as f

from sickbay.probe.answers import FEW, MOST, Answers, cosine, in_rows

LABELS = torch.tensor([0, 1, 2, 2])
RIGHT = torch.eye(3)[LABELS]  # outputs that answer right
NUMBERS = torch.tensor([-3.0, -1.0, 1.0, 3.0])  # of variance 20 / 3
YES = torch.tensor([0.0, 1.0, 1.0, 1.0])
TAGS = torch.tensor([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
OPPOSITE = torch.stack([YES, 1 - YES], 1)
PAIRS = NUMBERS[:, None].repeat(1, 2)
APART = PAIRS + torch.tensor([0.0, 1000.0])  # columns of far different means
WITH_UNKNOWN = torch.cat([NUMBERS, torch.tensor([-3.0, nan, 1.0, torch.inf])])
HALF = 1 - 1.25 / (20 / 3)  # the score of an answer that is half the right one
Scores = tuple[float, float]


def scored(task: str, outputs: Tensor, targets: Tensor) -> Scores:
    found = Answers().scalars(task, outputs, targets, None)
    return found.get("score", nan), found.get("constant_score", nan)


@pytest.mark.parametrize(
    ("outputs", "targets", "expected"),
    [
        pytest.param(RIGHT, LABELS, (1.0, 0.5), id="right"),
        pytest.param(-RIGHT, LABELS, (0.0, 0.5), id="wrong"),
        pytest.param(RIGHT[[0, 0, 0, 0]], LABELS, (0.25, 0.5), id="always-the-same"),
        pytest.param(1e-20 * RIGHT, LABELS, (1.0, 0.5), id="any-scale"),
        pytest.param(RIGHT.bfloat16(), LABELS, (1.0, 0.5), id="half-precision"),
        pytest.param(RIGHT, RIGHT, (1.0, 0.5), id="one-hot"),
        pytest.param(
            RIGHT.repeat(2, 1).view(2, 4, 3).mT, LABELS.repeat(2).view(2, 4), (1.0, 0.5),
            id="sequences",
        ),
        pytest.param(
            RIGHT.T.reshape(1, 3, 2, 2), LABELS.reshape(1, 2, 2), (1.0, 0.5), id="pixels"
        ),
        pytest.param(
            torch.cat([RIGHT, -RIGHT]), torch.cat([LABELS, torch.full((4,), -100)]), (1.0, 0.5),
            id="ignored",
        ),
        pytest.param(RIGHT, torch.cat([LABELS, LABELS]), (1.0, 0.5), id="first-samples-only"),
        pytest.param(RIGHT, torch.full((4,), -100), (nan, nan), id="all-ignored"),
        pytest.param(RIGHT[:3], LABELS[:3], (nan, nan), id="too-few"),
        pytest.param(RIGHT, LABELS[:3], (nan, nan), id="other-shapes"),
        pytest.param(RIGHT[:, 0], LABELS, (nan, nan), id="no-classes"),
        pytest.param(RIGHT, LABELS[:0], (nan, nan), id="empty"),
        pytest.param(torch.tensor(1.0), LABELS, (nan, nan), id="a-single-number"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("task", ["multiclass", "next_token"])
def test_classes(task: str, outputs: Tensor, targets: Tensor, expected: Scores) -> None:
    assert scored(task, outputs, targets) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("task", "outputs", "targets", "expected"),
    [
        pytest.param("binary", 2 * YES - 1, YES, (1.0, 0.75), id="logits"),
        pytest.param("binary", 0.2 + 0.6 * YES, YES, (1.0, 0.75), id="probabilities"),
        pytest.param("binary", (2 * YES - 1)[:, None], YES, (1.0, 0.75), id="column-and-row"),
        pytest.param("binary", 2 * YES - 1, YES[:, None], (1.0, 0.75), id="row-and-column"),
        pytest.param("binary", 2 * YES - 1, 2 * YES - 1, (1.0, 0.75), id="labels-of-minus-one"),
        pytest.param("binary", 1 - 2 * YES, YES, (0.0, 0.75), id="wrong"),
        pytest.param("binary", torch.ones(4), YES, (0.75, 0.75), id="always-yes"),
        pytest.param("binary", YES[:3], YES[:3], (nan, nan), id="too-few"),
        pytest.param("multilabel", 2 * TAGS - 1, TAGS, (1.0, 0.75), id="tags"),
        pytest.param("multilabel", -TAGS, TAGS, (0.25, 0.75), id="no-tag"),
        pytest.param("multilabel", OPPOSITE, OPPOSITE, (1.0, 0.75), id="each-column-its-answer"),
        pytest.param("multilabel", TAGS, YES, (nan, nan), id="other-shapes"),
    ],
)
def test_yes_or_no(task: str, outputs: Tensor, targets: Tensor, expected: Scores) -> None:
    assert scored(task, outputs, targets) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("outputs", "targets", "score"),
    [
        pytest.param(NUMBERS, NUMBERS, 1.0, id="right"),
        pytest.param(torch.zeros(4), NUMBERS, 0.25, id="the-mean"),
        pytest.param(0.5 * NUMBERS, NUMBERS, HALF, id="half-way"),
        pytest.param(-NUMBERS, NUMBERS, -2.0, id="wrong"),
        pytest.param(1e20 * NUMBERS, 2e20 * NUMBERS, HALF, id="any-scale-large"),
        pytest.param(1e-15 * NUMBERS, 2e-15 * NUMBERS, HALF, id="any-scale-small"),
        pytest.param(0.5 * NUMBERS[:, None], NUMBERS, HALF, id="column-and-row"),
        pytest.param(0.5 * NUMBERS, NUMBERS[:, None], HALF, id="row-and-column"),
        pytest.param(0.5 * PAIRS, PAIRS, HALF, id="two-numbers"),
        pytest.param(0.5 * PAIRS[..., None], PAIRS, HALF, id="sequences"),
        pytest.param(APART - PAIRS, APART, 0.25, id="the-mean-of-each-column"),
        pytest.param(NUMBERS, torch.tensor([-3.0, nan, 1.0, 3.0]), nan, id="one-unknown-of-four"),
        pytest.param(NUMBERS.repeat(2), WITH_UNKNOWN, 1.0, id="one-unknown-of-eight"),
        pytest.param(NUMBERS, torch.ones(4), nan, id="constant-targets"),
        pytest.param(NUMBERS[:3], NUMBERS[:3], nan, id="too-few"),
        pytest.param(torch.full((4,), nan), NUMBERS, nan, id="nan"),
    ],
)
def test_numbers(outputs: Tensor, targets: Tensor, score: float) -> None:
    assert scored("regression", outputs, targets)[0] == pytest.approx(score, nan_ok=True)


@pytest.mark.parametrize("task", ["multiclass", "binary", "multilabel", "regression"])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_outputs_that_are_no_numbers_do_no_harm(task: str, value: float) -> None:
    outputs = torch.full((4, 3), value)
    targets = LABELS if task == "multiclass" else RIGHT
    found = Answers().scalars(task, outputs, targets, outputs)
    assert not any(each != each for each in found.values())
    if task != "regression":
        assert 0 <= found["score"] <= 1


@pytest.mark.parametrize(
    ("targets", "twins"),
    [
        pytest.param([[1, 1], [0, 0], [1, 1], [0, 0]], 1.0, id="all"),
        pytest.param([[1, 1], [0, 1], [1, 1], [0, 0]], 0.75, id="most"),
        pytest.param([[1, 1]] * 4, None, id="only-yes"),
        pytest.param([[1, 1, 1], [0, 0, 0]] * 2, None, id="three-answers"),
    ],
)
def test_twins(targets: list[list[int]], twins: float | None) -> None:
    wanted = torch.tensor(targets, dtype=torch.float32)
    assert Answers().scalars("multilabel", wanted, wanted, None).get("twins") == twins


def test_an_unknown_task_has_no_score() -> None:
    assert Answers().scalars("", RIGHT, LABELS, None) == {}


def test_only_the_first_rows_of_a_batch_are_looked_at() -> None:
    rows = in_rows("regression", torch.zeros(2 * MOST, 1), torch.zeros(2 * MOST, 1))
    assert rows is not None
    assert rows[0].shape == rows[1].shape == (MOST, 1)
    assert in_rows("regression", torch.zeros(FEW), torch.zeros(FEW)) is not None


def test_the_constant_answer_is_that_of_all_batches_so_far() -> None:
    answers = Answers()
    for label, share in ((0, 1.0), (1, 0.5), (1, 2 / 3)):
        labels = torch.full((4,), label)
        found = answers.scalars("multiclass", RIGHT, labels, None)
        assert found["constant_score"] == pytest.approx(share)


def test_unknown_targets_do_not_spoil_later_batches() -> None:
    answers = Answers()
    answers.scalars("regression", NUMBERS.repeat(2), WITH_UNKNOWN, None)
    assert answers.scalars("regression", NUMBERS, NUMBERS, None)["score"] == 1.0


def test_columns_count_as_one_if_their_number_differs() -> None:
    answers = Answers()
    for columns in (2, 3, 2):
        wanted = torch.tensor([0.0, 3.0, 6.0])[:columns].repeat(4, 1)
        found = answers.scalars("regression", torch.zeros(4, columns), wanted, None)
    assert found["score"] < 1  # within a column, nothing varies
    assert "score" not in Answers().scalars("regression", torch.zeros(4, columns), wanted, None)


Loss = Callable[[Tensor, Tensor], Tensor]
LOSSES: dict[str, tuple[str, Loss, Tensor, Tensor]] = {
    "cross-entropy": ("multiclass", f.cross_entropy, torch.randn(4, 3), LABELS),
    "one-hot": ("multiclass", f.cross_entropy, torch.randn(4, 3), RIGHT),
    "sequences": ("next_token", f.cross_entropy, torch.randn(2, 3, 5), torch.ones(2, 5).long()),
    "yes-or-no": ("binary", f.binary_cross_entropy_with_logits, torch.randn(4), YES),
    "tags": ("multilabel", f.binary_cross_entropy_with_logits, torch.randn(4, 2), TAGS),
    "squares": ("regression", f.mse_loss, torch.randn(4), NUMBERS),
    "distance": ("regression", f.l1_loss, torch.randn(4, 1), NUMBERS[:, None]),
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("task", "loss", "outputs", "targets"), LOSSES.values(), ids=LOSSES)
def test_where_the_loss_pulls(
    task: str, loss: Loss, outputs: Tensor, targets: Tensor, sign: int
) -> None:
    out = outputs.clone().requires_grad_()
    (sign * loss(out, targets)).backward()  # type: ignore[no-untyped-call]
    pull = Answers().scalars(task, out.detach(), targets, out.grad)["pull"]
    assert sign * pull > 0.5


@pytest.mark.parametrize(
    ("task", "outputs", "targets"),
    [
        pytest.param("binary", torch.tensor([2.0, 3.0, 1.5, -1.0]), YES, id="beyond-the-targets"),
        pytest.param("binary", torch.tensor([-2.0, -1.0, -3.0, -1.0]), 0 * YES, id="all-zero"),
        pytest.param("binary", torch.tensor([-3.0, 2.0, 3.0, 4.0]), 2 * YES - 1, id="minus-one"),
        pytest.param("multilabel", 3 * TAGS, TAGS, id="tags"),
        pytest.param("multiclass", 3 * RIGHT, RIGHT, id="one-hot"),
    ],
)
@pytest.mark.parametrize(("name", "loss"), [("mse", f.mse_loss), ("l1", f.l1_loss)])
def test_a_distance_pulls_towards_the_targets_from_both_sides(
    task: str, outputs: Tensor, targets: Tensor, name: str, loss: Loss
) -> None:
    out = outputs.clone().requires_grad_()
    loss(out, targets).backward()  # type: ignore[no-untyped-call]
    pull = Answers().scalars(task, outputs, targets, out.grad, name)["pull"]
    assert pull > 0.5
    assert out.grad is not None
    assert Answers().scalars(task, outputs, targets, -out.grad, name)["pull"] == -pull
    assert Answers().scalars(task, outputs, targets, out.grad)["pull"] < 0.5


def test_a_gradient_of_another_shape_is_no_pull() -> None:
    answers = Answers()
    assert "pull" not in answers.scalars("regression", NUMBERS, NUMBERS, torch.ones(2))
    assert answers.scalars("regression", NUMBERS, -NUMBERS, torch.zeros(4))["pull"] == 0


def test_cosine_of_nothing() -> None:
    zero, one = torch.zeros(3, 1), torch.ones(3, 1)
    assert cosine(zero, one) == 0
    assert not isfinite(cosine(torch.full((3, 1), nan), one))


def test_one_hot_places_of_sequences_are_scored() -> None:
    places = RIGHT.repeat(2, 1).view(2, 4, 3)
    found = Answers().scalars("multiclass", places, places, None)
    assert (found["score"], found["constant_score"]) == (1.0, 0.5)


def test_the_largest_number_of_tags() -> None:
    assert Answers().scalars("multilabel", TAGS, TAGS, None)["tags"] == 2
    assert Answers().scalars("multilabel", RIGHT, RIGHT, None)["tags"] == 1


def test_shares_are_compared_behind_the_sigmoid() -> None:
    shares = torch.full((8, 2), 0.3)
    shares[:, 1] = torch.linspace(0.1, 0.4, 8)
    out = torch.zeros(8, 2).requires_grad_()
    f.binary_cross_entropy_with_logits(out, shares).backward()  # type: ignore[no-untyped-call]
    found = Answers().scalars("regression", out.detach(), shares, out.grad, "bce_logits")
    assert found["pull"] == pytest.approx(1)
    right = Answers().scalars("regression", shares.logit(), shares, None, "bce_logits")
    assert right["score"] == pytest.approx(1)
