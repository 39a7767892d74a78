"""How often to look: as often as the budget pays for."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from sickbay.arguments import bad_argument, check_float, check_int
from sickbay.errors import UsageError
from sickbay.vitals import Kind

Every: TypeAlias = int | Literal["auto"] | Mapping[Kind, int] | Callable[[int], bool]

# What a reading is worth, as its share of what the budget leaves.
SHARES: Mapping[str, float] = {
    "gradient": 0.35, "activation": 0.25, "weight": 0.15, "batch": 0.05, "judging": 0.2
}  # fmt: skip
KINDS_READ = ("gradient", "weight", "activation", "batch")
POSSIBLE = "a whole number of steps from 1 on, 'auto', such numbers by kind, or a function"
# What is wrong mostly shows in the first steps, so these get more.
START_SECONDS = 0.002  # in all purses together at the start
START_STEPS = 50  # steps for which the budget is doubled
# Steps that are read whatever it costs: as many as a problem must show in.
ALWAYS_READ: Mapping[str, int] = {"gradient": 3, "activation": 3, "weight": 3, "batch": 8}
READ_ONCE: Mapping[str, int] = {"gradient": 1, "weight": 1}  # the cheap ones, if not eager
ALWAYS_JUDGED = 10  # steps that are judged whatever it costs
AIM = 0.7  # of the budget; the rest is for what cannot be timed from inside (hook calls, caches)
LEAST = 0.05  # of the aim is for readings in any case, or a very fast loop would never be read
BOOKS = 0.5  # of the aim, less the price of passing, may go to the books and the gradient norm
CLOSER = 3  # steps that are read in full after something strange: as many as a problem must show in
DEBT = 8  # readings that no purse is deeper in debt than, or a bad start would make it blind
MOST = 200  # steps that are booked together at the most, where that is too little for every step
PAUSE = 4  # a step longer than so many usual ones is a pause, which earns no more
MEMORY = 0.9  # weight of the past in a running mean
# Worth their time whatever it is: they count as overhead, but no purse pays for them.
UNPAID = ("voice", "replay", "treatment")


class Governor:
    """Decides what is read at the next step.

    With a number for `every` it is that: every so many steps, for all kinds or for each; with a
    function, those that it says yes to, and only these are judged if nothing strange happens. With
    "auto" each kind has a purse: every step pays a share of the budget in, and a kind is read when
    its purse holds the price of a reading, so the cost stays within the budget on any model. The
    start costs more, unless it is not to be `eager`: then gradients and weights are read once, and
    what is dear is read when it can be paid for, at a guess of what it costs.

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
        self.budget = check_budget(budget)
        self.loop_time = self.own_time = 0.0
        payees = [*self.kinds, "judging"]
        total = sum(SHARES[each] for each in payees)
        self._shares = {each: SHARES[each] / total for each in payees}
        start = START_SECONDS if eager else 0.0
        self._purses = {each: start * share for each, share in self._shares.items()}
        self._start = START_STEPS if eager else 0
        self._always, self._eager = ALWAYS_READ if eager else READ_ONCE, eager
        self._closer_until = dict.fromkeys(payees, -1)
        self._prices = dict.fromkeys(payees, 0.0)
        self._answer = -1, False  # of a function for `every`, to the last step it was asked about
        self._book_price = self._passing_price = self._looking_price = self._step_time = 0.0

    @property
    def overhead(self) -> float:
        """The fraction of the loop's time that was spent watching it."""
        return self.own_time / self.loop_time if self.loop_time else 0.0

    def due(self, step: int) -> set[Kind]:
        """Return what is to be read at `step`."""
        if self.every == "auto":
            return {
                kind
                for kind in self.kinds
                if step < max(self._always.get(kind, 0), self._closer_until[kind])
                or self._affords(kind)
            }
        if isinstance(self.every, Mapping):
            every = self.every
            return {kind for kind in self.kinds if every.get(kind) and step % every[kind] == 0}
        read = self._says_yes(step) if callable(self.every) else step % self.every == 0
        return set(self.kinds) if read else set()

    def _says_yes(self, step: int) -> bool:
        if self._answer[0] == step:  # it is the user's own, and is asked once for a step
            return self._answer[1]
        try:
            self._answer = step, bool(self.every(step))  # type: ignore[operator]
            return self._answer[1]
        except Exception as error:
            why = f"it raised {type(error).__name__} at step {step}: {error}"
            raise UsageError(f"every must be a function of a step's number; {why}") from error

    def _affords(self, each: str) -> bool:
        known = self._eager or self._prices[each] > 0
        return known and self._purses[each] >= self._prices[each]

    def look_closer(self, step: int) -> None:
        """Read everything in the steps from `step` on, but what is deep in debt already."""
        for each, purse in self._purses.items():
            if 2 * purse > -DEBT * self._prices[each]:
                self._closer_until[each] = step + CLOSER

    def judging_due(self, step: int) -> bool:
        """Tell whether the problems may be asked at `step`."""
        if callable(self.every):
            return self._says_yes(step)
        affordable = self._purses["judging"] >= self._prices["judging"]
        always = max(ALWAYS_JUDGED, self._closer_until["judging"])
        return self.every != "auto" or step < always or affordable

    def uneventful(self) -> int:
        """Return how many steps may pass, if nothing happens, before the books are kept again."""
        always = self._passing_price + self._looking_price
        allowance = BOOKS * (AIM * self.budget * self._step_time - always)
        if self.every != "auto" or self._book_price <= allowance:
            return 0
        return min(MOST, int(self._book_price / allowance)) if allowance > 0 else MOST

    def lap(self, elapsed: float, costs: Mapping[str, float], steps: int = 1) -> None:
        """Account for some steps: their time, and what each part cost."""
        is_first = not self.loop_time
        self.loop_time += elapsed
        self.own_time += sum(costs.values())
        if self.every != "auto":
            return
        if is_first:  # its cost is that of starting, its time the user's preparations
            for each in () if self._eager else self._purses:
                self._settle(each, 0.0, costs.get(each, 0.0))
            return
        if self._step_time:
            elapsed = min(elapsed, PAUSE * steps * self._step_time)
        self._step_time = running_mean(self._step_time, elapsed / steps)
        self._book_price = running_mean(self._book_price, costs.get("books", 0.0))
        looking = costs.get("looking", 0.0) / steps
        self._looking_price = running_mean(self._looking_price, looking)
        if steps > 1:
            passing = costs.get("passing", 0.0) / (steps - 1)
            self._passing_price = running_mean(self._passing_price, passing)
        elsewhere = {*self._purses, *UNPAID}
        running = sum(cost for each, cost in costs.items() if each not in elsewhere)
        start = 2 if self._start > 0 else 1
        self._start -= steps
        income = start * AIM * self.budget * elapsed
        spare = max(income - running, LEAST * income)
        for each, share in self._shares.items():
            if not self._eager and each in self.kinds and not self._prices[each]:
                self._prices[each] = self._step_time  # a guess, until there is a first reading
            self._settle(each, share * spare, costs.get(each, 0.0))

    def _settle(self, each: str, income: float, cost: float) -> None:
        if cost:
            price = self._prices[each]
            self._prices[each] = min(cost, (price + cost) / 2) if price else cost
        # No purse saves for more than two readings, or a pause would end in a burst of them.
        most = max(self._purses[each], 2 * self._prices[each])
        least = -DEBT * self._prices[each]
        self._purses[each] = max(min(self._purses[each] + income, most) - cost, least)


def summed(*costs: Mapping[str, float]) -> dict[str, float]:
    """Return what each thing has cost in all.

    >>> summed({"books": 1.0}, {"books": 2.0, "voice": 1.0})
    {'books': 3.0, 'voice': 1.0}
    """
    total: dict[str, float] = {}
    for part in costs:
        for what, cost in part.items():
            total[what] = total.get(what, 0.0) + cost
    return total


def running_mean(mean: float, value: float) -> float:
    """Return the mean moved towards a new value; a mean of 0 has not begun."""
    return MEMORY * mean + (1 - MEMORY) * value if mean else value


def check_every(every: object) -> Every:
    """Return `every`, or say what is wrong with it."""
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


def check_budget(budget: object) -> float:
    """Return `budget`, or say what is wrong with it."""
    return check_float("budget", budget, above=0, most=1)
