from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import ComparedProblem, Comparison, LearningCurve
from sickbay.tuning.judge import End, find_end, own_curve


@dataclass(frozen=True, kw_only=True)
class Always(Problem):
    advice = "none"

    def check(self, history: History) -> Finding | None:
        return self.found(history, "always")


@dataclass(frozen=True, kw_only=True)
class UnlessBest(Always):
    yields_to_the_best = True


@dataclass(frozen=True, kw_only=True)
class Done(Always):
    benign = True


@dataclass(frozen=True, kw_only=True)
class Broken(Always):
    def check(self, history: History) -> Finding | None:
        raise RuntimeError(history.epoch)


@dataclass(frozen=True, kw_only=True)
class Below(ComparedProblem):
    advice = "none"

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        seen = beside.best_of(0.0, 1)
        return self.found(history, f"below {seen:g}") if beside.height < seen else None


def judge(
    *problems: Problem, loss: float | None = 1.0, others: int = 0, maximize: bool = True
) -> tuple[End | None, list[str]]:
    """Judge a trial after an epoch beside others whose losses are 1, 2, 3 and so on."""
    history, troubles = History(), list[str]()
    history.end_epoch(score=0.5, **({} if loss is None else {"loss": loss}))
    guard = Guard(lambda part, error: troubles.append(f"{part}: {error!r}"))
    known = [LearningCurve([float(place)], [0.4 + 0.1 * place]) for place in range(1, others + 1)]
    beside = Comparison(own_curve(history, "score"), known, maximize)
    return find_end(problems, history, beside, guard), troubles


def name(end: End | None) -> str:
    return "" if end is None else end.finding.problem


def test_the_first_problem_that_is_there_ends_a_trial() -> None:
    assert judge()[0] is None
    end, _ = judge(Below(), Always(), Done())
    assert end is not None
    assert (name(end), end.benign) == ("always", False)


def test_a_benign_end() -> None:
    end, _ = judge(Done())
    assert end is not None
    assert end.benign


def test_the_best_trials_are_protected_from_some_problems() -> None:
    assert name(judge(UnlessBest(), loss=1.5, others=9)[0]) == "unless_best"  # too few others
    assert judge(UnlessBest(), loss=1.5, others=11)[0] is None
    assert name(judge(UnlessBest(), loss=2.5, others=11)[0]) == "unless_best"
    assert name(judge(UnlessBest(), Always(), loss=1.5, others=11)[0]) == "always"


def test_a_trial_without_losses_is_not_protected() -> None:
    end, troubles = judge(UnlessBest(), loss=None, others=11)
    assert name(end) == "unless_best"
    assert not troubles


def test_a_problem_that_raises_is_told_of_and_left_out() -> None:
    end, troubles = judge(Broken(), Always())
    assert name(end) == "always"
    assert troubles == ["problem broken: RuntimeError(1)"]


def test_problems_that_compare_see_the_others_and_the_direction() -> None:
    end, _ = judge(Below(), others=1)
    assert end is None  # the other one has 0.5 as well
    end, _ = judge(Below(), others=2)
    assert end is not None
    assert end.finding.message == "below 0.6"
    assert judge(Below(), others=2, maximize=False)[0] is None
