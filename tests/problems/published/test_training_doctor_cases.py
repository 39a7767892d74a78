"""Hand-computed cases of Training Doctor's rules, suggestions and order of priority.

`training_doctor_cases.json` was written from the paper alone. Where a sentence of the paper has
several readings, `READINGS` says which of them hold here, and why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isclose, isfinite, nan
from pathlib import Path
from typing import Any

import pytest

from sickbay.doctor.advice import WINDOW, together
from sickbay.findings import Finding, Suggestion, by_priority
from sickbay.history import History
from sickbay.inject import parse
from sickbay.inject.injection import When
from sickbay.problems import Problem
from sickbay.problems.published import training_doctor as td
from sickbay.problems.published.training_doctor.suggestions import suggestions

GIVEN = json.loads(Path(__file__).with_name("training_doctor_cases.json").read_text())
READINGS = {
    "explosion-nan: literal",  # NaN is the matter of `non_finite`
    "loss-nan: literal",
    "window: before",  # "trailing"
    "join: either",  # section 6.2 reports the fixed limits although 4.3 adapts them
    "short-window: not yet",  # two norms say nothing about a deviation
    "std: population",
    "plateau-window: 20",  # "over w = 20 iterations" in section 5.2
    "overfitting-classes: exclusive",  # "classification"
    "combined-edge: outside",  # a window of 50 steps holds 50 steps
    "clip-confidence: results",  # section 6.2 has a number for each
    "escalation-explosion: stronger",  # "adapts intervention aggressiveness"
    "escalation-vanishing: stronger",
    "injection-count: all",
}
NEVER = 500  # norms that a window needs, more than any case has
RULES: Mapping[tuple[str, str], tuple[Problem, str]] = {  # with the evidence that is compared
    ("explosion", "fixed"): (td.LargeGradient(window=NEVER), "norm"),
    ("explosion", "adaptive"): (td.LargeGradient(limit=1e300), "limit"),
    ("explosion", "joined"): (td.LargeGradient(), "norm"),
    ("vanishing", "fixed"): (td.SmallGradient(window=NEVER), "norm"),
    ("vanishing", "adaptive"): (td.SmallGradient(), "limit"),
    ("instability", ""): (td.UnstableGradient(), "ratio"),
    ("plateau", ""): (td.Plateau(), "variance"),
    ("loss_explosion", ""): (td.LossExplosion(), "loss"),
    ("overfitting_moderate", ""): (td.Overfitting(), "gap"),
    ("overfitting_severe", ""): (td.Overfitting(), "gap"),
}
CLASSES = {"overfitting_moderate": "warning", "overfitting_severe": "critical"}
NAMES = {
    "explosion": "large_gradient", "vanishing": "small_gradient",
    "instability": "unstable_gradient", "overfitting_moderate": "overfitting",
    "overfitting_severe": "overfitting",
}  # fmt: skip


def cases(group: str) -> list[Any]:
    """Return the cases of a group that hold in the readings chosen here."""
    return [
        pytest.param(case, id=case["id"])
        for case in GIVEN[group]
        if case.get("reading", "") in {"", *READINGS}
    ]


def rules() -> list[Any]:
    return [each for each in cases("cases") if each.values[0]["rule"] != "combined"]


def combined() -> list[Any]:
    return [each for each in cases("cases") if each.values[0]["rule"] == "combined"]


def history_of(inputs: Mapping[str, Any]) -> History:
    if "val_loss" in inputs:
        made = History(loss=[9.0, inputs["train_loss"]])  # the mean since the last one is not meant
        made.end_epoch(val_loss=inputs["val_loss"])
        return made
    return History(grad_norm=inputs.get("norms", ()), loss=inputs.get("loss", ()))


@pytest.mark.parametrize("case", rules())
def test_rule(case: Mapping[str, Any]) -> None:
    problem, evidence = RULES[case["rule"], case.get("variant", "")]
    if "limits" in case["inputs"]:
        problem = td.Plateau(**case["inputs"]["limits"])
    finding = problem.check(history_of(case["inputs"]))
    if finding is not None and finding.severity != CLASSES.get(case["rule"], finding.severity):
        finding = None
    assert bool(finding) is case["fires"]
    if finding is not None:
        assert isclose(finding.evidence[evidence], case["value"], rel_tol=1e-9)


@pytest.mark.parametrize("case", combined())
def test_combined(case: Mapping[str, Any]) -> None:
    assert case["inputs"]["window"] == WINDOW
    flags = [
        Finding(problem=NAMES.get(name, name), step=step) for step, name in case["inputs"]["flags"]
    ]
    found = together(flags, standing=(), step=case["inputs"]["step"])
    assert len(found) == case["value"]
    assert (len(found) > 1) is case["fires"]


@pytest.mark.parametrize("case", cases("suggestions"))
def test_suggestions(case: Mapping[str, Any]) -> None:
    name = NAMES.get(case["problem"], case["problem"])
    made = suggestions(name, case["repeated"])
    published = [each for each in made if each.confidence is not None]
    if case["priority"] is None:  # the paper suggests nothing, so no confidence is stated
        assert made
        assert not published
        return
    if case["code"] is not None:
        assert [each.code for each in made] == case["code"]
    if case["confidence"] is not None:
        assert [each.confidence for each in published] == case["confidence"]
    kinds = {each.kind for each in published}
    assert kinds == {case["priority"].replace(" ", "_")}
    assert_state(applied(published, case["state"]), case["after"])


def applied(found: list[Suggestion], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings after the code of every suggestion has run once."""
    settings = dict(state)
    for each in found:
        exec(each.code, {"min": min}, settings)
    return settings


def assert_state(settings: Mapping[str, Any], after: Mapping[str, float]) -> None:
    for name, value in after.items():
        if name.endswith("_below"):
            assert settings[name.removesuffix("_below")] < value
        elif name.endswith("_above"):
            assert settings[name.removesuffix("_above")] > value
        elif name.endswith("_at_most"):
            assert settings[name.removesuffix("_at_most")] <= value
        else:
            assert isclose(settings[name], value)


@pytest.mark.parametrize("case", cases("ranking"))
def test_priority(case: Mapping[str, Any]) -> None:
    house = Suggestion(words="another layer", kind="architecture", confidence=0.99)
    found = {
        name: (house,) if name == "architecture" else suggestions(NAMES[name], 1)
        for name in case["problems"]
    }
    (first, *_) = by_priority(each for made in found.values() for each in made)
    assert [name for name, made in found.items() if first in made] == case["first"]


@pytest.mark.parametrize("case", cases("injections"))
def test_injections(case: Mapping[str, Any]) -> None:
    fault = parse("scale_gradients*20@500+2000")
    when = When.at_steps(fault.at, fault.every)
    assert [step for step in range(case["steps"]) if when.due(step)] == case["at"]


def test_every_choice_of_a_reading_is_one() -> None:
    groups = ("cases", "suggestions", "ranking", "injections")
    known = {case.get("reading") for group in groups for case in GIVEN[group]} - {None}
    assert known >= READINGS
    asked = {reading.partition(":")[0] for reading in known}
    assert sorted(asked) == sorted(reading.partition(":")[0] for reading in READINGS)


def test_confidences_are_in_the_published_range() -> None:
    for name in ("large_gradient", "small_gradient", "unstable_gradient", "overfitting"):
        for times in range(1, 5):
            stated = [each.confidence or nan for each in suggestions(name, times)]
            assert all(0.5 <= each <= 0.99 for each in stated if isfinite(each))
