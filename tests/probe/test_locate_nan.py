"""The newest batch: what is kept of it where it cannot be run again."""

import torch

from sickbay.probe.locate_nan import LARGE, first_samples


def test_the_samples_that_are_kept_belong_together() -> None:
    images, mask, other = torch.ones(64, LARGE // 8), torch.ones(64), torch.ones(3)
    cut = first_samples([images, mask, other])
    assert [len(each) for each in cut] == [8, 8, 3]
