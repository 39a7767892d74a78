"""What `watch` may be given: one clear sentence for everything else, before anything is touched."""

from collections.abc import Sequence

from torch import distributed, nn
from torch.optim import Optimizer

from sickbay.arguments import bad_argument, check_int, short_repr
from sickbay.errors import UsageError
from sickbay.model_arguments import check_optimizer
from sickbay.probe.distributed import is_one_of_several


def check_optimizers(optimizer: object, model: nn.Module) -> list[Optimizer]:
    """Return the optimizers as a list, or say what is wrong with them."""
    if optimizer is None:
        return []
    rule = "a torch.optim.Optimizer, a list of them, or None"
    listed = optimizer if isinstance(optimizer, list | tuple) else [optimizer]
    return [check_optimizer(each, model, rule) for each in listed]


def check_on_finding(on_finding: object, optimizers: Sequence[Optimizer], model: nn.Module) -> None:
    """Say so if this is nothing that can be done with a finding."""
    named = isinstance(on_finding, str) and on_finding in ("advise", "silent", "stop", "treat")
    if not named and not callable(on_finding):
        raise bad_argument(
            "on_finding", "'advise', 'silent', 'stop', 'treat' or a function", on_finding
        )
    if named and on_finding == "treat":
        check_treatable(optimizers, model)


def check_treatable(optimizers: Sequence[Optimizer], model: nn.Module) -> None:
    """Say so if a loop with these cannot be treated while it runs."""
    if not optimizers:
        raise UsageError("on_finding must not be 'treat' without an optimizer, got no optimizer.")
    if is_one_of_several():
        count = distributed.get_world_size()
        raise UsageError(
            "on_finding must not be 'treat' where several processes train together, got "
            f"{count} processes; 'advise', 'silent', 'stop' or a function is possible."
        )
    spread = [name for name, each in model.named_parameters() if hasattr(each, "to_local")]
    if spread:
        raise UsageError(
            "on_finding must not be 'treat' where parameters are DTensors, got one in "
            f"{short_repr(spread[0])}; 'advise', 'silent', 'stop' or a function is possible."
        )


def check_epochs(epochs: object) -> int | None:
    """Return a number of epochs, or say so if it is none."""
    return None if epochs is None else check_int("epochs", epochs, least=1)
