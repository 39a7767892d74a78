from collections.abc import Callable
from math import inf, log, nan
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from sickbay.repairs.data import Data
from sickbay.repairs.scoring import evaluate, key

CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


class Gives(nn.Module):
    """A model that returns its input, or what a function makes of it."""

    def __init__(self, change: Callable[[Tensor], Any] = lambda x: x) -> None:
        super().__init__()
        self.weight, self.change = nn.Parameter(torch.ones(1)), change

    def forward(self, x: Tensor) -> Any:
        return self.change(x * self.weight if x.is_floating_point() else x)


def zero(outputs: Tensor, _targets: Tensor) -> Tensor:
    return outputs.sum() * 0


def scored(
    outputs: Any, targets: Any, loss: Any = zero, model: Any = None, metric: Any = None
) -> dict[str, float]:
    """Score a model that gives these outputs."""
    given = torch.as_tensor(outputs), torch.as_tensor(targets)
    return evaluate(model or Gives(), loss, Data.of(given, given, batch_size=2), metric)


def test_cross_entropy_by_hand() -> None:
    outputs = torch.tensor([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]]).log()
    found = scored(outputs, [0, 1, 1], CE)
    assert found["val_accuracy"] == pytest.approx(2 / 3)
    assert found["val_loss"] == pytest.approx(-(log(0.8) + log(0.6) + log(0.1)) / 3)
    assert set(found) == {"val_loss", "val_accuracy"}


def test_numbers_without_an_output_of_their_own_are_no_classes() -> None:
    assert set(scored(torch.eye(4), [0, 1, 2, 3])) == {"val_loss", "val_accuracy"}
    assert set(scored(torch.eye(4), [0, 1, 2, 4])) == {"val_loss"}


def test_the_loss_is_of_all_samples_whatever_the_batches() -> None:
    values = torch.arange(600.0)[:, None]  # 512 and 88
    data = Data.of((values, values), (values, torch.zeros(600, 1)), batch_size=2)
    assert evaluate(Gives(), MSE, data)["val_loss"] == pytest.approx(float(values.square().mean()))


COLUMN = [[0.6], [0.4], [0.7], [0.2]]
ACCURACIES: dict[str, tuple[Any, Any, float]] = {
    "probabilities": (COLUMN, [[1.0], [0.0], [0.0], [0.0]], 0.75),
    "probabilities, flat labels": (COLUMN, [1.0, 0.0, 0.0, 0.0], 0.75),
    "logits": ([[0.4], [-0.3], [2.0], [0.2]], [[1.0], [0.0], [1.0], [0.0]], 0.75),
    "whole labels": (COLUMN, [1, 0, 0, 0], 0.75),
    "signs": ([[0.3], [0.2], [-0.4], [0.1]], [[1.0], [1.0], [-1.0], [-1.0]], 0.75),
    "signs of small outputs": ([[0.3], [0.2], [0.4], [0.1]], [[1.0], [1.0], [1.0], [-1.0]], 0.75),
    "two outputs": ([[0.1, 0.2], [0.3, 0.2], [5.0, 1.0]], [1, 0, 1], 2 / 3),
    "two outputs, float labels": ([[0.1, 0.2], [0.3, 0.2], [5.0, 1.0]], [1.0, 0.0, 1.0], 2 / 3),
    "two outputs, signs": ([[0.1, 0.2], [0.3, 0.2], [5.0, 1.0]], [1.0, -1.0, 1.0], 2 / 3),
    "one-hot": ([[3.0, 2, 1], [1, 2, 3], [1, 3, 2]], [[1.0, 0, 0], [0, 0, 1], [0, 0, 1]], 2 / 3),
    "multilabel": ([[3.0, -2, 1], [1, -2, 3]], [[1.0, 0, 1], [1, 1, 0]], 4 / 6),
    "multilabel probabilities": ([[0.9, 0.2], [0.4, 0.7]], [[1.0, 0], [1, 1]], 0.75),
    "ignored labels": ([[0.1, 0.2, 0], [0.3, 0.2, 0], [5.0, 1, 0]], [1, -100, 2], 0.5),
    "NaN": ([[nan, 0.0, 0.0], [0.0, nan, 0.0], [0.0, 0.0, 1.0]], [0, 1, 2], 1 / 3),
    "inf": ([[inf, 0.0, 0.0], [-inf, -inf, -inf], [-inf, 0.0, 1.0]], [0, 0, 2], 1 / 3),
    "binary NaN": ([[nan], [-3.0], [inf], [nan]], [[0.0], [0.0], [1.0], [1.0]], 0.25),
}


@pytest.mark.parametrize("case", ACCURACIES)
def test_accuracy(case: str) -> None:
    outputs, targets, accuracy = ACCURACIES[case]
    assert scored(outputs, targets)["val_accuracy"] == pytest.approx(accuracy)


@pytest.mark.parametrize(("targets", "name"), [([0, 1], "val_accuracy"), ([0.5, 2], "val_score")])
def test_a_model_that_gives_nothing_but_nan_is_all_wrong(targets: Any, name: str) -> None:
    found = scored([[0.1], [0.2]], targets, model=Gives(lambda x: x * nan))
    assert found[name] == (0.0 if name == "val_accuracy" else -1.0)
    assert found["val_loss"] != found["val_loss"]


def test_pictures_with_a_label_for_every_pixel() -> None:
    labels = torch.arange(2 * 4 * 5).reshape(2, 4, 5) % 3
    outputs = functional.one_hot(labels, 3).movedim(-1, 1).float().contiguous()
    labels[0, 0] = (labels[0, 0] + 1) % 3
    assert scored(outputs, labels, CE)["val_accuracy"] == pytest.approx(35 / 40)


TOKENS = torch.arange(24).reshape(4, 6) % 5
NEXT = (TOKENS + 1) % 5


def votes(tokens: Tensor) -> Tensor:
    """Return (N, T, 5) outputs that are right but for the first token of every row."""
    outputs = functional.one_hot((tokens + 1) % 5, 5).float()
    outputs[:, 0] = -outputs[:, 0]
    return outputs


def by_token(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(outputs.reshape(-1, 5), targets.reshape(-1))


@pytest.mark.parametrize(
    ("shape", "loss"),
    [
        (votes, by_token),  # (N, T, C)
        (lambda x: votes(x).flatten(0, 1), by_token),  # (N * T, C)
        (lambda x: votes(x).movedim(-1, 1), CE),  # (N, C, T)
    ],
)
@pytest.mark.parametrize("length", [6, 5])  # five tokens, as many as there are classes
def test_next_tokens(shape: Callable[[Tensor], Tensor], loss: Any, length: int) -> None:
    found = scored(TOKENS[:, :length], NEXT[:, :length], loss, model=Gives(shape))
    assert found["val_accuracy"] == pytest.approx(1 - 1 / length)


def test_regression_by_hand() -> None:
    found = scored([[1.0], [2.0], [3.0]], [[1.0], [2.0], [6.0]], MSE)
    assert found["val_loss"] == pytest.approx(3.0)
    assert found["val_score"] == pytest.approx(1 - 3 / (14 / 3))
    assert "val_accuracy" not in found


@pytest.mark.parametrize(
    ("outputs", "targets", "score"),
    [
        ([[1.0, 30.0], [2.0, 10.0]], [[1.0, 30.0], [2.0, 10.0]], 1.0),
        ([[99.0], [2.5]], [[1.5], [2.5]], -1.0),  # no worse than that
        ([[nan], [2.5]], [[1.5], [2.5]], -1.0),
        ([[1.5], [7.0], [2.5]], [[1.5], [nan], [2.5]], 1.0),  # a target that is none
        ([1.5, 2.5], [[1.5], [2.5]], 1.0),
        ([[1.5], [2.5]], [1.5, 2.5], 1.0),
        ([[2.5], [2.5]], [[2.5], [2.5]], 1.0),  # nothing to explain
        ([[2.5], [2.4]], [[2.5], [2.5]], -1.0),
        ([[0.0, 30.0], [0.0, 10.0]], [[1.5, 30.0], [2.5, 10.0]], 1 - 8.5 / 4 / (200.5 / 4)),
    ],
)
def test_score(outputs: Any, targets: Any, score: float) -> None:
    assert scored(outputs, targets)["val_score"] == pytest.approx(score)


def test_a_stretched_loss_is_no_warning_and_still_scored() -> None:
    found = scored([[1.5], [2.5]], [1.5, 2.5], MSE)
    assert found == {"val_loss": 0.5, "val_score": 1.0}


def test_outputs_of_several_tensors_have_a_loss_only() -> None:
    model = Gives(lambda x: (x, x))
    found = scored(COLUMN, [1, 0, 0, 0], lambda x, _: x[0].sum() * 0 + 2, model=model)
    assert found == {"val_loss": 2.0}


def test_nothing_but_ignored_labels_has_no_accuracy() -> None:
    found = scored([[0.1, 0.2, 0], [0.3, 0.2, 0]], [-100, -100])
    assert found == {"val_loss": 0.0}


def test_a_dataset_and_a_loader_are_scored_alike() -> None:
    x, y = torch.eye(4).repeat(5, 1), torch.arange(20) % 4
    y[0] = 3
    loader = DataLoader(TensorDataset(x, y), batch_size=20, worker_init_fn=print)
    for given in ((x, y), list(zip(x, y.tolist(), strict=True)), loader):
        found = evaluate(Gives(), CE, Data.of(given, batch_size=5))
        assert found["val_accuracy"] == pytest.approx(0.95)


def test_the_model_is_left_as_it_was() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 2), nn.BatchNorm1d(2))
    model[3].eval()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    data = Data.of((torch.rand(60, 3), torch.arange(60) % 2), batch_size=5)
    before = torch.get_rng_state()
    seen: list[bool] = []
    model[1].register_forward_hook(lambda module, *_: seen.append(module.training))
    first = evaluate(model, CE, data)
    assert first == evaluate(model, CE, data)
    assert seen == [False, False]
    assert [each.training for each in model.modules()] == [True, True, True, True, False]
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), before)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_modes_are_restored_when_a_model_fails() -> None:
    model = Gives(lambda x: x @ torch.ones(9, 9))
    with pytest.raises(RuntimeError):
        scored(COLUMN, [1, 0, 0, 0], model=model)
    assert model.training


def test_noise_of_a_model_is_the_same_every_time() -> None:
    model = Gives(lambda x: x + torch.rand_like(x))
    assert scored(COLUMN, COLUMN, MSE, model=model) == scored(COLUMN, COLUMN, MSE, model=model)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"val_loss": 9.0, "val_accuracy": 0.6}, {"val_loss": 1.0, "val_accuracy": 0.5}),
        ({"val_loss": 9.0, "val_score": 0.6}, {"val_loss": 1.0, "val_score": -1.0}),
        ({"val_loss": 1.0}, {"val_loss": 2.0}),
        ({"val_loss": 1e30}, {"val_loss": nan}),
        ({"val_accuracy": 0.0}, {"val_accuracy": nan}),
        ({"val_loss": 1.0}, {}),
    ],
)
def test_better(one: dict[str, float], other: dict[str, float]) -> None:
    assert key(one) > key(other)


def test_keys() -> None:
    assert key({"val_loss": 2.0, "val_score": 0.1, "val_accuracy": 0.5}) == 0.5
    assert key({"val_loss": 2.0, "val_score": 0.1}) == 0.1
    assert key({"val_loss": 2.0}) == -2.0
    assert key({"val_loss": nan}) == -inf


def test_digits_are_learnt() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = datasets.load_digits(return_X_y=True)
    data = Data.of((x, y), batch_size=64)
    assert data.without_bad_samples().size == data.size == 1618
    statistics = data.statistics()
    assert statistics is not None
    assert torch.allclose(statistics[0], torch.tensor(x.mean(0)).float(), atol=0.3)
    model = nn.Linear(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    first = evaluate(model, CE, data)
    for epoch in range(5):
        for inputs, targets in data.batches(None, epoch):
            optimizer.zero_grad()
            CE(model(*inputs), targets).backward()
            optimizer.step()
    last = evaluate(model, CE, data)
    assert key(last) > key(first)
    assert last["val_accuracy"] > 0.9


def test_logarithms_of_rates_are_scored_as_rates() -> None:
    rates, counts = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[1.0], [2.0], [5.0]])
    for outputs, log_input in ((rates.log(), True), (rates, False)):
        found = scored(outputs, counts, nn.PoissonNLLLoss(log_input=log_input))
        assert found["val_score"] == pytest.approx(1 - 1 / 8.6667, abs=1e-4)
