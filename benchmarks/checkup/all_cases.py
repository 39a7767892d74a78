"""All faulty and sound models. Limits were set on `calibration`, figures use `held_out`.

The `once_held_out` models gave the figures of an earlier version; limits were set on them since.
"""

from __future__ import annotations

from importlib import import_module

from benchmarks.checkup.case import Case

FAMILIES = (
    "shapes_and_start", "gradient_flow", "memory", "numerics", "attention", "masks_and_positions",
    "norms_and_learning", "outputs_and_targets", "input_data", "samples_optimizer_saving",
    "train_and_eval_modes",
)  # fmt: skip
CALIBRATION_FAMILIES = (*FAMILIES, "padding_labels_layers")
HELD_OUT_FAMILIES = (
    "shapes_and_numerics", "attention_masks_positions", "norms_modes_optimizer", "state_dict",
    "data_and_targets", "padding_labels_layers",
)  # fmt: skip
KINDS = ("feed_forward", "images", "sequences", "attention", "generative", "transformers_package")
HELD_OUT_KINDS = ("feed_forward", "images", "sequences")


def cases_in(folder: str, files: tuple[str, ...]) -> tuple[Case, ...]:
    """Return the models in the files of a folder."""
    modules = (import_module(f"benchmarks.checkup.{folder}.{file}") for file in files)
    return tuple(case for module in modules for case in module.cases.all)


FAULTS = (
    *cases_in("calibration.faults", CALIBRATION_FAMILIES),
    *cases_in("calibration.once_held_out_faults", FAMILIES),
    *cases_in("held_out.faults", HELD_OUT_FAMILIES),
)
SOUND = (
    *cases_in("calibration.sound", KINDS),
    *cases_in("calibration.once_held_out_sound", KINDS),
    *cases_in("held_out.sound", HELD_OUT_KINDS),
)
ALL: dict[str, Case] = {each.name: each for each in (*FAULTS, *SOUND)}
