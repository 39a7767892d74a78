"""Gradients that show what a loss compares, and others."""

import torch

from sickbay.probe.gradient_patterns import find


def test_answers() -> None:
    outputs = torch.linspace(-1, 1, 16)
    wanted = (torch.arange(16) % 2).float()
    found = find("linear", outputs, (outputs.sigmoid() - wanted) / 16)
    assert found is not None
    assert found[1].equal(wanted)


def test_a_gradient_that_is_the_same_for_all_is_no_pattern() -> None:
    """Nearly the same outputs have nearly the same sigmoid, so a multiple of it fits as well."""
    outputs = -0.85 + 0.03 * torch.linspace(-1, 1, 16)
    assert find("linear", outputs, torch.full((16,), 1 / 16)) is None
