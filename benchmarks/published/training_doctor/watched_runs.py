"""Train the char-GPT on one text: plain, and watched by each profile, in turns.

All runs of a text start from the same weights and see the same batches and the same dropout. They
take turns in blocks of a few steps, so that the machine treats them alike. The random state of each
is kept apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import cos, pi
from statistics import fmean, median, quantiles
from time import perf_counter, thread_time
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

import sickbay
from benchmarks.published.training_doctor.char_gpt import BYTES, CharGPT

Report = dict[str, Any]
VARIANTS: Mapping[str, Mapping[str, Any] | None] = {
    "plain": None,
    "training_doctor": {"profile": "training_doctor", "report_every": 1},
    "default": {"report_every": 1},
}
RATES = {"shakespeare_char": 1e-3, "enwik8": 5e-4, "text8": 5e-4, "gutenberg": 6e-4}
SEED, FINAL = 1337, 50  # FINAL: the newest losses whose mean is the final training loss


@dataclass(frozen=True)
class Plan:
    """The size of the model and of a run."""

    layers: int = 6
    heads: int = 6
    width: int = 384
    length: int = 256
    steps: int = 2000
    warmup: int = 100
    block: int = 50  # steps in a turn
    validate: int = 250  # steps from one validation to the next
    batches: int = 20  # of a validation
    written: int = 300  # characters, to measure the speed of inference
    rounds: int = 5  # of writing
    batch: int = 64  # for every text, so that compiled graphs can be used again


QUICK = Plan(
    layers=2, heads=2, width=64, length=64, steps=80, warmup=10, block=10, validate=20, batches=2,
    written=50, rounds=3, batch=8,
)  # fmt: skip


class WatchedRun:
    """One run of a text, with its own model, optimizer, doctor and random numbers."""

    def __init__(self, text: str, data: tuple[Tensor, Tensor], plan: Plan, variant: str) -> None:
        self.plan, self.device = plan, data[0].device
        self.data = data
        self.now = perf_counter if data[0].is_cuda else thread_time  # others may use the CPU too
        self.memory = -self._allocated()  # bytes held by this run alone
        torch.manual_seed(SEED)
        model = CharGPT(plan.length, plan.width, plan.layers, plan.heads, dropout=0.2)
        self.model = model.to(self.device)
        self.optimizer = AdamW(
            self.model.parameters(), RATES[text], betas=(0.9, 0.99), weight_decay=0.1,
            fused=self.device.type == "cuda",
        )  # fmt: skip
        self.schedule = LambdaLR(self.optimizer, self._rate)
        options = VARIANTS[variant]
        self.doctor = None
        if options is not None:
            self.doctor = sickbay.watch(self.model, self.optimizer, on_finding="silent", **options)
        self.forward: Callable[[Tensor], Tensor] = self.model
        if self.device.type == "cuda":
            self.forward = torch.compile(self.model)
        self.draws = torch.Generator().manual_seed(SEED)
        self.random = self._random_state()
        self.losses: list[Tensor] = []
        self.validations: list[float] = []
        self.seconds: list[float] = []  # of each block
        self.memory += self._allocated()
        self.peaks: list[int] = []  # bytes above those held before each block

    def train_block(self) -> None:
        """Train some steps, and validate if that is due."""
        self._restore_random()
        self._wait()
        before = self._allocated()
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        start = self.now()
        for _ in range(self.plan.block):
            self._step()
        self._wait()
        seconds = self.now() - start
        if self.device.type == "cuda":
            self.peaks.append(torch.cuda.max_memory_allocated() - before)
        self.memory += self._allocated() - before
        if len(self.losses) % self.plan.validate == 0:
            loss = self._validate()
            self.validations.append(loss)
            if self.doctor is not None:
                start = self.now()
                self.doctor.epoch(val_loss=loss)
                seconds += self.now() - start
        self.seconds.append(seconds)
        self.random = self._random_state()

    def writing_speed(self) -> float:
        """Return how many characters the model writes in a second, in evaluation mode."""
        self.model.eval()
        self._wait()
        start = self.now()
        with self._precision():
            self.model.write(self.plan.written)
        self._wait()
        seconds = self.now() - start
        self.model.train()
        return self.plan.written / seconds

    def report(self) -> Report:
        """Return losses, times and findings."""
        losses = [loss.item() for loss in self.losses]
        steady = self.seconds[2:]  # the first blocks compile
        report: Report = {
            "final_train_loss": fmean(losses[-FINAL:]),
            "best_val_loss": min(self.validations),
            "ms_per_step": 1000 * median(steady) / self.plan.block,
            "block_seconds": self.seconds,
            "memory_mb": (self.memory + median(self.peaks)) / 1e6 if self.peaks else None,
        }
        if self.doctor is not None:
            found = self.doctor.findings
            report |= {
                "findings": [[each.problem, each.step] for each in found],
                "in_warmup": sum(each.step < self.plan.warmup for each in found),
                "states": [each.state for each in self.doctor.reports],
                "trends": [each.trend for each in self.doctor.reports],
                "own_overhead": self.doctor.overhead,
                "norms_read": len(self.doctor.history.timed("grad_norm", 512))
                / min(self.plan.steps, 512),
            }
        return report

    def _step(self) -> None:
        inputs, targets = self._batch(self.data[0])
        self.optimizer.zero_grad(set_to_none=True)
        with self._precision():
            loss = F.cross_entropy(self.forward(inputs).view(-1, BYTES), targets.flatten())
        loss.backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        if self.doctor is not None:
            self.doctor.step(loss)
        self.losses.append(loss.detach())

    @torch.no_grad()
    def _validate(self) -> float:
        self.model.eval()
        draws = torch.Generator().manual_seed(SEED)
        losses = []
        for _ in range(self.plan.batches):
            inputs, targets = self._batch(self.data[1], draws)
            with self._precision():
                logits = self.model(inputs)
            losses.append(F.cross_entropy(logits.float().view(-1, BYTES), targets.flatten()))
        self.model.train()
        return float(torch.stack(losses).mean())

    def _batch(self, text: Tensor, draws: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        last = len(text) - self.plan.length - 1
        starts = torch.randint(last, (self.plan.batch, 1), generator=draws or self.draws)
        places = (starts + torch.arange(self.plan.length + 1)).to(self.device)
        rows = text[places]
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()

    def _rate(self, step: int) -> float:
        plan = self.plan
        if step < plan.warmup:
            return (step + 1) / plan.warmup
        return 0.55 + 0.45 * cos(pi * (step - plan.warmup) / (plan.steps - plan.warmup))

    def _precision(self) -> AbstractContextManager[Any]:
        if self.device.type != "cuda":
            return nullcontext()
        return torch.autocast("cuda", torch.bfloat16)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _allocated(self) -> int:
        return torch.cuda.memory_allocated() if self.device.type == "cuda" else 0

    def _random_state(self) -> tuple[Tensor, Tensor | None]:
        on_gpu = torch.cuda.get_rng_state() if self.device.type == "cuda" else None
        return torch.get_rng_state(), on_gpu

    def _restore_random(self) -> None:
        torch.set_rng_state(self.random[0])
        if self.random[1] is not None:
            torch.cuda.set_rng_state(self.random[1])


def train_in_turns(
    text: str, data: tuple[Tensor, Tensor], plan: Plan, tick: Callable[[], object]
) -> Report:
    """Train every variant on a text, and return their reports side by side."""
    if data[0].is_cuda:
        torch.compiler.reset()  # graphs of the last text would count against the limit of graphs
        # What torch allocates once and keeps must not be charged to the first run.
        WatchedRun(text, data, plan, "plain").train_block()
    runs = {name: WatchedRun(text, data, plan, name) for name in VARIANTS}
    for number in range(plan.steps // plan.block):
        turn = list(runs.values())
        for run in turn[number % len(turn) :] + turn[: number % len(turn)]:
            run.train_block()
            tick()
    report: Report = {"parameters": sum(p.numel() for p in runs["plain"].model.parameters())}
    report |= {name: run.report() for name, run in runs.items()}
    for name, speed in write_in_turns(runs, plan).items():
        report[name]["characters_per_second"] = speed
    for run in runs.values():
        if run.doctor is not None:
            run.doctor.close()
    for name, speed in write_in_turns(runs, plan).items():
        report[name]["characters_per_second_closed"] = speed
    for name in list(VARIANTS)[1:]:
        report[name] |= compare(report[name], report["plain"])
    return report


def write_in_turns(runs: Mapping[str, WatchedRun], plan: Plan) -> dict[str, float]:
    """Return how fast each model writes; the first round is only a warm-up."""
    rounds = [
        {name: run.writing_speed() for name, run in runs.items()} for _ in range(plan.rounds + 1)
    ]
    return {name: median(each[name] for each in rounds[1:]) for name in runs}


def compare(watched: Report, plain: Report) -> Report:
    """Return what watching costs, from blocks that followed each other."""
    pairs = zip(watched["block_seconds"][2:], plain["block_seconds"][2:], strict=True)
    ratios = [with_doctor / without - 1 for with_doctor, without in pairs]
    half = len(ratios) // 2
    extra = None
    if watched["memory_mb"] is not None:
        extra = watched["memory_mb"] - plain["memory_mb"]
    return {
        "overhead": median(ratios),
        "overhead_quartiles": quantiles(ratios, n=4)[::2],
        "overhead_first_half": median(ratios[:half]),
        "overhead_second_half": median(ratios[half:]),
        "extra_memory_mb": extra,
    }


def machine(device: torch.device) -> Report:
    """Return what the figures were measured on."""
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU, one thread"
    return {
        "device": name,
        "torch": str(torch.__version__),
        "python": sys.version.split()[0],
        "sickbay": sickbay.__version__,
    }
