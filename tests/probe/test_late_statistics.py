"""Statistics of the GPU kernels, run on the CPU by Triton's interpreter."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import numpy as np
import pytest
import torch

from sickbay import vitals
from sickbay.probe.statistics import measure
from sickbay.vitals import COLUMN, STATISTICS

pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="tests/gpu are for this")
SAMPLED = ("lower_quartile", "median", "upper_quartile", "mean_abs")


def check(got: Any, expected: Any, left_out: tuple[str, ...] = SAMPLED) -> None:
    for name, column in COLUMN.items():
        if name not in left_out:
            np.testing.assert_allclose(
                got[:, column], expected[:, column], rtol=1e-4, atol=1e-7, err_msg=name
            )


def test_the_numbers_are_those_of_the_cpu(late: Any) -> None:
    torch.manual_seed(0)
    odd = torch.randn(2500) * 1e-10
    odd[7], odd[2100] = torch.nan, torch.inf
    tensors = [
        torch.randn(5000) ** 3,  # more than whole blocks
        1 + 1e-3 * torch.randn(9, 9),  # a mean that is far larger than the spread
        odd,
        torch.randn(60).bfloat16(),
        torch.randn(30).half(),
        torch.zeros(40),
        torch.full((3,), 2.5),
        torch.empty(0),
        torch.randn(20, 30).t(),
    ]
    meter = late.LateMeter()
    got = meter.measure("some", tensors)
    assert np.isnan(got).all()  # nothing is there before the ticket has arrived
    meter.ticket().take()
    check(got, measure(tensors))
    small = measure([tensors[4]])[0]
    for name in SAMPLED:  # of a small tensor the sample is all of it
        assert got[4, COLUMN[name]] == pytest.approx(small[COLUMN[name]], rel=1e-5)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # of the interpreter
@pytest.mark.parametrize("size", [1e-25, 1e-12, 1e12, 1e25])
def test_values_that_no_probe_has_met(late: Any, size: float) -> None:
    values = torch.zeros(4096)
    values[1::37] = size * torch.randn(111)  # a chunk is probed at every 16th value
    values[::16] = 0
    meter = late.LateMeter()
    got = meter.measure("some", [values])
    meter.ticket().take()
    expected = measure([values])
    for name in ("norm", "variance", "skewness", "kurtosis", "absmax"):
        assert got[0, COLUMN[name]] == pytest.approx(expected[0, COLUMN[name]], rel=1e-4), name


def test_passes_over_tensors_of_many_sizes_are_let_go(late: Any) -> None:
    meter = late.LateMeter()
    for size in range(1, late.PASSES + 5):
        meter.measure("sample", [torch.ones(size)])
        meter.measure("gradient", [torch.ones(3)])  # in use all the time
    assert len(meter._passes) == late.PASSES
    assert any(key[0] == "gradient" for key in meter._passes)


def test_a_scale_is_divided_out(late: Any) -> None:
    meter, values = late.LateMeter(), torch.randn(30)
    got = meter.measure("some", [1024 * values], torch.tensor(1 / 1024))
    meter.ticket().take()
    check(got, measure([values]), left_out=())


def test_a_pass_is_used_again_and_finds_tensors_that_have_moved(late: Any) -> None:
    meter = late.LateMeter()
    for step in range(3):
        value = torch.full((20,), float(step))
        got = meter.measure("some", [value])
        meter.ticket().take()
        assert got[0, COLUMN["mean"]] == step
    assert len(meter._passes) == 1


def test_how_far_weights_move(late: Any) -> None:
    meter, weights = late.LateMeter(), [torch.ones(30), torch.zeros(5)]
    held = meter.hold("weight", weights)
    weights[0] += 0.1
    moved = held.moved()
    meter.ticket().take()
    np.testing.assert_allclose(moved[0], [0.1, 30 * 0.01, 30], rtol=1e-5)
    assert np.isnan(moved[1, 0])


def test_when_too_much_is_under_way_nothing_more_is_asked_for(late: Any) -> None:
    meter = late.LateMeter()
    tickets = [meter.ticket() for _ in range(late.MOST)]
    assert meter.full
    tickets[0].take()
    assert not meter.full


def test_the_kernel_writes_the_statistics_in_their_order(late: Any) -> None:
    meter, values = late.LateMeter(), torch.arange(5.0)
    got = meter.measure("some", [values])
    meter.ticket().take()
    row = dict(zip(STATISTICS, got[0].tolist(), strict=True))
    assert (row["count"], row["minimum"]) == (5, 0)
    assert (row["lower_quartile"], row["median"], row["upper_quartile"]) == (1, 2, 3)
    assert (row["maximum"], row["absmax"], row["mean"], row["mean_abs"]) == (4, 4, 2, 2)
    assert (row["variance"], row["zeros"], row["nonfinite"]) == pytest.approx((2, 0.2, 0))


def test_columns_follow_the_statistics(late: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sickbay.probe.gpu import memory_pass, merge_kernel

    shifted = {"new": "a statistic that the kernel does not measure", **STATISTICS}
    monkeypatch.setattr(vitals, "COLUMN", {name: place for place, name in enumerate(shifted)})
    spec: Any = spec_from_file_location("shifted_kernel", merge_kernel.__file__)
    kernel: Any = module_from_spec(spec)
    spec.loader.exec_module(kernel)
    kernel.SAMPLE_, kernel.KEPT_ = merge_kernel.SAMPLE_, merge_kernel.KEPT_
    monkeypatch.setattr(memory_pass, "merge_kernel", kernel)
    for module in (memory_pass, late):
        monkeypatch.setattr(module, "STATISTICS", shifted)
    meter, values = late.LateMeter(), torch.arange(5.0)
    got = meter.measure("some", [values])
    meter.ticket().take()
    assert np.isnan(got[0, 0])
    np.testing.assert_allclose(got[:, 1:], measure([values]), rtol=1e-6)
