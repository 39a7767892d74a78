from collections.abc import Sequence
from math import inf, nan

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import ExcessiveWeightDecay
from sickbay.vitals import Setup, Vitals

problem = ExcessiveWeightDecay(decay=0.25, ratio=0.5, checks=3)
Norms = Sequence[Sequence[float]]


def history(
    gradients: Norms, decay: float = 0.25, optimizer: str = "SGD", *, weight: float = 4.0
) -> History:
    """Return readings of gradients with these norms, of weights of one norm."""
    made = History(Setup(optimizer=optimizer, settings={"weight_decay": decay}))
    for step, norms in enumerate(gradients):
        names = [f"{name}.weight" for name, _ in zip("abcd", norms, strict=False)]
        rows = {name: {"norm": norm} for name, norm in zip(names, norms, strict=True)}
        made.add_table("gradient", rows, step)
        made.add_table("weight", {name: {"norm": weight} for name in names}, step)
    return made


@pytest.mark.parametrize(
    ("gradients", "expected"),
    [
        pytest.param([[1.0]] * 3, True, id="as-hard-as-the-loss"),
        pytest.param([[2.0]] * 3, False, id="at-the-limit"),
        pytest.param([[1.99]] * 3, True, id="above-the-limit"),
        pytest.param([[1.0]] * 2, False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([[1.0, 1.0, 99.0]] * 3, True, id="a-typical-kernel"),
        pytest.param([[1.0, 99.0, 99.0]] * 3, False, id="one-of-three"),
        pytest.param([[1.0], [9.0], [1.0]], False, id="not-in-between"),
        pytest.param([[9.0], [1.0], [1.0], [1.0]], True, id="forgets-what-left-the-window"),
        pytest.param([[nan], [1.0], [1.0]], False, id="nan-before"),
        pytest.param([[1.0], [1.0], [nan]], False, id="nan-now"),
        pytest.param([[1.0], [nan], [1.0]], False, id="nan-between"),
        pytest.param([[inf]] * 3, False, id="inf"),
        pytest.param([[]] * 3, False, id="no-layer"),
    ],
)
def test_check(gradients: Norms, expected: bool) -> None:
    assert bool(problem.check(history(gradients))) is expected


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**60])
def test_any_scale(scale: float) -> None:
    assert problem.check(history([[scale]] * 3, weight=4 * scale)) is not None
    assert problem.check(history([[2 * scale]] * 3, weight=4 * scale)) is None


@pytest.mark.parametrize(("decay", "expected"), [(0.25, True), (0.24, False), (0.0, False)])
def test_a_small_decay_is_left_alone(decay: float, expected: bool) -> None:
    assert bool(problem.check(history([[0.01]] * 3, decay))) is expected


def test_without_a_decay_there_is_none() -> None:
    made = history([[0.01]] * 3)
    made.setup = Setup(optimizer="SGD")
    assert problem.check(made) is None


@pytest.mark.parametrize("optimizer", ["AdamW", "Muon"])
@pytest.mark.parametrize(
    ("update", "expected"),
    [
        pytest.param(0.25, False, id="at-the-limit"),
        pytest.param(0.24, True, id="above-the-limit"),
        pytest.param(9.0, False, id="the-loss-pulls-harder"),
        pytest.param(nan, False, id="nan"),
    ],
)
def test_a_decay_apart_from_the_gradient(optimizer: str, update: float, expected: bool) -> None:
    setup = Setup(optimizer=optimizer, settings={"weight_decay": 0.25})
    made = History(setup, lr=3 * [0.5])  # 0.125 of the weight is taken off at a step
    for step in range(3):
        made.add_table("weight", {"a.weight": {"norm": 1.0, "update_ratio": update}}, step)
    assert bool(problem.check(made)) is expected


def test_gradients_and_weights_of_one_step_are_compared() -> None:
    made = History(Setup(optimizer="SGD", settings={"weight_decay": 0.25}))
    for step in range(6):
        norm = {"a.weight": {"norm": 1.0}}
        made.add_table("gradient" if step % 2 else "weight", norm, step)
    assert problem.check(made) is None


def test_the_finding_names_the_step_and_the_numbers() -> None:
    finding = problem.check(history([[1.0], [1.0], [0.25]]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("excessive_weight_decay", "warning")
    assert (finding.step, finding.layers, finding.evidence) == (2, (), {"ratio": 4.0})
    assert finding.message == "weight decay 0.25 pulls 4 times as hard as the loss (limit 0.5)"


@pytest.mark.parametrize(
    ("kind", "decay", "expected"),
    [
        pytest.param(torch.optim.Adam, 1.0, True, id="adam"),
        pytest.param(torch.optim.Adam, 1e-4, False, id="adam-as-usual"),
        pytest.param(torch.optim.SGD, 1.0, True, id="sgd"),
        pytest.param(torch.optim.AdamW, 0.01, False, id="adamw-as-usual"),
        pytest.param(torch.optim.AdamW, 50.0, True, id="adamw"),
    ],
)
def test_in_a_loop(kind: type[torch.optim.SGD], decay: float, expected: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = kind(model.parameters(), lr=1e-3, weight_decay=decay)
    doctor = sickbay.watch(
        model, optimizer, every=1, problems=["excessive_weight_decay"], on_finding="silent"
    )
    for _ in range(6):
        x = torch.randn(32, 8)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), x[:, :2].argmax(1))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    assert ([each.problem for each in doctor.findings] == ["excessive_weight_decay"]) is expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([4.0, 4.0, 4.0], True, id="as-large-as-at-first"),
        pytest.param([4.0, 2.0, 1.0], True, id="shrinking"),
        pytest.param([4.0, 4.0, 4.1], False, id="grown"),
        pytest.param([0.0, 4.0, 4.0], False, id="from-zero"),
    ],
)
def test_weights_that_have_grown_are_left_alone(sizes: list[float], expected: bool) -> None:
    made = History(Setup(optimizer="SGD", settings={"weight_decay": 0.25}))
    for step, size in enumerate([sizes[0], *sizes]):
        made.add_table("gradient", {"a.weight": {"norm": 0.1}}, step)
        made.add_table("weight", {"a.weight": {"norm": size}}, step)
    assert bool(problem.check(made)) is expected


def test_it_is_a_typical_kernel_that_has_grown() -> None:
    made = History(Setup(optimizer="SGD", settings={"weight_decay": 0.25}))
    for step in range(3):
        sizes = {"a.weight": 4.0 - step, "b.weight": 4.0 - step, "c.weight": 4.0 + step}
        made.add_table("gradient", {name: {"norm": 0.1} for name in sizes}, step)
        made.add_table("weight", {name: {"norm": size} for name, size in sizes.items()}, step)
    assert problem.check(made) is not None


mild = ExcessiveWeightDecay(decay=0.25, mild=0.125, ratio=0.5, checks=3, learnt=0.75)


@pytest.mark.parametrize(
    ("decay", "readings", "score", "expected"),
    [
        pytest.param(0.25, 3, 0.8, "warning", id="strong"),
        pytest.param(0.25, 3, 0.875, "info", id="learnt"),
        pytest.param(0.25, 2, 0.8, "info", id="two-readings"),
        pytest.param(0.25, 1, 0.8, None, id="one-reading"),
        pytest.param(0.125, 3, 0.8, "info", id="weaker"),
        pytest.param(0.124, 3, 0.8, None, id="weak"),
    ],
)
def test_a_mild_one_is_told_at_the_end(
    decay: float, readings: int, score: float, expected: str | None
) -> None:
    made = history([[0.1]] * readings, decay)
    for step in range(4):
        made.append(Vitals(step, scalars={"score": score, "constant_score": 0.5}))
    assert (mild.check(made) is not None) is (expected == "warning")
    made.ended = True
    finding = mild.check(made)
    assert (finding.severity if finding else None) == expected


def test_a_mild_one_apart_from_the_gradient_is_left_alone() -> None:
    setup = Setup(optimizer="AdamW", settings={"weight_decay": 0.125})
    made = History(setup, lr=3 * [0.5])
    for step in range(3):
        made.add_table("weight", {"a.weight": {"norm": 1.0, "update_ratio": 0.01}}, step)
    made.ended = True
    assert mild.check(made) is None


def test_weights_that_have_grown_are_left_alone_at_the_end_too() -> None:
    made = history([[0.1]] * 2)
    made.add_table("gradient", {"a.weight": {"norm": 0.1}}, 2)
    made.add_table("weight", {"a.weight": {"norm": 4.1}}, 2)
    made.ended = True
    assert mild.check(made) is None


@pytest.mark.parametrize(
    ("optimizer", "decay", "score", "ended", "expected"),
    [
        pytest.param("Adam", 0.003, 0.8, True, True, id="unusual"),
        pytest.param("Adam", 0.0029, 0.8, True, False, id="weaker"),
        pytest.param("AdamW", 0.1, 0.8, True, False, id="apart-from-the-gradient"),
        pytest.param("AdamW", 0.3, 0.8, True, True, id="unusual-even-there"),
        pytest.param("Adam", 0.003, 0.95, True, False, id="learns-well"),
        pytest.param("Adam", 0.003, nan, True, False, id="score-nan"),
        pytest.param("Adam", 0.003, 0.8, False, False, id="not-over"),
    ],
)
def test_an_unusual_decay_is_told_at_the_end(
    optimizer: str, decay: float, score: float, ended: bool, expected: bool
) -> None:
    setup = Setup(optimizer=optimizer, settings={"weight_decay": decay})
    made = History(setup, loss=99 * [1.0], score=99 * [score], constant_score=99 * [0.0])
    made.ended = ended
    finding = ExcessiveWeightDecay(unusual=29.999).check(made)
    assert bool(finding) is expected
    assert finding is None or (finding.severity == "info" and problem.stands_alone(finding))
