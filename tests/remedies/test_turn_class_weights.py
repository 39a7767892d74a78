"""Weights of classes that are larger the more frequent the class is."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sickbay.recipe import Loss
from sickbay.remedies import TurnClassWeights
from tests.remedies.cases import FOUND, mlp, pasted, prescribed, recipe

RARE = (torch.arange(64) % 8 == 0).float()  # 8 of 64, so the odds are 1 to 7
CLASSES = RARE.long()
TAGS = torch.stack([RARE, 1 - RARE], 1)
YES, EACH = nn.BCEWithLogitsLoss, nn.CrossEntropyLoss
ODDS = torch.tensor([1 / 7, 7.0])


@pytest.mark.parametrize(
    ("loss", "targets", "turned"),
    [
        pytest.param(YES(pos_weight=ODDS[:1]), RARE[:, None], [7.0], id="answers"),
        pytest.param(YES(pos_weight=ODDS), TAGS, [7.0, 1 / 7], id="tags"),
        pytest.param(EACH(torch.tensor([7.0, 1.0])), CLASSES, [1 / 7, 1.0], id="classes"),
        pytest.param(EACH(torch.tensor([1.0, 7.0])), CLASSES, None, id="right-classes"),
        pytest.param(YES(pos_weight=1 / ODDS), TAGS, None, id="right-tags"),
        pytest.param(EACH(torch.ones(2)), CLASSES, None, id="equal"),
        pytest.param(EACH(), CLASSES, None, id="none"),
        pytest.param(YES(pos_weight=torch.tensor([0.8])), RARE[:, None], None, id="almost-equal"),
        pytest.param(lambda x, _: x.sum(), CLASSES, None, id="of-the-user"),
    ],
)
def test_weights_are_turned_around(loss: Loss, targets: Tensor, turned: list[float] | None) -> None:
    given = recipe(mlp(2 if targets.ndim == 1 else targets.shape[1]), loss, targets)
    assert TurnClassWeights().applies(given) == (turned is not None)
    made = TurnClassWeights().prescribe(FOUND, given)
    assert (made is None) == (turned is None)
    if made is not None:
        weights = [each for each in vars(made.loss)["_buffers"].values() if each is not None]
        assert weights[0].tolist() == pytest.approx(turned)


def test_the_loss_as_given_stays_and_the_diff_tells() -> None:
    given = recipe(mlp(1), YES(pos_weight=ODDS[:1]), RARE[:, None])
    made = prescribed(TurnClassWeights(), given)
    assert given.loss.pos_weight.tolist() == pytest.approx([1 / 7])  # type: ignore[attr-defined]
    assert given.diff(made) == "+ loss.pos_weight = 1 / loss.pos_weight"
    assert pasted(given, made)[1].pos_weight.tolist() == pytest.approx([7])  # type: ignore[attr-defined]
