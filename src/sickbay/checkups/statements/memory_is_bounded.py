from dataclasses import dataclass
from typing import Any

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.memory import USUAL, bytes_of, growth, kept_by, memory_of
from sickbay.checkups.report import Result
from sickbay.thresholds import threshold

GIGABYTE = 1e9
LEAK = "keep .item() or .detach() of what is logged, and clear lists"


@dataclass(frozen=True, kw_only=True)
class MemoryIsBounded(Statement):
    """A training step fits into the memory of the device.

    Why it matters:
        A step that does not fit ends the training, or makes it crawl.

    How it is tested:
        Parameters, buffers, gradients, what the optimizer keeps and what autograd saves are added
        up. What is saved was measured with a few samples, and is scaled to the batch that was
        given. It is an estimate: space for computing comes on top. What the model itself holds must
        not grow from pass to pass.
    """

    severity = "warning"
    remedy = "lower the batch size, use mixed precision or torch.utils.checkpoint"

    limit: float = threshold(0.0, "Gigabytes; 0 for the memory of the device.", least=0)

    def examine(self, case: Case) -> Result:
        seen, size = case.seen, case.whole.size
        more, operations = growth(case)
        if max(more, operations) > 0:
            what = f"{more / 1e3:.3g} kB" if more > 0 else f"{operations} operations"
            message = f"the model holds {what} more after every pass of 2 samples"
            return self.fails(message, remedy=LEAK, growth=more)
        trained = [each for each in case.model.parameters() if each.requires_grad]
        given = case.optimizer if case.has_optimizer else None
        parts = {
            "weights": bytes_of([*case.model.parameters(), *case.model.buffers()]),
            "gradients": bytes_of(trained),
            "state": kept_by(given) if given else USUAL * bytes_of(trained),
            "saved": seen.saved / case.batch.size * size,
        }
        numbers: dict[str, Any] = {name: each / GIGABYTE for name, each in parts.items()}
        total, limit = sum(numbers.values()), self.limit or self._memory(case)
        whose = type(given).__name__ if given else "Adam (no optimizer was given)"
        message = (
            f"a step with {size} samples needs about {total:.2g} GB: weights "
            f"{numbers['weights']:.2g}, gradients {numbers['gradients']:.2g}, {whose} "
            f"{numbers['state']:.2g}, activations {numbers['saved']:.2g} (limit {limit:.3g} GB)"
        )
        numbers |= {"total": total, "limit": limit}
        if total > limit:
            return self.fails(message, **numbers)
        return self.holds(message, **numbers)

    @staticmethod
    def _memory(case: Case) -> float:
        found = memory_of(case.whole.main.device)
        if found is None:
            raise Inapplicable("the memory of this machine is not known: give a limit")
        return found / GIGABYTE
