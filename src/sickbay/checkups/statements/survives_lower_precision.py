from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.changed_inputs import some
from sickbay.checkups.first_pass import main_output
from sickbay.checkups.report import Result
from sickbay.thresholds import threshold

KINDS = {"bfloat16": torch.bfloat16, "float16": torch.float16}
COARSE = 8.0  # times fewer values between 1 and 2 has bfloat16
UNKNOWN = ("not implemented for", "not supported", "mkldnn", "onednn")  # torch's own limits


@dataclass(frozen=True, kw_only=True)
class SurvivesLowerPrecision(Statement):
    """Under autocast the output is finite and near that of float32.

    Why it matters:
        Mixed precision doubles the speed, but an eps of 1e-9 or a mask of -1e9 has no half.

    How it is tested:
        Two samples in evaluation under torch.autocast with bfloat16, and with float16 where torch
        can; output and loss must be finite, and the output near that of float32. bfloat16 has
        fewer digits, and may be eight times as far off.
    """

    severity = "warning"
    remedy = "mask with torch.finfo(x.dtype).min, use an eps of 1e-5, make tensors of x.dtype"
    far: float = threshold(0.1, "Difference to float32, relative, that is too much.", above=0)

    def examine(self, case: Case) -> Result:
        seen = case.seen
        kinds = {each.dtype for each in case.model.parameters()} or {torch.float32}
        if kinds != {torch.float32} or not seen.output.isfinite().all():
            raise Inapplicable("the model is not one of float32 with a finite output")
        if any(hasattr(each, "_orig_mod") for each in case.model.modules()):
            raise Inapplicable("a part of the model is compiled")
        ran = {}
        batch = some(case.batch, 2)
        usual, again = (_answer(case, batch, seed=seed)[0] for seed in (0, 1))
        for name, kind in KINDS.items():
            try:
                output, loss = _answer(case, batch, kind)
            except Exception as error:
                if isinstance(error, NotImplementedError) or _unknown(error):
                    continue
                return self.fails(f"{name} raises {type(error).__name__}: {error}")
            if not output.isfinite().all():
                return self.fails(f"the output in {name} holds NaN or Inf")
            if loss is not None and seen.loss.isfinite() and not loss.isfinite():
                return self.fails(f"the loss in {name} is {loss.item():g}")
            ran[name] = _apart(usual, output)
        if not ran:
            raise Inapplicable("torch does not run this model in lower precision")
        limits = {name: self.far * (COARSE if name == "bfloat16" else 1.0) for name in ran}
        name, worst = max(ran.items(), key=lambda each: each[1] / limits[each[0]])
        if worst > limits[name] and torch.equal(usual, again):
            message = f"the output in {name} is off by {worst:.2g} of its size"
            return self.fails(f"{message}, the limit is {limits[name]:g}", off=worst)
        return self.holds(f"{' and '.join(ran)} ran, off by {worst:.2g}", off=worst)


def _answer(
    case: Case, batch: Batch, kind: torch.dtype | None = None, seed: int = 0
) -> tuple[Tensor, Tensor | None]:
    """Return output and loss, under autocast if a kind of numbers is given."""
    torch.manual_seed(seed)
    device = batch.main.device.type
    with case.patient() as model:  # with gradients: torch's short cuts know no autocast
        # Weights that torch keeps converted would be those of the kind before.
        with torch.autocast(device, kind or torch.bfloat16, kind is not None, cache_enabled=False):
            raw = case.run(model, batch)
        raw = raw.float() if isinstance(raw, Tensor) else raw  # as losses are under autocast
        return main_output(raw).detach().float(), _loss(case, raw, batch)


def _loss(case: Case, raw: Any, batch: Batch) -> Tensor | None:
    try:
        return case.loss_of(raw, batch)
    except Exception:  # a loss may want float32
        return None


def _unknown(error: Exception) -> bool:
    return any(each in str(error).lower() for each in UNKNOWN)


def _apart(usual: Tensor, other: Tensor) -> float:
    """Return how far outputs are apart, relative to their size: of the median sample."""
    if usual.shape != other.shape:
        return 0.0
    off = (usual - other).flatten(1 if usual.ndim > 1 else 0).norm(dim=-1)
    size = usual.flatten(1 if usual.ndim > 1 else 0).norm(dim=-1)
    return float((off / size.clamp(min=1e-6)).median())
