"""What a doctor learns in loops that do more than one thing in a step, or one thing wrong."""

from math import nan
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay.probe.batch import PAIRS
from sickbay.probe.spread import spread
from sickbay.vitals import Table
from tests.models import features, mlp

LABELS, NUMBERS = torch.arange(6) % 4, torch.linspace(-2, 2, 24).reshape(6, 4)


def watched(model: nn.Module) -> tuple[torch.optim.Optimizer, sickbay.Doctor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return optimizer, sickbay.watch(model, optimizer, every=1, on_finding="silent")


def learn(model: nn.Module, criterion: nn.Module, targets: torch.Tensor) -> sickbay.Doctor:
    optimizer, doctor = watched(model)
    for _ in range(2):
        optimizer.zero_grad()
        loss = criterion(model(features()), targets)
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return doctor


def facts(doctor: sickbay.Doctor) -> tuple[str, str, str, tuple[int, ...], tuple[int, ...]]:
    setup = doctor.history.setup
    return setup.loss, setup.output, setup.task, setup.output_shape, setup.target_shape


def newest(doctor: sickbay.Doctor) -> Table:
    table = doctor.history.table("batch")
    assert table is not None
    return table


def test_several_losses_in_one_step() -> None:
    model = mlp()
    optimizer, doctor = watched(model)
    for _ in range(2):
        optimizer.zero_grad()
        outputs = model(features())
        loss = nn.CrossEntropyLoss()(outputs, LABELS) + nn.MSELoss()(outputs.sigmoid(), NUMBERS)
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    assert facts(doctor) == ("", "linear", "", (6, 4), ())
    table = newest(doctor)
    assert table.names == ("input", "output", "target")
    assert (table.row("target")["count"], table.row("target")["maximum"]) == (30, 3)


def test_gradient_accumulation_reads_all_batches_of_a_step() -> None:
    model = mlp()
    optimizer, doctor = watched(model)
    for _ in range(2):
        optimizer.zero_grad()
        for top in (1.0, 2.0, 3.0):
            loss = nn.MSELoss()(model(features()), torch.full((6, 4), top)) / 3
            loss.backward()
            if top == 3:
                optimizer.step()
            doctor.step(loss)
    assert facts(doctor) == ("mse", "linear", "regression", (6, 4), (6, 4))
    target = newest(doctor).row("target")
    assert (target["count"], target["minimum"], target["maximum"]) == (72, 1, 3)
    assert doctor.history.recent("uncleared", 9) == [0, 0]
    assert doctor.history.step == 1


def test_not_more_is_kept_than_some() -> None:
    model = mlp()
    optimizer, doctor = watched(model)
    for _ in range(2 * PAIRS):
        nn.MSELoss()(model(features()), NUMBERS).backward()
    optimizer.step()
    doctor.step()
    assert newest(doctor).row("target")["count"] == PAIRS * NUMBERS.numel()


def test_a_discriminator_behind_the_model_is_not_the_model() -> None:
    """The generator is called first in the step; its outputs go through the discriminator."""
    model, judge = nn.Sequential(mlp(), nn.Tanh()), nn.Linear(4, 1)
    optimizer, doctor = watched(model)
    for _ in range(3):
        optimizer.zero_grad()
        fake = model(features())
        nn.BCEWithLogitsLoss()(judge(fake.detach()), torch.zeros(6, 1)).backward()
        nn.BCEWithLogitsLoss()(judge(NUMBERS), torch.ones(6, 1)).backward()
        loss = nn.BCEWithLogitsLoss()(judge(fake), torch.ones(6, 1))
        loss.backward()
        optimizer.step()
        doctor.step(loss.item())
    assert facts(doctor) == ("", "tanh", "", (6, 4), ())
    table = newest(doctor)
    assert table.names == ("input", "output")
    assert table.row("output")["count"] == 24


def test_a_discriminator_called_before_the_model_is_not_the_model() -> None:
    """As most loops do it: its loss on real examples comes first, with targets that are all 1."""
    torch.manual_seed(0)
    model, judge = nn.Sequential(mlp(), nn.Tanh()), nn.Linear(4, 1)
    optimizer, doctor = watched(model)
    for _ in range(8):
        optimizer.zero_grad()
        nn.BCEWithLogitsLoss()(judge(torch.randn(64, 4)), torch.ones(64, 1)).backward()
        nn.BCEWithLogitsLoss()(judge(model(features(64)).detach()), torch.zeros(64, 1)).backward()
        loss = nn.BCEWithLogitsLoss()(judge(model(features(64))), torch.ones(64, 1))
        loss.backward()
        optimizer.step()
        doctor.step(loss.item())
    assert facts(doctor) == ("", "tanh", "", (64, 4), ())
    assert newest(doctor).names == ("input", "output")
    assert doctor.findings == []


def test_an_evaluation_within_the_step_is_not_heard() -> None:
    model = mlp()
    optimizer, doctor = watched(model)
    loss = nn.CrossEntropyLoss()(model(features()), LABELS)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        nn.MSELoss()(model(features(50)), torch.ones(50, 4))
    doctor.step(loss)
    assert facts(doctor) == ("cross_entropy", "linear", "multiclass", (6, 4), (6,))
    assert newest(doctor).row("target")["count"] == 6


@pytest.mark.parametrize(
    ("clear", "expected"),
    [
        pytest.param("to-none", [0, 0, 0], id="set-to-none"),
        pytest.param("to-zero", [0, 0, 0], id="set-to-zero"),
        pytest.param("after-forward", [0, 0, 0], id="after-the-forward-pass"),
        pytest.param("at-the-end", [0, 0, 0], id="at-the-end"),
        pytest.param("model", [0, 0, 0], id="by-the-model"),
        pytest.param("never", [0, 1, 1], id="never"),
        pytest.param("seldom", [0, 1, 0], id="every-second-step"),
    ],
)
@pytest.mark.parametrize("micro", [1, 3])
def test_uncleared(clear: str, expected: list[float], micro: int) -> None:
    model = mlp()
    optimizer, doctor = watched(model)
    for step in range(3):
        if clear in ("to-none", "to-zero") or (clear == "seldom" and step % 2 == 0):
            optimizer.zero_grad(set_to_none=clear != "to-zero")
        if clear == "model":
            model.zero_grad()
        for part in range(micro):
            loss = nn.MSELoss()(model(features()), NUMBERS)
            if clear == "after-forward" and part == 0:
                optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        if clear == "at-the-end":
            optimizer.zero_grad()
        doctor.step(loss)
    assert doctor.history.recent("uncleared", 9) == expected


@pytest.mark.parametrize(
    ("to_none", "place", "expected"),
    [
        pytest.param(True, "between", [1, 1, 1], id="to-none-between-backward-and-step"),
        pytest.param(False, "between", [1, 1, 1], id="to-zero-between-backward-and-step"),
        pytest.param(True, "before", [0, 0, 0], id="before-backward"),
        pytest.param(True, "after", [0, 0, 0], id="after-the-step"),
        pytest.param(True, "twice", [0, 0, 0], id="after-the-step-and-before-another"),
    ],
)
def test_erased(to_none: bool, place: str, expected: list[float]) -> None:
    optimizer, doctor = watched(model := mlp())
    for _ in range(3):
        if place == "before":
            optimizer.zero_grad()
        loss = nn.MSELoss()(model(features()), NUMBERS)
        loss.backward()
        if place == "between":
            optimizer.zero_grad(set_to_none=to_none)
        optimizer.step()
        if place in ("after", "twice"):
            optimizer.zero_grad()
        if place == "twice":
            optimizer.step()
        doctor.step(loss)
    assert doctor.history.recent("erased", 9) == expected


def test_gradients_of_zero_are_not_erased() -> None:
    optimizer, doctor = watched(model := mlp())
    for _ in range(2):
        loss = (model(features()) * 0).sum()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    assert doctor.history.recent("erased", 9) == [0, 0]


@pytest.mark.parametrize(
    ("layer", "training", "expected"),
    [
        pytest.param(nn.Dropout(0.5), True, [0, 0], id="training"),
        pytest.param(nn.Dropout(0.5), False, [1, 1], id="dropout-in-evaluation"),
        pytest.param(nn.BatchNorm1d(8), False, [1, 1], id="batch-norm-in-evaluation"),
        pytest.param(nn.Dropout(0.0), False, [], id="dropout-of-nothing"),
        pytest.param(nn.LayerNorm(8), False, [], id="no-difference"),
    ],
)
def test_in_eval(layer: nn.Module, training: bool, expected: list[float]) -> None:
    model = nn.Sequential(nn.Linear(8, 8), layer, nn.Linear(8, 4)).train(training)
    doctor = learn(model, nn.MSELoss(), NUMBERS)
    assert doctor.history.recent("in_eval", 9) == expected
    assert doctor.history.setup.task == "regression"  # it is read all the same


def test_the_mode_is_that_of_the_step_of_the_optimizer() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 4))
    optimizer, doctor = watched(model)
    for _ in range(2):
        model.train()
        nn.MSELoss()(model(features()), NUMBERS).backward()
        optimizer.step()
        model.eval()
        doctor.step()
    assert doctor.history.recent("in_eval", 9) == [0, 0]


def test_a_model_that_puts_out_its_parameter_keeps_no_hooks() -> None:
    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.values = nn.Parameter(torch.randn(6, 4))

        def forward(self, _: torch.Tensor) -> torch.Tensor:
            return self.values

    model = Table()
    doctor = learn(model, nn.MSELoss(), NUMBERS)
    doctor.close()
    assert not model.values._backward_hooks


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        pytest.param([[2.0, 1.0]] * 4, 0.0, id="constant"),
        pytest.param([[1.0, 0.0], [0.0, 1.0]], 0.5**0.5, id="both"),
        pytest.param([[3e9, -3e9], [-3e9, 3e9]], 1.0, id="any-scale"),
        pytest.param([3.0, -3.0], 1.0, id="no-unit"),
        pytest.param([[0.0], [0.0]], 0.0, id="zero"),
        pytest.param([[[1.0], [0.0]]] * 3, 0.0, id="sequences"),
        pytest.param([[1.0, 2.0]], nan, id="one-sample"),
        pytest.param(1.0, nan, id="a-number"),
        pytest.param([], nan, id="empty"),
    ],
)
def test_spread(outputs: Any, expected: float) -> None:
    assert spread(torch.tensor(outputs)) == pytest.approx(expected, nan_ok=True)


def test_the_spread_reaches_the_history() -> None:
    doctor = learn(mlp(), nn.CrossEntropyLoss(), LABELS)
    assert 0 < doctor.history.latest("output_spread") <= 1


def test_a_divergence_from_logarithms_is_no_cross_entropy() -> None:
    model = nn.Sequential(mlp(), nn.LogSoftmax(1))
    targets = model(features()).detach().roll(1, 0)
    doctor = learn(model, nn.KLDivLoss(reduction="batchmean", log_target=True), targets)
    assert doctor.history.setup.loss == "kl_div"
    assert not [each for each in doctor.findings if each.problem == "improper_loss"]
