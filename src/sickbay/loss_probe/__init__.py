"""What a loss does, found out by calling it with made-up outputs."""

from sickbay.loss_probe.calls import harmless as harmless
from sickbay.loss_probe.probing import mixes_samples as mixes_samples
from sickbay.loss_probe.probing import probe_loss as probe_loss
