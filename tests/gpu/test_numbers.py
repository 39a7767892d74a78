"""On a real GPU: the same numbers as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.overhead.gpu_checks import never_waiting
from sickbay.probe.statistics import measure
from sickbay.vitals import COLUMN
from tests.gpu.loops import ON_A_GPU

pytestmark = ON_A_GPU
SAMPLED = ("lower_quartile", "median", "upper_quartile", "mean_abs")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_numbers_are_those_of_the_cpu(dtype: torch.dtype) -> None:
    from sickbay.probe.gpu.late_meter import LateMeter

    torch.manual_seed(1)
    shapes = [(300, 777), (5,), (100_000,), (64, 3, 3, 3), (0,), (1,), (513,)]
    tensors = [torch.randn(shape).to(dtype).cuda() * 1e-3 for shape in shapes]
    tensors += [each.to(dtype).cuda() for each in (torch.ones(700), torch.zeros(9, 9))]
    tensors[2][777], tensors[2][778] = torch.nan, torch.inf
    tensors.append(tensors[0].t())
    tensors.append(tensors[0].view(-1)[1:1000])  # not aligned
    meter = LateMeter()
    with never_waiting():
        got = meter.measure("x", tensors)
    meter.ticket().take()
    expected = measure(tensors)
    for name, column in COLUMN.items():
        if name not in SAMPLED:
            atol = 1e-7 if name in ("mean", "skewness") else 0.0
            np.testing.assert_allclose(
                got[:, column], expected[:, column], rtol=2e-3, atol=atol, err_msg=name
            )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_quartiles_of_a_small_tensor_are_exact(dtype: torch.dtype) -> None:
    from sickbay.probe.gpu.late_meter import LateMeter

    values = torch.randperm(101).to(dtype).cuda()
    meter = LateMeter()
    got = meter.measure("x", [values])
    meter.ticket().take()
    expected = measure([values.cpu()])
    some = COLUMN["dead_units"]
    np.testing.assert_allclose(got[:, :some], expected[:, :some], rtol=1e-5)
