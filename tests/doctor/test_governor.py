from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sickbay.doctor.governor import (
    AIM,
    ALWAYS_JUDGED,
    ALWAYS_READ,
    AT_MILESTONES,
    BOOKKEEPING,
    CLOSER,
    DEBT,
    FIRST_MILESTONE,
    MOST,
    SHARES,
    START_SECONDS,
    START_STEPS,
    Governor,
    running_mean,
)
from sickbay.vitals import Kind

AT = FIRST_MILESTONE - MOST - 1  # a step that is far from the next milestone

ALL: list[Kind] = ["gradient", "weight", "activation"]


def lap(
    governor: Governor, at: int, seconds: float, prices: Mapping[str, float], **others: float
) -> set[Kind]:
    """Make one step as the doctor does, with what it reads on top; return that."""
    due = governor.due(at)
    costs: dict[str, float] = {kind: prices[kind] for kind in due}
    if governor.judging_due(at):
        costs["judging"] = prices.get("judging", 0.0)
    costs |= others
    governor.lap(seconds + sum(costs.values()), costs)
    return due


def most(governor: Governor, seconds: float, prices: Mapping[str, float]) -> float:
    """Return the most it may have spent: budget, head start, and what is read in any case."""
    head_start = START_SECONDS + START_STEPS * governor.budget * seconds
    head_start += sum(AT_MILESTONES.values())
    always = sum((ALWAYS_READ.get(kind, 3) + 1) * price for kind, price in prices.items())
    always += ALWAYS_JUDGED * prices.get("judging", 0.0)
    return governor.budget * governor.loop_time + head_start + always


seconds = st.floats(1e-5, 100)


price = st.floats(1e-7, 100)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(seconds, price, price, price, st.sampled_from([0.001, 0.01, 0.1, 1.0]))
def test_the_budget_is_kept_at_any_price(
    seconds: float, gradient: float, weight: float, activation: float, budget: float
) -> None:
    prices = {"gradient": gradient, "weight": weight, "activation": activation}
    governor = Governor("auto", budget, ALL)
    for step in range(2000):
        lap(governor, step, seconds, prices)
    assert governor.own_time <= most(governor, seconds, prices)


@pytest.mark.parametrize("seconds", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("judging", [1e-4, 1e-2])
@pytest.mark.parametrize("reading", [1e-6, 1e-4, 10.0])
def test_the_budget_is_kept_with_the_price_of_judging(
    reading: float, judging: float, seconds: float
) -> None:
    prices: dict[str, float] = {**dict.fromkeys(ALL, reading), "judging": judging}
    governor = Governor("auto", 0.01, ALL)
    for step in range(5000):
        lap(governor, step, seconds, prices)
    assert governor.own_time <= most(governor, seconds, prices)


@pytest.mark.parametrize("seed", range(5))
def test_the_budget_is_kept_when_prices_and_steps_vary(seed: int) -> None:
    random = Random(seed)
    governor = Governor("auto", 0.01, ALL)
    for step in range(3000):
        prices: dict[str, float] = {kind: random.choice([1e-4, 3e-4, 1e-2]) for kind in ALL}
        lap(governor, step, random.choice([1e-3, 2e-2]), prices)
    assert governor.own_time <= most(governor, 2e-2, dict.fromkeys(ALL, 1e-2))


@pytest.mark.parametrize(("reading", "least"), [(1e-5, 1900), (1e-3, 90), (1e-1, 2)])
def test_the_budget_is_used(reading: float, least: int) -> None:
    governor = Governor("auto", 0.01, ["gradient"])
    reads = sum(bool(lap(governor, step, 0.01, {"gradient": reading})) for step in range(2000))
    assert least <= reads <= 2000
    rate = AIM * 0.01 * 0.01 * 2 / 3 / reading
    assert reads <= max(2, 2000 * rate + START_SECONDS / reading + 3)


def test_the_running_cost_is_paid_first() -> None:
    cheap, dear = (Governor("auto", 0.01, ["gradient"]) for _ in range(2))
    prices = {"gradient": 1e-4}
    reads = sum(bool(lap(cheap, step, 0.01, prices)) for step in range(1000, 4000))
    fewer = sum(bool(lap(dear, step, 0.01, prices, step=5e-5)) for step in range(1000, 4000))
    assert 0.25 * reads < fewer < 0.55 * reads


@pytest.mark.parametrize("at", [1, 2, 500])
def test_a_long_pause_does_not_cause_a_burst(at: int) -> None:
    def reads(pause: float) -> int:
        governor = Governor("auto", 0.01, ["gradient"])
        for step in range(at):
            lap(governor, step, 0.001, {"gradient": 2e-4})
        lap(governor, at, pause, {"gradient": 2e-4})
        steps = range(at + 1, at + 500)
        return sum(bool(lap(governor, step, 0.001, {"gradient": 2e-4})) for step in steps)

    assert reads(600.0) <= reads(0.001) + 2


def test_a_long_pause_does_not_make_bookkeeping_cheap() -> None:
    governor = Governor("auto", 0.01, ["gradient"])
    for _ in range(50):
        governor.lap(0.001, {"bookkeeping": 2e-5})
    before = governor.uneventful(AT)
    governor.lap(600.0, {"bookkeeping": 2e-5})
    assert governor.uneventful(AT) >= before / 2 > 1


def test_printing_counts_as_overhead_but_does_not_blind() -> None:
    def reads(printing: float) -> tuple[int, float]:
        governor = Governor("auto", 0.01, ["gradient"])
        costs = {"gradient": 1e-3}
        due = [lap(governor, step, 0.01, costs, printing=printing) for step in range(1000)]
        return sum(map(bool, due)), governor.own_time

    quiet, loud = reads(0.0), reads(0.01)
    assert loud[0] >= quiet[0] > 30
    assert loud[1] > 10


def test_treating_counts_as_overhead_but_does_not_blind() -> None:
    governor = Governor("auto", 0.01, ["gradient"])
    due = [lap(governor, step, 0.01, {"gradient": 1e-3}, treatment=0.01) for step in range(1000)]
    assert sum(map(bool, due)) > 30
    assert governor.own_time > 10


def test_looking_at_every_gradient_is_paid_for_by_reading_less() -> None:
    def spent(looking: float) -> tuple[int, float]:
        governor = Governor("auto", 0.01, ["gradient"])
        for step in range(100):
            lap(governor, step, 0.01, {"gradient": 1e-4}, looking=looking)
        before = governor.own_time
        due = [lap(governor, 100, 0.01, {"gradient": 1e-4}, looking=looking) for _ in range(3000)]
        return sum(map(bool, due)), (governor.own_time - before) / (3000 * 0.01)

    (often, alone), (rarely, both) = spent(0.0), spent(5e-5)
    assert often > 1.5 * rarely > 0
    assert max(alone, both) < 0.01


def test_bookkeeping_waits_longer_where_every_gradient_is_looked_at() -> None:
    def passing(looking: float) -> int:
        governor = Governor("auto", 0.01, ["gradient"])
        for _ in range(50):
            governor.lap(0.01, {"bookkeeping": 5e-5, "looking": looking})
        return governor.uneventful(AT)

    assert 0 < passing(1e-5) < passing(5e-5) < passing(1e-4)


def test_the_first_steps_are_read_whatever_it_costs() -> None:
    governor = Governor("auto", 0.01, ALL)
    for step in range(12):
        assert governor.due(step) == {kind for kind in ALL if step < ALWAYS_READ[kind]}
        assert governor.judging_due(step) is (step < ALWAYS_JUDGED)
        governor.lap(30.0 if step == 0 else 0.01, dict.fromkeys([*ALL, "judging"], 5.0))


def test_a_closer_look_reads_everything_for_a_few_steps() -> None:
    governor = Governor("auto", 0.01, ALL)
    for step in range(10):
        lap(governor, step, 0.01, {"gradient": 0.01, "weight": 0.01, "activation": 0.01})
    assert governor.due(10) == set()
    governor.look_closer(10)
    assert [governor.due(step) for step in range(10, 14)] == [set(ALL)] * CLOSER + [set()]
    assert governor.judging_due(12)


def test_what_is_deep_in_debt_is_not_looked_at_closer() -> None:
    governor = Governor("auto", 0.01, ALL)
    governor.lap(1.0, {})
    for _ in range(6):
        governor.lap(1e-6, {"activation": 0.05})
    governor.look_closer(10)
    assert governor.due(10) == {"gradient", "weight"}


def test_closer_looks_keep_to_the_budget() -> None:
    governor = Governor("auto", 0.01, ALL)
    prices = {"gradient": 2e-3, "weight": 2e-3, "activation": 2e-3}
    for step in range(3000):
        lap(governor, step, 0.01, prices)
        governor.look_closer(step + 1)
    assert governor.own_time <= most(governor, 0.01, prices) + DEBT * sum(prices.values())


def test_a_kind_is_read_when_its_account_holds_the_price() -> None:
    governor = Governor("auto", 0.01, ALL)
    governor.lap(1.0, {"activation": 5.0})
    governor.lap(1e-6, {"gradient": 0.05, "weight": 2e-4, "activation": 2e-4})
    assert governor.due(99) == {"activation"}


def test_no_account_pays_for_another() -> None:
    governor = Governor("auto", 0.01, ALL)
    governor.lap(1.0, {})
    governor.lap(1.0, {"gradient": 0.01, "activation": 2e-3})
    assert "activation" in governor.due(99)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        pytest.param(0.99, 0, id="at-the-limit"),
        pytest.param(3.5, 3, id="dear"),
        pytest.param(1e6, MOST, id="at-the-most"),
    ],
)
def test_expensive_bookkeeping_is_done_less_often(cost: float, expected: int) -> None:
    governor, fixed = Governor("auto", 0.01, ALL), Governor(5, 0.01, ALL)
    assert governor.uneventful(AT) == 0
    for each in (governor, fixed):
        for _ in range(3):
            each.lap(0.01, {"bookkeeping": cost * BOOKKEEPING * AIM * 1e-4})
    assert governor.uneventful(AT) == expected
    assert fixed.uneventful(AT) == 0


@pytest.mark.parametrize(
    ("passing", "expected"),
    [
        pytest.param(0.0, 3, id="free"),
        pytest.param(0.5, 7, id="half-the-aim"),
        pytest.param(2.0, MOST, id="more-than-the-aim"),
    ],
)
def test_what_passing_costs_is_not_left_for_bookkeeping(passing: float, expected: int) -> None:
    governor = Governor("auto", 0.01, ALL)
    for _ in range(3):
        costs = {"bookkeeping": 3.6 * BOOKKEEPING * AIM * 1e-4, "passing": 9 * passing * AIM * 1e-4}
        governor.lap(0.1, costs, steps=10)
    assert governor.uneventful(AT) == expected


def test_overhead_is_the_share_of_the_time() -> None:
    governor = Governor("auto", 0.01, ALL)
    assert governor.overhead == 0
    governor.lap(2.0, {"gradient": 0.25, "step": 0.25})
    governor.lap(2.0, {"printing": 0.5})
    assert governor.overhead == 0.25


def test_running_mean() -> None:
    assert running_mean(0.0, 5.0) == 5
    assert running_mean(5.0, 15.0) == pytest.approx(6)


def test_a_start_that_is_not_eager_waits_until_what_is_dear_can_be_paid_for() -> None:
    governor = Governor("auto", 0.01, ["gradient", "activation"], eager=False)
    read = []
    for step in range(2000):
        due = governor.due(step)
        read.append("activation" in due)
        prices = {"gradient": 0.0001, "activation": 0.004}
        governor.lap(5.0 if not step else 0.01, {each: prices[each] for each in due})
    share = 0.01 * AIM * SHARES["activation"] / (1 - SHARES["weight"] - SHARES["batch"])
    first = read.index(True)
    assert first == pytest.approx(1 / share, rel=0.1)  # a reading is guessed to cost a step
    assert sum(read) == pytest.approx((2000 - first) * share / 0.4, rel=0.2)  # and costs less


@pytest.mark.parametrize(("eager", "always"), [(True, 3), (False, 1)])
def test_a_start_that_is_not_eager_reads_once(eager: bool, always: int) -> None:
    governor = Governor("auto", 0.01, ["gradient"], eager)
    read = []
    for step in range(40):
        due = "gradient" in governor.due(step)
        read.append(due)
        governor.lap(0.001, {"gradient": 0.05 if due else 0.0})
    assert read == [True] * always + [False] * (40 - always)
