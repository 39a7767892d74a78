"""Two faults at once: are both found, and does one intervention undo the damage?

Each pair is put into the char-GPT three times: to see what is found, with live treatment
(`on_finding="treat"`), and with the first suggestion of Training Doctor carried out at its first
finding. A run counts as resolved if its final loss is within `NEAR` of that of a run without
faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any

import torch
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

import sickbay
from benchmarks.injection.faulty_runs import (
    JUMP,
    RATE,
    ComparedProfile,
    Size,
    gpt,
    learn,
    warmup_and_cosine,
)
from benchmarks.overhead.workloads import SEED
from benchmarks.report_page import Sheet
from sickbay.doctor.advice import Adviser
from sickbay.doctor.governor import Every
from sickbay.findings import Finding
from sickbay.inject import parse
from sickbay.problems.profiles import PROFILES

Report = dict[str, Any]
PROBLEMS = PROFILES["training_doctor"]
NEAR, FINAL = 1.1, 20  # FINAL: the newest losses whose mean is the final loss
LATER = 20  # steps between two faults of one window
LATE = f" {LATER} steps later"


@dataclass(frozen=True)
class Pair:
    """Two faults, the right names for each, and those of Training Doctor's rules."""

    faults: tuple[str, str]
    expected: tuple[frozenset[str], frozenset[str]]
    published: tuple[str, str]
    later: int = 0  # steps from the first fault to the second


Known = tuple[str, frozenset[str], str]  # a fault, its right names, the name in the paper's profile
UP = "scale_gradients*20", frozenset({"gradient_spike"}), "large_gradient"
DOWN = "scale_gradients*1e-8", frozenset({"gradient_collapse"}), "small_gradient"
LABELS = "shuffle_labels", frozenset({"loss_spike"}), "loss_explosion"
FAST = "raise_learning_rate*100", frozenset(JUMP), "loss_explosion"


def pair(first: Known, second: Known, later: int = 0) -> Pair:
    return Pair((first[0], second[0]), (first[1], second[1]), (first[2], second[2]), later)


PAIRS: Mapping[str, Pair] = {
    "up_and_labels": pair(UP, LABELS),
    "down_and_labels": pair(DOWN, LABELS),
    "up_and_rate": pair(UP, FAST),
    "down_and_rate": pair(DOWN, FAST),
    "up_then_down": pair(UP, DOWN, LATER),
    "down_then_up": pair(DOWN, UP, LATER),
    "labels_then_up": pair(LABELS, UP, LATER),
    "rate_then_down": pair(FAST, DOWN, LATER),
}


@dataclass
class DoubleRun:
    """What was said in a run, by profile, with the steps; its losses; and what was done."""

    said: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    combined: int = 0
    done: str = ""

    @property
    def final(self) -> float:
        return fmean(self.losses[-FINAL:])


def train(
    both: Pair | None, size: Size, text: str, every: Every, how: str, tick: Callable[[], object]
) -> DoubleRun:
    """Train from a fixed seed. `how` is "silent", "treat" or "suggest"."""
    torch.manual_seed(SEED)
    model, batches = gpt(size, text)
    optimizer = AdamW(model.parameters(), RATE, betas=(0.9, 0.99), weight_decay=0.1)
    schedule = LambdaLR(optimizer, partial(warmup_and_cosine, size))
    opinion, adviser = ComparedProfile(PROBLEMS), Adviser(PROBLEMS)
    run = DoubleRun(said={"default": [], "training_doctor": []})
    with ExitStack() as stack:
        given: Any = batches
        for place, name in enumerate(both.faults if both else ()):
            fault = parse(f"{name}@{size.at + (both.later if both and place else 0)}")
            stack.enter_context(fault.into(model, optimizer))
            given = fault.over(given)
        clip = Clipping(optimizer)
        on_finding: Any = "treat" if how == "treat" else "silent"
        doctor = stack.enter_context(
            sickbay.watch(model, optimizer, every=every, on_finding=on_finding)
        )
        for step, (inputs, targets) in enumerate(given):
            loss, norm = learn(model, optimizer, inputs, targets)
            run.said["default"] += [name for each in doctor.step(loss) for name in names(each)]
            schedule.step()
            run.losses.append(loss.item())
            new = [adviser.advise(each) for each in opinion.step(step, run.losses[-1], norm)]
            run.said["training_doctor"] += [(each.problem, each.step) for each in new]
            if how == "suggest" and not run.done and new and step >= size.at:
                run.done = new[0].suggestions[0].code
                carry_out(run.done, schedule, clip)
            tick()
    run.said["default"] += consequences(doctor)
    run.combined = sum(each.kind == "combined" for each in doctor.events)
    if how == "treat":
        run.done = "; ".join(each.remedy for each in doctor.treatments)
    return run


class Clipping:
    """Clips the gradients of an optimizer to a norm, once there is one."""

    def __init__(self, optimizer: AdamW) -> None:
        self.norm: float | None = None
        self._parameters = [each for group in optimizer.param_groups for each in group["params"]]
        optimizer.register_step_pre_hook(self._clip)

    def _clip(self, *_: object) -> None:
        if self.norm is not None:
            clip_grad_norm_(self._parameters, self.norm)


def carry_out(code: str, schedule: LambdaLR, clip: Clipping) -> None:
    """Do what a suggestion for gradients says."""
    name, _, amount = code.replace("*=", "=").partition(" = ")
    if name == "learning_rate":
        schedule.base_lrs = [float(amount) * rate for rate in schedule.base_lrs]
    elif name == "grad_clip":
        clip.norm = float(amount)


def names(finding: Finding) -> list[tuple[str, int]]:
    """Return a problem and its consequences, each with its step."""
    return [(name, finding.step) for name in (finding.problem, *finding.consequences)]


def consequences(doctor: sickbay.Doctor) -> list[tuple[str, int]]:
    """Return problems that were reported as consequences of earlier ones."""
    return [
        (each.text.split("  ")[1].replace(" ", "_"), each.step)
        for each in doctor.events
        if each.kind == "consequence"
    ]


def measure(
    size: Size, text: str, every: Every, begin: Callable[[str], Callable[[], object]]
) -> Report:
    """Return what was found and resolved, pair by pair and in all."""
    clean = train(None, size, text, every, "silent", begin("clean")).final
    runs: Report = {}
    for name, both in PAIRS.items():
        made = {
            how: train(both, size, text, every, how, begin(f"{name}, {how}"))
            for how in ("silent", "treat", "suggest")
        }
        runs[name] = {
            "faults": list(both.faults),
            "later": both.later,
            "found": {
                profile: [bool(hit(made["silent"], profile, right, size)) for right in rights]
                for profile, rights in {
                    "default": both.expected,
                    "training_doctor": [frozenset({each}) for each in both.published],
                }.items()
            },
            "said": made["silent"].said,
            "combined_events": made["silent"].combined,
            "final_loss": {how: each.final for how, each in made.items()},
            "resolved": {how: each.final <= NEAR * clean for how, each in made.items()},
            "done": {how: each.done for how, each in made.items() if how != "silent"},
        }
    return {"clean_final_loss": clean, "pairs": runs, "summary": summary(runs)}


def hit(run: DoubleRun, profile: str, right: frozenset[str], size: Size) -> list[int]:
    """Return the steps at which a fault was found."""
    return [step for name, step in run.said[profile] if name in right and step >= size.at]


def summary(runs: Report) -> Report:
    """Return in how many pairs both faults were found, and how many runs were resolved."""
    return {
        "pairs": len(runs),
        "both_found": {
            profile: sum(all(each["found"][profile]) for each in runs.values())
            for profile in ("default", "training_doctor")
        },
        "resolved": {
            how: sum(each["resolved"][how] for each in runs.values())
            for how in ("silent", "treat", "suggest")
        },
    }


def sheet(report: Report) -> Sheet:
    """Return the pairs as a table, with the totals in its last row."""
    ways = ("silent", "treat", "suggest")
    rows = [
        [
            f"{each['faults'][0]}, {each['faults'][1]}" + (LATE if each["later"] else ""),
            *(found(each["found"][profile]) for profile in ("default", "training_doctor")),
            *("yes" if each["resolved"][how] else "no" for how in ways),
        ]
        for each in report["pairs"].values()
    ]
    total = report["summary"]
    both = [total["both_found"][profile] for profile in ("default", "training_doctor")]
    shares = [*both, *(total["resolved"][how] for how in ways)]
    rows.append(["all", *(f"{count} of {total['pairs']}" for count in shares)])
    note = (
        "Found: how many of the two faults. Resolved: whether the final loss is within a tenth of "
        "that of a run without faults."
    )
    columns = (
        "faults", "found by default", "found by training_doctor", "resolved without help",
        "resolved by live treatment", "resolved by the first suggestion",
    )  # fmt: skip
    return Sheet("Two faults at once", note, columns, rows)


def found(faults: Sequence[bool]) -> str:
    return f"{sum(faults)} of {len(faults)}"
