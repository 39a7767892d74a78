"""Judge recorded runs with every profile, and decide which findings are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from pathlib import Path
from typing import Any

from benchmarks.detection.case import Case
from sickbay.chart import Chart
from sickbay.doctor.causes import Causes
from sickbay.findings import SEVERITIES, Finding, Severity
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.profiles import PROFILES

# Further right findings of a fault. They are needed where the cause and the symptom have different
# names: a learning rate that is too high shows as a loss that oscillates or explodes, and a dying
# ReLU is a dead unit. Every other fault has only its own name.
ACCEPTED: Mapping[str, frozenset[str]] = {
    label: frozenset(names.split())
    for label, names in {
        "vanishing_gradient": "saturated_activation",
        "exploding_gradient": "non_finite learning_rate_too_high improper_initialisation",
        # A high rate kills some units, initial biases kill others.
        "dying_relu": "dead_units learning_rate_too_high improper_initialisation",
        "dead_units": "dying_relu improper_initialisation",
        "oscillating_accuracy": "learning_rate_too_high",
        "learning_rate_too_high": "oscillating_accuracy exploding_gradient non_finite loss_spike",
        "slow_convergence": "learning_rate_too_low",
        "learning_rate_too_low": "slow_convergence",
        "improper_output": "double_activation",
        "double_activation": "improper_output",
        "improper_loss": "shape_broadcast bad_targets",
        "abnormal_data": "unnormalised_input non_finite bad_targets",
        "unnormalised_input": "abnormal_data",
        "bad_targets": "non_finite improper_loss improper_output",
        "unchanged_weights": "frozen_by_accident",
        "frozen_by_accident": "unchanged_weights",
        "loss_spike": "gradient_spike learning_rate_too_high non_finite",
        "layer_imbalance": "learning_rate_too_high learning_rate_too_low exploding_gradient "
        "vanishing_gradient",
        "constant_prediction": "dead_units dying_relu vanishing_gradient learning_rate_too_high",
    }.items()
}
# The names that papers use. AutoTrainer's names are the labels themselves.
BTTACKLER = {
    "vanishing_gradient": "reduced_gradient",
    "exploding_gradient": "amplified_gradient abnormal_gradient",
    "dying_relu": "low_activation",
    "slow_convergence": "passive_loss no_more_gain",
    "oscillating_accuracy": "unexpected_loss",
}
PAPERS: Mapping[str, Mapping[str, str]] = {
    "bttackler": BTTACKLER,
    "bttackler_paper": BTTACKLER,
    "training_doctor": {
        "vanishing_gradient": "small_gradient",
        "gradient_collapse": "small_gradient",
        "exploding_gradient": "large_gradient unstable_gradient loss_explosion",
        "gradient_spike": "large_gradient",
        "non_finite": "large_gradient loss_explosion",
        "loss_spike": "loss_explosion",
        "slow_convergence": "plateau",
        "oscillating_accuracy": "unstable_gradient loss_explosion",
        "abnormal_data": "large_gradient loss_explosion",
    },
}
MARGIN = 0.05  # a sick run must score this much worse than its twin to count


@dataclass(frozen=True, kw_only=True)
class ReportedFinding:
    """A finding, and when it was reported.

    `shown` is the step of the evidence. `late` has later consequences and their steps.
    """

    problem: str
    severity: Severity
    step: int
    epoch: int
    shown: int
    layers: tuple[str, ...] = ()
    message: str = ""
    consequences: tuple[str, ...] = ()
    late: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, finding: Finding, step: int, epoch: int) -> ReportedFinding:
        fields = {name: vars(finding)[name] for name in ("problem", "severity", "layers")}
        rest = {name: vars(finding)[name] for name in ("message", "consequences")}
        return cls(**fields, **rest, step=step, epoch=epoch, shown=finding.step)

    def when(self, names: frozenset[str], first: int) -> int | None:
        """Return the first step from `first` on at which one of the names was reported."""
        at_once = dict.fromkeys((self.problem, *self.consequences), self.step)
        steps = (step for name, step in (*at_once.items(), *self.late.items()) if name in names)
        return min((step for step in steps if step >= first), default=None)

    @property
    def alarms(self) -> bool:
        """Whether the finding is a warning or worse."""
        return SEVERITIES.index(self.severity) >= SEVERITIES.index("warning")

    def __str__(self) -> str:
        more = f" +{len(self.layers) - 1}" if len(self.layers) > 1 else ""
        where = f" at {self.layers[0] or 'model'}{more}" if self.layers else ""
        after = [*self.consequences, *(f"{name} ({step})" for name, step in self.late.items())]
        tail = f" (explains {', '.join(after)})" if after else ""
        return f"step {self.step}: {self.severity}: {self.problem}{where}: {self.message}{tail}"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A judged run.

    `said` has the findings by profile. `twin_score` is None if there is no twin.
    """

    name: str
    problem: str
    seed: int
    data: str = ""
    first: int = 0
    score: float = nan
    twin_score: float | None = None
    steps: int = 0
    epochs: int = 0
    seconds: float = 0.0
    said: Mapping[str, Sequence[ReportedFinding]] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()

    @classmethod
    def of(cls, case: Case, **results: Any) -> Run:
        """Return a run of `case` with some results."""
        names = ("name", "problem", "seed", "data", "first")
        return cls(**{name: getattr(case, name) for name in names}, **results)

    @property
    def half(self) -> str:
        return "reporting" if self.seed % 2 else "calibration"

    @property
    def counts(self) -> bool:
        """Whether the run is healthy, or scores clearly worse than its twin."""
        if not self.problem or self.twin_score is None or isnan(self.score):
            return True
        return round(self.twin_score - self.score, 9) >= MARGIN  # rounded, since 0.95 - 0.9 is less

    def is_right(self, said: ReportedFinding, profile: str = "default") -> bool:
        """Return whether a finding names the fault and does not precede the evidence."""
        return said.when(accepted(self.problem, profile), self.first) is not None

    def answer(self, profile: str = "default") -> int | None:
        """Return the step at which the fault was first reported."""
        names = accepted(self.problem, profile)
        steps = (said.when(names, self.first) for said in self.said.get(profile, ()))
        return min((step for step in steps if step is not None), default=None)


def accepted(label: str, profile: str = "default") -> frozenset[str]:
    """Return the names of all right findings of a fault.

    >>> sorted(accepted("gradient_collapse", "training_doctor"))
    ['gradient_collapse', 'small_gradient']
    >>> accepted("")  # a healthy run has no right findings
    frozenset()
    """
    if not label:
        return frozenset()
    own = PAPERS.get(profile, {}).get(label, "").split()
    return ACCEPTED.get(label, frozenset()).union([label], own)


Profiles = Mapping[str, Sequence[Problem]]


def judge(chart: Chart, profiles: Profiles) -> tuple[dict[str, list[ReportedFinding]], list[str]]:
    """Return the findings of each profile in a recorded run, and internal errors."""
    return judge_histories(chart.replay(), profiles)


def judge_histories(
    histories: Iterator[History], profiles: Profiles
) -> tuple[dict[str, list[ReportedFinding]], list[str]]:
    """Judge each history with each profile. Return the findings and internal errors."""
    troubles: list[str] = []
    causes_by_profile = {
        name: Causes(problems, Guard(lambda part, error: troubles.append(f"{part}: {error!r}")))
        for name, problems in profiles.items()
    }
    said: dict[str, list[ReportedFinding]] = {name: [] for name in causes_by_profile}
    for history in histories:
        for name, causes in causes_by_profile.items():
            verdict = causes.judge(history)
            said[name] += [
                ReportedFinding.of(each, history.step, history.epoch) for each in verdict.new
            ]
            for finding, cause in verdict.explained:
                attach(said[name], finding.problem, history.step, cause)
    return said, sorted(set(troubles))


def attach(said: list[ReportedFinding], consequence: str, step: int, cause: str) -> None:
    """Add a later consequence to the newest finding of its cause."""
    for place in reversed(range(len(said))):
        if said[place].problem == cause:
            late = {consequence: step, **said[place].late}
            said[place] = replace(said[place], late=late)
            return


def judge_recorded(runs: Path, run: Run) -> Run:
    """Return a recorded run with the findings of every profile."""
    said, troubles = judge(Chart.open(runs / run.name), PROFILES)
    return replace(run, said=said, troubles=(*run.troubles, *troubles))
