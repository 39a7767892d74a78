from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Subset, TensorDataset

from sickbay.errors import UsageError
from sickbay.repairs.data import Data
from tests.repairs.samples import COUNT, Items, Stream, X, Y, halves, loader


def test_the_last_batch_of_a_loader_of_its_own() -> None:
    data = Data.of(loader(Subset(Items(), range(21)), collate_fn=halves), batch_size=5)
    assert [len(targets) for _, targets in data.batches(None, 0)] == [10, 10]


def test_a_plain_loader_can_have_another_batch_size() -> None:
    data = Data.of(loader(batch_size=20, drop_last=True), batch_size=5)
    assert (data.batch_size, data.fixed_batches) == (20, False)
    assert [len(targets) for _, targets in data.batches(None, 0)] == [20] * 4
    assert [len(targets) for _, targets in data.batches(40, 0)] == [40] * 2


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
