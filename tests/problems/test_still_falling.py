from collections.abc import Sequence
from math import inf, nan

import pytest
import torch

import sickbay
from sickbay.history import History
from sickbay.problems import StillFalling
from tests.doctor.loops import learn
from tests.models import features, mlp

problem = StillFalling(share=0.25, drop=0.5, level=0.125, least=40, least_fall=1 / 64)


def losses(first: float, before: float, last: float, noise: float = 0.0) -> list[float]:
    """Return 64 losses, of which the last two quarters have these means and this deviation."""
    spread = [noise, -noise] * 8
    return [first] * 32 + [before + each for each in spread] + [last + each for each in spread]


def history(loss: Sequence[float], ended: bool = True) -> History:
    made = History(loss=loss)
    made.ended = ended
    return made


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param(losses(5.0, 2.0, 1.0), True, id="share-at-the-limit"),
        pytest.param(losses(5.0, 2.0, 1.01), False, id="share-below-the-limit"),
        pytest.param([2.0**40 * each for each in losses(5.0, 2.0, 1.0)], True, id="any-scale"),
        pytest.param([2.0**-40 * each for each in losses(5.0, 2.0, 1.0)], True, id="small-scale"),
        pytest.param(losses(8.0, 2.0, 1.0), True, id="drop-at-the-limit"),
        pytest.param(losses(8.0, 2.0, 1.01), False, id="drop-below-the-limit"),
        pytest.param(losses(8.0, 4.0, 1.0), True, id="level-at-the-limit"),
        pytest.param(losses(8.0, 4.0, 0.99), False, id="low-enough"),
        pytest.param(losses(5.0, 2.0, 0.7, noise=3.6), True, id="more-than-chance"),
        pytest.param(losses(5.0, 2.0, 0.7, noise=3.8), False, id="by-chance"),
        pytest.param(losses(2.0, 2.0, 2.0), False, id="flat"),
        pytest.param(losses(128.0, 127.0, 126.0), True, id="whole-fall-at-the-limit"),
        pytest.param(losses(128.0, 127.9, 127.0), False, id="hardly-falls"),
        pytest.param(losses(2.0, 1.0, 1.5), False, id="rising"),
        pytest.param(losses(1.0, 3.0, 2.0), False, id="above-the-first"),
        pytest.param([*losses(5.0, 2.0, 1.0)[:-1], nan], False, id="nan"),
        pytest.param([*losses(5.0, 2.0, 1.0)[:-1], inf], False, id="inf"),
        pytest.param([nan] * 64, False, id="nan-throughout"),
        pytest.param([], False, id="no-loss"),
    ],
)
def test_check(loss: list[float], expected: bool) -> None:
    assert bool(problem.check(history(loss))) is expected


def test_only_the_end_counts() -> None:
    assert problem.check(history(losses(5.0, 2.0, 1.0), ended=False)) is None


@pytest.mark.parametrize(("steps", "expected"), [(40, True), (39, False)])
def test_a_run_must_have_some_steps(steps: int, expected: bool) -> None:
    assert bool(problem.check(history([100.0 - step for step in range(steps)]))) is expected


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        pytest.param([5, 5, 5, 5, 2, 2, 1, 1], True, id="falling"),
        pytest.param([5, 2, 1, 1, 1, 1, 1, 1], False, id="flat"),
        pytest.param([5, 2, 1, 1, 1, 1, 1], True, id="too-few-so-steps-count"),
        pytest.param([5, 5, 5, 5, 2, 2, 1, nan], False, id="nan"),
    ],
)
def test_epochs_go_before_steps(epochs: list[float], expected: bool) -> None:
    made = history(losses(5.0, 2.0, 1.0))
    for loss in epochs:
        made.end_epoch(loss=loss)
    assert bool(problem.check(made)) is expected


def test_the_first_loss_is_a_median() -> None:
    made = [99.0, *losses(5.0, 2.0, 1.0)[1:]]
    assert problem.check(history(made)) is not None


def test_the_finding_names_the_step_and_the_numbers() -> None:
    finding = problem.check(history(losses(5.0, 2.0, 1.0)))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("still_falling", "info")
    assert (finding.step, finding.epoch, finding.layers) == (63, 0, ())
    assert finding.evidence == {"before": 2.0, "last": 1.0, "first": 5.0}
    assert finding.message == (
        "the loss fell from 2 to 1 in the last quarter of the run, and from 5 in all"
    )


@pytest.mark.parametrize(("steps", "expected"), [(60, ["still_falling"]), (2000, [])])
def test_it_is_said_when_the_doctor_goes(steps: int, expected: list[str]) -> None:
    torch.manual_seed(0)
    model = mlp(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    doctor = sickbay.watch(model, optimizer, problems=["still_falling"], on_finding="silent")
    x = features(32)
    for _ in range(steps):
        doctor.step(learn(model, optimizer, x))
    assert doctor.findings == []
    doctor.close()
    assert [each.problem for each in doctor.findings] == expected
    doctor.close()
    assert [each.problem for each in doctor.findings] == expected


@pytest.mark.parametrize(
    ("steps", "epochs", "last", "expected"),
    [
        pytest.param(63, 2, 1.9, True, id="few-steps"),
        pytest.param(64, 2, 1.9, False, id="enough-steps"),
        pytest.param(8, 1, 1.9, True, id="very-few"),
        pytest.param(7, 1, 1.9, False, id="too-few-to-tell"),
        pytest.param(40, 3, 1.9, True, id="few-epochs"),
        pytest.param(40, 4, 1.9, False, id="many-epochs"),
        pytest.param(40, 0, 1.9, False, id="epochs-not-known"),
        pytest.param(40, 2, 2.0, False, id="not-falling"),
        pytest.param(40, 2, 0.25, True, id="level-at-the-limit"),
        pytest.param(40, 2, 0.24, False, id="low-enough"),
        pytest.param(40, 2, nan, False, id="nan"),
    ],
)
def test_a_short_run(steps: int, epochs: int, last: float, expected: bool) -> None:
    rule = StillFalling(share=1.0, drop=1.0, level=0.125, few=64, short=3)
    half = steps // 2
    made = history(half * [2.0] + (steps - half) * [last])
    for _ in range(epochs):
        made.end_epoch()
    finding = rule.check(made)
    assert bool(finding) is expected
    if steps == 63 and finding is not None:
        assert finding.message == (
            "the run ended after 63 steps in 2 epochs, while its loss fell from 2 to 1.9"
        )
