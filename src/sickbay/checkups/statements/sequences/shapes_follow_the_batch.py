"""Longer than 60 lines: batch sizes and sequence lengths are tried in different ways."""

from dataclasses import replace
from operator import eq, or_
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.batch import LABELS, Batch
from sickbay.checkups.statements.sequences.embedded_tokens import longest
from sickbay.checkups.statements.sequences.observe_attention import Attention
from sickbay.checkups.statements.sequences.samples_and_positions import (
    time_dimension,
    with_length,
)
from sickbay.checkups.training_passes import main_output

LOCAL = (nn.Conv1d, nn.Conv2d, nn.MaxPool1d, nn.AvgPool1d)  # they need a minimum length
LONGEST = 1024  # length that is tried
Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ShapesFollowTheBatch(Statement):
    """The model runs with other batch sizes and sequence lengths, and its output fits them.

    Why it matters:
        The last batch of an epoch is smaller, and in production a single sample may have any
        length.

    How it is tested:
        Batches of 1, 2 and 3 samples must run in evaluation mode. If a sequence of half the length
        runs, so must as many positions as the position embedding has. If two positions run, a
        single one must run too, else this is a warning. A model that only runs with one length
        passes, and the message says so.
    """

    order = 1
    remedy = "read sizes from x.shape, give squeeze a dimension, cut masks to the length"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass.output
        batch = _without_labels(setup, setup.batch.require_samples())
        if setup.fixed_size:
            return self.fails(f"the model only runs with {setup.full_batch.size} samples")
        with setup.model_copy() as model:
            two = batch.cycle(2)
            usual = _output_shape(setup, model, two)
            for count in (1, 3):
                sizes = (2, count)
                odd = _odd_shape(setup, model, batch.cycle(count), usual, sizes, must_follow=True)
                if odd:
                    return self.fails(f"a batch of {count} {odd}")
        lengths = _try_lengths(setup, two)
        if lengths.fault:
            result = self.fails(lengths.fault)
            return replace(result, severity="warning") if lengths.single else result
        ran = f" and lengths of {', '.join(map(str, lengths.ran))}" if lengths.ran else ""
        return self.holds(f"batches of 1, 2 and 3{ran} gave matching outputs{lengths.note}")


def _without_labels(setup: ModelSetup, batch: Batch) -> Batch:
    """Return a batch without labels if the model runs so: its own loss may need a length."""
    kwargs = {name: each for name, each in batch.kwargs.items() if name not in LABELS}
    bare = replace(batch, kwargs=kwargs)
    return bare if len(kwargs) < len(batch.kwargs) and setup.runs(bare) else batch


class Lengths(NamedTuple):
    """The lengths that ran, what is wrong with one of them, and one that does not count.

    A fault may be that of a single position, which not every model is made for.
    """

    ran: list[int]
    fault: str = ""
    note: str = ""
    single: bool = False


def _try_lengths(setup: ModelSetup, batch: Batch) -> Lengths:
    try:
        time = time_dimension(setup)
    except Inapplicable:
        return Lengths([])
    full = setup.batch.main.shape[time]
    has_lengths = any(not each.is_floating_point() and each.ndim == 1 for each in batch.inputs)
    if full < 4 or has_lengths or any(isinstance(each, LOCAL) for each in setup.model.modules()):
        return Lengths([])
    with setup.model_copy() as model:
        usual, attention = _output_shape(setup, model, batch), Attention(model)

        def odd(length: int) -> str:
            resized = with_length(batch, time, length)
            return _odd_shape(setup, model, resized, usual, (full, length))

        half, ran, note, single = full // 2, list[int](), "", ""
        with attention:
            message = odd(half)
        if message:  # made for one length, which is fine unless only the mask does not fit
            fault = f"a length of {half} {message}"
            if attention.broken:
                return Lengths([], f"{fault}, in {attention.broken}")
            return Lengths([], note=f"; only lengths of {full} were tested: {fault}")
        for length in (half, 1, *_longest(setup, full)):
            message = odd(length)
            if not message:
                ran.append(length)
            elif length == 1 and (other := next(filter(odd, (full - 1, 2)), 0)):
                # It may only take multiples, or need a least length.
                note = f"; lengths of 1 and {other} do not run: a length of 1 {message}"
            elif length == 1:
                single = f"a length of 1 {message}, while 2 runs"
            else:
                return Lengths(ran, f"a length of {length} {message}, while {half} runs")
    return Lengths(ran, single, note, single=bool(single))


def _longest(setup: ModelSetup, length: int) -> list[int]:
    """Return the length that position embeddings allow, if it is longer than this one."""
    most = longest(setup, setup.batch, length)
    return [most] if most is not None and length < most <= LONGEST else []


def _output_shape(setup: ModelSetup, model: nn.Module, batch: Batch) -> Shape:
    """Return the shape of the main output, () if it is one number."""
    with torch.no_grad():
        raw = setup.run(model, batch)
    return () if isinstance(raw, Tensor) and not raw.ndim else tuple(main_output(raw).shape)


def _odd_shape(
    setup: ModelSetup,
    model: nn.Module,
    batch: Batch,
    usual: Shape,
    sizes: tuple[int, int],
    *,
    must_follow: bool = False,
) -> str:
    """Return what is wrong with the output when a size changes, "" if nothing is."""
    try:
        shape = _output_shape(setup, model, batch)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return f"raises {type(error).__name__}: {lines[-1]}"
    old, new = sizes
    followed = [after * old == before * new for before, after in zip(usual, shape, strict=False)]
    fits = len(usual) == len(shape) and all(map(or_, followed, map(eq, usual, shape)))
    if fits and (not must_follow or any(followed)):
        return ""
    return f"gives an output of shape {shape}, but {old} give {usual}"
