"""All faults and sound models: limits were set on `calibration`, figures are of `held_out`."""

from __future__ import annotations

from importlib import import_module

from benchmarks.checkup.plant import Plant

FAMILIES = (
    "structure", "flow", "memory", "numbers", "attention", "sequences", "learning", "targets",
    "inputs", "keeping", "modes",
)  # fmt: skip
HELD_OUT_FAMILIES = ("building", "keeping", "saving", "learning")
KINDS = ("plain", "images", "sequences", "attention", "made", "hub")
HELD_OUT_KINDS = ("plain", "images", "sequences")


def planted(folder: str, files: tuple[str, ...]) -> tuple[Plant, ...]:
    """Return the models in the files of a folder."""
    modules = (import_module(f"benchmarks.checkup.{folder}.{file}") for file in files)
    return tuple(plant for module in modules for plant in module.plants.all)


FAULTS = (
    *planted("calibration.faults", FAMILIES),
    *planted("calibration.more_faults", FAMILIES),
    *planted("held_out.faults", HELD_OUT_FAMILIES),
)
SOUND = (
    *planted("calibration.sound", KINDS),
    *planted("calibration.more_sound", KINDS),
    *planted("held_out.sound", HELD_OUT_KINDS),
)
ALL: dict[str, Plant] = {each.name: each for each in (*FAULTS, *SOUND)}
