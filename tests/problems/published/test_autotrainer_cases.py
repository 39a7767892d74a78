"""AutoTrainer's rules against cases computed by hand, in the paper's form and in the code's."""

from collections.abc import Callable, Mapping, Sequence
from math import hypot, isfinite
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.profiles import PROFILES
from sickbay.problems.published import autotrainer as published
from sickbay.vitals import Setup, Table, Vitals
from tests.problems.published.autotrainer_cases import CASES, READINGS, Case, chosen, holds

NAMES = {
    "VG": "vanishing_gradient", "EG": "exploding_gradient", "DR": "dying_relu",
    "OL": "oscillating_accuracy", "SC": "slow_convergence", "IO": "improper_output",
    "IL": "improper_loss", "AD": "abnormal_data",
}  # fmt: skip
# torch has no cross-entropy of probabilities: to IO it is a loss of one's own, to IL the log-loss.
LOSSES = {
    "bce_with_logits": "bce_logits", "cross_entropy_with_logits": "cross_entropy", "mae": "l1",
}  # fmt: skip
LIMITS = {"beta1": "ratio", "beta2": "norm", "gamma": "share"}
EVIDENCE = {"VG": "ratio", "EG": "ratio", "DR": "share", "OL": "share", "SC": "rise", "AD": "size"}
Make = Callable[..., Problem]
KINDS: Mapping[str, Make] = {
    "VG": published.VanishingGradient,
    "EG": published.ExplodingGradient,
    "DR": published.DyingRelu,
    "OL": published.OscillatingAccuracy,
    "SC": published.SlowConvergence,
    "IO": published.ImproperOutput,
    "IL": published.ImproperLoss,
    "AD": published.AbnormalData,
}


def problem(case: Case, code: bool) -> Problem:
    """Return the rule of a case, as in the paper or as in its code."""
    rule, inputs = case["rule"], case["inputs"]
    settings = {LIMITS[name]: limit for name, limit in inputs.get("limits", {}).items()}
    if rule in ("VG", "EG", "DR", "AD"):
        settings["checks"] = inputs.get("alpha", 0) + 1
    if rule in ("OL", "SC"):
        settings["after"] = 0.3 if code else 0.0
    if rule == "DR":
        settings["of"] = "entries" if code else "neurons"
    if rule == "AD":
        settings["measure"] = "mean" if code else "largest"
    if rule != "OL":
        settings["validation"] = code
    return KINDS[rule](**settings)


def row(values: Sequence[float], neurons: Sequence[Sequence[float]] = ()) -> dict[str, float]:
    finite = [value for value in values if isfinite(value)]
    dead = [not any(neuron) for neuron in neurons]
    sizes = [abs(value) for value in finite] or [0.0]
    return {
        "norm": hypot(*finite),
        "absmax": max(sizes),
        "mean_abs": sum(sizes) / len(sizes),
        "zeros": finite.count(0) / len(values),
        "count": len(values),
        "nonfinite": len(values) - len(finite),
        "dead_units": sum(dead) / len(dead) if dead else 0.0,
    }


def history(inputs: Mapping[str, Any], rule: str) -> History:
    loss = inputs.get("loss_function", "")
    if loss == "cce":
        loss = "" if rule == "IO" else "nll"
    setup = {
        "epochs": inputs.get("epochs_planned"),
        "task": inputs.get("task", ""),
        "output": inputs.get("output_activation", ""),
        "loss": LOSSES.get(loss, loss),
    }
    tables, shapes = list[Table](), dict[str, tuple[int, ...]]()
    earlier = [inputs.get(f"earlier_{name}", []) for name in ("layers", "neurons", "activations")]
    for layers in [*earlier[0], *([inputs["layers"]] if "layers" in inputs else [])]:
        rows = {f"{index}.weight": row(values) for index, values in enumerate(layers)}
        shapes |= {name: (1, int(each["count"])) for name, each in rows.items()}
        biases = {f"{i}.bias": row(values) for i, values in enumerate(inputs.get("biases", []))}
        shapes |= {name: (int(each["count"]),) for name, each in biases.items()}
        tables.append(Table.of("gradient", len(tables), rows | biases))
    for network in [*earlier[1], *([inputs["neurons"]] if "neurons" in inputs else [])]:
        rows = {}
        for index, neurons in enumerate(network):
            rows[f"{index}.weight"] = row([each for some in neurons for each in some], neurons)
            shapes[f"{index}.weight"] = (len(neurons), len(neurons[0]))
        tables.append(Table.of("gradient", len(tables), rows))
    for outputs in [*earlier[2], *([inputs["activations"]] if "activations" in inputs else [])]:
        rows = {str(index): row(values) for index, values in enumerate(outputs)}
        tables.append(Table.of("activation", len(tables), rows))
    made = History(Setup(shapes=shapes, **setup))
    for table in tables:
        made.append(Vitals(step=table.step, tables=[table]))
    curves = {"accuracy": inputs["accuracy"], "val_accuracy": inputs["val_accuracy"] or []}
    curves["loss"] = inputs.get("loss", [])
    for epoch in range(max(map(len, curves.values()))):
        metrics = {name: curve[epoch] for name, curve in curves.items() if epoch < len(curve)}
        made.end_epoch(**metrics)
    return made


RULES = [
    pytest.param(case, code, id=f"{case['id']}-{'code' if code else 'paper'}")
    for case in chosen("cases")
    if case["rule"] in KINDS
    for code in (False, True)
    if case.get("variant", "code" if code else "paper") == ("code" if code else "paper")
    and not (case["rule"] == "DR" and "variant" not in case)
]


@pytest.mark.parametrize(("case", "code"), RULES)
def test_a_rule_agrees_with_the_hand_computed_case(case: Case, code: bool) -> None:
    rule = case["rule"]
    finding = problem(case, code).check(history(case["inputs"], rule))
    assert bool(finding) is case["fires"], case["why"]
    if finding is None:
        return
    assert finding.problem == NAMES[rule]
    value = finding.evidence.get(EVIDENCE.get(rule, ""))
    if value is not None and case["value"] is not None and isfinite(case["value"]):
        assert value == pytest.approx(case["value"])


@pytest.mark.parametrize(
    "case", [case for case in chosen("cases") if case["rule"] == "priority"], ids=lambda c: c["id"]
)
def test_of_several_problems_the_right_one_comes_first(case: Case) -> None:
    order = [each.name() for each in PROFILES["autotrainer"]]
    found = [NAMES[rule] for rule in case["inputs"]["fired"]]
    assert min(found, key=order.index) in [NAMES[rule] for rule in case["winner"]]


def test_of_each_alternative_one_reading_holds() -> None:
    parts = [case for part in ("cases", "solutions") for case in CASES[part]]
    alternatives = [case for case in parts if "reading" in case]
    held = [case["reading"] for case in alternatives if holds(case)]
    assert {reading.partition(": ")[0] for reading in held} == set(READINGS)
