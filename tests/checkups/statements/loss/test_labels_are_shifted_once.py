from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup
from tests.checkups import trainable_models as models

TOKENS = torch.randint(20, (8, 9), generator=torch.Generator().manual_seed(0))
SHIFTED = TOKENS[:, :-1], TOKENS[:, 1:]


def shifts(output: Tensor, targets: Tensor) -> Tensor:
    return models.each_token(output[:, :-1], targets[:, 1:])


def examined(model: nn.Module, batch: Any, loss: Any) -> Result:
    torch.manual_seed(0)
    [result] = checkup(model, batch, loss, tests="labels_are_shifted_once").results
    return result


class OwnLoss(nn.Module):
    """Shifts its labels itself."""

    def __init__(self) -> None:
        super().__init__()
        self.gpt = models.Gpt()

    def forward(self, input_ids: Tensor, labels: Tensor) -> dict[str, Tensor]:
        logits = self.gpt(input_ids)
        return {"loss": shifts(logits, labels), "logits": logits}


def test_a_loss_that_shifts_labels_again_is_found() -> None:
    result = examined(models.Gpt(), SHIFTED, shifts)
    assert result.outcome == "failed"
    assert "compared with the label of the next position" in result.message


def test_a_model_that_shifts_labels_again_is_found() -> None:
    given = {"input_ids": SHIFTED[0], "labels": SHIFTED[1]}
    assert examined(OwnLoss(), given, None).outcome == "failed"


def test_one_shift_is_right() -> None:
    assert examined(models.Gpt(), SHIFTED, models.each_token).outcome == "passed"
    same = {"input_ids": TOKENS[:, :8], "labels": TOKENS[:, :8]}
    assert examined(OwnLoss(), same, None).outcome == "skipped"


def test_the_last_label_may_be_ignored() -> None:
    ids = TOKENS[:, :8]
    labels = torch.cat([ids[:, 1:], torch.full((8, 1), -100)], 1)
    assert examined(models.Gpt(), (ids, labels), models.each_token).outcome == "passed"


@pytest.mark.parametrize("kind", [models.mlp, models.rnn, models.regression])
def test_other_targets_do_not_matter(kind: Any) -> None:
    assert examined(*kind()).outcome == "skipped"


def test_smoothed_and_summed_losses_show_their_labels_too() -> None:
    def smooth(output: Tensor, targets: Tensor) -> Tensor:
        flat = output.flatten(0, 1), targets.flatten()
        return F.cross_entropy(*flat, label_smoothing=0.1, reduction="sum")

    assert examined(models.Gpt(), SHIFTED, smooth).outcome == "passed"


class Translator(nn.Module):
    """Writes each token from those before it, and may put them one place later itself."""

    def __init__(self, *, shifts: bool) -> None:
        super().__init__()
        self.tokens, self.rnn = nn.Embedding(20, 16), nn.GRU(16, 16, batch_first=True)
        self.head, self.shifts = nn.Linear(16, 20), shifts

    def forward(self, source: Tensor, written: Tensor) -> Tensor:
        if self.shifts:
            written = F.pad(written[:, :-1], (1, 0))
        state = self.rnn(self.tokens(source))[1]
        out: Tensor = self.head(self.rnn(self.tokens(written), state)[0])
        return out


@pytest.mark.parametrize(
    ("shifts", "given", "outcome"),
    [
        pytest.param(False, SHIFTED[1], "failed", id="own-label"),
        pytest.param(False, SHIFTED[0], "passed", id="shifted-in-the-data"),
        pytest.param(True, SHIFTED[1], "passed", id="shifted-in-the-model"),
    ],
)
def test_a_decoder_must_not_get_its_label(shifts: bool, given: Tensor, outcome: str) -> None:
    source = torch.randint(20, (8, 5), generator=torch.Generator().manual_seed(1))
    batch = (source, given), SHIFTED[1]
    result = examined(Translator(shifts=shifts), batch, models.each_token)
    assert result.outcome == outcome, result.message


def test_labels_of_a_decoder_may_be_shifted_twice_too() -> None:
    source = torch.randint(20, (8, 5), generator=torch.Generator().manual_seed(1))
    batch = (source, SHIFTED[0]), SHIFTED[1]
    assert examined(Translator(shifts=False), batch, shifts).outcome == "failed"


def test_labels_that_repeat_are_no_sign_of_a_second_shift() -> None:
    runs = torch.stack([torch.arange(2).repeat_interleave(20) + place for place in range(8)])
    batch = runs[:, :-1], runs[:, 1:]
    model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
    result = examined(model, batch, models.each_token)
    assert result.outcome == "passed", result.message
