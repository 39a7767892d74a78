"""What constant answers and quick references reach, for inputs and targets of every shape."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import sickbay
from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.repairs.data import Data
from sickbay.repairs.yardsticks.measure import Yardsticks

COUNT = 300


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


X = drawn(COUNT, 6)
CLASSES = X[:, :3].argmax(1)
YES = (X[:, 0] > 0).float()
VALUE = X @ torch.tensor([1.0, -2.0, 3.0, 0.0, 0.0, 1.0])
WORDS = (drawn(COUNT, 12) * 20).long().abs() % 50
GOOD = (WORDS < 5).sum(1) > 1
TAGS = (X[:, :3] > 0).float()
FLAT = nn.Flatten()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.GRU(2, 8, batch_first=True), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.cell(x)[0][:, -1])
        return out


def embedded(outputs: int) -> nn.Module:
    return nn.Sequential(nn.EmbeddingBag(50, 8), nn.Linear(8, outputs))


def measured(
    model: nn.Module, data: Any, loss: Any, said: list[str] | None = None, **more: Any
) -> Yardstick:
    recipe = sickbay.Recipe(model, loss, torch.optim.SGD(model.parameters(), lr=0.1))
    told = (lambda _: None) if said is None else said.append
    samples = Data.of(data, more.get("validation"), batch_size=16)
    return Yardsticks(samples, more.get("metric"), told).of(recipe)


CE, MSE, BCE, LOGITS = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCELoss(), nn.BCEWithLogitsLoss()
SIGMOID = nn.Sequential(nn.Linear(6, 1), nn.Sigmoid())
IMAGES = X[:, :1, None, None] * torch.ones(1, 3, 24, 24)
IMAGE_MODEL = nn.Sequential(FLAT, nn.Linear(3 * 24 * 24, 3))
SERIES = X.reshape(COUNT, 3, 2)
NAN = X.clone()
NAN[3, 2] = torch.nan
STUCK = torch.cat([X, torch.ones(COUNT, 1)], 1)


@pytest.mark.parametrize(
    ("model", "x", "y", "loss", "least"),
    [
        pytest.param(nn.Linear(6, 3), X, CLASSES, CE, 0.8, id="classes"),
        pytest.param(nn.Linear(6, 4), X, CLASSES + 1, CE, 0.8, id="classes-from-one"),
        pytest.param(nn.Linear(6, 3), X, torch.eye(3)[CLASSES], CE, 0.8, id="one-hot"),
        pytest.param(nn.Linear(6, 3), X, torch.eye(3)[CLASSES], MSE, 0.8, id="one-hot-mse"),
        pytest.param(nn.Linear(6, 2), X, YES.long(), CE, 0.9, id="two-classes"),
        pytest.param(nn.Linear(6, 1), X, YES[:, None], LOGITS, 0.9, id="yes-or-no"),
        pytest.param(SIGMOID, X, YES[:, None], BCE, 0.9, id="probabilities"),
        pytest.param(nn.Linear(6, 1), X, 2 * YES[:, None] - 1, MSE, 0.9, id="signed"),
        pytest.param(nn.Linear(6, 3), X, TAGS, LOGITS, 0.9, id="several-labels"),
        pytest.param(nn.Linear(6, 1), X, VALUE[:, None], MSE, 0.9, id="values"),
        pytest.param(nn.Linear(6, 1), X, VALUE, MSE, 0.9, id="column-against-row"),
        pytest.param(nn.Linear(6, 1), X, 1e7 + 1e6 * VALUE, MSE, 0.9, id="huge-values"),
        pytest.param(nn.Linear(6, 2), X, torch.stack([VALUE, X[:, 0]], 1), MSE, 0.9, id="pairs"),
        pytest.param(nn.Linear(6, 1), X, CLASSES[:, None].float(), MSE, 0.4, id="class-numbers"),
        pytest.param(nn.Linear(6, 1), 1e5 * X, VALUE[:, None], MSE, 0.9, id="huge-inputs"),
        pytest.param(nn.Linear(6, 3), NAN, CLASSES, CE, 0.8, id="nan-inputs"),
        pytest.param(nn.Linear(7, 3), STUCK, CLASSES, CE, 0.8, id="constant-feature"),
        pytest.param(nn.Linear(1, 1), X[:, :1], X[:, :1] ** 2, MSE, 0.9, id="one-feature"),
        pytest.param(IMAGE_MODEL, IMAGES, (X[:, 0] > 0).long(), CE, 0.9, id="images"),
        pytest.param(Recurrent(), SERIES, VALUE[:, None], MSE, 0.9, id="series"),
        pytest.param(embedded(2), WORDS, GOOD.long(), CE, 0.7, id="words"),
    ],
)  # fmt: skip
def test_every_shape_has_both(
    model: nn.Module, x: Tensor, y: Tensor, loss: Any, least: float
) -> None:
    said: list[str] = []
    found = measured(model, (x, y), loss, said)
    assert said == []
    assert found.constant is not None
    assert found.reference is not None
    assert found.reference > least
    assert found.reference > found.constant + 0.1
    assert found.samples == 30


def test_a_constant_answer_is_the_most_frequent_class() -> None:
    y = torch.zeros(COUNT, dtype=torch.long)
    y[:90] = 1
    model = nn.Linear(6, 3)
    recipe = sickbay.Recipe(model, CE, torch.optim.SGD(model.parameters(), lr=0.1))
    data = Data.of((X, y), (X, y), batch_size=16)
    assert Yardsticks(data).of(recipe).constant == 0.7


def test_a_constant_value_explains_nothing() -> None:
    found = measured(nn.Linear(6, 1), (X, VALUE[:, None]), MSE)
    assert found.metric == "val_score"
    assert -0.2 < (found.constant or 1) <= 0


@pytest.mark.parametrize("metric", ["f1", "loss", lambda o, t: float((o.argmax(1) == t).sum())])
def test_they_are_in_the_metric_of_the_user(metric: Any) -> None:
    found = measured(nn.Linear(6, 3), (X, CLASSES), CE, metric=metric)
    assert found.metric == "val_metric"
    assert found.reference is not None
    assert found.constant is not None
    assert found.reference > found.constant


def test_several_rows_for_a_sample_have_no_reference_and_say_so_once() -> None:
    said: list[str] = []
    model = nn.Sequential(nn.Linear(6, 12), nn.Unflatten(1, (2, 6)), nn.Flatten(0, 1))
    loss = lambda o, t: F.mse_loss(o.reshape(-1, 12), t.repeat(1, 2))  # noqa: E731
    recipe = sickbay.Recipe(model, loss, torch.optim.SGD(model.parameters(), lr=0.1))
    yardsticks = Yardsticks(Data.of((X, X), batch_size=16), None, said.append)
    for _ in range(2):
        found = yardsticks.of(recipe)
    assert found.reference is None
    assert len(said) == 1


FACTORS = drawn(COUNT, 2) @ torch.tensor([[1.0, 1, 0, 0, 2, 1], [0, 1, 1, 1, 0, 2]])


@pytest.mark.parametrize(("width", "least", "most"), [(1, 0.5, 0.9), (2, 0.999, 1.0)])
def test_an_autoencoder_has_components_as_its_code_is_wide(
    width: int, least: float, most: float
) -> None:
    model = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 6))
    found = measured(model, (FACTORS, FACTORS), MSE)
    assert found.reference is not None
    assert least < found.reference <= most
    assert found.constant == pytest.approx(0, abs=0.1)


def test_an_autoencoder_may_find_a_curved_code() -> None:
    turn = 1.5 * drawn(COUNT, 1).tanh()
    curve = torch.cat([turn.cos(), turn.sin(), (2 * turn).cos(), (2 * turn).sin()], 1)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Linear(1, 4))
    found = measured(model, (curve, curve), MSE)
    assert found.reference is not None
    assert found.reference > 0.9  # components get 0.6


def test_an_autoencoder_that_removes_noise() -> None:
    model = nn.Sequential(nn.Linear(6, 2), nn.Linear(2, 6))
    found = measured(model, (FACTORS + 0.1 * X, FACTORS), MSE)
    assert found.reference == pytest.approx(0.99, abs=0.01)


@pytest.mark.parametrize("last", [nn.Sigmoid(), nn.Identity()])
def test_an_autoencoder_of_shares(last: nn.Module) -> None:
    shares = FACTORS.sigmoid()
    model = nn.Sequential(nn.Linear(6, 2), nn.Linear(2, 6), last)
    found = measured(model, (shares, shares), BCE if isinstance(last, nn.Sigmoid) else LOGITS)
    assert found.reference is not None
    assert found.reference > 0.8
    assert found.constant == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("count", [1, 2, 5, 20, 49])
@pytest.mark.parametrize("loss", [CE, MSE])
def test_few_samples(count: int, loss: Any) -> None:
    y = CLASSES[:count] if loss is CE else VALUE[:count, None]
    found = measured(nn.Linear(6, 3 if loss is CE else 1), (X[:count], y), loss)
    assert found.samples == 0  # they are scored on what they are trained on
    assert found.constant is not None


def test_one_class_only_leaves_nothing_to_beat() -> None:
    found = measured(nn.Linear(6, 3), (X, torch.zeros(COUNT, dtype=torch.long)), CE)
    assert (found.constant, found.reference) == (1.0, 1.0)
    assert found.is_met(1.0)


def test_a_loss_that_fails_is_no_error() -> None:
    def fails(outputs: Tensor, _: Tensor) -> Tensor:
        raise RuntimeError(f"no {len(outputs)}")

    said: list[str] = []
    assert not measured(nn.Linear(6, 3), (X, CLASSES), fails, said).known
    assert said == ["no constant answer: no 30."] or said[0].startswith("no constant answer: ")


def test_no_random_state_is_moved() -> None:
    model = nn.Linear(6, 3)
    before = torch.get_rng_state()
    first = measured(model, (X, CLASSES), CE)
    assert before.equal(torch.get_rng_state())
    assert measured(model, (X, CLASSES), CE) == first
    assert model.training


@pytest.mark.parametrize("words", [5000, 20_000])
def test_large_outputs_take_little_memory(monkeypatch: pytest.MonkeyPatch, words: int) -> None:
    taken, told = list[int](), list[str]()
    some = Data.some

    def counted(data: Data, count: int) -> Any:
        taken.append(count)
        return some(data, count)

    monkeypatch.setattr(Data, "some", counted)
    monkeypatch.setattr(torch.nn.functional, "one_hot", None)
    model = nn.Embedding(words, 600)
    x = torch.arange(4000).reshape(400, 10)
    x[:, 0] = words - 1

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(outputs.flatten(0, 1), targets.flatten())

    found = measured(model, (x, x % 7), loss, told)
    assert taken[:2] == [16, 665]  # 6,010 values each
    assert found.constant is not None
    assert found.reference is not None
    assert not told


def test_a_loss_is_another_one_where_it_is_the_score() -> None:
    model, data = nn.Linear(6, 3), Data.of((X, CLASSES), batch_size=16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = CE, nn.CrossEntropyLoss(reduction="sum")
    recipes = [sickbay.Recipe(model, loss, optimizer) for loss in losses]
    first, second = map(Yardsticks(data, "loss").of, recipes)
    assert first.constant is not None
    assert second.constant == pytest.approx(30 * first.constant)


class Counting:
    """Keeps how often it was called, as a loss with a running mean would."""

    def __init__(self, loss: Any) -> None:
        self.loss, self.calls = loss, 0

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.calls += 1
        out: Tensor = self.loss(outputs, targets)
        return out


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize(("loss", "y"), [(CE, CLASSES), (MSE, VALUE[:, None])])
def test_a_loss_that_counts_sees_no_made_up_answers(loss: Any, y: Tensor, bound: bool) -> None:
    counting = Counting(loss)
    given = counting.__call__ if bound else counting
    assert measured(nn.Linear(6, 3 if loss is CE else 1), (X, y), given).known
    assert counting.calls == 0


def test_padding_is_not_scored() -> None:
    inside = torch.arange(12) < (3 + torch.arange(COUNT) % 9)[:, None]
    words = ((drawn(COUNT, 12) * 20).long().abs() % 4 + 1) * inside
    model = nn.Embedding(5, 5)
    found = measured(model, (words, words), joined_of(5))
    assert inside.double().mean() < 0.6
    assert found.constant is not None
    assert found.constant < 0.4
    assert found.reference == 1.0


def joined_of(classes: int) -> Any:
    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs.reshape(-1, classes), targets.flatten())

    return loss
