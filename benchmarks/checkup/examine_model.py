"""Examine one model: failed tests, time, and number of forward passes."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as hooks

from benchmarks.checkup import data
from benchmarks.checkup.all_cases import ALL
from benchmarks.checkup.case import Inputs
from benchmarks.overhead.workloads import Block
from sickbay.checkups import ModelSetup, Report, Result, Statement, checkup
from sickbay.checkups.batch import Batch
from sickbay.checkups.statements import known_statements
from sickbay.model_copies import tensors_in

Record = dict[str, Any]
TRAINS = "overfits_one_batch"
COMPILED = "works_when_compiled"  # global hooks would be compiled too
LARGE = {"width": 384, "heads": 6, "layers": 6, "length": 256, "vocabulary": 65, "samples": 12}
THREADS = 2


def statement(name: str) -> Statement | None:
    """Return a test by its name, or None if it does not exist."""
    kind = known_statements().get(name)
    return None if kind is None else kind()


def chosen_for(name: str) -> list[Statement]:
    """Return the default tests, and the test called `name` even if it is optional."""
    known = known_statements().items()
    return [kind() for each, kind in known if not kind.optional or each == name]


@dataclass
class Passes:
    """Counts forward passes of a model class, including those of copies.

    It skips the test that trains the model, which has its own limit of steps.

    Attributes:
        calls: Forward passes.
        batches: Forward passes weighted by their fraction of the values in the batch.
    """

    kind: type[nn.Module]
    whole: int
    calls: int = 0
    batches: float = 0.0
    depth: int = field(default=0, repr=False)
    paused: bool = field(default=False, repr=False)

    def enters(self, module: nn.Module, inputs: Any) -> None:
        del inputs
        self.depth += type(module) is self.kind

    def leave_out(self, test: Statement) -> Statement:
        """Return a test whose passes are not counted."""
        kind = type(test)

        def examine(same: Statement, setup: ModelSetup) -> Result:
            self.paused = True
            try:
                return kind.examine(same, setup)
            finally:
                self.paused = False

        body = {"__doc__": kind.__doc__, "examine": examine}
        quiet: Statement = type(kind.__name__, (kind,), body)(**vars(test))
        return quiet

    def leaves(self, module: nn.Module, inputs: Any, *rest: Any) -> None:
        kwargs = rest[0] if len(rest) > 1 else {}  # torch omits them after an exception
        if type(module) is not self.kind:
            return
        self.depth -= 1
        if not self.depth and not self.paused:
            self.calls += 1
            first = next(iter(tensors_in([list(inputs), dict(kwargs)])), None)
            self.batches += 0 if first is None else first.numel() / self.whole


@contextmanager
def counted(given: Inputs) -> Iterator[Passes]:
    """Count forward passes in a `with` block."""
    whole = 1 if given.batch is None else Batch.of(given.batch).main.numel()
    passes = Passes(type(given.model), whole)
    before = hooks.register_module_forward_pre_hook(passes.enters)
    after = hooks.register_module_forward_hook(passes.leaves, with_kwargs=True, always_call=True)
    try:
        yield passes
    finally:
        before.remove()
        after.remove()
        # torch does not remove this entry and would warn at every later compilation.
        hooks._global_forward_hooks_with_kwargs.pop(after.id, None)


def examine(name: str) -> Record:
    """Create a model, examine it and return the results."""
    case = ALL[name]
    torch.manual_seed(zlib.crc32(name.encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = case.make()
        record = examine_inputs(given, chosen_for(case.test), count=case.test != COMPILED)
    meant = [each for each in record["results"] if each["test"] == case.test]
    found = meant[0] if meant else {"outcome": "missing", "message": "there is no such test"}
    about = {"name": name, "test": case.test, "half": case.half}
    return {**about, "outcome": found["outcome"], "message": found["message"], **record}


def examine_inputs(given: Inputs, tests: list[Statement], *, count: bool = True) -> Record:
    """Return the results of a checkup, its time and its forward passes."""
    start, used = perf_counter(), process_time()
    if count:
        with counted(given) as passes:
            report = run_checkup(
                given, [passes.leave_out(e) if e.name() == TRAINS else e for e in tests]
            )
    else:
        passes, report = Passes(type(given.model), 1), run_checkup(given, tests)
    results = report.as_json()["results"]
    return {
        "seconds": perf_counter() - start,
        "cpu_seconds": process_time() - used,
        "calls": passes.calls,
        "batches": passes.batches if given.batch is not None else None,
        "failed": {each.test: each.message for each in report.failed},
        "results": results,
    }


def run_checkup(given: Inputs, tests: list[Statement]) -> Report:
    return checkup(
        given.model,
        given.batch,
        given.loss,
        given.optimizer,
        tests=tests,
        validation=given.validation,
        progress=False,
    )


class CharGPT(nn.Module):
    """A char-GPT of ten million parameters."""

    def __init__(self, vocabulary: int, length: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> Any:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


def large() -> Record:
    """Examine a char-GPT of ten million parameters with a batch, loss and optimizer."""
    torch.manual_seed(0)
    sizes = dict(LARGE)
    samples = sizes.pop("samples")
    model = CharGPT(**sizes)
    batch = data.language(samples, sizes["length"], sizes["vocabulary"])
    given = Inputs(model, batch, data.next_token, torch.optim.AdamW(model.parameters(), lr=3e-4))
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        step = min(step_of(given) for _ in range(3))
        record = examine_inputs(given, chosen_for(""))
    finally:
        torch.set_num_threads(before)
    parameters = sum(each.numel() for each in model.parameters())
    return {"parameters": parameters, "threads": THREADS, "step_seconds": step, **record}


def step_of(given: Inputs) -> float:
    """Return the seconds of one forward and backward pass with the whole batch."""
    assert given.loss is not None
    start = perf_counter()
    inputs, targets = given.batch
    torch.autograd.backward(given.loss(given.model(inputs), targets))
    given.model.zero_grad(set_to_none=True)
    return perf_counter() - start
