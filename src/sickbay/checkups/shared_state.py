"""What a copy of a model or its loss runs that is no part of it, such as a layer in a closure."""

from __future__ import annotations

import copy
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from sickbay.checkups.held_state import held_by, held_by_both
from sickbay.checkups.restore_model import restored, without_gradients
from sickbay.checkups.reused_copies import ModelCopies
from sickbay.checkups.unregistered import unregistered, unregistered_layers
from sickbay.errors import Declined
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_copies import tensors_in

if TYPE_CHECKING:
    from sickbay.checkups.model_setup import ModelSetup

FEWEST_SAMPLES = 4


def shares_state(setup: ModelSetup, copies: ModelCopies, loss: Any) -> bool:
    """Return whether a copy of a model, or its loss, holds or runs parts of the model.

    What else they share with it, and modules that are part of none of them, are restored when
    `setup.restoring` closes.
    """
    model, restoring = setup.model, setup.restoring
    shares = holds_part(loss, model)
    with restored(model), IsolatedRandom(0), torch.no_grad(), ExitStack() as guard:
        try:
            copied = guard.enter_context(copies.take())
        except Declined:
            copied = model
        else:
            shares |= holds_part(copied, model)
            restoring.enter_context(restored(*(() if shares else held_by_both(copied, model))))
        own = loss if isinstance(loss, nn.Module) else nn.Module()
        in_pass, in_loss = (Outside(model, part, restoring) for part in (copied, own))
        for training in (True, False):
            (copied.train if training else copied.eval)()
            _run_once(setup, copied, in_pass, in_loss)
    return shares or in_pass.used or in_loss.used


def holds_part(owner: Any, model: nn.Module) -> bool:
    """Return whether something, such as a function, holds a layer or tensor of a model.

    >>> layer = nn.Linear(1, 1)
    >>> holds_part(layer.forward, nn.Sequential(layer)), holds_part(nn.MSELoss(), layer)
    (True, False)
    """
    return not _parts(model).keys().isdisjoint(held_by(owner))


def safe_loss(loss: Any, model: nn.Module, restoring: ExitStack) -> Any:
    """Return a copy of a loss, or the loss if it cannot be copied or holds parts of the model.

    What it shares with the loss is restored when `restoring` closes.
    """
    used = loss
    if not holds_part(loss, model):
        with suppress(Exception):
            used = copy.deepcopy(loss)
    restoring.enter_context(restored(*held_by_both(used, loss)))
    return used


def _run_once(setup: ModelSetup, model: nn.Module, in_pass: Outside, in_loss: Outside) -> None:
    """Run a model and its loss, on the whole batch if they do not run on a part of it."""
    for batch in (setup.full_batch.first(FEWEST_SAMPLES), setup.full_batch):
        with suppress(Exception):
            with in_pass:
                raw = setup.run(model, batch)
            if setup.has_loss:
                with in_loss:
                    setup.loss_of(raw, batch)
            return


class Outside(TorchFunctionMode):
    """Finds modules and tensors that run within it but are not known to it.

    Foreign modules are recorded before they run, to be restored when `restoring` closes.

    Attributes:
        used: Whether a module or tensor of `model` ran that is not part of `own`.

    >>> model, copied = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> with Outside(model, copied, ExitStack()) as outside:
    ...     _ = copied(model.weight)
    >>> outside.used
    True
    """

    def __init__(self, model: nn.Module, own: nn.Module, restoring: ExitStack) -> None:
        super().__init__()
        self._own, self._restoring = _parts(own), restoring
        self._model = _parts(model).keys() - self._own.keys()
        self._seen: dict[int, Any] = dict(self._own)  # held, so that no id is reused
        self.used = False

    def __enter__(self) -> Outside:
        super().__enter__()  # type: ignore[no-untyped-call]
        self._hook = register_module_forward_pre_hook(lambda module, _: self._meet(module))
        return self

    def __exit__(self, *error: Any) -> None:
        self._hook.remove()
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for each in tensors_in([args, kwargs or {}]):
            if (each.requires_grad and each.is_leaf) or id(each) in self._model:
                self._meet(each)
        return func(*args, **(kwargs or {}))

    def _meet(self, part: nn.Module | Tensor) -> None:
        self.used |= id(part) in self._model
        if id(part) in self._seen or id(part) in self._model:
            return
        self._seen |= held_by(part)
        restore = restored(part) if isinstance(part, nn.Module) else without_gradients([part])
        self._restoring.enter_context(restore)


def _parts(model: nn.Module) -> dict[int, nn.Module | Tensor]:
    """Return the modules and tensors of a model, registered or in plain lists, by identity."""
    modules = [model, *unregistered_layers(model).values()]
    parts: list[nn.Module | Tensor] = [*unregistered(model).values()]
    for module in modules:
        parts += [*module.modules(), *module.parameters(), *module.buffers()]
    return {id(each): each for each in parts}
