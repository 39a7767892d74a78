"""Changes to a model: other activations, norms, weights and outputs.

Every function leaves the user's model alone and returns a changed copy that was tried out, or
raises `Declined`, which says why not. `example` is a tuple of arguments the model can be called
with.

>>> import torch
>>> from sickbay import surgery
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sigmoid(), torch.nn.Linear(3, 1))
>>> surgery.replace_activations(model, (torch.ones(4, 2),), "relu")
Sequential(
  (0): Linear(in_features=2, out_features=3, bias=True)
  (1): ReLU()
  (2): Linear(in_features=3, out_features=1, bias=True)
)
"""

from sickbay.surgery.activations import hidden_activations as hidden_activations
from sickbay.surgery.activations import replace_activations as replace_activations
from sickbay.surgery.dropout import add_dropout as add_dropout
from sickbay.surgery.initialisation import initialise as initialise
from sickbay.surgery.normalisation import insert_normalisation as insert_normalisation
from sickbay.surgery.output import output_activation as output_activation
from sickbay.surgery.output import replace_output as replace_output
from sickbay.surgery.resizing import resize_output as resize_output
from sickbay.surgery.standardising import standardise_inputs as standardise_inputs
