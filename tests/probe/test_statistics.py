"""Every statistic against a plain reference in double precision, over whatever a tensor can be."""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sickbay.probe import statistics
from sickbay.probe.row_sums import ROWS, WIDTH, Buffers, lay_out
from sickbay.probe.statistics import measure
from sickbay.vitals import COLUMN, STATISTICS, Numbers

BLOCK = ROWS * WIDTH
SIZES = (0, 1, 2, 100, 511, 512, 513, 1023, 1024, 1025, 66_666, BLOCK - 1, BLOCK, BLOCK + 1)
EYE = torch.eye(4)
TWICE = torch.sparse_coo_tensor(torch.tensor([[3, 3]]), torch.ones(2), check_invariants=True)
FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
QUARTILES = ("lower_quartile", "median", "upper_quartile")
VALUES: dict[str, Callable[[np.random.Generator, int], Numbers]] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "shifted": lambda rng, size: 3 + rng.standard_normal(size),
    "skewed": lambda rng, size: rng.exponential(size=size),
    "sparse": lambda rng, size: rng.standard_normal(size) * (rng.random(size) < 0.1),
    "lopsided": lambda rng, size: np.where(rng.random(size) < 0.5, -1e12, rng.random(size)),
    "constant": lambda rng, size: np.full(size, rng.standard_normal()),
    "zero": lambda _, size: np.zeros(size),
    "ramp": lambda _, size: np.linspace(-1, 2, size),
    "some nan": lambda rng, size: np.where(
        rng.random(size) < 0.2, rng.choice([np.nan, np.inf, -np.inf], size), rng.random(size)
    ),
    "mostly nan": lambda rng, size: np.where(rng.random(size) < 0.99, np.nan, rng.random(size)),
    "all nan": lambda _, size: np.full(size, np.nan),
}


def reference(values: Numbers) -> dict[str, float]:
    finite = values[np.isfinite(values)]
    known = {"count": finite.size, "norm": 0.0, "nonfinite": values.size - finite.size}
    if not finite.size:
        return known
    low, high = finite.min(), finite.max()
    largest = float(max(-low, high))
    scaled = finite / largest if largest else finite
    mean = float(scaled.mean())
    m2, m3, m4 = (float(((scaled - mean) ** power).mean()) for power in (2, 3, 4))
    known |= {
        "norm": largest * float(np.linalg.norm(scaled)),
        "absmax": largest,
        "mean": largest * mean,
        "variance": 0.0 if low == high else m2 * largest * largest,
        "minimum": float(low),
        "maximum": float(high),
        **dict(zip(QUARTILES, np.quantile(finite, [0.25, 0.5, 0.75]).tolist(), strict=True)),
        "zeros": float((finite == 0).mean()),
        "mean_abs": largest * float(np.abs(scaled).mean()),
    }
    if low < high:
        known |= {"skewness": m3 / m2**1.5, "kurtosis": m4 / m2**2 - 3}
    return known


def agrees(row: Numbers, tensor: Tensor) -> None:
    known = reference(tensor.detach().double().reshape(-1).numpy())
    got = dict(zip(STATISTICS, row.tolist(), strict=True))
    size = known.get("absmax", 0.0)
    sd = min(size, known.get("variance", 0.0) ** 0.5)
    errors = dict.fromkeys(STATISTICS, (1e-7, 0.0))
    errors |= {"norm": (1e-4, 0.0), "variance": (1e-4, 0.0), "mean": (1e-5, 1e-5 * sd)}
    errors |= dict.fromkeys(("skewness", "kurtosis"), (1e-3, 1e-3))
    errors |= dict.fromkeys(QUARTILES, (0.0, 1e-6 * size)) | {"mean_abs": (1e-5, 1e-6 * size)}
    for name, (rel, absolute) in errors.items():
        if name not in (*QUARTILES, "mean_abs") or tensor.numel() <= 512:
            expected = pytest.approx(known.get(name, np.nan), rel, absolute, nan_ok=True)
            assert got[name] == expected, name


def all_agree(tensors: Sequence[Tensor]) -> None:
    rows = measure(tensors)
    assert rows.shape == (len(tensors), len(STATISTICS))
    list(map(agrees, rows, tensors))


def normal(size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(size))


@st.composite
def a_tensor(draw: st.DrawFn) -> Tensor:
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    values = VALUES[draw(st.sampled_from(sorted(VALUES)))](rng, draw(st.sampled_from(SIZES)))
    scale = draw(st.sampled_from([1.0, 1.0, 1e-3, 1e-8, 1e8, 1e12, 1e30, 1e-30, 1e-40, 1e38]))
    tensor = torch.from_numpy(values * scale).to(draw(st.sampled_from(FLOATS)))
    layout = draw(st.sampled_from(["flat", "transposed", "strided"]))
    if layout == "transposed" and tensor.numel() % 4 == 0:
        return tensor.view(4, -1).T
    return tensor[1::3] if layout == "strided" else tensor


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(a_tensor(), min_size=1, max_size=8))
def test_many_tensors_of_any_kind_together(tensors: list[Tensor]) -> None:
    all_agree(tensors)


@pytest.mark.parametrize("kind", VALUES)
def test_around_the_borders_of_blocks(kind: str) -> None:
    for size in SIZES:
        values = torch.from_numpy(VALUES[kind](np.random.default_rng(size), size))
        all_agree([values.float(), torch.ones(3), values])


@pytest.mark.parametrize("spread", [1e-3, 1e-6])
@pytest.mark.parametrize("scale", [1e-20, 1e-7, 1e-4, 1.0, 1e12])
def test_a_small_spread_around_a_large_mean(scale: float, spread: float) -> None:
    for values in (scale * (1 + spread * normal(size)) for size in (8, 700, BLOCK + 9)):
        all_agree([values, values.double()])
        values[: len(values) * 3 // 4] = np.nan
        all_agree([values, values.double()])


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-80, 1e80, 1e200, 4.6e307])
def test_the_whole_range_of_numbers(scale: float) -> None:
    for kind in ("normal", "ramp", "constant", "some nan"):
        all_agree([torch.from_numpy(VALUES[kind](np.random.default_rng(0), 3000) * scale)])


@pytest.mark.parametrize("tiny", [1e-30, 1e-44, 1e-200])
@pytest.mark.parametrize("other", [0.0, 1.0, np.nan])
def test_tiny_values_next_to_others(tiny: float, other: float) -> None:
    values = np.concatenate([np.linspace(tiny, 5 * tiny, 1024), np.full(1500, other)])
    all_agree([torch.from_numpy(values), torch.from_numpy(values).float()])


@pytest.mark.parametrize("size", [513, 1025, BLOCK + 1, 3 * BLOCK])
def test_quartiles_of_a_large_tensor_are_those_of_a_sample(size: int) -> None:
    row = measure([torch.ones(2), normal(size) * 5 + 100])[1]
    for name, exact in zip(QUARTILES, [-0.6745, 0, 0.6745], strict=True):
        assert row[COLUMN[name]] == pytest.approx(100 + 5 * exact, abs=5 * 6 * 1.25 / 512**0.5)


@pytest.mark.parametrize("size", [513, 1025, BLOCK + 1, 3 * BLOCK])
@pytest.mark.parametrize("holes", [False, True])
def test_the_sample_is_spread_over_the_whole_tensor(size: int, holes: bool) -> None:
    ramp = torch.linspace(0, 1, size)
    if holes:
        ramp[::2] = np.nan
    for row in measure([torch.ones(600), ramp, torch.zeros(5), ramp])[1::2]:
        quartiles = [row[COLUMN[name]] for name in QUARTILES]
        assert quartiles == pytest.approx([0.25, 0.5, 0.75], abs=0.1 if holes else 0.004)


def test_the_sample_has_its_size_wherever_the_borders_are() -> None:
    buffers = Buffers("float32")
    for size in range(BLOCK + 1, BLOCK + 2000):
        assert sum(len(block.picks) for block in lay_out([(1,), (size,)], buffers)) == 2 * 512


def test_rows_come_in_the_order_of_the_tensors() -> None:
    tensors = [torch.full((n,), n, dtype=FLOATS[n % 4]) for n in range(1, 40)]
    assert measure(tensors)[:, COLUMN["mean"]].tolist() == list(range(1, 40))


def test_no_tensors() -> None:
    assert measure([]).shape == (0, len(STATISTICS))


@pytest.mark.parametrize(
    ("tensor", "values"),
    [
        pytest.param(EYE.to_sparse(), torch.ones(4), id="stored-values-only"),
        pytest.param(TWICE, torch.tensor([2.0]), id="uncoalesced"),
        pytest.param((0 * EYE).to_sparse(), torch.zeros(0), id="nothing-stored"),
        pytest.param(EYE.to_sparse(1), EYE, id="rows-of-an-embedding"),
        pytest.param(torch.tensor([1 + 2j, -3j]), torch.tensor([1.0, 2, 0, -3]), id="complex"),
        pytest.param(torch.tensor([1 + 2j, -3j]).conj(), torch.tensor([1.0, -2, 0, 3]), id="conj"),
        pytest.param(torch.arange(-2, 7), torch.arange(-2.0, 7), id="integers"),
        pytest.param(torch.tensor(3.0), torch.tensor(3.0), id="no-dimensions"),
        pytest.param(torch.ones(4, 1).expand(4, 900), torch.ones(3600), id="expanded"),
        pytest.param(torch.nn.Parameter(torch.ones(3)), torch.ones(3), id="parameter"),
    ],
)
def test_odd_tensors(tensor: Tensor, values: Tensor) -> None:
    for row in measure([tensor, values, tensor])[::2]:
        agrees(row, values)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_compressed_sparse_tensors() -> None:
    assert measure([EYE.to_sparse_csr()])[0, COLUMN["norm"]] == 2


def test_the_same_numbers_whatever_was_measured_between() -> None:
    tensors = [normal(BLOCK + 9), normal(3), torch.tensor([1.0, np.nan]), torch.zeros(0)]
    before = measure(tensors)
    for size in range(1, 3000, 37):
        measure([torch.full((size,), np.nan), torch.full((size,), 1e30), normal(size).double()])
    assert np.array_equal(measure(tensors), before, equal_nan=True)


def test_two_threads_at_once() -> None:
    lists = [[normal(60_000 + i), normal(5) * i, torch.full((2000,), np.inf)] for i in range(2)]
    alone = [measure(tensors) for tensors in lists]

    def often(index: int) -> bool:
        results = [measure(lists[index]) for _ in range(100)]
        return all(np.array_equal(each, alone[index], equal_nan=True) for each in results)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(often, [0, 1])) == [True, True]


def test_no_generator_is_touched() -> None:
    states = random.getstate(), str(np.random.get_state()), torch.get_rng_state()
    measure([torch.ones(4321), torch.ones(54_321).double()])
    assert states[:2] == (random.getstate(), str(np.random.get_state()))
    assert torch.equal(states[2], torch.get_rng_state())


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_tensors_are_left_as_they_are(dtype: torch.dtype) -> None:
    tensor = torch.cat([normal(BLOCK + 9), torch.tensor([np.nan, np.inf, -0.0])]).to(dtype)
    bits, version = tensor.view(torch.uint8).clone(), tensor._version
    measure([tensor, tensor[:5]])
    assert torch.equal(tensor.view(torch.uint8), bits)
    assert tensor._version == version


def test_the_graph_is_left_as_it_is() -> None:
    x = normal(2000).requires_grad_()
    y = x * x
    all_agree([x, y, y.view(2, -1).T])
    assert not statistics._buffers("float32").tensor.requires_grad
    y.sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert torch.equal(x.grad, 2 * x.detach())


def test_inference_mode_spoils_no_later_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "_buffers", lru_cache(Buffers))
    monkeypatch.setattr(statistics, "_plan", lru_cache(statistics._Plan))
    with torch.inference_mode():
        all_agree([torch.ones(7), torch.ones(7, dtype=torch.float64)])
    all_agree([torch.ones(7), torch.ones(7, dtype=torch.float64)])
