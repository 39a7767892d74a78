"""Faults on purpose, to see whether an alarm goes off.

Each fault is a context manager that acts at given steps of the optimizer and is gone when the block
ends; `shuffle_labels` wraps the batches instead. While no fault is due, training is bit for bit the
same as without it.

Steps are counted from 0 when the block begins. `at` is a step or several, `every` repeats the fault
every so many steps after the first. Layers are named as in `named_modules`.

>>> import torch
>>> import sickbay
>>> model = torch.nn.Linear(2, 1)
>>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
>>> with sickbay.inject.nan_gradient(model, optimizer, at=1) as fault:
...     for step in range(3):
...         optimizer.zero_grad()
...         model(torch.ones(4, 2)).sum().backward()
...         norms = torch.stack([each.grad.norm() for each in model.parameters()])
...         print(step, round(float(norms.norm()), 1))
...         optimizer.step()
0 6.9
1 nan
2 6.9
>>> fault.steps
[1]
"""

from sickbay.inject.data_faults import nan_batch as nan_batch
from sickbay.inject.data_faults import scale_inputs as scale_inputs
from sickbay.inject.data_faults import shuffle_labels as shuffle_labels
from sickbay.inject.fault_text import Fault as Fault
from sickbay.inject.fault_text import parse as parse
from sickbay.inject.injection import Injection as Injection
from sickbay.inject.model_faults import dead_layer as dead_layer
from sickbay.inject.model_faults import freeze_layer as freeze_layer
from sickbay.inject.model_faults import nan_gradient as nan_gradient
from sickbay.inject.model_faults import nan_weight as nan_weight
from sickbay.inject.model_faults import raise_learning_rate as raise_learning_rate
from sickbay.inject.model_faults import scale_gradients as scale_gradients
