"""What the loss of a recipe does with the outputs of its model, before a run trains."""

from dataclasses import replace

import torch
from torch import Tensor

from sickbay.isolated_random import evaluating
from sickbay.loss_probe import mixes_samples, probe_loss
from sickbay.probe import loss_graph
from sickbay.probe.loss_modules import loss_name
from sickbay.recipe import Recipe
from sickbay.remedies import Fitted
from sickbay.repairs.data import Data
from sickbay.vitals import Setup

SAMPLES = 32
LARGEST = 200_000  # values to call a loss with, to stay within milliseconds
FEW = 4  # samples that must fit into them
LINEAR = ("Addmm", "Mm", "Bmm", "Baddbmm", "Convolution")  # what a linear layer is in the graph


def probed(recipe: Recipe, data: Data, known: Setup) -> Setup:
    """Return what is known, with what the loss does; without, if the model or the loss refuses.

    The model and the random state stay as they are.
    """
    try:
        with evaluating(recipe.model), torch.enable_grad():
            inputs, targets = data.some(SAMPLES)
            outputs = recipe.model(*inputs)
            output = last_activation(outputs)
            mixed = mixes_samples(outputs, output)
            torchs = isinstance(recipe.loss, Fitted) or loss_name(recipe.loss) != ""
            if torchs or not isinstance(outputs, Tensor) or len(outputs) != len(targets):
                return replace(known, mixes_samples=mixed)
            if (each := outputs[0].numel()) > LARGEST // FEW:
                return replace(known, mixes_samples=mixed)
            few = min(recipe.batch_size, LARGEST // max(each, 1))
            found = probe_loss(recipe.loss, outputs[:few], targets[:few], output)
    except Exception:  # training will tell
        return known
    facts = {**found.facts(), "mixes_samples": mixed}
    return replace(known, loss=found.loss, stretched=found.stretched, **facts)


def last_activation(outputs: object) -> str:
    """Return the last activation, "linear" after a linear layer, "" for anything else.

    >>> last_activation(torch.nn.Linear(2, 1)(torch.ones(3, 2)).sigmoid())
    'sigmoid'
    >>> last_activation(torch.nn.Linear(2, 1)(torch.ones(3, 2)).square())
    ''
    """
    if not isinstance(outputs, Tensor):
        return ""
    name, _, node = loss_graph.activation(outputs.grad_fn)
    return "" if name == "linear" and loss_graph.title(node) not in LINEAR else name
