"""The best constant answer to the targets of all batches so far."""

from math import log

import pytest
import torch

from sickbay.probe.constant_answer import ClassCounts, ColumnMeans

ROWS = torch.tensor([[1.0, 101.0], [2.0, 102.0], [6.0, 106.0]]).double()


@pytest.mark.parametrize("sizes", [[3], [1, 2], [2, 1], [1, 1, 1]])
def test_the_variance_is_that_of_all_batches_around_the_means_of_columns(sizes: list[int]) -> None:
    constant = ColumnMeans()
    for rows in torch.split(ROWS, sizes):
        constant.add(rows)
    assert constant.means.tolist() == pytest.approx([3.0, 103.0])
    assert constant.variance == pytest.approx(14 / 2)


def test_another_number_of_columns_starts_over() -> None:
    constant = ColumnMeans()
    constant.add(ROWS)
    constant.add(ROWS[:2, :1])
    assert (constant.number, constant.means.tolist()) == (2, [1.5])
    assert constant.variance == pytest.approx(0.5)


def test_the_share_is_that_of_the_better_answer_to_each_column() -> None:
    constant = ColumnMeans()
    for rows in ([[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]):
        constant.add(torch.tensor(rows).double())
    assert constant.share == pytest.approx((0.75 + 1.0) / 2)


def test_the_share_of_the_most_frequent_class() -> None:
    counts = ClassCounts()
    for classes in ([0, 1], [1, 2]):
        counts.add(torch.tensor(classes))
    assert counts.counts == {0: 1, 1: 2, 2: 1}
    assert counts.share == 0.5


def test_nothing_was_seen_yet() -> None:
    assert (ClassCounts().share, ColumnMeans().variance) == (0.0, 0.0)


def test_the_entropy_of_the_classes() -> None:
    counts = ClassCounts()
    assert counts.entropy == 0
    counts.add(torch.tensor([0, 1, 2, 3]))
    assert counts.entropy == pytest.approx(log(4))
    counts.add(torch.tensor([0] * 96))
    assert counts.entropy == pytest.approx(-0.97 * log(0.97) - 3 * 0.01 * log(0.01))
