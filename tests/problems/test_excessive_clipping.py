from collections.abc import Sequence
from math import nan

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import ExcessiveClipping
from sickbay.vitals import Setup

problem = ExcessiveClipping(
    factor=64, norm=0.2, gain=0.5, after=40, checks=3, loss_drop=0.25, accuracy=0.7
)


def history(
    pairs: Sequence[tuple[float, float]],
    *,
    steps: int = 3,
    loss: Sequence[float] = (),
    score: float = nan,
) -> History:
    """Return readings of gradients with these norms before and after clipping."""
    losses, scored, constant = loss or steps * [1.0], steps * [score], steps * [0.5]
    made = History(Setup(), loss=losses, score=scored, constant_score=constant)
    for step, (raw, used) in enumerate(pairs):
        for kind, norm in (("raw_gradient", raw), ("gradient", used)):
            rows = {"a.weight": {"norm": 0.6 * norm}, "b.weight": {"norm": 0.8 * norm}}
            made.add_table(kind, rows, step)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param([(1.0, 0.01)] * 3, True, id="almost-nothing-left"),
        pytest.param([(0.639, 0.01)] * 3, False, id="below-the-limit"),
        pytest.param([(0.641, 0.01)] * 3, True, id="above-the-limit"),
        pytest.param([(1e-18, 1e-20)] * 3, True, id="any-scale"),
        pytest.param([(1e3, 0.19)] * 3, True, id="below-the-least-norm"),
        pytest.param([(1e3, 0.21)] * 3, False, id="above-it-the-gradient-is-to-blame"),
        pytest.param([(1.0, 0.01)] * 2, False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([(1.0, 0.01), (0.02, 0.01), (1.0, 0.01)], False, id="not-every-one"),
        pytest.param([(0.02, 0.01), *3 * [(1.0, 0.01)]], True, id="forgets-what-left-the-window"),
        pytest.param([(1.0, 0.0)] * 3, False, id="nothing-left"),
        pytest.param([(1.0, nan)] * 3, False, id="nan-after"),
        pytest.param([*2 * [(1.0, 0.01)], (nan, 0.01)], False, id="nan-before"),
    ],
)
def test_check(pairs: list[tuple[float, float]], expected: bool) -> None:
    assert bool(problem.check(history(pairs))) is expected


def test_gradients_that_were_not_changed_were_not_clipped() -> None:
    made = History(loss=[1.0] * 9)
    for step in range(9):
        made.add_table("gradient", {"a.weight": {"norm": 1e-9}}, step)
    assert problem.check(made) is None


@pytest.mark.parametrize(
    ("steps", "score", "loss", "expected"),
    [
        pytest.param(60, 0.74, 1.0, True, id="gains-little"),
        pytest.param(60, 0.75, 1.0, False, id="gain-at-the-limit"),
        pytest.param(41, 0.9, 1.0, False, id="at-the-limit"),
        pytest.param(40, 0.9, 1.0, True, id="gain-too-early-but-the-loss-is-flat"),
        pytest.param(60, nan, 1.0, True, id="nan-so-the-loss-counts"),
        pytest.param(60, nan, 0.5, False, id="nan-and-the-loss-fell"),
        pytest.param(60, 0.5, 0.5, True, id="the-score-counts-more-than-the-loss"),
    ],
)
def test_only_if_the_model_learns_badly(
    steps: int, score: float, loss: float, expected: bool
) -> None:
    losses = [1.0, *(steps - 1) * [loss]]
    made = history([(1.0, 0.01)] * 3, steps=steps, loss=losses, score=score)
    assert bool(problem.check(made)) is expected


def test_the_finding_names_the_step_and_the_numbers() -> None:
    finding = problem.check(history([(1.28, 0.01)] * 3))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("excessive_clipping", "warning")
    assert (finding.step, finding.layers) == (2, ())
    assert finding.evidence == {"factor": pytest.approx(128.0)}
    assert finding.message == "clipping divides the gradient by 1.3e+02 (limit 64)"


@pytest.mark.parametrize(("norm", "expected"), [(1e-6, True), (1.0, False), (None, False)])
def test_in_a_loop(norm: float | None, expected: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(
        model, optimizer, every=1, problems=["excessive_clipping"], on_finding="silent"
    )
    for _ in range(6):
        x = torch.randn(32, 8)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), x[:, :2].argmax(1))
        loss.backward()  # type: ignore[no-untyped-call]
        if norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), norm)
        optimizer.step()
        doctor.step(loss)
    assert ([each.problem for each in doctor.findings] == ["excessive_clipping"]) is expected


@pytest.mark.parametrize(
    ("unheld", "expected"),
    [
        pytest.param(("b.weight",), True, id="no-optimizer-uses-it"),
        pytest.param((), False, id="it-counts"),
    ],
)
def test_only_what_an_optimizer_uses_counts(unheld: tuple[str, ...], expected: bool) -> None:
    made = History(Setup(unheld=unheld), loss=3 * [1.0])
    for step in range(3):
        for kind, norm in (("raw_gradient", 1.0), ("gradient", 0.01)):
            rows = {"a.weight": {"norm": norm}, "b.weight": {"norm": 1.0}}
            made.add_table(kind, rows, step)  # type: ignore[arg-type]
    assert bool(problem.check(made)) is expected


def test_clipping_now_and_then_is_what_clipping_is_for() -> None:
    made = history([(1.0, 0.01)] * 3)
    assert problem.check(made)
    made.add_table("gradient", {"a.weight": {"norm": 1.0}}, step=3)  # was not clipped
    assert problem.check(made) is None


@pytest.mark.parametrize(
    ("pairs", "optimizer", "gain", "expected"),
    [
        pytest.param([(0.3, 0.1)] * 4, "SGD", 0.4, True, id="every-one"),
        pytest.param([*4 * [(0.3, 0.1)], *3 * [(0.1, 0.1)]], "SGD", 0.4, True, id="most"),
        pytest.param([*4 * [(0.3, 0.1)], *4 * [(0.1, 0.1)]], "SGD", 0.4, False, id="half"),
        pytest.param([(0.3, 0.1)] * 3, "SGD", 0.4, False, id="too-few"),
        pytest.param([(0.9, 0.3)] * 4, "SGD", 0.4, False, id="to-a-usual-norm"),
        pytest.param([(0.3, 0.1)] * 4, "Adam", 0.4, False, id="steps-of-adam-stay-long"),
        pytest.param([(0.3, 0.1)] * 4, "SGD", 0.6, False, id="learns-well"),
    ],
)
def test_what_is_told_at_the_end(
    pairs: list[tuple[float, float]], optimizer: str, gain: float, expected: bool
) -> None:
    made = history(pairs, steps=60, score=0.5 + gain / 2)
    made.setup = Setup(optimizer=optimizer)
    assert problem.check(made) is None
    made.ended = True
    finding = problem.check(made)
    assert bool(finding) is expected
    assert finding is None or finding.severity == "info"


@pytest.mark.parametrize(
    ("optimizer", "used", "expected"),
    [
        pytest.param("SGD", 0.1, True, id="sgd"),
        pytest.param("Adam", 0.1, False, id="adam"),
        pytest.param("Lion", 0.1, False, id="lion"),
        pytest.param("Adam", 3.9e-7, True, id="near-eps"),
        pytest.param("Adam", 4.1e-7, False, id="at-the-limit"),
    ],
)
def test_steps_of_adam_stay_as_long(optimizer: str, used: float, expected: bool) -> None:
    made = history([(100.0, used)] * 3)
    shapes = {"a.weight": (3, 4), "a.bias": (4,)}
    made.setup = Setup(optimizer=optimizer, settings={"eps": 1e-8}, shapes=shapes)
    assert bool(problem.check(made)) is expected
