from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.loss.overfits_one_batch import (
    OverfitsOneBatch,
    _disable_dropout,
)
from tests.checkups import trainable_models as models

Kind = Callable[[], models.Made]
TEST = OverfitsOneBatch(seconds=60)  # never the time decides


def examined(model: nn.Module, batch: object, loss: object) -> Result:
    torch.manual_seed(0)
    [result] = checkup(model, batch, loss, tests=TEST).results  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize("kind", models.KINDS)
def test_sound_models_memorise(kind: Kind) -> None:
    torch.manual_seed(0)
    assert examined(*kind()).outcome == "passed"


def zeroed(model: nn.Module) -> nn.Module:
    for each in model.parameters():
        nn.init.zeros_(each)
    return model


@pytest.mark.parametrize("kind", models.KINDS)
@pytest.mark.parametrize(
    ("sicken", "message"),
    [
        pytest.param(lambda m: m.requires_grad_(False), "no parameter is trainable", id="frozen"),
        pytest.param(zeroed, "the loss of 4 samples", id="zeros"),
    ],
)
def test_faulty_models_do_not_memorise(
    kind: Kind, sicken: Callable[[nn.Module], nn.Module], message: str
) -> None:
    torch.manual_seed(0)
    model, batch, loss = kind()
    result = examined(sicken(model), batch, loss)
    assert result.outcome == "failed"
    assert message in result.message


@pytest.mark.parametrize("kind", models.KINDS)
def test_a_loss_of_the_wrong_sign_is_found(kind: Kind) -> None:
    torch.manual_seed(0)
    model, batch, loss = kind()
    result = examined(model, batch, lambda o, y: -loss(o, y))
    assert result.outcome == "failed"
    assert "for perfect predictions" in result.message


@pytest.mark.parametrize("kind", models.KINDS)
@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda o, _: o.square().mean(), id="no-targets"),
        pytest.param(lambda o, _: F.mse_loss(o, torch.zeros_like(o)), id="zeros-as-targets"),
    ],
)
def test_a_loss_that_ignores_the_targets_is_found(kind: Kind, loss: object) -> None:
    torch.manual_seed(0)
    model, batch, _ = kind()
    result = examined(model, batch, loss)
    assert result.outcome == "failed"
    assert "other targets give the same loss" in result.message


def test_outputs_that_do_not_depend_on_the_inputs_are_found() -> None:
    model, batch, loss = models.mlp()
    blind = nn.Sequential(nn.BatchNorm1d(8, affine=False), nn.Hardshrink(1e9), model)
    result = examined(blind, batch, loss)
    assert result.outcome == "failed"
    assert "not to 0.52" in result.message


def test_equal_inputs_with_different_targets_are_named() -> None:
    model, (x, y), loss = models.mlp()
    result = examined(model, (x[:1].repeat(len(x), 1), y), loss)
    assert result.outcome == "failed"
    assert "equal inputs have different targets" in result.message


@pytest.mark.parametrize(
    ("last", "targets", "loss"),
    [
        pytest.param((), 1000 * models.numbers(32, 1), nn.MSELoss(), id="thousands"),
        pytest.param((), 2e5 + 8e4 * models.numbers(32, 1), nn.MSELoss(), id="prices"),
        pytest.param((), 2000 + 10 * models.numbers(32, 1), nn.MSELoss(), id="years"),
        pytest.param((), 1e-2 * models.numbers(32, 1), nn.L1Loss(), id="hundredths"),
        pytest.param((nn.Sigmoid(),), models.numbers(32, 1).sigmoid(), nn.BCELoss(), id="shares"),
        pytest.param(
            (nn.Softplus(),), models.numbers(32, 1).sigmoid(), nn.MSELoss(), id="positive"
        ),
        pytest.param((), torch.ones(32, 1), nn.MSELoss(), id="all-the-same"),
    ],
)
def test_any_scale_and_floor(last: tuple[nn.Module, ...], targets: Tensor, loss: nn.Module) -> None:
    torch.manual_seed(0)
    model = models.perceptron(1, *last)
    assert examined(model, (torch.randn(32, 8), targets), loss).outcome == "passed"


@pytest.mark.parametrize(
    ("targets", "loss"),
    [
        pytest.param(torch.arange(32) % 3, nn.CrossEntropyLoss(label_smoothing=0.2), id="smoothed"),
        pytest.param(models.numbers(32, 3).softmax(1), nn.CrossEntropyLoss(), id="soft-labels"),
        pytest.param(torch.arange(32) % 3, nn.CrossEntropyLoss(reduction="sum"), id="sum"),
        pytest.param(torch.arange(32) % 3, nn.MultiMarginLoss(), id="unknown-chance"),
    ],
)
def test_losses_of_classes(targets: Tensor, loss: nn.Module) -> None:
    torch.manual_seed(0)
    assert examined(models.perceptron(), (torch.randn(32, 8), targets), loss).outcome == "passed"


def test_skips_a_loss_that_still_falls() -> None:
    torch.manual_seed(0)
    x = torch.randn(32, 2)
    batch = x, x @ torch.tensor([[3.0], [-4.0]])
    assert examined(nn.Linear(2, 1, bias=False), batch, nn.L1Loss()).outcome != "failed"


def in_pairs(output: Tensor, _: Tensor) -> Tensor:
    return F.cross_entropy(output @ output.T, torch.arange(len(output)))


def test_targets_that_only_number_the_samples_may_be_ignored() -> None:
    torch.manual_seed(0)
    batch = torch.randn(32, 8), torch.arange(32)
    assert examined(models.perceptron(), batch, in_pairs).outcome == "passed"


class Density(nn.Module):
    """Returns the log-likelihood of its inputs under a normal distribution."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        return -(x - self.mean).square().sum(1)


def test_a_likelihood_may_ignore_inputs_given_as_targets() -> None:
    points = torch.randn(32, 2, generator=torch.Generator().manual_seed(0)) + 2
    result = examined(Density(), (points, points), lambda scores, _: -scores.mean())
    assert result.outcome != "failed", result.message


class Quantised(nn.Module):
    """Puts out a part of its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(16, 8), nn.Linear(8, 16)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        code = self.encoder(x)
        return self.decoder(code), (code - code.detach().round()).square().mean()


def test_a_loss_of_more_than_one_output() -> None:
    x = torch.randn(32, 16)
    loss = lambda o, y: F.mse_loss(o[0], y) + o[1]  # noqa: E731
    assert examined(Quantised(), (x, x), loss).outcome == "passed"


class Variational(nn.Module):
    """Puts out its own loss, with noise and a term for the code."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(16, 8), nn.Linear(4, 16)

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        mean, spread = self.encoder(x).chunk(2, 1)
        out = self.decoder(mean + torch.randn_like(mean) * (spread / 2).exp())
        divergence = -0.5 * (1 + spread - mean**2 - spread.exp()).mean()
        return {"loss": F.mse_loss(out, labels) + divergence, "logits": out}


def test_a_model_with_a_loss_of_its_own() -> None:
    x = torch.randn(32, 16)
    assert examined(Variational(), {"x": x, "labels": x}, None).outcome == "passed"


def test_skips_too_many_random_targets() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.Conv2d(2, 1, 3, padding=1))
    batch = torch.randn(8, 1, 24, 24), torch.rand(8, 1, 24, 24).round()
    result = examined(model, batch, nn.BCEWithLogitsLoss())
    assert (result.outcome, result.message) == ("skipped", "training is too slow to judge")


def test_skips_without_any_time() -> None:
    hasty = OverfitsOneBatch(seconds=1e-9)
    [result] = checkup(*models.gpt(), tests=hasty).results
    assert (result.outcome, result.message) == ("skipped", "training is too slow to judge")


def test_a_loss_that_is_cut_off_in_part_does_not_move() -> None:
    model, batch, loss = models.mlp()
    result = examined(model, batch, lambda o, y: loss(o.detach(), y) + 0 * o.sum())
    assert result.outcome == "failed"
    assert "does not change" in result.message


def test_dropout_and_weights_are_unchanged() -> None:
    model, batch, loss = models.cnn()
    before = [each.clone() for each in model.parameters()]
    examined(model, batch, loss)
    assert all(map(torch.equal, before, model.parameters()))
    assert model.training


class Flat(nn.Module):
    """Puts out one number for each sample, with a dimension too few in the targets."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = models.perceptron(1)
        zeroed(self.inner[-1])

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)
        return out


def test_shapes_that_are_stretched_in_the_loss_do_not_pass() -> None:
    model, (x, y), loss = models.regression()
    result = examined(Flat(), (x, y), lambda output, targets: loss(output.T, targets))
    assert result.outcome == "failed"
    assert "for the same one everywhere" in result.message
    assert examined(Flat(), (x, y), loss).outcome == "passed"
    assert examined(model, (x, y), loss).outcome == "passed"


def test_a_loss_that_is_low_before_training_shows_nothing() -> None:
    model = models.perceptron(1)
    x = models.numbers(8, 8)
    result = examined(model, (x, model(x).detach()), nn.MSELoss())
    assert (result.outcome, result.message) == (
        "skipped",
        "the loss of the samples is low before training",
    )


class DropPath(nn.Module):
    def __init__(self, drop_prob: float | None) -> None:
        super().__init__()
        self.drop_prob = drop_prob


class Dropper(nn.Module):
    """Has dropout in its name, but learns in training only."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)


class Straight(nn.Module):
    """Has no weights, but acts in training: a gradient that passes a threshold."""


@pytest.mark.parametrize(
    ("layer", "stays"),
    [
        pytest.param(nn.Dropout(0.5), False, id="dropout"),
        pytest.param(nn.AlphaDropout(0.5), False, id="alpha"),
        pytest.param(DropPath(0.2), False, id="stochastic-depth"),
        pytest.param(DropPath(1.0), False, id="drops-all"),
        pytest.param(DropPath(0.0), True, id="drops-none"),
        pytest.param(DropPath(2.0), True, id="no-probability"),
        pytest.param(DropPath(None), True, id="no-number"),
        pytest.param(Dropper(), True, id="has-weights"),
        pytest.param(Straight(), True, id="not-dropout"),
    ],
)
def test_only_dropout_is_taken_out_of_training(layer: nn.Module, stays: bool) -> None:
    model = nn.Sequential(nn.Linear(2, 2), layer).train()
    _disable_dropout(model)
    assert layer.training is stays
