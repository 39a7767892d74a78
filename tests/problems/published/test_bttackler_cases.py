"""Hand-computed cases of BTTackler's rules, by its paper and by the code published with it.

`bttackler_cases.json` was written from the paper and its configuration alone. A case without a
`variant` holds in both sets of rules. `layers` are gradients of each layer over an epoch, `batches`
the same for each batch, `activations` the outputs of the neurons of each layer, `loss` and
`val_loss` a number per epoch. Where a sentence has several readings, `READINGS` says which of them
hold here, and why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from benchmarks.tuning.measures import time_saving_for_baseline_accuracy, top10_hit_ratio
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.published.bttackler import problems
from sickbay.problems.trials.comparison import Comparison, LearningCurve
from sickbay.tuning.judge import End, find_end
from sickbay.vitals import Setup, Table, Vitals

GIVEN = json.loads(Path(__file__).with_name("bttackler_cases.json").read_text())
CASES, MEASURES = GIVEN["cases"], GIVEN["measures"]
NAMES = {
    "AGV": "abnormal_gradient", "EAG": "amplified_gradient", "ERG": "reduced_gradient",
    "PLC": "passive_loss", "LAR": "low_activation", "ULC": "unexpected_loss", "NMG": "no_more_gain",
}  # fmt: skip
LIMITS = {"bound": {"AGV": "limit", "EAG": "ratio", "ERG": "ratio", "LAR": "share"}}
READINGS = {
    "eag-direction: backward",  # as the published code divides
    "agv-tie: paper",  # "must be smaller than"
    "epoch-mean-sign: magnitude",  # the published code averages statistics of batches
    "epoch-mean-zeros: share",
    "odd-half: down",  # the published code compares with `max_epoch // 2`
    "lar-negative: zero",  # "the ratio of zero neurons"
    "ulc-std: population",  # the published code uses numpy's default
    "protection-count: others",  # the published code counts the trials before
    "protection-memory: sticky",  # the published code keeps a set of protected trials
}
POSITIVE: Mapping[str, Mapping[str, Any]] = {  # inputs that make an indicator positive
    "AGV": {"layers": [[float("nan")]]},
    "EAG": {"layers": [[4e6], [2e3], [1.0]]},
    "ERG": {"layers": [[1e-11], [1e-5], [10.0]]},
    "PLC": {"loss": [2.3] * 20},
    "LAR": {"layers": [[0.0] * 4] * 3, "activations": [[0.0] * 4]},
    "ULC": {"loss": [1.0, 2.0] * 10, "val_loss": [2.0, 1.0] * 10},  # one of them ends high
    "NMG": {"loss": [0.1, *(0.5 + 0.01 * epoch for epoch in range(19))]},
}


def holds(case: Mapping[str, Any]) -> bool:
    return case.get("reading", "") in {"", *READINGS}


def variants(case: Mapping[str, Any]) -> Sequence[Any]:
    return [case["variant"]] if "variant" in case else ["paper", "code"]


def of_rules(*rules: str) -> list[Any]:
    """Return the cases of some rules, once for each set of rules they hold in."""
    chosen = [case for case in CASES if case["rule"] in rules and holds(case)]
    pairs = [(case, rules) for case in chosen for rules in variants(case)]
    return [pytest.param(case, rules, id=f"{case['id']}/{rules}") for case, rules in pairs]


def problem_of(rule: str, rules: Any, limits: Mapping[str, float]) -> Problem:
    own = next(each for each in problems(rules) if each.name() == NAMES[rule])
    given = {LIMITS.get(name, {}).get(rule, name): limit for name, limit in limits.items()}
    return type(own)(**{**vars(own), **given})


def gradient(values: Sequence[float]) -> dict[str, float]:
    """Return the statistics of a gradient, which leave out what is not finite."""
    finite = [abs(each) for each in values if isfinite(each)]
    known = {"mean_abs": fmean(finite), "absmax": max(finite)} if finite else {}
    zeros = sum(each == 0 for each in values) / len(values)
    return {**known, "zeros": zeros, "nonfinite": len(values) - len(finite)}


def dead(values: Sequence[float]) -> dict[str, float]:
    return {"dead_units": sum(each == 0 for each in values) / len(values)}


def history_of(inputs: Mapping[str, Any]) -> History:
    """Return the history of a run that was the same in all its epochs, but for its losses."""
    made = History(Setup(epochs=inputs["epochs_planned"]))
    batches = inputs.get("batches") or [inputs.get("layers", [])]
    units = {str(place): dead(each) for place, each in enumerate(inputs.get("activations", []))}
    for epoch in range(inputs["epoch"]):
        for layers in batches:
            rows = {f"{place}.weight": gradient(each) for place, each in enumerate(layers)}
            step = made.step + 1
            tables = [Table.of("gradient", step, rows), Table.of("activation", step, units)]
            made.append(Vitals(step, epoch, tables=tables))
        losses = {name: inputs[name][epoch] for name in ("loss", "val_loss") if inputs.get(name)}
        made.end_epoch(**losses)
    return made


@pytest.mark.parametrize(("case", "rules"), of_rules(*NAMES))
def test_indicators(case: Any, rules: Any) -> None:
    inputs = case["inputs"]
    problem = problem_of(case["rule"], rules, inputs.get("limits", {}))
    assert bool(problem.check(history_of(inputs))) is case["fires"], case["why"]
    assert problem.benign is case.get("benign", False)


def end_of(problems: Sequence[Problem], history: History, **beside: Any) -> End | None:
    troubles: list[object] = []
    guard = Guard(lambda *trouble: troubles.append(trouble))
    was = beside.pop("was_among_best", False)
    company = Comparison(**{"own": LearningCurve([], []), **beside})
    end = find_end(problems, history, company, guard, was)
    assert not troubles
    return end


def positive(indicator: str, inputs: Mapping[str, Any]) -> History:
    return history_of({**inputs, **POSITIVE[indicator]})


@pytest.mark.parametrize(("case", "rules"), of_rules("any"))
def test_any_indicator_in_its_stage_ends_a_trial(case: Any, rules: Any) -> None:
    inputs = case["inputs"]
    ended = False
    for indicator in inputs["positive"]:
        own = problem_of(indicator, rules, {})
        ended |= end_of([own], positive(indicator, inputs)) is not None
    assert ended is case["fires"], case["why"]


@pytest.mark.parametrize(
    "case", [each for each in CASES if each["rule"] == "protection" and holds(each)],
    ids=lambda case: case["id"],
)  # fmt: skip
def test_protection(case: Any) -> None:
    inputs = case["inputs"]
    epoch, alert = inputs["epoch"], inputs["alert"]
    others = [LearningCurve([loss] * epoch, []) for loss in inputs["other_losses"]]
    end = end_of(
        [problem_of(alert, "code", {})],
        positive(alert, inputs),
        own=LearningCurve([inputs["trial_loss"]] * epoch, []),
        others=others,
        was_among_best=inputs.get("protected_before", False),
    )
    assert (end is not None) is case["fires"], case["why"]


@pytest.mark.parametrize("case", MEASURES, ids=lambda case: case["id"])
def test_measures(case: Any) -> None:
    inputs = case["inputs"]
    if case["measure"] == "Top10HR":
        maximize = not inputs.get("smaller_is_better", False)
        value = top10_hit_ratio(inputs["method"], inputs["baseline"], maximize)
    else:
        base, method = ([(inputs[name], 0.8)] for name in ("base_hours", "method_hours"))
        value = time_saving_for_baseline_accuracy(method, base)
    assert value == pytest.approx(case["value"])


def test_one_reading_of_each_sentence_holds() -> None:
    given = {case["reading"] for case in CASES if "reading" in case}
    assert given >= READINGS
    sentences = [each.partition(":")[0] for each in READINGS]
    assert sorted(sentences) == sorted({each.partition(":")[0] for each in given})


@pytest.mark.parametrize("indicator", NAMES)
@pytest.mark.parametrize("rules", ["paper", "code"])
def test_the_positive_inputs_are_positive(indicator: str, rules: Any) -> None:
    epochs = {"ULC": 15, "NMG": 15}
    inputs = {"epoch": epochs.get(indicator, 6), "epochs_planned": 20}
    assert problem_of(indicator, rules, {}).check(positive(indicator, inputs)) is not None
