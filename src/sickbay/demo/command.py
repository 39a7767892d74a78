"""The command `sickbay demo`: repair a flawed network, or watch a healthy one with a fault."""

import json
import os
from argparse import Namespace
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import mkdtemp

import torch
from torch import nn

from sickbay import inject
from sickbay.arguments import check_path
from sickbay.console import (
    BarColumn,
    Console,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from sickbay.demo.flawed_models import FLAWED_MODELS, circles, layers
from sickbay.doctor import Doctor, watch
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.printable import one_line, printable
from sickbay.problems.by_name import EVERY
from sickbay.repairs import Outcome, repair
from sickbay.repairs.data import Data
from sickbay.repairs.outcome import plain
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.training_loop import TrainingLoop
from sickbay.reports import terminal
from sickbay.safe_files import usage_error_if_unwritable

BATCH = 128


def run(options: Namespace) -> None:
    """Repair a flawed network, or watch a healthy one that a fault is put into."""
    if options.chart is not None:
        _make_folder(check_path("--chart", options.chart))
    if options.inject is not None:
        _watch(options)
    else:
        _repair(options)


def repair_flawed_model(
    problem: str, epochs: int, chart: str, console: Console, progress: bool = True
) -> tuple[float, Outcome]:
    """Train a flawed network as it is and repaired, from fixed seeds; return both results."""
    torch.set_num_threads(1)  # fastest for such small matrices
    recipe, data, validation = FLAWED_MODELS[problem].make()
    recipe = replace(recipe, epochs=epochs)
    outcome = repair(
        recipe,
        data,
        validation=validation,
        chart=chart,
        console=console,
        progress=progress,
        learn=False,  # a demo says nothing about the user's models
    )
    unrepaired = TrainingLoop(
        recipe,
        Data.of(data, validation, batch_size=recipe.batch_size),
        RunSettings(problems=(), treatable=(), epochs=epochs),
    )
    before = unrepaired.advance(epochs).scores[-1]["val_accuracy"]
    unrepaired.close()
    return before, outcome


def watch_fault(
    epochs: int,
    fault: inject.Fault,
    chart: str | os.PathLike[str] | None = None,
    console: Console | None = None,
) -> tuple[float, Doctor]:
    """Train a healthy network with a fault, and print findings as they come.

    Return its accuracy and its doctor.
    """
    torch.set_num_threads(1)  # fastest for such small matrices
    points, labels = circles()
    model = layers(2, 64, 64, 64, 1, gain=6**0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = list(zip(torch.split(points, BATCH), torch.split(labels, BATCH), strict=True))
    steps = epochs * len(batches)
    if min(fault.at) >= steps:
        raise UsageError(f"The fault must come before step {steps}, the end, got '{fault}'.")
    injection, faulty = fault.into(model, optimizer), fault.over(batches)

    def show(finding: Finding) -> None:
        terminal.print_finding(finding, EVERY[finding.problem].advice, progress.console)

    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"))
    with Progress(*columns, TimeElapsedColumn(), console=console or Console()) as progress:
        # At every step: a fault may last no longer than one.
        doctor = watch(model, optimizer, every=1, epochs=epochs, chart=chart, on_finding=show)
        with doctor, injection:
            for _ in progress.track(range(epochs), description="training"):
                for inputs, targets in faulty:
                    optimizer.zero_grad()
                    loss = nn.functional.binary_cross_entropy_with_logits(model(inputs), targets)
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                    doctor.step(loss)
                with torch.no_grad():
                    accuracy = float(((model(points) > 0) == (labels > 0)).float().mean())
                doctor.epoch(accuracy=accuracy)
    return accuracy, doctor


def _repair(options: Namespace) -> None:
    console = Console(quiet=options.json)
    flaw = FLAWED_MODELS[options.problem].flaw
    console.print(f"A network learns to tell two circles apart. Its flaw: {flaw}.", soft_wrap=True)
    before, outcome = repair_flawed_model(
        options.problem,
        options.epochs,
        options.chart or _temporary_folder(),
        console,
        progress=not options.json,
    )
    if options.json:
        result = {"problem": options.problem, "trained_as_it_was": before} | outcome.as_json()
        print(json.dumps(result, indent=2))
        return
    after = "after the repair" if outcome.solved else "at best; it could not be repaired"
    console.print(
        f"\nAccuracy: {before:.2f} as it was, {outcome.score:.2f} {after}.\n"
        f"All attempts together took {outcome.epochs:.0f} epochs; one training run takes "
        f"{options.epochs}."
    )
    console.print("The change:")
    console.print(printable(outcome.diff), markup=False, highlight=False, soft_wrap=True)
    _print_plain(console, f"Every attempt is recorded in {outcome.chart}")
    _print_plain(console, f"The outcome is in {outcome.chart}/outcome.json")
    if outcome.findings:
        console.print(f"Learn more: sickbay explain {outcome.findings[0].problem}")


def _watch(options: Namespace) -> None:
    console, fault = Console(quiet=options.json), inject.parse(options.inject)
    _print_plain(
        console,
        f"Watching a healthy network learn to tell two circles apart for {options.epochs} epochs, "
        f"with the fault {fault}.",
    )
    accuracy, doctor = watch_fault(options.epochs, fault, options.chart, console)
    if options.json:
        values = {"accuracy": accuracy, "findings": list(map(asdict, doctor.findings))}
        print(json.dumps(plain(values), indent=2))
        return
    names = ", ".join(dict.fromkeys(each.problem for each in doctor.findings)) or "nothing"
    console.print(f"Accuracy: {accuracy:.2f}; guessing gives 0.50. Found: {names}.")
    if doctor.findings:
        console.print(f"Learn more: sickbay explain {doctor.findings[0].problem}")
    if doctor.chart:
        _print_plain(console, f"The run is recorded in {doctor.chart}")


def _print_plain(console: Console, text: str) -> None:
    """Print a line with the user's own names in it, which may look like markup."""
    console.print(one_line(text), markup=False, emoji=False, soft_wrap=True)


def _make_folder(path: Path) -> None:
    """Make a folder to write to, before the work begins."""
    with usage_error_if_unwritable(path):
        path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        raise UsageError(f"--chart must be a folder that can be written to, got {str(path)!r}.")


def _temporary_folder() -> str:
    try:
        return mkdtemp(prefix="sickbay-demo-")
    except OSError as error:
        why = f"there is no temporary one ({error.strerror or error})"
        raise UsageError(f"--chart must name a folder, as {why}.") from None
