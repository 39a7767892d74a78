from collections.abc import Sequence
from math import inf, nan
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import NotLearning
from sickbay.vitals import Setup

STEPS = 96  # of which the last 32 count
problem = NotLearning(gain=0.125, loss_drop=0.25, after=90, least=40)


def history(
    score: float | Sequence[float],
    constant: float = 0.5,
    *,
    steps: int = STEPS,
    loss: Sequence[float] = (),
    ended: bool = False,
    **setup: Any,
) -> History:
    """Return a run with batches of 16, so that 512 samples count and the doubt is 1/22."""
    made = History(
        Setup(**{"output_shape": (16, 2), **setup}),
        loss=loss or [2.0] * steps,
        score=score if isinstance(score, Sequence) else [score] * steps,
        constant_score=[constant] * steps,
    )
    made.ended = ended
    return made


@pytest.mark.parametrize(
    ("score", "constant", "expected"),
    [
        pytest.param(0.5, 0.5, True, id="as-good-as-a-constant"),
        pytest.param(0.3, 0.5, True, id="worse"),
        pytest.param(0.5625, 0.5, False, id="at-the-limit"),
        pytest.param(0.56, 0.5, True, id="below-the-limit"),
        pytest.param(0.9, 0.5, False, id="learns"),
        pytest.param(0.9, 0.9, True, id="a-rare-class"),
        pytest.param(1.0, 1.0, False, id="one-class-only"),
        pytest.param(0.0, 0.0, True, id="explains-nothing"),
        pytest.param(-1e9, 0.0, True, id="any-scale"),
        pytest.param(0.5, 0.0, False, id="explains-half"),
        pytest.param([0.9] * 60 + [0.5] * 36, 0.5, True, id="forgets-what-was-long-ago"),
        pytest.param([0.5] * 60 + [0.9] * 36, 0.5, False, id="learns-at-last"),
        pytest.param([0.5] * 95 + [nan], 0.5, True, id="nan-now"),
        pytest.param([0.5] * 95 + [-inf], 0.5, True, id="inf-now"),
        pytest.param(nan, 0.5, False, id="nan"),
        pytest.param(0.5, nan, False, id="constant-nan"),
        pytest.param([], 0.5, False, id="no-score"),
    ],
)
def test_check(score: float | list[float], constant: float, expected: bool) -> None:
    assert bool(problem.check(history(score, constant))) is expected


@pytest.mark.parametrize(
    ("steps", "ended", "expected"),
    [
        pytest.param(91, False, True, id="at-the-limit"),
        pytest.param(90, False, False, id="too-early"),
        pytest.param(90, True, True, id="at-the-end"),
        pytest.param(41, True, True, id="at-the-end-at-the-limit"),
        pytest.param(40, True, False, id="too-early-even-for-the-end"),
    ],
)
def test_it_is_judged_late(steps: int, ended: bool, expected: bool) -> None:
    assert bool(problem.check(history(0.5, steps=steps, ended=ended))) is expected


@pytest.mark.parametrize(
    ("over", "ended", "expected"),
    [
        pytest.param(4, False, False, id="too-early"),
        pytest.param(5, False, True, id="at-the-limit"),
        pytest.param(1, True, True, id="stopped"),
    ],
)
def test_half_of_the_planned_epochs_are_over(over: int, ended: bool, expected: bool) -> None:
    made = history(0.5, epochs=10, ended=ended)
    for _ in range(over):
        made.end_epoch()
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param([1.0, *95 * [0.75]], True, id="at-the-limit"),
        pytest.param([1.0, *95 * [0.74]], False, id="fell"),
        pytest.param([2.0**40, *95 * [2.0**39]], False, id="any-scale"),
        pytest.param([1.0, *95 * [9.0]], True, id="rose"),
        pytest.param([nan] * 96, True, id="nan"),
    ],
)
def test_a_loss_that_fell_may_measure_something_else(loss: list[float], expected: bool) -> None:
    assert bool(problem.check(history(0.5, loss=loss))) is expected


@pytest.mark.parametrize(
    ("score", "steps", "planned", "ended", "expected"),
    [
        pytest.param(0.56, 200, None, False, False, id="slowly"),
        pytest.param(0.505, 200, None, False, True, id="chance"),
        pytest.param(0.56, 200, None, True, True, id="at-the-end"),
        pytest.param(0.56, 910, None, False, True, id="for-too-long"),
        pytest.param(0.56, 200, 1, False, True, id="half-of-the-plan-is-over"),
    ],
)
def test_a_model_above_chance_has_time_if_nothing_is_planned(
    score: float, steps: int, planned: int | None, ended: bool, expected: bool
) -> None:
    made = history(score, steps=steps, ended=ended, output_shape=(64, 2), epochs=planned)
    made.end_epoch()
    assert bool(problem.check(made)) is expected


def test_few_samples_leave_too_much_doubt() -> None:
    assert problem.check(history([nan] * 95 + [0.9], 0.9)) is None  # of the last batch only
    assert problem.check(history(0.9, 0.9)) is not None


def test_the_finding_names_the_step_and_the_numbers() -> None:
    made = history(0.25)
    made.end_epoch()
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("not_learning", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (95, 1, ())
    assert finding.evidence == {"score": 0.25, "constant": 0.5}
    assert finding.message == (
        "scores 0.25 on its training batches, a constant answer 0.5 (limit 0.562)"
    )


@pytest.mark.parametrize(("shuffled", "expected"), [(True, True), (False, False)])
def test_labels_that_belong_to_other_samples(shuffled: bool, expected: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with sickbay.watch(model, optimizer, every=1, on_finding="silent") as doctor:
        for _ in range(150):
            x = torch.randn(32, 8)
            y = x[:, :3].argmax(1)
            loss = nn.functional.cross_entropy(model(x), y[torch.randperm(32)] if shuffled else y)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss)
    assert ("not_learning" in [each.problem for each in doctor.findings]) is expected


@pytest.mark.parametrize(
    ("loss", "changed", "expected"),
    [
        pytest.param(0.5, {}, False, id="a-weak-signal"),
        pytest.param(0.58, {}, False, id="just-below-the-base-rate"),
        pytest.param(0.59, {}, True, id="at-the-base-rate"),
        pytest.param(0.5, {"task": "multiclass"}, True, id="several-classes"),
        pytest.param(0.5, {"bare": False}, True, id="weighted"),
        pytest.param(0.5, {"summed": True}, True, id="a-sum"),
        pytest.param(0.15, {"loss": "mse"}, False, id="mse"),
        pytest.param(0.21, {"loss": "mse"}, True, id="mse-at-the-base-rate"),
        pytest.param(nan, {}, True, id="nan"),
    ],
)
def test_a_yes_may_stay_less_likely_than_a_no(
    loss: float, changed: dict[str, Any], expected: bool
) -> None:
    known: dict[str, Any] = {"task": "binary", "loss": "bce_logits", "bare": True, **changed}
    made = history(0.7, 0.7, loss=[loss] * STEPS)
    made.setup = Setup(output_shape=(16, 2), **known)
    assert bool(problem.check(made)) is expected
