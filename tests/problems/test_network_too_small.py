from collections.abc import Mapping
from math import nan

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import NetworkTooSmall
from sickbay.problems.network_too_small import widths
from sickbay.vitals import Setup

problem = NetworkTooSmall(units=4, gain=0.5, after=40)
Shapes = Mapping[str, tuple[int, ...]]


def shapes(units: int, inputs: int = 64) -> Shapes:
    return {"0.weight": (units, inputs), "0.bias": (units,), "2.weight": (10, units)}


def history(
    kernels: Shapes, score: float = 0.5, *, steps: int = 60, ended: bool = True, **layers: str
) -> History:
    setup = Setup(shapes=kernels, layers=layers)
    made = History(setup, score=steps * [score], constant_score=steps * [0.5])
    made.ended = ended
    return made


@pytest.mark.parametrize(
    ("kernels", "expected"),
    [
        pytest.param(shapes(4), True, id="at-the-limit"),
        pytest.param(shapes(5), False, id="above-the-limit"),
        pytest.param(shapes(1), True, id="one-unit"),
        pytest.param(shapes(4, inputs=4), False, id="as-many-as-it-is-fed"),
        pytest.param(shapes(2, inputs=2), True, id="two-of-two"),
        pytest.param({"0.weight": (2, 64)}, False, id="no-hidden-layer"),
        pytest.param({"0.weight": (64, 64), "2.weight": (1, 64)}, False, id="one-output"),
        pytest.param({"0.weight": (4, 3, 3, 3), "2.weight": (9, 4)}, False, id="wider-than-rgb"),
        pytest.param({"0.weight": (2, 3, 3, 3), "2.weight": (9, 2)}, True, id="convolution"),
        pytest.param({"0.weight": (4,), "2.weight": (9, 64)}, False, id="a-norm-is-no-layer"),
        pytest.param({}, False, id="no-layer"),
    ],
)
def test_check(kernels: Shapes, expected: bool) -> None:
    assert bool(problem.check(history(kernels))) is expected


@pytest.mark.parametrize("owner", ["Module", "Sequential", "ParameterList"])
def test_a_parameter_outside_of_layers_is_no_layer(owner: str) -> None:
    kernels = {"p.cls": (1, 1, 32), "0.weight": (32, 1, 4, 4), "1.weight": (10, 32)}
    assert widths(history(kernels)) == {"p": 1}
    assert widths(history(kernels, p=owner)) == {}


@pytest.mark.parametrize(
    ("score", "severity"),
    [pytest.param(0.53, "warning", id="something"), pytest.param(0.52, "info", id="nothing")],
)
def test_a_model_that_has_learnt_nothing_may_have_other_faults(score: float, severity: str) -> None:
    found = problem.check(history(shapes(4), score))
    assert found is not None
    assert found.severity == severity


@pytest.mark.parametrize(
    ("units", "targets", "severity"),
    [
        pytest.param(2, 640, "info", id="as-many"),
        pytest.param(2, 10, "warning", id="fewer"),
        pytest.param(1, 640, "warning", id="one-unit"),
    ],
)
def test_the_code_of_an_autoencoder_is_to_be_narrow(
    units: int, targets: int, severity: str
) -> None:
    made = history(shapes(units), 0.6)
    made.add_table("batch", {"input": {"count": 640}, "target": {"count": targets}})
    finding = problem.check(made)
    assert finding is not None
    assert finding.severity == severity


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        pytest.param(0.75, False, id="at-the-limit"),
        pytest.param(0.74, True, id="below-the-limit"),
        pytest.param(0.2, True, id="worse-than-a-constant"),
        pytest.param(1.0, False, id="fits"),
        pytest.param(nan, False, id="nan"),
    ],
)
def test_only_if_it_does_not_fit(score: float, expected: bool) -> None:
    assert bool(problem.check(history(shapes(2), score))) is expected


@pytest.mark.parametrize(
    ("units", "loss", "expected"),
    [
        pytest.param(2, 0.8, True, id="hardly-falls"),
        pytest.param(2, 1.5, True, id="rises"),
        pytest.param(2, 0.6, False, id="falls"),
        pytest.param(2, nan, False, id="nan"),
        pytest.param(5, 0.8, False, id="wide-enough"),
    ],
)
def test_by_the_loss_if_no_score_is_known(units: int, loss: float, expected: bool) -> None:
    made = History(Setup(shapes=shapes(units)), loss=[1.0, *60 * [loss]])
    made.ended = True
    finding = NetworkTooSmall(units=4, loss_drop=0.3).check(made)
    assert bool(finding) is expected
    assert finding is None or finding.severity == "info"


@pytest.mark.parametrize(
    ("steps", "ended", "expected"),
    [
        pytest.param(41, True, True, id="at-the-limit"),
        pytest.param(40, True, False, id="too-early"),
        pytest.param(60, False, False, id="not-over"),
    ],
)
def test_only_at_the_end(steps: int, ended: bool, expected: bool) -> None:
    assert bool(problem.check(history(shapes(2), steps=steps, ended=ended))) is expected


@pytest.mark.parametrize(
    ("kernels", "layers", "expected"),
    [
        pytest.param(
            {"a.weight": (99, 2), "b.weight": (9, 2)}, {"a": "Embedding"}, {}, id="embedding"
        ),
        pytest.param(
            {"a.weight_ih_l0": (8, 64), "a.weight_hh_l0": (8, 2), "b.weight": (9, 2)},
            {"a": "LSTM"},
            {"a": 2},
            id="gates-of-an-lstm",
        ),
        pytest.param(
            {"a.weight_ih_l0": (6, 64), "a.weight_hh_l0": (6, 2), "b.weight": (9, 2)},
            {"a": "GRU"},
            {"a": 2},
            id="gates-of-a-gru",
        ),
        pytest.param(
            {"a.weight_ih_l0": (2, 64), "a.weight_hh_l0": (2, 2), "b.weight": (9, 2)},
            {"a": "RNN"},
            {"a": 2},
            id="no-gates",
        ),
        pytest.param({"a.weight": (8, 64), "b.weight": (64, 8), "c.weight": (9, 64)},
            {}, {"a": 8}, id="bottleneck"),
    ],
)  # fmt: skip
def test_widths(kernels: Shapes, layers: dict[str, str], expected: dict[str, int]) -> None:
    assert widths(History(Setup(shapes=kernels, layers=layers))) == expected


@pytest.mark.parametrize(("units", "words"), [(1, "1 hidden unit"), (2, "2 hidden units")])
def test_the_finding_names_the_step_the_layers_and_the_numbers(units: int, words: str) -> None:
    kernels = {"0.weight": (4, 64), "1.weight": (units, 4), "2.weight": (10, units)}
    finding = problem.check(history(kernels, 0.625))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("network_too_small", "warning")
    assert (finding.step, finding.layers) == (59, ("0", "1"))
    assert finding.evidence == {"units": units, "score": 0.625}
    score = "scores 0.625 on its training batches, a constant answer 0.5"
    assert finding.message == f"{words} (limit 4), {score}"


@pytest.mark.parametrize(("units", "expected"), [(1, True), (32, False)])
def test_in_a_loop(units: int, expected: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, units), nn.ReLU(), nn.Linear(units, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    problems = ["network_too_small"]
    doctor = sickbay.watch(model, optimizer, every=1, problems=problems, on_finding="silent")
    for _ in range(150):
        x = torch.randn(64, 8)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    assert doctor.findings == []
    doctor.close()
    assert ([each.problem for each in doctor.findings] == problems) is expected
