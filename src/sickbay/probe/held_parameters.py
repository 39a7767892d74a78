"""Which parameters of a model its optimizers hold, and their learning rates."""

from collections.abc import Sequence
from math import inf

from torch import nn
from torch.optim import Optimizer

from sickbay.probe.layer_order import Layers

RATE_JUMP = 10.0  # a learning rate above this many times an earlier one has jumped


class HeldParameters:
    """The parameters of a model by the optimizer that holds them."""

    def __init__(self, optimizers: Sequence[Optimizer], layers: Layers) -> None:
        self.optimizers = list(optimizers)
        self.rate_limit = inf  # a learning rate above it has jumped
        self._layers = layers
        self.by_optimizer: dict[Optimizer, dict[str, nn.Parameter]] = {}
        self.update()

    def update(self) -> None:
        """Look up again what each optimizer holds."""
        self.listed, self.known_ids = self._layers.parameters, self.ids()
        for optimizer in self.optimizers:
            held = {id(each) for group in optimizer.param_groups for each in group["params"]}
            self.by_optimizer[optimizer] = {
                name: each for name, each in self._layers.parameters.items() if id(each) in held
            }

    def ids(self) -> list[int]:
        """Return the `id` of every parameter in an optimizer."""
        groups = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        return [id(parameter) for group in groups for parameter in group["params"]]

    def last(self) -> dict[str, nn.Parameter]:
        """Return the parameters that the last optimizer holds, {} if there is no optimizer."""
        return self.by_optimizer[self.optimizers[-1]] if self.optimizers else {}

    def names(self) -> set[str]:
        """Return the names of all parameters that an optimizer holds."""
        return {name for parameters in self.by_optimizer.values() for name in parameters}

    def unheld(self) -> tuple[str, ...]:
        """Return the parameters that no optimizer holds; nothing if no optimizer holds any."""
        held = self.names()
        return tuple(name for name in self._layers.parameters if held and name not in held)

    def learning_rates(self) -> dict[str, float]:
        """Return the learning rate of every group: `lr`, then `lr_1`, `lr_2` and so on."""
        groups = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        rates = {
            f"lr_{index}" if index else "lr": float(group["lr"])
            for index, group in enumerate(groups)
            if "lr" in group
        }
        self.rate_limit = RATE_JUMP * max(rates.values(), default=inf)
        return rates
