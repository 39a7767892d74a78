"""Which of two errors is told if a loss takes neither the whole output nor its main tensor."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups.model_losses import loss_by_function

OUTPUT = {"logits": torch.rand(4, 3), "size": torch.rand(4, 1)}


def of_labels(output: Any, targets: Any) -> Tensor:
    return nn.functional.cross_entropy(output["logits"], targets["labels"])


def test_the_error_of_the_whole_output_is_told() -> None:
    with pytest.raises(KeyError, match="labels"):
        loss_by_function(of_labels, OUTPUT, {"label": torch.zeros(4).long()})
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        loss_by_function(of_labels, OUTPUT, {"labels": torch.full((4,), 3)})


def test_that_of_the_main_tensor_is_told_if_nothing_else_can_be_taken() -> None:
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        loss_by_function(nn.CrossEntropyLoss(), OUTPUT, torch.full((4,), 3))
