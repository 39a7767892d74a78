from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class MeansLeaveOutPadding(Statement):
    """A mean over the positions of a sequence does not count padding.

    Why it matters:
        Otherwise the output for a text depends on the longest text in its batch.

    How it is tested:
        An embedding with a `padding_idx` says which token is padding. A pass in evaluation is
        observed for plain means over the positions of these tokens. There must be none if at least
        `samples` samples end in padding.
    """

    order = 7
    severity = "warning"
    remedy = "divide the sum over the tokens that are no padding by their number"

    samples: int = threshold(2, "Samples that must end in padding.", least=1)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        batch = setup.batch.require_samples()
        padded = _padding(setup)
        if padded is None or int(padded[:, -1].sum()) < self.samples:
            raise Inapplicable("no embedding has a padding_idx with which several samples end")
        shape = padded.shape if not batch.sample_dim else padded.T.shape
        with (
            setup.model_copy() as model,
            torch.no_grad(),
            _Means(shape, 1 - batch.sample_dim) as seen,
        ):
            setup.run(model, batch)
        share = padded.float().mean().item()
        if seen.count:
            message = f"a mean over {padded.shape[1]} positions counts padding"
            return self.fails(f"{message}, which is {share:.0%} of the tokens", share=share)
        return self.holds("no plain mean counts padding", share=share)


def _padding(setup: ModelSetup) -> Tensor | None:
    """Return which tokens are padding, as samples by positions; None if no embedding says that."""
    batch = setup.batch
    for layer, args in setup.layer_calls(batch, nn.Embedding):
        tokens = args[0] if args else None
        if not isinstance(tokens, Tensor) or tokens.ndim != 2 or tokens.shape != batch.main.shape:
            continue
        if layer.padding_idx is not None:
            return tokens.eq(layer.padding_idx).movedim(batch.sample_dim, 0)
    return None


class _Means(TorchFunctionMode):
    """Counts plain means over the time of tensors that have values for all positions."""

    def __init__(self, shape: torch.Size, time: int) -> None:
        super().__init__()
        self._shape, self._time = shape, time
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") == "mean" and args and isinstance(args[0], Tensor):
            value, dim = args[0], kwargs.get("dim", args[1] if len(args) > 1 else None)
            dims = [dim] if isinstance(dim, int) else list(dim or ())
            over_time = [each % value.ndim for each in dims if value.ndim] == [self._time]
            self.count += over_time and value.ndim == 3 and value.shape[:2] == self._shape
        return func(*args, **kwargs)
