"""A kind of run: a plan, and where it is sick, the same plan without the fault."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from benchmarks.detection.model_blocks import Net
from benchmarks.detection.training_loop import Plan

Settings = dict[str, Any]
SGD: Settings = {"optimizer": "sgd", "lr": 0.02, "momentum": 0.9}
PLAIN: Settings = {"optimizer": "sgd", "lr": 0.05}
VALUES = ("friedman", "sine", "plane", "exchange")  # data sets with values to tell


@dataclass(frozen=True)
class Variant:
    """A plan with a name; its twin lacks the fault."""

    name: str
    plan: Plan
    twin: Plan | None = None
    first: int = 0


def plan(data: str, kind: str = "fc", depth: int = 3, width: int = 32, /, **changes: Any) -> Plan:
    """Return a sound plan: a model on data with the loss that fits, by Adam, and any changes."""
    objective = {"labels": "bce_labels"}.get(data, "mse" if data in VALUES else "ce")
    base = Plan(data=data, net=Net(kind=kind, depth=depth, width=width), objective=objective)
    return base.but(**changes)


def healthy(base: Plan, label: str = "") -> Variant:
    """Return a healthy variant."""
    return Variant(variant_name(base, label or base.net.activation), base)


def faulty(
    base: Plan, label: str = "", *, first: int = 0, alone: bool = False, **fault: Any
) -> Variant:
    """Return a variant whose fault is some changes to a sound plan, the twin.

    `alone` leaves out the twin.
    """
    label = label or "-".join(said(name, value) for name, value in fault.items())
    sick = base.but(**fault)
    return Variant(variant_name(sick, label), sick, None if alone else base, first)


def said(name: str, value: Any) -> str:
    """Return a change in short: names of things as they are, numbers with what they are."""
    if isinstance(value, str):
        return value
    return f"{name}{value:g}" if isinstance(value, float | int) else getattr(value, "label", name)


def variant_name(plan: Plan, label: str) -> str:
    return f"{plan.data}-{plan.net.kind}{plan.net.depth}-{label}-{plan.optimizer}"


# Losses that torch does not have: nobody can hear what they are fed, so that must be told.
OWN_LOSSES = ("hinge", "hinge_index", "hinge_onehot", "hinge_values")


def for_half(plan: Plan, place: int, half: int) -> Plan:
    """Return the plan as one half of the zoo has it.

    How the loss is called and what is told follows from the variant's place, the same in both
    halves; the odd half has other widths, depths and batch sizes.
    """
    dice = Random(place)
    module = plan.module or dice.random() < 0.5
    outputs = dice.random() < (0.2 if module else 0.9) or plan.objective in OWN_LOSSES
    chosen = {"outputs": outputs, "accuracy": dice.random() < 0.5, "epochs": dice.random() < 0.5}
    tell = plan.tell | {name for name, wanted in chosen.items() if wanted}
    net = replace(plan.net, function=plan.net.function or dice.random() < 0.5)
    if half:
        net = replace(net, width=max(4, net.width * 5 // 16 * 4), depth=other_depth(net.depth))
    size = plan.size * 3 // 4 if half and plan.size >= 16 else plan.size
    return replace(plan, net=net, module=module, tell=tell, size=size)


def other_depth(depth: int) -> int:
    return depth - 1 if depth > 20 else depth + 1 if depth >= 6 else depth
