"""Longer than 60 lines: running under autocast takes care of several torch limits."""

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.settled_statistics import settled_copy
from sickbay.checkups.training_passes import main_output

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
COARSENESS = {"bfloat16": 8.0, "float16": 1.0}  # bfloat16 has eight times fewer values from 1 to 2
TORCH_LIMITS = ("not implemented for", "not supported", "mkldnn", "onednn")


@dataclass(frozen=True, kw_only=True)
class SurvivesLowerPrecision(Statement):
    """Under autocast the output is finite and close to that of float32.

    Why it matters:
        Mixed precision doubles the speed, but float16 cannot hold an eps of 1e-9 or a mask of -1e9.

    How it is tested:
        Two samples run in evaluation under torch.autocast with bfloat16, and with float16 if torch
        supports it. Before that, a few passes in training settle the statistics of batch norm.
        Output and loss must be finite, and the output close to that of float32. bfloat16 has fewer
        digits, so its output may differ eight times as much.
    """

    order = 2
    severity = "warning"
    remedy = "mask with torch.finfo(x.dtype).min, use an eps of 1e-5, create tensors with x.dtype"
    far: float = threshold(0.1, "Relative difference from float32 that is too large.", above=0)

    def examine(self, setup: ModelSetup) -> Result:
        first = setup.first_pass
        dtypes = {each.dtype for each in setup.model.parameters()} or {torch.float32}
        if dtypes != {torch.float32} or not first.output.isfinite().all():
            raise Inapplicable("the model is not in float32, or its output is not finite")
        if any(hasattr(each, "_orig_mod") for each in setup.model.modules()):
            raise Inapplicable("a part of the model is compiled")
        changes = {}
        batch = setup.batch.first_if_separate(2)
        usual, again = (_run(setup, batch, seed=seed)[0] for seed in (0, 1))
        if not usual.isfinite().all():
            raise Inapplicable("the output is not finite after a few passes")
        for name, dtype in DTYPES.items():
            try:
                output, loss = _run(setup, batch, dtype)
            except Exception as error:
                limit = any(each in str(error).lower() for each in TORCH_LIMITS)
                if limit or isinstance(error, NotImplementedError):
                    continue
                return self.fails(f"{name} raises {type(error).__name__}: {error}")
            if not output.isfinite().all():
                return self.fails(f"the output in {name} contains NaN or Inf")
            if loss is not None and first.loss.isfinite() and not loss.isfinite():
                return self.fails(f"the loss in {name} is {loss.item():g}")
            changes[name] = _relative_change(usual, output)
        if not changes:
            raise Inapplicable("torch does not run this model in lower precision")
        name, worst = max(changes.items(), key=lambda each: each[1] / COARSENESS[each[0]])
        most = self.far * COARSENESS[name]
        if worst > most and torch.equal(usual, again):
            message = f"the output in {name} differs by {worst:.2g} of its size (limit {most:g})"
            return self.fails(message, off=worst)
        ran = " and ".join(changes)
        return self.holds(f"the output in {ran} differs by at most {worst:.2g}", off=worst)


def _run(
    setup: ModelSetup, batch: Batch, dtype: torch.dtype | None = None, seed: int = 0
) -> tuple[Tensor, Tensor | None]:
    """Return output and loss, under autocast if a dtype is given."""
    torch.manual_seed(seed)
    device, used = batch.main.device.type, dtype or torch.bfloat16
    with settled_copy(setup) as model:  # with gradients: torch's fast paths ignore autocast
        torch.clear_autocast_cache()
        # A cache would keep weights converted to the previous dtype.
        with torch.autocast(device, used, dtype is not None, cache_enabled=False):
            raw = setup.run(model, batch)
        raw = raw.float() if isinstance(raw, Tensor) else raw  # as losses run under autocast
        output = main_output(raw).detach().float()
        try:
            return output, setup.loss_of(raw, batch)
        except Exception:  # a loss may require float32
            return output, None


def _relative_change(usual: Tensor, other: Tensor) -> float:
    """Return how much the output of the worst sample differs, relative to the largest output.

    An output near zero may differ by as much as itself: a sum of larger numbers is rounded.
    """
    if usual.shape != other.shape:
        return 0.0
    start = 1 if usual.ndim > 1 else 0
    change = (usual - other).flatten(start).norm(dim=-1)
    size = usual.flatten(start).norm(dim=-1)
    return float(change.max() / size.max().clamp(min=1e-6))
