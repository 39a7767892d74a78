"""Changes to a model: other activations, norms, dropout, widths, weights and outputs.

Every function leaves the user's model alone. It returns a changed copy that was tried out, or
raises `Declined` with the reason. `example` is a tuple of arguments for one call of the model.

How activations are changed: record_forward (run the model once) -> find_activations ->
edit_activations, which replaces modules, or traces the code and writes it anew (edit_graph).

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

from sickbay.surgery.changing_output import output_activation as output_activation
from sickbay.surgery.changing_output import replace_output as replace_output
from sickbay.surgery.changing_output import resize_output as resize_output
from sickbay.surgery.drawing_constant_weights import draw_constant_weights as draw_constant_weights
from sickbay.surgery.initialising_weights import initialise as initialise
from sickbay.surgery.inserting_activations import insert_activations as insert_activations
from sickbay.surgery.lowering_dropout import lower_dropout as lower_dropout
from sickbay.surgery.norms_and_dropout import add_dropout as add_dropout
from sickbay.surgery.norms_and_dropout import insert_normalisation as insert_normalisation
from sickbay.surgery.positive_outputs import keep_positive as keep_positive
from sickbay.surgery.registering_modules import register_modules as register_modules
from sickbay.surgery.replacing_activations import replace_activations as replace_activations
from sickbay.surgery.scaling_outputs import scale_outputs as scale_outputs
from sickbay.surgery.standardising_inputs import standardise_inputs as standardise_inputs
from sickbay.surgery.widening_layers import widen_layers as widen_layers
