"""Calls in a training loop: watch, step, epoch and fault injection."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

import sickbay
from benchmarks.fuzz import odd_models
from benchmarks.fuzz.call_with_wrong_arguments import Call, Make
from benchmarks.fuzz.fuzz_input import FuzzInput
from benchmarks.fuzz.verdict import SOURCES, Mine, inside
from sickbay import inject
from sickbay.doctor import Doctor
from sickbay.errors import Diagnosed


def options(case: FuzzInput) -> dict[str, Any]:
    """Return valid options of `watch`."""
    random = case.random
    return {
        "every": random.choice(("auto", 1, 2, {"gradient": 1}, lambda step: step % 2 == 0)),
        "budget": 0.01,
        "profile": "default",
        "problems": random.choice((None, ["non_finite"], [])),
        "epochs": random.choice((None, 2)),
        "chart": random.choice((None, str(case.home / "c"))),
        "on_finding": random.choice(("advise", "silent", "stop", "treat", lambda _: None)),
        "activations": True,
    }


def watch(case: FuzzInput) -> Call:
    model = odd_models.MODELS[case.random.choice(list(odd_models.MODELS))]()
    model = odd_models.sound() if case.random.random() < 0.5 else model
    try:
        optimizer: Any = odd_models.optimizer_of(model)
    except Exception:  # a model that raises when asked for its parameters
        optimizer = None
    kwargs = {"model": model, "optimizer": optimizer, **options(case)}
    return Call("watch", sickbay.watch, (), kwargs, partial(live, case, model, optimizer))


def live(case: FuzzInput, model: nn.Module, optimizer: Optimizer | None, doctor: Doctor) -> None:
    """Train with a doctor, which must not raise."""
    try:
        x, y = odd_models.batch(8)
        for step in range(3):
            call_in_loop(case, doctor.step, learn(model, optimizer, x, y if step else None))
        call_in_loop(case, doctor.epoch, val_loss=1.0)
        call_in_loop(
            case, lambda: (doctor.findings, doctor.events, doctor.history, doctor.overhead)
        )
        call_in_loop(case, lambda: (repr(doctor), doctor.example, doctor.chart, doctor.treatments))
    finally:
        call_in_loop(case, doctor.close)


def call_in_loop(case: FuzzInput, call: Callable[..., object], *args: Any, **kwargs: Any) -> None:
    """Call a method of the doctor inside the loop."""
    case.loop = True
    with suppress(Diagnosed):
        call(*args, **kwargs)
    case.loop = False


def learn(model: nn.Module, optimizer: Optimizer | None, x: Tensor, y: Tensor | None) -> Any:
    """Train one step. Ignore errors that do not come from sickbay."""
    loss: Any = 1.0
    try:
        if optimizer is not None:
            optimizer.zero_grad()
        out = model(x)
        loss = out.float().mean() if y is None else nn.functional.cross_entropy(out, y)
        loss.backward()
        if optimizer is not None:
            optimizer.step()
    except Exception as error:
        if any(inside(error.__traceback__)) and not isinstance(error, Mine) and not theirs(error):
            raise
    return loss


def theirs(error: BaseException) -> bool:
    """Return whether the innermost line of an exception is outside of sickbay."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and not trace.tb_frame.f_code.co_filename.startswith(SOURCES)


def in_loop(case: FuzzInput) -> tuple[Doctor, nn.Module, Optimizer]:
    model = odd_models.sound()
    optimizer = odd_models.optimizer_of(model)
    given = {**options(case), "on_finding": case.random.choice(("silent", "advise", "treat"))}
    return sickbay.watch(model, optimizer, **given), model, optimizer


def step(case: FuzzInput) -> Call:
    doctor, model, optimizer = in_loop(case)
    x, y = odd_models.batch(8)
    for _ in range(case.random.choice((0, 1, 4))):
        doctor.step(learn(model, optimizer, x, y))
    loss = learn(model, optimizer, x, y)
    kwargs = {"loss": loss, "outputs": None, "targets": None, "accuracy": 0.5}
    if case.random.random() < 0.2:
        kwargs[case.random.choice(("val[/red]", "\x1b[31m", "", "step", "self_"))] = 1.0
    on = partial(live_on, case, doctor, model, optimizer)
    return Call("Doctor.step", doctor.step, (), kwargs, on, True)


def epoch(case: FuzzInput) -> Call:
    doctor, model, optimizer = in_loop(case)
    x, y = odd_models.batch(8)
    doctor.step(learn(model, optimizer, x, y))
    kwargs = {"val_loss": 1.0, "val_accuracy": torch.tensor(0.5), "val[/red]": 2}
    on = partial(live_on, case, doctor, model, optimizer)
    return Call("Doctor.epoch", doctor.epoch, (), kwargs, on, True)


def live_on(
    case: FuzzInput, doctor: Doctor, model: nn.Module, optimizer: Optimizer, found: object
) -> None:
    """Continue training after a call, whatever it returned."""
    del found
    live(case, model, optimizer, doctor)


def faulty(name: str) -> Make:
    """Return a call that injects a fault into a loop."""

    def make(_: FuzzInput) -> Call:
        model = odd_models.sound()
        optimizer = odd_models.optimizer_of(model)
        kwargs: dict[str, Any] = {"model": model, "optimizer": optimizer, "at": 1}
        if name in ("scale_gradients", "scale_inputs", "raise_learning_rate"):
            kwargs["factor"] = 2.0
        if name in ("freeze_layer", "dead_layer", "nan_gradient", "nan_weight"):
            kwargs["layer"] = "0"
        if name in ("nan_gradient", "nan_weight", "nan_batch"):
            kwargs |= {"value": float("nan"), "every": None}
        if name == "scale_gradients":
            kwargs |= {"layers": None, "every": 2}
        if name == "raise_learning_rate":
            del kwargs["model"]
        if name == "shuffle_labels":
            kwargs = {"batches": [odd_models.batch(4)] * 3, "at": 1, "seed": 0}

        def use(made: Any) -> None:
            if name == "shuffle_labels":
                list(made)
                return
            x, y = odd_models.batch(8)
            with made:
                for _ in range(3):
                    learn(model, optimizer, x, y)

        return Call(f"inject.{name}", getattr(inject, name), (), kwargs, use)

    return make


def parse(case: FuzzInput) -> Call:
    from benchmarks.fuzz.run_wrong_commands import FAULTS, WORDS

    text = case.random.choice((*FAULTS, *WORDS))

    def use(made: inject.Fault) -> None:
        model = odd_models.sound()
        optimizer = odd_models.optimizer_of(model)
        str(made)
        with made.into(model, optimizer):
            for x, y in made.over([odd_models.batch(8)] * 2):
                learn(model, optimizer, x, y)

    return Call("inject.parse", inject.parse, (text,), {}, use)


def of_fault(case: FuzzInput) -> Call:
    fault = inject.parse("nan_gradient@1")
    model = odd_models.sound()
    if case.random.random() < 0.5:
        return Call("Fault.into", fault.into, (model, odd_models.optimizer_of(model)))
    fault = inject.parse("shuffle_labels@1")
    return Call("Fault.over", fault.over, ([odd_models.batch(4)] * 2,), {}, list)


def odd_model(case: FuzzInput) -> Call:
    """Watch an odd model with valid options."""
    label = case.random.choice(list(odd_models.MODELS))
    model = odd_models.MODELS[label]()
    case.note(label)
    try:
        optimizer: Any = odd_models.optimizer_of(model)
    except Exception:
        optimizer = None
    kwargs = {"model": model, "optimizer": optimizer, **options(case)}
    then = partial(live, case, model, optimizer)
    return Call("watch", sickbay.watch, (), kwargs, then, kept=tuple(kwargs))


FAULTS = (
    "dead_layer", "freeze_layer", "nan_batch", "nan_gradient", "nan_weight", "raise_learning_rate",
    "scale_gradients", "scale_inputs", "shuffle_labels",
)  # fmt: skip
TARGETS: dict[Make, float] = {
    watch: 20,
    odd_model: 4,
    step: 12,
    epoch: 6,
    parse: 2,
    of_fault: 1,
    **{faulty(name): 1.2 for name in FAULTS},
}
