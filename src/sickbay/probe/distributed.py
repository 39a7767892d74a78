"""Whether other processes train the same model."""

from torch import distributed


def is_one_of_several() -> bool:
    """Return whether this process trains together with others."""
    return _is_under_way() and distributed.get_world_size() > 1


def is_first() -> bool:
    """Return whether this process is the one that speaks for all."""
    return not _is_under_way() or distributed.get_rank() == 0


def _is_under_way() -> bool:
    return distributed.is_available() and distributed.is_initialized()
