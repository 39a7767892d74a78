from collections.abc import Callable
from math import log

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements.loss.starts_at_chance import StartsAtChance
from tests.checkups import trainable_models as models

Loss = Callable[[Tensor, Tensor], Tensor]


@pytest.mark.parametrize("kind", models.KINDS)
def test_sound_models_start_at_chance(kind: Callable[[], models.Made]) -> None:
    torch.manual_seed(0)
    [result] = checkup(*kind(), tests=StartsAtChance()).results
    assert result.outcome == "passed", result.message


@pytest.mark.parametrize(
    ("loss", "chance"),
    [
        pytest.param(nn.CrossEntropyLoss(), log(3), id="mean"),
        pytest.param(nn.CrossEntropyLoss(reduction="sum"), 16 * log(3), id="sum"),
        pytest.param(nn.CrossEntropyLoss(label_smoothing=0.1), log(3), id="smoothed"),
        pytest.param(nn.CrossEntropyLoss(weight=torch.tensor([1.0, 9, 2])), log(3), id="weighted"),
    ],
)
def test_the_chance_level_comes_from_the_loss(loss: nn.Module, chance: float) -> None:
    model, batch, _ = models.mlp()
    [result] = checkup(model, batch, loss, tests=StartsAtChance()).results
    assert result.outcome == "passed"
    assert result.evidence["chance"] == pytest.approx(chance, rel=1e-4)


def test_the_loss_of_log_probabilities_has_the_same_chance() -> None:
    _, batch, _ = models.mlp()
    model = models.perceptron(3, nn.LogSoftmax(1))
    [result] = checkup(model, batch, nn.NLLLoss(), tests=StartsAtChance()).results
    assert result.evidence["chance"] == pytest.approx(log(3))


@pytest.mark.parametrize("kind", models.KINDS)
def test_a_model_with_huge_weights_fails(kind: Callable[[], models.Made]) -> None:
    torch.manual_seed(0)
    model, batch, loss = kind()
    wide = models.Then(model, lambda output: 3000 * output)
    [result] = checkup(wide, batch, loss, tests=StartsAtChance()).results
    assert result.outcome == "failed"
    assert "the chance level" in result.message


def test_tied_embeddings_may_start_higher_but_not_below_chance() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(20, (models.N, 9))
    model = models.Gpt(tied=True, width=64)
    shifted = tokens[:, :-1], tokens[:, 1:]
    [result] = checkup(model, shifted, models.each_token, tests=StartsAtChance()).results
    assert result.outcome == "passed"
    assert result.evidence["loss"] > 5 * result.evidence["chance"]
    leaking = tokens[:, :-1], tokens[:, :-1]
    [result] = checkup(model, leaking, models.each_token, tests=StartsAtChance()).results
    assert result.outcome == "failed"
    assert "see the targets" in result.message


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6])
def test_numbers_may_have_any_scale(scale: float) -> None:
    model, (x, y), loss = models.regression()
    [result] = checkup(model, (x, scale * (y + 3)), loss, tests=StartsAtChance()).results
    assert result.outcome == "passed"


def test_skips_without_targets_or_with_an_unknown_loss() -> None:
    model, (x, y), _ = models.mlp()
    [result] = checkup(model, x, tests=StartsAtChance()).results
    assert (result.outcome, result.message) == ("skipped", "no targets were given")
    [result] = checkup(model, (x, y), lambda o, _: o.norm(), tests=StartsAtChance()).results
    assert result.outcome == "skipped"


def trained(model: nn.Module, batch: tuple[Tensor, Tensor], loss: Loss) -> nn.Module:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        loss(model(batch[0]), batch[1]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model


def test_a_model_may_be_trained_already() -> None:
    torch.manual_seed(0)
    model, batch, loss = models.gpt()
    [result] = checkup(trained(model, batch, loss), batch, loss, tests=StartsAtChance()).results
    assert result.outcome == "passed"
    assert "already trained" in result.message


def test_a_bias_may_fit_rare_targets() -> None:
    torch.manual_seed(0)
    model = models.perceptron(20)
    head = model[-1]
    assert isinstance(head, nn.Linear)
    nn.init.constant_(head.bias, -4.6)  # as for a focal loss
    batch = torch.randn(32, 8), (torch.arange(640) % 100 == 0).float().view(32, 20)
    loss = nn.BCEWithLogitsLoss()
    [result] = checkup(model, batch, loss, tests=StartsAtChance()).results
    assert result.outcome == "passed"
    assert "a bias fits the targets" in result.message


def test_a_decoder_that_gets_its_targets_is_found() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(20, (models.N, 8))
    model = models.Gpt(tied=True, width=32)
    with torch.no_grad():
        model.tokens.weight.mul_(0.65)
    [result] = checkup(model, (tokens, tokens), models.each_token, tests=StartsAtChance()).results
    share = result.evidence["loss"] / result.evidence["chance"]
    assert 0.05 < share < 0.5
    assert result.outcome == "failed"
    assert "see the targets" in result.message
