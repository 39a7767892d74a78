from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from sickbay import inject


class Loader:
    """Batches of one epoch; the last has a single label."""

    def __iter__(self) -> Iterator[list[Tensor]]:
        for size in (50, 50, 1):
            yield [torch.arange(size), torch.arange(size)]

    def __len__(self) -> int:
        return 3


def labels(at: int, seed: int = 0) -> list[list[int]]:
    return [y.tolist() for _, y in inject.shuffle_labels(Loader(), at=at, seed=seed)]


def test_labels_are_shuffled_from_a_batch_on_over_epochs() -> None:
    batches = inject.shuffle_labels(Loader(), at=4)
    assert len(batches) == 3
    kept = []
    for _ in range(3):
        for x, y in batches:
            assert sorted(y.tolist()) == x.tolist() == list(range(len(x)))
            kept.append(torch.equal(x, y))
    assert kept == [True, True, True, True, False, True, False, False, True]
    assert (batches.step, batches.steps) == (9, [4])


def test_the_order_is_new_in_every_batch_and_the_same_in_every_run() -> None:
    assert labels(0) == labels(0)
    assert labels(0)[0] != labels(0)[1]
    assert labels(0) != labels(0, seed=1)
    assert labels(3) == [list(range(50)), list(range(50)), [0]]


def test_a_loader_gives_the_same_batches_and_random_numbers_as_without() -> None:
    data = TensorDataset(torch.arange(40), torch.arange(40))
    runs = []
    for at in (None, 99, 0):
        torch.manual_seed(0)
        loader = DataLoader(data, batch_size=8, shuffle=True)
        batches = loader if at is None else inject.shuffle_labels(loader, at=at)
        pairs = [(x.tolist(), y.tolist()) for x, y in batches]
        runs.append((pairs, torch.rand(1).item()))
    plain, later, shuffled = runs
    assert later == plain
    assert [x for x, _ in shuffled[0]] == [x for x, _ in plain[0]]
    assert shuffled[0] != plain[0]
    assert shuffled[1] == plain[1]
