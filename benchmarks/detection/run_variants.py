"""Variants of runs: a plan and, for a faulty one, the same plan without the fault."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from benchmarks.detection.model_blocks import Net
from benchmarks.detection.training_loop import Plan

Settings = dict[str, Any]
SGD: Settings = {"optimizer": "sgd", "lr": 0.02, "momentum": 0.9}
PLAIN: Settings = {"optimizer": "sgd", "lr": 0.05}
VALUES = ("friedman", "sine", "plane", "exchange")  # data sets for regression


@dataclass(frozen=True)
class Variant:
    """A named plan, and its twin without the fault."""

    name: str
    plan: Plan
    twin: Plan | None = None
    first: int = 0


def plan(data: str, kind: str = "fc", depth: int = 3, width: int = 32, /, **changes: Any) -> Plan:
    """Return a sound plan with a matching loss and Adam, then apply the changes."""
    objective = {"labels": "bce_labels"}.get(data, "mse" if data in VALUES else "ce")
    base = Plan(data=data, net=Net(kind=kind, depth=depth, width=width), objective=objective)
    return base.but(**changes)


def healthy(base: Plan, label: str = "") -> Variant:
    """Return a healthy variant."""
    return Variant(variant_name(base, label or base.net.activation), base)


def faulty(
    base: Plan, label: str = "", *, first: int = 0, alone: bool = False, **fault: Any
) -> Variant:
    """Return a variant that changes a sound plan, which becomes its twin.

    `alone` leaves out the twin.
    """
    label = label or "-".join(change_label(name, value) for name, value in fault.items())
    sick = base.but(**fault)
    return Variant(variant_name(sick, label), sick, None if alone else base, first)


def change_label(name: str, value: Any) -> str:
    """Return a short label of a change."""
    if isinstance(value, str):
        return value
    return f"{name}{value:g}" if isinstance(value, float | int) else getattr(value, "label", name)


def variant_name(plan: Plan, label: str) -> str:
    return f"{plan.data}-{plan.net.kind}{plan.net.depth}-{label}-{plan.optimizer}"


# Custom losses: sickbay cannot see their inputs, so the run passes its outputs.
OWN_LOSSES = ("hinge", "hinge_index", "hinge_onehot", "hinge_values")


def for_half(plan: Plan, place: int, half: int) -> Plan:
    """Return the plan for one half of the runs.

    The index of the variant decides how the loss is called and what the watch gets, in both halves.
    The odd half has other widths, depths and batch sizes.
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
