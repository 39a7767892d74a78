from collections.abc import Mapping, Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import BadTargets
from sickbay.problems.shared.small_batches import LOOK_BACK
from sickbay.vitals import Setup, Table, Vitals

problem = BadTargets(batches=3, values=30)
LABELS = {"minimum": 0.0, "maximum": 1.0, "count": 10.0, "nonfinite": 0.0}
SAME = {"minimum": 4.0, "maximum": 4.0, "count": 10.0, "nonfinite": 0.0}
MORE = 1e-5


def history(rows: Sequence[Mapping[str, float]], loss: str = "") -> History:
    made = History(Setup(loss=loss))
    for step, row in enumerate(rows):
        made.append(Vitals(step=step, tables=[Table.of("batch", step, {"target": row})]))
    return made


def labels(low: float, high: float) -> dict[str, float]:
    return {**LABELS, "minimum": low, "maximum": high}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([{**LABELS, "nonfinite": 1}], True, id="nan"),
        pytest.param([LABELS, {**LABELS, "nonfinite": 1}], True, id="nan-now"),
        pytest.param([{**LABELS, "nonfinite": 1}, LABELS], False, id="nan-before"),
        pytest.param([{"nonfinite": 10, "minimum": nan, "maximum": nan}], True, id="nothing-else"),
        pytest.param([{"nonfinite": 10}] * 3, True, id="nan-always"),
        pytest.param([LABELS], False, id="fine"),
        pytest.param([{}] * 3, False, id="not-measured"),
        pytest.param([], False, id="no-reading"),
    ],
)
def test_not_finite(rows: list[dict[str, float]], expected: bool) -> None:
    assert bool(problem.check(history(rows))) is expected


@pytest.mark.parametrize("loss", ["bce", "bce_logits"])
@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        pytest.param(0.0, 1.0, False, id="at-the-limit"),
        pytest.param(0.1, 0.9, False, id="within"),
        pytest.param(-1e-7, 1 + 1e-7, False, id="rounded"),
        pytest.param(-MORE, 1.0, True, id="below"),
        pytest.param(0.0, 1 + MORE, True, id="above"),
        pytest.param(-1.0, 1.0, True, id="labels-minus-one-and-one"),
        pytest.param(0.0, 255.0, True, id="bytes"),
        pytest.param(5.0, 7.0, True, id="all-above"),
        pytest.param(-inf, 1.0, True, id="inf"),
        pytest.param(nan, nan, False, id="not-known"),
    ],
)
def test_outside_the_range(loss: str, low: float, high: float, expected: bool) -> None:
    assert bool(problem.check(history([labels(low, high)], loss))) is expected


@pytest.mark.parametrize("loss", ["mse", "cross_entropy", "soft_margin", ""])
def test_other_losses_have_no_such_range(loss: str) -> None:
    assert problem.check(history([labels(-3, 255)], loss)) is None


def test_the_range_is_that_of_now() -> None:
    assert problem.check(history([labels(-1, 1), LABELS], "bce")) is None
    assert problem.check(history([LABELS, labels(-1, 1)], "bce")) is not None


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([SAME] * 3, True, id="at-the-limit"),
        pytest.param([{**SAME, "count": 9.9}] * 3, False, id="too-few-values"),
        pytest.param([{**SAME, "count": 1e6}] * 2, False, id="too-early"),
        pytest.param([LABELS, *[SAME] * LOOK_BACK], True, id="forgets-what-was-long-ago"),
        pytest.param([LABELS, *[SAME] * (LOOK_BACK - 1)], False, id="differed-a-while-ago"),
        pytest.param([SAME, LABELS, SAME], False, id="another-between"),
        pytest.param([SAME, SAME, labels(4, 5)], False, id="no-more"),
        pytest.param([SAME, SAME, labels(3, 4)], False, id="no-more-below"),
        pytest.param([SAME, SAME, labels(5, 5)], False, id="one-value-each-but-not-the-same"),
        pytest.param([labels(3, 4), SAME, SAME], False, id="another-at-first"),
        pytest.param([labels(0, 0)] * 3, True, id="zero"),
        pytest.param([labels(1e-20, 1e-20)] * 3, True, id="any-scale-small"),
        pytest.param([labels(-1e20, -1e20)] * 3, True, id="any-scale-large"),
        pytest.param([labels(nan, nan)] * 3, False, id="not-known"),
    ],
)
def test_always_the_same(rows: list[dict[str, float]], expected: bool) -> None:
    assert bool(problem.check(history(rows))) is expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([1.0, *10 * [0.05]], True, id="learnt"),
        pytest.param([1e-20, *10 * [5e-22]], True, id="any-scale"),
        pytest.param([1.0, *10 * [0.051]], False, id="above-the-limit"),
        pytest.param([1.0, *10 * [0.7]], False, id="its-opponent-learns-too"),
        pytest.param([1.0], False, id="too-early"),
        pytest.param([1.0, *9 * [0.0], nan], False, id="nan"),
    ],
)
def test_the_same_by_design(losses: list[float], expected: bool) -> None:
    made = history([SAME] * 3)
    for step, loss in enumerate(losses):
        made.append(Vitals(step=step, scalars={"loss": loss}))
    assert bool(problem.check(made)) is expected


def test_a_batch_without_targets_says_nothing() -> None:
    made = History(Setup(loss="bce"))
    for step in range(3):
        table = Table.of("batch", step, {"input": SAME, "output": {**SAME, "nonfinite": 1}})
        made.append(Vitals(step=step, tables=[table]))
    assert problem.check(made) is None


@pytest.mark.parametrize(
    ("row", "message", "evidence"),
    [
        pytest.param(
            {"nonfinite": 12}, "12 NaN or Inf in the targets", {"nonfinite": 12.0}, id="nan"
        ),
        pytest.param(
            labels(-1, 2.5),
            "targets range from -1 to 2.5, but bce needs 0 to 1",
            {"minimum": -1.0, "maximum": 2.5},
            id="range",
        ),
        pytest.param(
            labels(1, 1), "every target in the last 3 batches read is 1", {"value": 1.0}, id="same"
        ),
    ],
)
def test_the_finding_names_the_step_and_the_numbers(
    row: dict[str, float], message: str, evidence: dict[str, float]
) -> None:
    made = history([row] * 3, "bce")
    made.append(Vitals(step=9, epoch=2))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("bad_targets", "critical")
    assert (finding.step, finding.epoch, finding.layers) == (2, 2, ())
    assert finding.evidence == evidence
    assert finding.message == message


@pytest.mark.parametrize(
    ("rows", "loss", "expected"),
    [
        pytest.param([{**LABELS, "nonfinite": 1}], "", False, id="nan"),
        pytest.param([labels(0, 9)], "bce", True, id="out-of-range"),
        pytest.param([SAME] * 3, "", True, id="constant"),
    ],
)
def test_only_what_is_finite_leaves_damage(
    rows: list[Mapping[str, float]], loss: str, expected: bool
) -> None:
    finding = problem.check(history(rows, loss))
    assert finding is not None
    assert problem.lasts(finding) is expected


def counted(low: float, high: float, count: float = 30.0) -> dict[str, float]:
    return {**labels(low, high), "count": count, "norm": 1.0, "mean": 1.0, "variance": 1.0}


@pytest.mark.parametrize(
    ("rows", "shape", "task", "expected"),
    [
        pytest.param([counted(1, 2)], (8, 3), "multiclass", True, id="at-the-limit"),
        pytest.param([counted(1, 2, 29.0)], (8, 3), "multiclass", False, id="too-few"),
        pytest.param([counted(1, 2, 15.0)] * 2, (8, 3), "multiclass", True, id="two-batches"),
        pytest.param(
            [counted(0, 2, 15.0), counted(1, 2, 15.0)], (8, 3), "multiclass", False, id="0-before"
        ),
        pytest.param([counted(0, 2)], (8, 3), "multiclass", False, id="from-zero"),
        pytest.param([counted(2, 3, 99.0)], (8, 4), "multiclass", False, id="from-two"),
        pytest.param([counted(1, 2, 99.0)], (8, 4), "multiclass", False, id="the-last-is-free"),
        pytest.param([counted(0, 1)], (8, 2), "multiclass", False, id="two-classes"),
        pytest.param([counted(1, 49, 500.0)], (8, 50), "multiclass", True, id="fifty"),
        pytest.param([counted(1, 50, 999.0)], (8, 51), "multiclass", False, id="many-classes"),
        pytest.param([counted(1, 2)], (8, 3), "next_token", False, id="tokens"),
        pytest.param([counted(1, 2)], (8, 3), "regression", False, id="numbers"),
        pytest.param([counted(1, 2)], (), "multiclass", False, id="shape-not-known"),
        pytest.param([counted(nan, nan)], (8, 3), "multiclass", False, id="nan"),
    ],
)
def test_labels_that_start_at_one(
    rows: list[dict[str, float]], shape: tuple[int, ...], task: str, expected: bool
) -> None:
    made = history(rows)
    made.setup = Setup(loss="cross_entropy", task=task, output_shape=shape)
    finding = BadTargets(per_class=10).check(made)
    assert bool(finding) is expected
    if finding is not None:
        total = sum(row["count"] for row in rows)
        start = f"the labels of {shape[1]} classes start at 1"
        assert finding.message == f"{start}: none of {total:.0f} is 0"
        assert (finding.step, finding.evidence) == (len(rows) - 1, {"minimum": 1.0})


@pytest.mark.parametrize(
    ("shape", "embedded", "expected"),
    [
        pytest.param((8, 3), 100, True, id="classes-of-texts"),
        pytest.param((8, 3), 3, False, id="the-next-token"),
        pytest.param((8, 3, 9), 100, False, id="a-class-for-each-token"),
    ],
)
def test_labels_of_texts_that_start_at_one_are_worth_a_remark(
    shape: tuple[int, ...], embedded: int, expected: bool
) -> None:
    made = history([counted(1, 2, 99.0)])
    made.setup = Setup(
        loss="cross_entropy",
        task="next_token",
        output_shape=shape,
        layers={"words": "Embedding"},
        shapes={"words.weight": (embedded, 16)},
    )
    finding = BadTargets(per_class=10).check(made)
    assert bool(finding) is expected
    if finding is not None:
        assert finding.severity == "info"
        assert problem.stands_alone(finding)


def two(high: float, share: float = 0.25, count: float = 30.0) -> dict[str, float]:
    """Return targets of which a share is `high` and the others are 0."""
    spread = {"mean": share * high, "variance": share * (1 - share) * high**2}
    return {**labels(0.0, high), "count": count, "norm": 1.0, **spread}


GREY = {**two(1 / 255), "variance": 1e-6}


@pytest.mark.parametrize(
    ("rows", "loss", "expected"),
    [
        pytest.param([two(1 / 255)], "bce_logits", True, id="divided-twice"),
        pytest.param([two(0.1)], "bce", True, id="a-tenth"),
        pytest.param([two(1 / 255, count=15.0)] * 2, "bce", True, id="two-batches"),
        pytest.param([two(1 / 255, count=29.0)], "bce", False, id="too-few"),
        pytest.param([two(0.5)], "bce", False, id="at-the-limit"),
        pytest.param([two(1.0)], "bce", False, id="yes-and-no"),
        pytest.param([{**two(0.1), "variance": 0.001}], "bce", False, id="shares"),
        pytest.param([GREY], "bce", True, id="grey"),
        pytest.param([{**GREY, "maximum": 0.9 / 255}], "bce", False, id="small-shares"),
        pytest.param([{**two(0.1), "minimum": 0.05}], "bce", False, id="smoothed"),
        pytest.param([two(0.1)], "mse", False, id="another-loss"),
    ],
)
def test_a_yes_that_is_no_1(rows: list[dict[str, float]], loss: str, expected: bool) -> None:
    finding = problem.check(history(rows, loss))
    assert bool(finding) is expected
    if finding is not None:
        high = f"{rows[0]['maximum']:.3g}"
        assert finding.message == f"the targets of {loss} are 0 to {high}, but a yes is 1"
