"""Merged statistics of parts are those of the whole."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sickbay.probe.statistics import measure, merge
from sickbay.vitals import COLUMN, STATISTICS, Numbers

QUARTILES = ("lower_quartile", "median", "upper_quartile")
AVERAGED = (*QUARTILES, "dead_units", "mean_abs", "lasting_dead")
EXACT = [name for name in STATISTICS if name not in (*AVERAGED, "update_ratio")]
RAMP = torch.linspace(-1, 2, 700)
NAN = torch.full((30,), np.nan)
INF_LADEN = torch.where(RAMP > 1.5, np.inf, RAMP)


def agree(parts: list[Tensor]) -> None:
    merged, whole = merge(measure(parts)), measure([torch.cat(parts)])[0]
    size = float(np.nan_to_num(whole[COLUMN["absmax"]]))
    errors = {"mean": 1e-5 * size, "skewness": 1e-4, "kurtosis": 1e-4}
    for name in EXACT:
        got, expected = merged[COLUMN[name]], whole[COLUMN[name]]
        assert got == pytest.approx(expected, 1e-4, errors.get(name, 0.0), nan_ok=True), name


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([RAMP, RAMP**2], id="two"),
        pytest.param([RAMP], id="one"),
        pytest.param([RAMP, 100 + RAMP, 1e-3 * RAMP, RAMP[:5]], id="other-means-sizes-and-spreads"),
        pytest.param([RAMP * 1e30, RAMP * 1e28], id="huge"),
        pytest.param([RAMP * 1e-30, RAMP * 1e-32], id="tiny"),
        pytest.param([torch.ones(50), torch.ones(70)], id="the-same-constant"),
        pytest.param([torch.full((50,), 0.1), torch.full((50,), 3.3)], id="two-constants"),
        pytest.param([torch.zeros(50), RAMP], id="zeros"),
        pytest.param([torch.tensor([2.0]), torch.tensor([5.0])], id="single-values"),
        pytest.param([torch.zeros(0), RAMP, torch.zeros(0)], id="empty-parts"),
        pytest.param([torch.zeros(0), torch.zeros(0)], id="all-empty"),
        pytest.param([torch.zeros(0)], id="one-empty"),
        pytest.param([INF_LADEN, RAMP], id="some-inf"),
        pytest.param([NAN], id="one-all-nan"),
        pytest.param([NAN, RAMP], id="an-all-nan-part"),
        pytest.param([NAN, NAN], id="all-nan"),
    ],
)
def test_parts_and_whole(parts: list[Tensor]) -> None:
    agree(parts)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(1, 900), st.floats(-3, 3), st.floats(0.01, 10)), min_size=1),
    st.sampled_from([1e-20, 1.0, 1e20]),
)
def test_any_parts(parts: list[tuple[int, float, float]], scale: float) -> None:
    generator = torch.Generator().manual_seed(0)
    agree([scale * (m + sd * torch.randn(size, generator=generator)) for size, m, sd in parts])


def rows(*parts: dict[str, float]) -> Numbers:
    table = measure([RAMP] * len(parts))
    for row, part in zip(table, parts, strict=True):
        for name, value in part.items():
            row[COLUMN[name]] = value
    return table


@pytest.mark.parametrize("name", AVERAGED)
def test_what_cannot_be_merged_is_averaged_by_size(name: str) -> None:
    merged = merge(rows({name: 0.1, "count": 100}, {name: 0.5, "count": 300}))
    assert merged[COLUMN[name]] == pytest.approx(0.4)


def test_the_rows_are_left_as_they_are() -> None:
    given_rows = measure([RAMP, INF_LADEN, torch.zeros(0)])
    before = given_rows.copy()
    merge(given_rows)
    assert np.array_equal(given_rows, before, equal_nan=True)
