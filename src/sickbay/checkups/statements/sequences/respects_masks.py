from dataclasses import dataclass

import torch

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.statements.sequences.changed_inputs import (
    altered,
    by_sample,
    changed,
    nudged_output,
    unambiguous_samples,
)
from sickbay.checkups.statements.sequences.masks import masked_batches
from sickbay.checkups.statements.sequences.positions import by_position
from sickbay.checkups.training_setup import Setup
from sickbay.reports.checkup_report import Result


@dataclass(frozen=True, kw_only=True)
class RespectsMasks(Statement):
    """Masked positions do not change the outputs of others.

    Why it matters:
        If padding is read as data, the output depends on the other samples in the batch.

    How it is tested:
        The last third of one sample is masked with the model's mask argument, and then changed. The
        outputs of that sample's other positions must stay the same. In a key_padding_mask True
        means drop, in an attention_mask 0 does. A plain mask drops what the given one has less of,
        or may mean either if none is given.
    """

    order = 5
    remedy = "pass the mask to attention and pooling; check whether True means keep or drop"

    def examine(self, setup: Setup) -> Result:
        _ = setup.first_pass
        batch = unambiguous_samples(setup.batch)
        main = batch.main
        table = main.is_floating_point() and main.ndim == 2
        if table or main.ndim not in (2, 3) or batch.sample_dim or main.shape[1] < 3:
            raise Inapplicable("the inputs are not sequences")
        length = main.shape[1]
        kept = length - max(1, length // 3)
        new = main.clone()
        new[-1, kept:] = altered(main)[-1, kept:]
        leaks: list[tuple[str, int]] = []
        for name, masked in masked_batches(setup.model, batch, kept):
            try:
                before = nudged_output(setup, masked)
                after = nudged_output(setup, masked.with_input(main, new))
            except Inapplicable:  # it needs a mask of another kind
                continue
            differs = changed(before, after)
            positions = by_position(differs, batch.size, length)
            rows = by_sample(differs, batch.size, 0)
            if positions is None and not rows:
                raise Inapplicable("the outputs have no dimension of samples")
            kept_outputs = rows[0][-1:] if positions is None else positions[-1, :kept].any(dim=-1)
            if not kept_outputs.any():
                return self.holds(f"positions that {name} drops changed no other output")
            leaks.append((name, int(torch.count_nonzero(kept_outputs))))
        if not leaks:
            raise Inapplicable("the model takes no mask that could be constructed")
        name, count = leaks[0]
        message = f"positions that {name} drops changed {count} outputs of those it keeps"
        return self.fails(message, changed=count)
