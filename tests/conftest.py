"""What every test gets: an end to the doctors it has left."""

import os
from collections.abc import Iterator

import pytest
import torch

from sickbay.probe import grad_scaler, loss_modules
from sickbay.probe.probe import Probe

os.environ["SICKBAY_HOME"] = os.devnull  # tests neither use nor change the counts of a user
if not torch.cuda.is_available():  # Triton's kernels are interpreted then; it asks when imported
    os.environ["TRITON_INTERPRET"] = "1"
torch.set_num_threads(1)  # the models are tiny; more threads only wait for each other


@pytest.fixture(autouse=True)
def close_doctors() -> Iterator[None]:
    """Close the doctors a test leaves behind, so that none watches the next test."""
    yield
    for listener in list(grad_scaler._patch.listeners):
        assert isinstance(listener, Probe)
        listener.close()
    for each in list(loss_modules._patch.listeners):  # of a probe that failed as it closed
        loss_modules.forget(each)
