"""What a model learns in a pass, and does not save."""

from __future__ import annotations

import torch

from sickbay.checkups.case import Case
from sickbay.checkups.output_difference import difference
from sickbay.isolated_random import IsolatedRandom


def unsaved(case: Case) -> float:
    """Return how far a model that has run in training is from a copy that is given its state.

    None is 0, as of a model that changes in evaluation too: that keeps a state on purpose.
    """
    with case.patient(training=True) as taught, case.patient() as fresh:
        if taught is fresh:
            return 0.0
        try:
            with IsolatedRandom(0), torch.no_grad():
                case.run(taught, case.batch)
            fresh.load_state_dict(taught.state_dict())
            taught.eval()
            answers = []
            for model in (fresh, fresh, taught):
                with IsolatedRandom(0):
                    answers.append(case.evaluated(case.few, model))
        except Exception:
            return 0.0  # there are tests for that
    return 0.0 if difference(*answers[:2]) else difference(*answers[1:])
