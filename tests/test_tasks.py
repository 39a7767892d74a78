from typing import Any, get_args

import numpy as np
import pytest

from sickbay.tasks import TASKS, Task, infer, labels

ONE_HOT = np.eye(3)
SOFT = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
TAGS = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("shape", "targets", "expected"),
    [
        pytest.param((8,), [0.0, 1.0, 1.0], "binary", id="yes-or-no"),
        pytest.param((8,), [0, 1, 1], "binary", id="yes-or-no-whole-numbers"),
        pytest.param((8, 1), [[0.0], [1.0]], "binary", id="yes-or-no-one-unit"),
        pytest.param((8, 1), [0.0, 1.0], "binary", id="yes-or-no-shapes-that-do-not-fit"),
        pytest.param((8, 1), [0, 1], "binary", id="one-unit-has-no-classes"),
        pytest.param((8, 1), [[-1.0], [1.0]], "binary", id="minus-one-and-one"),
        pytest.param((8,), [-1, 1, 1], "binary", id="minus-one-and-one-whole-numbers"),
        pytest.param((8, 1), [[0.0], [0.0]], "binary", id="only-no"),
        pytest.param((8, 1), [[-1.0], [0.0], [1.0]], "regression", id="three-values"),
        pytest.param((8, 1), [[1.0], [2.0]], "regression", id="two-other-values"),
        pytest.param((8, 1), [[0.0], [2.0]], "regression", id="zero-and-two"),
        pytest.param((8, 1), [[3.0], [17.0], [9.0]], "regression", id="whole-valued-numbers"),
        pytest.param((8, 1), [[3], [17], [9]], "regression", id="whole-numbers-one-unit"),
        pytest.param((8,), [3, 17, 9], "regression", id="whole-numbers"),
        pytest.param((8,), [0.0001, 0.9999], "binary", id="but-for-rounding"),
        pytest.param((8,), [0.0001, 0.0002], "regression", id="small-but-not-rounding"),
        pytest.param((8,), [0.002, 1.0], "regression", id="more-than-rounding"),
        pytest.param((8,), [0.5, 1.0], "regression", id="a-half"),
        pytest.param((8, 1), [0.3, -2.0], "regression", id="numbers-shapes-that-do-not-fit"),
        pytest.param((8, 3), [[0.3, 5.0, -1.0]], "regression", id="several-numbers"),
        pytest.param((8, 3), [[4.0, 2.0, 7.0]], "regression", id="several-whole-valued-numbers"),
        pytest.param((8, 5), [[0.5] * 5], "regression", id="numbers-that-sum-to-no-one"),
        pytest.param((8, 3), [[1.5, -0.5, 0.0]], "regression", id="sums-to-one-but-negative"),
        pytest.param((8, 10), [3, 1, 9], "multiclass", id="indices"),
        pytest.param((8, 2), [0, 1], "multiclass", id="indices-of-two"),
        pytest.param((8, 5, 4, 4), np.zeros((2, 4, 4), int), "multiclass", id="pixels"),
        pytest.param((8, 3), ONE_HOT, "multiclass", id="one-hot"),
        pytest.param((8, 3), ONE_HOT.astype(int), "multiclass", id="one-hot-whole-numbers"),
        pytest.param((8, 3), ONE_HOT.astype(bool), "multiclass", id="one-hot-bool"),
        pytest.param((8, 2), np.eye(2), "multiclass", id="one-hot-of-two"),
        pytest.param((8, 2), [[1.0, 1.0], [0.0, 1.0]], "multilabel", id="two-tags"),
        pytest.param((8, 3), TAGS, "multilabel", id="tags"),
        pytest.param((8, 3), TAGS.astype(int), "multilabel", id="tags-whole-numbers"),
        pytest.param((8, 3), 2 * TAGS - 1, "multilabel", id="tags-minus-one-and-one"),
        pytest.param((8, 3), np.zeros((2, 3)), "multilabel", id="no-tag"),
        pytest.param((8, 6, 3), np.stack([TAGS] * 6, 1), "multilabel", id="tags-in-a-sequence"),
        pytest.param((8, 6, 3), [np.eye(3)[[0, 1, 2] * 2]], "multiclass", id="one-hot-sequence"),
        pytest.param((8, 3), [[np.nan, 0.0, 1.0]], "regression", id="nan"),
        pytest.param((8, 1), [[np.nan], [1.0]], "regression", id="nan-one-unit"),
        pytest.param((8, 1), [[np.inf], [1.0]], "regression", id="inf"),
        pytest.param((), [2.5], "regression", id="one-number"),
        pytest.param((), [1.0], "binary", id="one-answer"),
    ],
)
def test_by_the_targets(shape: tuple[int, ...], targets: Any, expected: str) -> None:
    assert infer(shape, np.asarray(targets)) == expected
    assert infer(shape, np.asarray(targets), tokens=False) == expected


@pytest.mark.parametrize(
    ("shape", "targets", "loss", "expected"),
    [
        pytest.param((8, 3), SOFT, "cross_entropy", "multiclass", id="soft-labels"),
        pytest.param((8, 3), SOFT, "kl_div", "multiclass", id="soft-labels-kl-div"),
        pytest.param((8, 3), SOFT, "mse", "regression", id="shares-as-numbers"),
        pytest.param((8, 3), SOFT, "", "regression", id="shares-and-no-loss-known"),
        pytest.param((8, 3), 2 * SOFT, "cross_entropy", "regression", id="no-shares"),
        pytest.param((8, 3), ONE_HOT, "bce_logits", "multiclass", id="one-hot-whatever-the-loss"),
        pytest.param((8, 3), TAGS, "cross_entropy", "multilabel", id="tags-whatever-the-loss"),
        pytest.param((8, 3), np.array([0.0, 2.0]), "nll", "multiclass", id="indices-as-floats"),
        pytest.param((8, 3), np.array([0.0, 2.0]), "mse", "regression", id="floats-by-distance"),
        pytest.param((8, 3), np.array([-100, 2]), "cross_entropy", "multiclass", id="ignored"),
    ],
)
def test_the_loss_helps(shape: tuple[int, ...], targets: Any, loss: str, expected: str) -> None:
    assert infer(shape, targets, loss=loss) == expected


@pytest.mark.parametrize(
    ("shape", "targets", "expected"),
    [
        pytest.param((8, 6, 65), np.array([[3, 60], [7, 7]]), "next_token", id="sequence"),
        pytest.param((48, 65), np.array([3, 60, 7]), "next_token", id="flattened"),
        pytest.param((8, 6, 65), np.array([[3, -100], [7, -100]]), "next_token", id="padded"),
        pytest.param((8, 3), np.array([0, 2]), "next_token", id="three-words"),
        pytest.param((8, 2), np.array([0, 1]), "multiclass", id="sentiment"),
        pytest.param((8, 1), np.array([[0.0], [1.0]]), "binary", id="sentiment-one-unit"),
        pytest.param((8, 1), np.array([[0.4], [1.0]]), "regression", id="score"),
        pytest.param((8, 3), TAGS, "multilabel", id="tags"),
    ],
)
def test_tokens_as_input(shape: tuple[int, ...], targets: Any, expected: str) -> None:
    assert infer(shape, targets, tokens=True) == expected


@pytest.mark.parametrize("targets", [None, np.zeros((0, 3)), np.zeros(0, int)])
@pytest.mark.parametrize(
    ("shape", "loss", "tokens", "expected"),
    [
        pytest.param((8, 3), "cross_entropy", False, "multiclass", id="classes"),
        pytest.param((8, 3), "cross_entropy", True, "next_token", id="tokens"),
        pytest.param((8, 2), "cross_entropy", True, "multiclass", id="two-classes-of-texts"),
        pytest.param((), "cross_entropy", True, "multiclass", id="shape-not-known"),
        pytest.param((8, 3), "nll", False, "multiclass", id="nll"),
        pytest.param((8, 3), "kl_div", False, "multiclass", id="kl-div"),
        pytest.param((8, 1), "bce", False, "binary", id="one-answer"),
        pytest.param((8,), "bce_logits", False, "binary", id="no-unit"),
        pytest.param((), "bce_logits", False, "binary", id="answers-shape-not-known"),
        pytest.param((8, 2), "bce_logits", False, "multilabel", id="several-answers"),
        pytest.param((8, 1), "mse", False, "", id="distance"),
        pytest.param((8, 3), "", True, "", id="nothing-known"),
    ],
)
def test_without_targets_the_loss_must_say(
    targets: Any, shape: tuple[int, ...], loss: str, tokens: bool, expected: str
) -> None:
    assert infer(shape, targets, loss=loss, tokens=tokens) == expected


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_numbers_of_any_scale_are_numbers(scale: float) -> None:
    assert infer((8, 1), scale * np.array([[0.3], [-2.5]])) == "regression"


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        pytest.param([0, 1, 1, 2], 3, id="classes"),
        pytest.param([0.0, 1.0, 1.0], 2, id="as-floats"),
        pytest.param([[0.0, 7.0], [-3.0, 7.0]], 3, id="of-any-shape-and-size"),
        pytest.param([5.0], 1, id="one"),
        pytest.param([0.5, 1.0], 0, id="not-whole"),
        pytest.param([0.9999, 2.0001], 2, id="but-for-rounding"),
        pytest.param([1e-4, 2e-4], 0, id="small-but-not-rounding"),
        pytest.param([np.nan, 1.0], 0, id="nan"),
    ],
)
def test_labels(targets: Any, expected: int) -> None:
    assert labels(np.array(targets)) == expected


def test_what_it_may_say() -> None:
    assert get_args(Task) == TASKS
    assert "" in TASKS


def test_no_targets_have_no_labels() -> None:
    assert labels(np.zeros(0)) == 0
