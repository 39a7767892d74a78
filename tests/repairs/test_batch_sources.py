from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Subset, TensorDataset

from sickbay.errors import UsageError
from sickbay.repairs.data import Data
from tests.repairs.datasets import COUNT, Items, Stream, X, Y, halves, loader


def test_the_last_batch_of_a_loader_of_its_own() -> None:
    data = Data.of(loader(Subset(Items(), range(21)), collate_fn=halves), batch_size=5)
    assert [len(targets) for _, targets in data.batches(None, 0)] == [10, 10]


def test_a_plain_loader_can_have_another_batch_size() -> None:
    data = Data.of(loader(batch_size=20, drop_last=True), batch_size=5)
    assert (data.batch_size, data.fixed_batches) == (20, False)
    assert [len(targets) for _, targets in data.batches(None, 0)] == [20] * 4
    assert [len(targets) for _, targets in data.batches(40, 0)] == [40] * 2


def rows_of(data: Data, epoch: int = 0, size: int | None = None) -> list[int]:
    return [int(x) // 3 for inputs, _ in data.batches(size, epoch) for x in inputs[0][:, 0]]


ORDERED: dict[str, dict[str, Any]] = {
    "tensors": {},
    "items": {"dataset": Items()},
    "sampler": {"sampler": torch.utils.data.SequentialSampler(Items()), "shuffle": None},
    "collate": {"collate_fn": halves},
}


@pytest.mark.parametrize("kind", ORDERED)
def test_a_loader_that_does_not_shuffle_is_not_shuffled(kind: str) -> None:
    data = Data.of(loader(**{"shuffle": False, **ORDERED[kind]}), (X, Y), batch_size=5)
    assert rows_of(data, 0) == rows_of(data, 1) == list(range(COUNT))


def test_one_that_does_is() -> None:
    data = Data.of(loader(shuffle=True), (X, Y), batch_size=5)
    assert rows_of(data, 0) != rows_of(data, 1)
    assert sorted(rows_of(data, 0)) == list(range(COUNT))


def test_the_order_is_kept_where_samples_are_held_out() -> None:
    data = Data.of(loader(shuffle=False, drop_last=True, batch_size=20), batch_size=5)
    rows = rows_of(data)
    assert len(rows) == 80
    assert rows == sorted(rows)
    assert len(rows_of(data, size=30)) == 90
    assert set(data.targets(40).tolist()) == {0, 1, 2, 3}


def test_samples_are_looked_at_in_no_order() -> None:
    by_class = TensorDataset(X, torch.arange(COUNT) // 50)
    data = Data.of(loader(by_class, shuffle=False), (X, Y), batch_size=5)
    assert set(data.targets(20).tolist()) == {0, 1}


def test_a_loader_to_score_with_keeps_its_batch_size() -> None:
    for given in (loader(batch_size=7, shuffle=False), loader(batch_size=7, collate_fn=halves)):
        sizes = [len(y) for _, y in Data.of((X, Y), given, batch_size=5).validation_batches()]
        assert sizes == [7] * 14 + [2]


def test_a_weighted_sampler_is_respected() -> None:
    weights = (torch.arange(COUNT) < 5).double()
    sampler = torch.utils.data.WeightedRandomSampler(weights.tolist(), 30)
    data = Data.of(loader(sampler=sampler, shuffle=None), (X, Y), batch_size=5)
    assert len(rows_of(data)) == 30
    assert max(rows_of(data)) < 5


class Doubled(TensorDataset):
    """Tensors that are changed on the way."""

    def __getitem__(self, row: int) -> Any:
        return tuple(2 * each for each in super().__getitem__(row))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("part", [False, True])
def test_a_dataset_made_of_tensors_that_changes_them(part: bool) -> None:
    made = Doubled(X, Y)
    given = Subset(made, range(COUNT)) if part else made
    inputs, targets = next(Data.of(given, batch_size=10).batches(None, 0))
    assert torch.equal(targets, 2 * Y[(inputs[0][:, 0] / 6).long()])


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"collate_fn": halves}, 10),
        ({"sampler": torch.utils.data.SubsetRandomSampler(range(20)), "shuffle": None}, 10),
        ({"sampler": torch.utils.data.RandomSampler(Items(), True), "shuffle": None}, 10),
        ({"worker_init_fn": print}, 10),
        ({"dataset": Stream(), "shuffle": None}, 10),
        (
            {"batch_sampler": [[0, 1], [2, 3]], "batch_size": 1, "shuffle": None},
            None,
        ),
    ],
    ids=["collate", "subset", "replacement", "workers", "stream", "batch-sampler"],
)
def test_a_loader_with_a_way_of_its_own_is_taken_as_it_is(
    options: dict[str, Any], size: int | None
) -> None:
    data = Data.of(loader(**options), batch_size=5)
    assert data.fixed_batches
    assert data.batch_size == size
    first = next(data.batches(7, 0))
    assert len(first[1]) == (size or 2)


def test_a_stream_has_no_size() -> None:
    data = Data.of(loader(Stream(), shuffle=None), batch_size=5)
    assert data.size is None
    assert sum(len(targets) for _, targets in data.batches(None, 0)) == COUNT
    assert sum(len(targets) for _, targets in data.validation_batches()) == COUNT  # ten batches
    assert len(data.targets(37)) == 37


def test_a_loader_keeps_its_generator() -> None:
    own = torch.Generator().manual_seed(5)
    data = Data.of(loader(collate_fn=halves, generator=own), batch_size=5)
    list(data.batches(None, 0))
    assert own.get_state().equal(torch.Generator().manual_seed(5).get_state())


@pytest.mark.parametrize("nested", [True, False])
def test_several_inputs(nested: bool) -> None:
    other = torch.arange(COUNT)
    given: Any = ((X, other), Y) if nested else TensorDataset(X, other, Y)
    inputs, targets = next(Data.of(given, batch_size=10).batches(None, 0))
    assert [each.dtype for each in inputs] == [torch.float32, torch.int64]
    assert torch.equal(inputs[0][:, 0], inputs[1] * 3.0)
    assert torch.equal(targets, Y[inputs[1]])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.array([0, 1], np.uint8), torch.int64),
        (np.array([0, 1], np.int32), torch.int64),
        (np.array([True, False]), torch.int64),
        (np.array([0.5, 1.0]), torch.float32),
        (torch.tensor([0.5, 1.0], dtype=torch.float64), torch.float32),
        ([0.0, 1.0], torch.float32),
        ([0, 1], torch.int64),
    ],
)
def test_types_of_labels(given: Any, kept: torch.dtype) -> None:
    assert Data.of((np.zeros((2, 1)), given), batch_size=1).targets().dtype == kept


def test_types_of_features() -> None:
    whole = np.array([[1, 2], [3, 4]], np.int32)
    assert Data.of((whole, [0, 1]), batch_size=1).example()[0].dtype == torch.int32
    double = Data.of((np.zeros((2, 1)), [0.0, 1.0]), batch_size=1, dtype=torch.float64)
    assert double.example()[0].dtype == double.targets().dtype == torch.float64


def test_arrays_that_torch_cannot_share() -> None:
    frozen = np.zeros((4, 2))
    frozen.flags.writeable = False
    data = Data.of((frozen, np.arange(4)[::-1]), batch_size=2)
    assert sorted(data.targets().tolist()) == [0, 1, 2, 3]


def test_a_loader_that_pads_gives_examples_of_one_length() -> None:
    def pad(samples: list[Any]) -> Any:
        longest = max(int(y) for _, y in samples) + 1
        return torch.zeros(len(samples), longest), torch.tensor([int(y) for _, y in samples])

    ordered = Subset(Items(), sorted(range(COUNT), key=lambda row: int(Y[row])))
    data = Data.of(loader(ordered, shuffle=False, collate_fn=pad), batch_size=5)
    assert tuple(data.example(64)[0].shape) == (20, 1)


def test_an_empty_dataset() -> None:
    with pytest.raises(UsageError, match=r"^data must have at least one sample, got none\.$"):
        Data.of(Items(0), batch_size=5)
