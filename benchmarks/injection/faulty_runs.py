"""Watched runs with an injected fault: the faults, the right findings, and the training loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from math import cos, hypot, pi
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR

import sickbay
from benchmarks.overhead.workloads import GPT, SEED, Batch, initialise
from sickbay.doctor.governor import Every
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.inject import Fault, parse
from sickbay.probe.gradient_norms import gradient_norms
from sickbay.problems import Problem
from sickbay.vitals import Vitals

TEXT = Path(__file__).parents[2] / "examples" / "text.txt"
RATE, CLASSES = 1e-3, 10
TEXTS, IMAGES = 16, 64  # in a batch


@dataclass(frozen=True)
class Size:
    """The size of a run, and when the fault occurs: at step `at`, and every `every` steps after."""

    steps: int = 500
    warmup: int = 50
    at: int = 250
    every: int = 150
    width: int = 128
    length: int = 64


QUICK = Size(steps=240, warmup=20, at=100, every=120, width=64)


@dataclass(frozen=True)
class Case:
    """A workload, its fault (if any), and the findings that are right for it."""

    workload: str
    fault: str = ""  # without its steps
    expected: frozenset[str] = frozenset()
    repeats: bool = False

    def at(self, size: Size) -> Fault | None:
        """Return the fault with its steps."""
        repeated = f"+{size.every}" if self.repeats else ""
        return parse(f"{self.fault}@{size.at}{repeated}") if self.fault else None


def case(workload: str, fault: str, *expected: str, repeats: bool = False) -> Case:
    return Case(workload, fault, frozenset(expected), repeats)


JUMP = ("learning_rate_too_high", "loss_spike", "gradient_spike")
CASES = {
    "clean_gpt": Case("gpt"),
    "clean_cnn": Case("cnn"),
    "gradients_up": case("gpt", "scale_gradients*20", "gradient_spike", repeats=True),
    "gradients_down": case("gpt", "scale_gradients*1e-8", "gradient_collapse", repeats=True),
    "nan_gradient": case("gpt", "nan_gradient", "non_finite"),
    "inf_gradient": case("gpt", "nan_gradient=inf", "non_finite"),
    "nan_weight": case("gpt", "nan_weight", "non_finite"),
    "nan_batch": case("cnn", "nan_batch", "non_finite"),
    "dead_layer": case("gpt", "dead_layer:blocks.1.up", "dead_units", "dying_relu"),
    "dead_layer_cnn": case("cnn", "dead_layer:5", "dead_units", "dying_relu", "loss_spike"),
    "raise_learning_rate": case("gpt", "raise_learning_rate*100", *JUMP),
    "shuffle_labels": case("gpt", "shuffle_labels", "loss_spike"),
    "shuffle_labels_cnn": case("cnn", "shuffle_labels", "loss_spike"),
    "scale_inputs": case("cnn", "scale_inputs*255", "unnormalised_input", *JUMP[1:]),
    "freeze_layer": case("gpt", "freeze_layer:blocks.1", "unchanged_weights"),
}


@dataclass(frozen=True)
class ReportedFinding:
    """A finding, and the step after which it was reported."""

    finding: Finding
    after: int


@dataclass
class Run:
    """The results of a case: when the fault acted, and what each profile reported."""

    case: Case
    size: Size
    acted: list[int] = field(default_factory=list)
    said: dict[str, list[ReportedFinding]] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    overhead: float = 0.0
    norms_read: float = 0.0  # as a fraction of all steps


class ComparedProfile:
    """Another profile, which gets the loss and gradient norm of every step."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._problems, self._history = problems, History()
        self._standing: set[str] = set()

    def step(self, step: int, loss: float, norm: float) -> list[Finding]:
        """Return the findings that are new at this step."""
        self._history.append(Vitals(step, scalars={"loss": loss, "grad_norm": norm}))
        checks = [problem.check(self._history) for problem in self._problems]
        found = {each.problem: each for each in checks if each is not None}
        new = [each for name, each in found.items() if name not in self._standing]
        self._standing = set(found)
        return new


def train(
    case: Case,
    size: Size,
    text: str,
    every: Every,
    others: Iterable[tuple[str, Sequence[Problem]]],
    tick: Callable[[], object],
) -> Run:
    """Train and watch a case from a fixed seed, with default settings except `every`."""
    torch.manual_seed(SEED)
    model, batches = WORKLOADS[case.workload](size, text)
    optimizer = AdamW(model.parameters(), RATE, betas=(0.9, 0.99), weight_decay=0.1)
    schedule = LambdaLR(optimizer, partial(warmup_and_cosine, size))
    opinions = {name: ComparedProfile(problems) for name, problems in others}
    run = Run(case, size, said={name: [] for name in ("default", *opinions)})
    start, fault = perf_counter(), case.at(size)
    with ExitStack() as stack:
        injection = stack.enter_context(fault.into(model, optimizer)) if fault else None
        watched = sickbay.watch(model, optimizer, every=every, on_finding="silent")
        doctor = stack.enter_context(watched)
        given = fault.over(batches) if fault else batches
        for step, (inputs, targets) in enumerate(given):
            loss, norm = learn(model, optimizer, inputs, targets)
            run.said["default"] += [ReportedFinding(each, step) for each in doctor.step(loss)]
            schedule.step()
            run.losses.append(loss.item())
            for name, opinion in opinions.items():
                new = opinion.step(step, run.losses[-1], norm)
                run.said[name] += [ReportedFinding(each, step) for each in new]
            tick()
    run.acted = getattr(injection or given, "steps", [])
    run.seconds, run.overhead = perf_counter() - start, doctor.overhead
    run.norms_read = len(doctor.history.timed("grad_norm", size.steps)) / size.steps
    return run


def learn(
    model: nn.Module, optimizer: Optimizer, inputs: Tensor, targets: Tensor
) -> tuple[Tensor, float]:
    """Train one step. Return the loss and the norm of the gradients."""
    optimizer.zero_grad()
    loss = F.cross_entropy(model(inputs), targets)
    loss.backward()  # type: ignore[no-untyped-call]
    norm = hypot(*gradient_norms(dict(model.named_parameters())))
    optimizer.step()
    return loss, norm


def warmup_and_cosine(size: Size, step: int) -> float:
    """Return the fraction of the learning rate at a step: a warm-up, then a cosine to a tenth."""
    if step < size.warmup:
        return (step + 1) / size.warmup
    return 0.55 + 0.45 * cos(pi * (step - size.warmup) / (size.steps - size.warmup))


def gpt(size: Size, text: str) -> tuple[nn.Module, list[Batch]]:
    """Return a char-GPT of four layers, and batches of text with the following characters."""
    alphabet = {character: index for index, character in enumerate(sorted(set(text)))}
    tokens = torch.tensor([alphabet[character] for character in text])

    def batch() -> Batch:
        starts = torch.randint(len(tokens) - size.length - 1, (TEXTS, 1))
        windows = tokens[starts + torch.arange(size.length + 1)]
        return windows[:, :-1], windows[:, 1:].flatten()

    model = GPT(len(alphabet), size.length, size.width, layers=4)
    return model, [batch() for _ in range(size.steps)]


def cnn(size: Size, _text: str) -> tuple[nn.Module, list[Batch]]:
    """Return four convolutions and a linear layer, and batches of noisy patterns."""
    patterns = torch.randn(CLASSES, 3, 16, 16)

    def batch() -> Batch:
        labels = torch.randint(CLASSES, (IMAGES,))
        noise = torch.randn(IMAGES, 3, 16, 16)
        return (0.5 * patterns[labels] + noise) / 1.25**0.5, labels

    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 16), (16, 16), (16, 32), (32, 32)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
        if inputs == outputs:
            layers.append(nn.MaxPool2d(2))
    model = initialise(nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * 4 * 4, CLASSES)))
    return model, [batch() for _ in range(size.steps)]


WORKLOADS: dict[str, Callable[[Size, str], tuple[nn.Module, list[Batch]]]] = {
    "gpt": gpt,
    "cnn": cnn,
}
