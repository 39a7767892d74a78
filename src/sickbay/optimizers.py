"""Optimizers: made again for other parameters, and shown as code."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.arguments import short_repr
from sickbay.errors import Declined
from sickbay.printable import raising

# Settings of an optimizer that say how torch computes, not what. They are not shown.
HIDDEN = ("params", "foreach", "fused", "capturable", "differentiable", "maximize", "initial_lr")


def optimizer_for(
    new: nn.Module, old: nn.Module, optimizer: Optimizer, *, all_: bool = False
) -> Optimizer:
    """Return the same kind of optimizer for a changed model, group by group.

    Parameters that it did not hold stay out, unless `all_`. New ones join the first group.
    """
    names = {id(each): name for name, each in old.named_parameters()}
    place = {
        names[id(each)]: index
        for index, group in enumerate(optimizer.param_groups)
        for each in group["params"]
        if id(each) in names
    }
    left_out = set() if all_ else names.values() - place.keys()
    groups: list[dict[str, Any]] = [{**g, "params": []} for g in optimizer.param_groups]
    for name, parameter in new.named_parameters():
        before = name if name in place or name in left_out else name.removeprefix("model.")
        if before not in left_out and parameter.requires_grad:
            groups[place.get(before, 0)]["params"].append(parameter)
    return make_again(type(optimizer), [group for group in groups if group["params"]])


def make_again(kind: Callable[..., Optimizer], held: Any, **settings: Any) -> Optimizer:
    """Make an optimizer. Raise `Declined` if that fails."""
    name = getattr(kind, "__name__", "that was given")  # perhaps a class of the user's
    with raising(Declined, f"The optimizer {name} cannot be recreated"):
        return kind(held, **settings)


def optimizer_code(optimizer: Optimizer) -> str:
    """Return an optimizer as code, with the settings that are not its defaults.

    >>> from torch import optim
    >>> optimizer_code(optim.Adam(nn.Linear(2, 1).parameters(), lr=0.01, betas=(0.9, 0.99)))
    'torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.9, 0.99))'
    """
    kind: Any = type(optimizer)
    try:
        usual = kind([nn.Parameter(Tensor(1))]).defaults
    except TypeError:  # it has settings without defaults, so show all
        usual = dict.fromkeys(optimizer.defaults)
    settings = [
        f"{name}={f'{value:g}' if isinstance(value, float) else short_repr(value)}"
        for name, value in optimizer.param_groups[0].items()
        if name == "lr" or (name not in HIDDEN and name in usual and value != usual[name])
    ]
    where = "torch.optim." if kind.__module__.startswith("torch.optim") else ""
    return f"{where}{kind.__name__}({', '.join(['model.parameters()', *settings])})"
