"""Every fault and every sound model there is."""

from __future__ import annotations

from importlib import import_module

from benchmarks.checkup.plant import Plant

FAMILIES = (
    "structure", "flow", "memory", "numbers", "attention", "sequences", "learning", "targets",
    "inputs", "keeping", "modes",
)  # fmt: skip
KEPT = ("building", "keeping", "saving", "learning")
KINDS = ("plain", "images", "sequences", "attention", "made", "hub")


def planted(*modules: str) -> tuple[Plant, ...]:
    """Return what is in the lists of some modules."""
    every = (import_module(f"benchmarks.checkup.{module}") for module in modules)
    return tuple(each for module in every for each in module.plants.all)


FAULTS = planted(
    *(f"{folder}.{family}" for folder in ("faults", "fresh_faults") for family in FAMILIES),
    *(f"kept_faults.{family}" for family in KEPT),
)
SOUND = planted(
    *(f"{start}_{kind}" for start in ("sound", "fresh_sound") for kind in KINDS),
    *(f"kept_sound_{kind}" for kind in ("plain", "images", "sequences")),
)
ALL: dict[str, Plant] = {each.name: each for each in (*FAULTS, *SOUND)}
