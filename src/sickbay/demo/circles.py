"""Points on two circles, to be told apart."""

from math import pi

import numpy as np
import torch
from torch import Tensor


def circles(count: int = 1024, noise: float = 0.08, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return points on two circles around one centre, and which of the two each is on."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, count)
    angles = random.uniform(0, 2 * pi, count)
    radius = np.where(labels, 0.5, 1.0)[:, None]
    points = radius * np.stack([np.cos(angles), np.sin(angles)], 1)
    points += random.normal(0, noise, points.shape)
    return torch.from_numpy(points).float(), torch.from_numpy(labels).float()[:, None]
