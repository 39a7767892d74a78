"""Every fault and every sound model there is."""

from __future__ import annotations

from benchmarks.checkup import (
    sound_attention,
    sound_hub,
    sound_images,
    sound_made,
    sound_plain,
    sound_sequences,
)
from benchmarks.checkup.faults import (
    attention,
    flow,
    inputs,
    keeping,
    learning,
    memory,
    modes,
    numbers,
    sequences,
    structure,
    targets,
)
from benchmarks.checkup.plant import Plant

FAMILIES = (
    structure, flow, memory, numbers, attention, sequences, learning, targets, inputs, keeping,
    modes,
)  # fmt: skip
KINDS = (
    sound_plain, sound_images, sound_sequences, sound_attention, sound_made, sound_hub,
)  # fmt: skip
FAULTS: tuple[Plant, ...] = tuple(each for family in FAMILIES for each in family.plants.all)
SOUND: tuple[Plant, ...] = tuple(each for kind in KINDS for each in kind.plants.all)
ALL: dict[str, Plant] = {each.name: each for each in (*FAULTS, *SOUND)}
