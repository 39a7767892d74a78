from collections.abc import Sequence
from dataclasses import replace
from math import nan

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import FrozenByAccident
from sickbay.vitals import Setup, Table, Vitals
from tests.models import features, mlp

problem = FrozenByAccident(checks=2)
KERNELS = ("a.weight", "b.weight", "c.weight")
SHAPES = {**dict.fromkeys(KERNELS, (4, 4)), "b.bias": (4,), "n.weight": (4,)}


def history(
    readings: Sequence[Sequence[str]] = (),
    *,
    unheld: tuple[str, ...] = (),
    uncalled: tuple[str, ...] = (),
) -> History:
    made = History(Setup(shapes=SHAPES, unheld=unheld, uncalled=uncalled), loss=[1.0])
    for step, names in enumerate(readings):
        rows = {name: {"norm": 1.0} for name in names}
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("unheld", "uncalled", "expected"),
    [
        pytest.param((), (), (), id="all-held"),
        pytest.param(("b.weight",), (), ("b",), id="in-the-middle"),
        pytest.param(("c.weight",), (), ("c",), id="at-the-end"),
        pytest.param(("b.weight", "c.weight"), (), ("b", "c"), id="all-but-the-first"),
        pytest.param(("a.weight", "c.weight"), (), ("a", "c"), id="all-but-the-middle"),
        pytest.param(("a.weight",), (), ("a",), id="at-the-start"),
        pytest.param(("a.weight", "b.weight"), (), ("a", "b"), id="all-but-the-head"),
        pytest.param(("b.bias", "n.weight"), (), (), id="no-kernel"),
        pytest.param(KERNELS, (), (), id="only-other-parameters-held"),
        pytest.param(tuple(SHAPES), (), ("a", "b", "c"), id="none-held"),
        pytest.param(tuple(SHAPES), ("a", "b", "c"), (), id="none-held-or-called"),
        pytest.param(("c.weight",), ("c",), (), id="not-called"),
        pytest.param(("b.weight", "c.weight"), ("c",), ("b",), id="one-of-them-not-called"),
    ],
)
def test_missing_in_the_optimizer(
    unheld: tuple[str, ...], uncalled: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    finding = problem.check(history(unheld=unheld, uncalled=uncalled))
    assert (finding.layers if finding else ()) == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param([1.0, 1.0], True, id="erased-before-the-step"),
        pytest.param([0.0, 1.0], False, id="erased-once"),
        pytest.param([1.0], False, id="too-early"),
        pytest.param([0.0, 0.0], False, id="used"),
    ],
)
def test_erased_gradients(flags: list[float], expected: bool) -> None:
    made = History(Setup(shapes=SHAPES), loss=[1.0] * len(flags), erased=flags)
    finding = problem.check(made)
    assert bool(finding) is expected
    assert finding is None or "gone when the optimizer stepped" in finding.message


@pytest.mark.parametrize(
    ("count", "held", "expected"),
    [
        pytest.param(8, [7], "info", id="one"),
        pytest.param(8, [6, 7], "info", id="a-quarter"),
        pytest.param(8, [5, 6, 7], "warning", id="more-than-a-quarter"),
        pytest.param(8, [0, 1], "warning", id="not-at-the-end"),
        pytest.param(8, [5, 7], "warning", id="with-a-gap"),
        pytest.param(3, [2], "info", id="one-of-three"),
        pytest.param(2, [1], "warning", id="one-of-two"),
    ],
)
def test_fine_tuning_a_head_is_only_an_info(count: int, held: list[int], expected: str) -> None:
    names = [f"{index}.weight" for index in range(count)]
    unheld = tuple(name for index, name in enumerate(names) if index not in held)
    made = History(Setup(shapes=dict.fromkeys(names, (4, 4)), unheld=unheld), loss=[1.0])
    finding = problem.check(made)
    assert finding is not None
    assert finding.severity == expected
    assert ("to train only a head, freeze them" in finding.message) is (expected == "info")


def watched(
    depth: int, *, frozen: bool, head_only: bool, trained: bool = True
) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return what is found where the head trains, and the rest is frozen or just not held.

    Weights that were trained are larger than torch's first ones.
    """
    torch.manual_seed(0)
    model = mlp(depth)
    *rest, head = [each for each in model.children() if isinstance(each, nn.Linear)]
    for layer in rest if frozen else ():
        layer.requires_grad_(False)
        layer.weight.mul_(1.5 if trained else 1.0)
    optimizer = torch.optim.SGD((head if head_only else model).parameters(), lr=1e-2)
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="silent")
    for _ in range(60):
        x = features()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x[:, :4].sin())
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    return [(each.problem, each.severity, each.layers) for each in doctor.findings]


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("head_only", [False, True])
def test_what_is_frozen_on_purpose_is_no_accident(depth: int, head_only: bool) -> None:
    assert watched(depth, frozen=True, head_only=head_only) == []


@pytest.mark.parametrize("head_only", [False, True])
def test_what_is_frozen_before_it_was_trained_is_an_accident(head_only: bool) -> None:
    found = watched(3, frozen=True, head_only=head_only, trained=False)
    assert found == [("frozen_by_accident", "warning", ("0", "2", "4"))]


def random_layers(score: float, steps: int = 60) -> History:
    """Return a run of a model with layers frozen at random weights; a constant scores 0.5."""
    setup = Setup(shapes=SHAPES, untrained=("x", "y"))
    return History(setup, score=[score] * steps, constant_score=[0.5] * steps)


@pytest.mark.parametrize(
    ("score", "steps", "expected"),
    [
        pytest.param(0.6, 60, True, id="learns-little"),
        pytest.param(0.95, 60, False, id="copes"),
        pytest.param(0.6, 30, False, id="too-early"),
        pytest.param(nan, 60, False, id="nan"),
    ],
)
def test_layers_frozen_at_random_weights_count_if_little_is_learnt(
    score: float, steps: int, expected: bool
) -> None:
    assert bool(problem.check(random_layers(score, steps))) is expected


def test_layers_frozen_at_random_weights() -> None:
    finding = problem.check(random_layers(0.6))
    assert finding is not None
    assert finding.layers == ("x", "y")
    assert finding.message == "2 layers have random weights but requires_grad=False"


def test_one_layer_frozen_at_random_weights() -> None:
    made = random_layers(0.6)
    made.setup = Setup(shapes=SHAPES, untrained=("x",))
    finding = problem.check(made)
    assert finding is not None
    assert finding.message == "1 layer has random weights but requires_grad=False"


def test_what_the_optimizer_lacks_is_found_in_any_loop() -> None:
    assert watched(1, frozen=False, head_only=True) == [("frozen_by_accident", "warning", ("0",))]
    where = ("0", "2", "4")
    assert watched(3, frozen=False, head_only=True) == [("frozen_by_accident", "info", where)]
    assert watched(3, frozen=False, head_only=False) == []


@pytest.mark.parametrize(
    ("readings", "unheld", "uncalled", "expected"),
    [
        pytest.param([KERNELS] * 2, (), (), (), id="all-reached"),
        pytest.param([KERNELS[1:]] * 2, (), (), ("a",), id="the-first-not-reached"),
        pytest.param([KERNELS[:1]] * 2, (), (), ("b", "c"), id="only-the-first-reached"),
        pytest.param([KERNELS[1:]], (), (), (), id="too-early"),
        pytest.param([], (), (), (), id="no-reading"),
        pytest.param([KERNELS, KERNELS[1:]], (), (), (), id="reached-before"),
        pytest.param([KERNELS[1:], KERNELS], (), (), (), id="reached-now"),
        pytest.param(
            [KERNELS, *[KERNELS[1:]] * 2], (), (), ("a",), id="forgets-what-left-the-window"
        ),
        pytest.param([()] * 2, (), (), (), id="nothing-reached"),
        pytest.param([KERNELS[1:]] * 2, (), ("a",), (), id="not-called"),
        pytest.param([KERNELS[2:]] * 2, KERNELS[:2], (), ("a", "b"), id="not-held"),
        pytest.param([KERNELS] * 2, ("b.bias",), (), (), id="a-bias-not-reached"),
    ],
)
def test_no_gradient(
    readings: list[tuple[str, ...]],
    unheld: tuple[str, ...],
    uncalled: tuple[str, ...],
    expected: tuple[str, ...],
) -> None:
    finding = problem.check(history(readings, unheld=unheld, uncalled=uncalled))
    assert (finding.layers if finding else ()) == expected


def test_layers_that_the_model_does_not_hold() -> None:
    finding = problem.check(History(Setup(shapes=SHAPES, strays=3), loss=[1.0]))
    assert finding is not None
    assert finding.layers == ()
    assert finding.message == (
        "the model uses layers that it does not hold: 3; model.parameters() lacks them"
    )


def test_nothing_is_known_about_the_model() -> None:
    assert problem.check(History()) is None


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    made = history([KERNELS[2:]] * 2)
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("frozen_by_accident", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (9, 2, ("a", "b"))
    assert finding.message == "2 of 3 kernels get no gradient"
    finding = problem.check(history(unheld=("b.weight", "c.weight")))
    assert finding is not None
    assert finding.message == "2 of 3 trainable kernels are missing from the optimizer"


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([[], []], True, id="never"),
        pytest.param([[]], False, id="too-early"),
        pytest.param([KERNELS, [], []], False, id="had-one-before"),
        pytest.param([[], [], KERNELS], False, id="has-one-now"),
    ],
)
def test_no_gradient_at_all(readings: list[list[str]], expected: bool) -> None:
    finding = problem.check(history(readings))
    assert bool(finding) is expected
    if finding is not None:
        assert finding.message == (
            "no gradient reaches any of the 3 kernels: the loss does not depend on the model, "
            "or backward() is missing"
        )


@pytest.mark.parametrize(("since", "expected"), [(-1, True), (0, True), (1, False)])
def test_readings_from_before_layers_were_unfrozen_do_not_count(since: int, expected: bool) -> None:
    made = history([KERNELS, ["c.weight"], ["c.weight"]])
    made.setup = replace(made.setup, since=since)
    assert bool(problem.check(made)) is expected


def test_a_layer_that_another_optimizer_trains() -> None:
    torch.manual_seed(0)
    body, heads = nn.Linear(8, 8), nn.ModuleList([nn.Linear(8, 2), nn.Linear(8, 2)])
    model = nn.ModuleDict({"body": body, "heads": heads})
    first, second = (torch.optim.Adam(model.parameters(), lr=1e-3) for _ in heads)
    doctor = sickbay.watch(model, second, every=1, on_finding="silent")
    for _ in range(5):
        for head, optimizer in zip(heads, (first, second), strict=True):
            loss = nn.functional.cross_entropy(head(body(torch.randn(16, 8))), torch.arange(16) % 2)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        doctor.step(loss)
    doctor.close()
    assert not [each for each in doctor.findings if each.problem == problem.name()]


def test_a_layer_that_no_optimizer_trains_though_it_is_held() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="silent")
    for _ in range(5):
        outputs = model[1](model[0](torch.randn(16, 8)).detach())
        loss = nn.functional.cross_entropy(outputs, torch.arange(16) % 2)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    doctor.close()
    assert [each for each in doctor.findings if each.problem == problem.name()]
