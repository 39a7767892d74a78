"""How often to read statistics: as often as the budget allows."""

from collections.abc import Callable, Iterable, Mapping
from time import perf_counter, thread_time
from typing import Literal, TypeAlias

from sickbay.arguments import bad_argument, check_float, check_int
from sickbay.errors import UsageError
from sickbay.probe.cost_clock import Clock
from sickbay.vitals import Kind

Every: TypeAlias = int | Literal["auto"] | Mapping[Kind, int] | Callable[[int], bool]

# The share of the budget that each account is paid.
SHARES: Mapping[str, float] = {
    "gradient": 0.35, "activation": 0.25, "weight": 0.15, "batch": 0.05, "judging": 0.2
}  # fmt: skip
KINDS_READ: tuple[Kind, ...] = ("gradient", "weight", "activation", "batch")
POSSIBLE = "a whole number of steps from 1 on, 'auto', such numbers by kind, or a function"
# Most problems show in the first steps, so these get more.
START_SECONDS = 0.002  # in all accounts together at the start
START_STEPS = 50  # steps for which the budget is doubled
# Steps that are read whatever they cost: as many as a problem needs to be seen in.
ALWAYS_READ: Mapping[str, int] = {"gradient": 3, "activation": 3, "weight": 3, "batch": 8}
READ_ONCE: Mapping[str, int] = {"gradient": 1, "weight": 1}  # the cheap kinds, if not eager
ALWAYS_JUDGED = 10  # steps that are judged whatever it costs
# How well a model learns shows in no single stretch of a run. So there are milestones, each so many
# times as late as the one before, which are read ahead of the accounts within an allowance.
FIRST_MILESTONE, MILESTONES = 40, 1.4
# The batch, which shows how well a model answers, has an allowance of its own, in seconds.
AT_MILESTONES: Mapping[tuple[Kind, ...], float] = {("gradient", "weight"): 0.01, ("batch",): 0.03}
MILESTONE_SHARE = 0.125  # of the budget, for each allowance
AIM = 0.7  # of the budget; the rest is for costs that cannot be timed from inside (hooks, caches)
LEAST = 0.05  # of the aim always goes to readings, or a very fast loop would never be read
BOOKKEEPING = 0.5  # of the aim, less the cost of passing, may go to this and the gradient norm
CLOSER = 3  # steps that are read in full after something strange
DEBT = 8  # readings; no account gets deeper into debt, or a bad start would stop its readings
MOST = 200  # steps that may pass before the next bookkeeping
PAUSE = 4  # a step this many times as long as usual is a pause, and earns no more than that
MEMORY = 0.9  # weight of the past in a running mean
# These count as overhead, but no account pays for them.
UNPAID = ("printing", "replay", "treatment")


class Governor:
    """Decides what to read at the next step, and keeps account of what that costs.

    If `every` is a number (or one for each kind), every so many steps are read. If it is a
    function, the steps for which it returns True are read, and only these are judged unless
    something strange happens. With "auto", each kind of reading has an account: every step pays in
    a share of the budget, and a kind is read when its account covers the price of a reading. So
    the cost stays within the budget on any model. An `eager` governor spends more at the start.
    Otherwise gradients and weights are read once at the start, and expensive kinds are read when
    their accounts cover an estimate of the price.

    >>> governor = Governor("auto", budget=0.01, kinds=["gradient"])
    >>> governor.due(0)  # the first step is always read
    {'gradient'}
    >>> reads = 0
    >>> for step in range(1, 1001):  # a step of 10 ms; reading all gradients takes 1 ms
    ...     due = "gradient" in governor.due(step)
    ...     governor.lap(0.01, {"gradient": 0.001 if due else 0.0})
    ...     reads += due
    >>> 30 < reads < 110
    True
    """

    def __init__(
        self, every: Every, budget: float, kinds: Iterable[Kind], eager: bool = True
    ) -> None:
        self.kinds = tuple(kinds)
        self.every = check_every(every)
        self.budget = check_float("budget", budget, above=0, most=1)
        self.loop_time = self.own_time = 0.0
        self.clock = Clock()  # every part adds its time to it
        self._last = 0.0  # when the last step ended
        accounts = [*self.kinds, "judging"]
        total = sum(SHARES[each] for each in accounts)
        self._shares = {each: SHARES[each] / total for each in accounts}
        start = START_SECONDS if eager else 0.0
        self._balances = {each: start * share for each, share in self._shares.items()}
        self._start = START_STEPS if eager else 0
        self._always, self._eager = ALWAYS_READ if eager else READ_ONCE, eager
        self._milestone, self._milestone_costs = FIRST_MILESTONE, dict.fromkeys(AT_MILESTONES, 0.0)
        self._closer_until = dict.fromkeys(accounts, -1)
        self._prices = dict.fromkeys(accounts, 0.0)
        self._answer = -1, False  # of a function for `every`, with its step
        self._bookkeeping_price = self._passing_price = self._looking_price = self._step_time = 0.0

    @property
    def overhead(self) -> float:
        """The fraction of the loop's time that was spent watching it."""
        return self.own_time / self.loop_time if self.loop_time else 0.0

    def start(self, on_cpu: bool) -> None:
        """Start timing the loop."""
        if on_cpu and self.every == "auto":
            self.clock.timer = thread_time
        self._last = perf_counter()

    def end_steps(self, count: int) -> float:
        """Account for `count` steps with what the clock has added up; return the time."""
        now = perf_counter()
        self.lap(now - self._last, self.clock.read(), count)
        self._last = now
        return now

    def due(self, step: int) -> set[Kind]:
        """Return the kinds to read at `step`."""
        if self.every == "auto":
            milestone = self._at_milestone(step) if self._eager else set()
            return {
                kind
                for kind in self.kinds
                if step < max(self._always.get(kind, 0), self._closer_until[kind])
                or kind in milestone
                or self._affords(kind)
            }
        if isinstance(self.every, Mapping):
            every = self.every
            return {kind for kind in self.kinds if every.get(kind) and step % every[kind] == 0}
        read = self._says_yes(step) if callable(self.every) else step % self.every == 0
        return set(self.kinds) if read else set()

    def _at_milestone(self, step: int) -> set[Kind]:
        """Return the kinds to read because a milestone is reached, as the allowances cover them."""
        if step < self._milestone:
            return set()
        self._milestone = int(step * MILESTONES)
        share = MILESTONE_SHARE * self.budget * self.loop_time
        found: set[Kind] = set()
        for kinds, once in AT_MILESTONES.items():
            cost = sum(self._prices[kind] for kind in self.kinds if kind in kinds)
            if self._milestone_costs[kinds] + cost <= once + share:
                self._milestone_costs[kinds] += cost
                found.update(kinds)
        return found

    def _says_yes(self, step: int) -> bool:
        if self._answer[0] == step:  # the user's function is called once for a step
            return self._answer[1]
        try:
            self._answer = step, bool(self.every(step))  # type: ignore[operator]
            return self._answer[1]
        except Exception as error:
            why = f"it raised {type(error).__name__} at step {step}: {error}"
            raise UsageError(f"every must be a function of a step's number; {why}") from error

    def _affords(self, each: str) -> bool:
        known = self._eager or self._prices[each] > 0
        return known and self._balances[each] >= self._prices[each]

    def look_closer(self, step: int) -> None:
        """Read every kind in the steps from `step` on, unless its account is deep in debt."""
        for each, balance in self._balances.items():
            if 2 * balance > -DEBT * self._prices[each]:
                self._closer_until[each] = step + CLOSER

    def judging_due(self, step: int) -> bool:
        """Return whether to judge at `step`."""
        if callable(self.every):
            return self._says_yes(step)
        affordable = self._balances["judging"] >= self._prices["judging"]
        always = max(ALWAYS_JUDGED, self._closer_until["judging"])
        return self.every != "auto" or step < always or affordable

    def uneventful(self, step: int) -> int:
        """Return how many steps from `step` on may pass without bookkeeping if nothing happens."""
        always = self._passing_price + self._looking_price
        allowance = BOOKKEEPING * (AIM * self.budget * self._step_time - always)
        if self.every != "auto" or self._bookkeeping_price <= allowance:
            return 0
        most = min(MOST, max(0, self._milestone - step - 1)) if self._eager else MOST
        return min(most, int(self._bookkeeping_price / allowance)) if allowance > 0 else most

    def lap(self, elapsed: float, costs: Mapping[str, float], steps: int = 1) -> None:
        """Account for some steps: the seconds they took, and the seconds each part cost."""
        is_first = not self.loop_time
        self.loop_time += elapsed
        self.own_time += sum(costs.values())
        if self.every != "auto":
            return
        if is_first:  # includes the cost of starting, and whatever the user did before the loop
            for each in () if self._eager else self._balances:
                self._settle(each, 0.0, costs.get(each, 0.0))
            return
        if self._step_time:
            elapsed = min(elapsed, PAUSE * steps * self._step_time)
        self._step_time = running_mean(self._step_time, elapsed / steps)
        bookkeeping, looking = costs.get("bookkeeping", 0.0), costs.get("looking", 0.0) / steps
        self._bookkeeping_price = running_mean(self._bookkeeping_price, bookkeeping)
        self._looking_price = running_mean(self._looking_price, looking)
        if steps > 1:
            passing = costs.get("passing", 0.0) / (steps - 1)
            self._passing_price = running_mean(self._passing_price, passing)
        apart = {*self._balances, *UNPAID}
        running = sum(cost for each, cost in costs.items() if each not in apart)
        start = 2 if self._start > 0 else 1
        self._start -= steps
        income = start * AIM * self.budget * elapsed
        spare = max(income - running, LEAST * income)
        for each, share in self._shares.items():
            if not self._eager and each in self.kinds and not self._prices[each]:
                self._prices[each] = self._step_time  # an estimate until the first reading
            self._settle(each, share * spare, costs.get(each, 0.0))

    def _settle(self, each: str, income: float, cost: float) -> None:
        if cost:
            price = self._prices[each]
            self._prices[each] = min(cost, (price + cost) / 2) if price else cost
        # No account saves for more than two readings, or a pause would end in a burst of them.
        most = max(self._balances[each], 2 * self._prices[each])
        least = -DEBT * self._prices[each]
        self._balances[each] = max(min(self._balances[each] + income, most) - cost, least)


def running_mean(mean: float, value: float) -> float:
    """Return the running mean with a new value; a mean of 0 has no values yet."""
    return MEMORY * mean + (1 - MEMORY) * value if mean else value


def check_every(every: object) -> Every:
    """Raise `UsageError` unless `every` is possible."""
    if callable(every) or (isinstance(every, str) and every == "auto"):
        return every  # type: ignore[return-value]
    if not isinstance(every, Mapping):
        return _steps(every, every, least=1)
    if not all(isinstance(kind, str) and kind in KINDS_READ for kind in every):
        raise bad_argument("every", f"{POSSIBLE} ({', '.join(KINDS_READ)})", every)
    return {kind: _steps(value, every, least=0) for kind, value in every.items()}


def _steps(value: object, every: object, least: int) -> int:
    try:
        return check_int("every", value, least=least)
    except UsageError:
        raise bad_argument("every", POSSIBLE, every) from None
