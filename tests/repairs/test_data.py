import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import Subset, TensorDataset

from sickbay.repairs.data import Data
from tests.repairs.datasets import COUNT, Items, X, Y, halves, loader

GIVEN: dict[str, Callable[[], Any]] = {
    "tensors": lambda: (X, Y),
    "arrays": lambda: (X.numpy(), Y.numpy()),
    "lists": lambda: (X.tolist(), Y.tolist()),
    "tensor-dataset": lambda: TensorDataset(X, Y),
    "subset": lambda: Subset(TensorDataset(X, Y), range(COUNT)),
    "dataset": Items,
    "noisy-dataset": lambda: Items(noise=True),
    "samples": lambda: list(zip(X, Y, strict=True)),
    "plain-loader": lambda: loader(),
    "loader-of-items": lambda: loader(Items(noise=True)),
    "own-loader": lambda: loader(collate_fn=halves),
    "own-loader-with-generator": lambda: loader(
        Items(noise=True), collate_fn=halves, generator=torch.Generator()
    ),
}
every_kind = pytest.mark.parametrize("kind", GIVEN)


def made(kind: str, **options: Any) -> Data:
    return Data.of(GIVEN[kind](), **{"batch_size": 10, **options})


def joined(batches: Iterator[Any]) -> tuple[Tensor, Tensor]:
    inputs, targets = zip(*batches, strict=True)
    return torch.cat([each[0] for each in inputs]), torch.cat(targets)


def states() -> tuple[Any, ...]:
    return torch.get_rng_state().tolist(), str(np.random.get_state()), random.getstate()


@every_kind
def test_an_epoch_has_the_same_batches_whenever_it_is_asked_for(kind: str) -> None:
    data = made(kind)
    first = joined(data.batches(None, 3))
    next(data.batches(None, 5))  # somebody else asks for something else
    torch.rand(3)
    again = joined(data.batches(None, 3))
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], joined(data.batches(None, 4))[0])


@every_kind
def test_no_random_state_but_its_own_is_drawn_from(kind: str) -> None:
    before = states()
    data = made(kind)
    for epoch in range(2):
        list(data.batches(None, epoch))
    list(data.validation_batches())
    data.example(), data.targets(), data.statistics(), list(data.trials(7))
    assert states() == before


@every_kind
def test_samples_stay_with_their_labels_and_none_comes_twice(kind: str) -> None:
    data = made(kind)
    inputs, targets = joined(data.batches(None, 0))
    rows = (inputs[:, 0] / 3).long()
    if "noisy" not in kind and "items" not in kind and "generator" not in kind:
        assert torch.equal(targets, Y[rows])
        assert len(set(rows.tolist())) == len(rows) == data.size
    assert inputs.dtype == torch.float32
    assert targets.dtype == torch.int64


def test_shuffling_differs_by_seed_and_epoch() -> None:
    orders = {
        tuple(joined(made("tensors", seed=seed, validation=(X, Y)).batches(None, epoch))[0][:, 0])
        for seed in range(2)
        for epoch in range(3)
    }
    assert len(orders) == 6


@every_kind
def test_what_is_held_out_is_not_trained_on(kind: str) -> None:
    data = made(kind)
    if data.fixed_batches:
        assert not data.held_out
        assert len(list(data.validation_batches())) == 1  # a tenth of ten batches
        return
    assert data.held_out
    assert data.size == 90
    if "noisy" not in kind and "items" not in kind:
        trained, scored = joined(data.batches(None, 0))[0], joined(data.validation_batches())[0]
        both = torch.cat([trained, scored])[:, 0]
        assert torch.equal(both.sort().values, X[:, 0])
        assert len(scored) == 10


@pytest.mark.parametrize(("count", "held"), [(49, 0), (50, 5), (119, 11), (30_000, 2000)])
def test_how_many_are_held_out(count: int, held: int) -> None:
    data = Data.of((torch.zeros(count, 1), torch.zeros(count)), batch_size=8)
    scored = sum(len(targets) for _, targets in data.validation_batches())
    assert (data.size, scored, data.held_out) == (count - held, held or count, held > 0)


def test_validation_that_is_given_keeps_its_order_in_large_batches() -> None:
    x = torch.arange(1100.0)[:, None]
    data = Data.of((X, Y), (x.numpy(), np.zeros(1100)), batch_size=10)
    batches = list(data.validation_batches())
    assert [len(targets) for _, targets in batches] == [512, 512, 76]
    assert torch.equal(torch.cat([inputs[0] for inputs, _ in batches]), x)
    assert data.held_out
    assert data.size == COUNT


@pytest.mark.parametrize(
    ("count", "size", "lengths"),
    [
        (7, 3, [3, 3]),  # the one that is left over is left out
        (8, 3, [3, 3, 2]),
        (1, 3, [1]),  # there is no other
        (3, 1, [1, 1, 1]),
        (4, 9, [4]),
    ],
)
@pytest.mark.parametrize("items", [False, True])
def test_the_last_batch(count: int, size: int, lengths: list[int], items: bool) -> None:
    given = Items(count) if items else (X[:count], Y[:count])
    data = Data.of(given, (X, Y), batch_size=5)
    assert [len(targets) for _, targets in data.batches(size, 0)] == lengths


def test_examples_and_targets() -> None:
    data = made("tensors")
    assert tuple(data.example()[0].shape) == (32, 3)
    assert tuple(data.example(5)[0].shape) == (5, 3)
    assert len(data.targets()) == 90
    rows = (data.example(20)[0][:, 0] / 3).long()
    assert torch.equal(data.targets(20), Y[rows])


def test_statistics_by_feature() -> None:
    x = torch.tensor([[1.0, 5.0, torch.nan], [3.0, torch.inf, torch.nan], [5.0, 7.0, torch.nan]])
    found = Data.of((x, torch.zeros(3)), batch_size=2).statistics()
    assert found is not None
    assert found[0].tolist() == [3.0, 6.0, 0.0]
    assert found[1].tolist() == pytest.approx([(8 / 3) ** 0.5, 1.0, 0.0])


def test_statistics_by_channel() -> None:
    x = torch.stack([torch.zeros(8, 4, 5), torch.full((8, 4, 5), 10.0)], 1)
    x[:, 1, :, 0] = 20.0
    found = Data.of((x, torch.zeros(8)), batch_size=2).statistics()
    assert found is not None
    assert tuple(found[0].shape) == tuple(found[1].shape) == (2, 1, 1)
    assert found[0].flatten().tolist() == [0.0, 12.0]
    assert found[1].flatten().tolist() == [0.0, 4.0]
    assert ((x - found[0]) / found[1].clamp(min=1)).abs().max() == 2.0


def test_whole_numbers_have_no_statistics() -> None:
    assert (
        Data.of((torch.zeros(8, 4, dtype=torch.long), torch.zeros(8)), batch_size=2).statistics()
        is None
    )


def test_bad_samples_are_left_out_of_both() -> None:
    x, y = torch.randn(200, 3, generator=torch.Generator().manual_seed(0)), torch.rand(200)
    x[3, 1], x[4, 0], x[5, 2], y[6] = torch.nan, torch.inf, -1e8, torch.nan
    x[7, 1] = 100.0  # far, but not absurd
    held_x, held_y = x.clone(), y.clone()
    clean = Data.of((x, y), (held_x, held_y), batch_size=10).without_bad_samples()
    for inputs, targets in (joined(clean.batches(None, 0)), joined(clean.validation_batches())):
        assert len(targets) == 196
        assert inputs.isfinite().all()
        assert targets.isfinite().all()
        assert inputs.abs().max() == 100.0
    assert x[3, 1].isnan()


def test_rare_values_are_no_bad_samples() -> None:
    x = torch.zeros(400, 2)
    x[::40, 0] = 1.0  # a feature that is seldom there
    x[::2, 1] = torch.rand(200, generator=torch.Generator().manual_seed(0))
    assert Data.of((x, Y.repeat(4)), (X, Y), batch_size=9).without_bad_samples().size == 400


def test_a_single_absurd_value_among_equal_ones_is_a_bad_sample() -> None:
    x = torch.zeros(400, 2)
    x[:, 1] = torch.rand(400, generator=torch.Generator().manual_seed(0))
    x[7, 0] = 1e9
    assert Data.of((x, Y.repeat(4)), (X, Y), batch_size=9).without_bad_samples().size == 399


def test_an_infinite_value_among_equal_ones_is_a_bad_sample() -> None:
    x = torch.ones(COUNT, 1)
    x[7] = torch.inf
    assert Data.of((x, Y), (X, Y), batch_size=9).without_bad_samples().size == COUNT - 1


def test_data_with_nothing_but_bad_samples_stays_as_it_is() -> None:
    x = torch.tensor([[1.0, torch.nan], [2.0, torch.nan]])
    data = Data.of((x, torch.zeros(2)), batch_size=2)
    assert data.without_bad_samples().size == 2


def test_a_dataset_is_not_searched_for_bad_samples() -> None:
    data = made("dataset")
    assert data.without_bad_samples() is data


def test_batches_go_to_the_device() -> None:
    data = Data.of((X, Y), batch_size=10, device="cpu")
    assert data.device == torch.device("cpu")
    inputs, targets = next(data.batches(None, 0))
    assert inputs[0].device == targets.device == torch.device("cpu")


@pytest.mark.parametrize("kind", ["tensors", "dataset", "plain-loader"])
def test_it_can_be_sent_to_another_process(kind: str) -> None:
    data = made(kind)
    sent = pickle.loads(pickle.dumps(data))
    assert torch.equal(joined(sent.batches(None, 1))[0], joined(data.batches(None, 1))[0])


def test_trials_have_the_extreme_labels() -> None:
    y = torch.zeros(COUNT, dtype=torch.long)
    y[70], y[80] = -1, 12
    for given in ((X, y), list(zip(X, y, strict=True))):
        found = [
            (name, few, known)
            for name, _, few, known in Data.of(given, (X, Y), batch_size=9).trials(7)
        ]
        assert [name for name, _, _ in found] == ["data", "validation"]
        assert Counter(found[0][1].tolist()) == {0: 7, -1: 1, 12: 1}
        assert torch.equal(found[0][2], y)
