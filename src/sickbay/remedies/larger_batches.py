"""Larger batches, without too few steps."""

from math import ceil

from sickbay.recipe import Recipe

ENOUGH = 500  # steps that most small models need


def with_batch_size(recipe: Recipe, size: int, code: str) -> Recipe:
    """Return a recipe with larger batches.

    If fewer than 500 steps would be left, it gets more epochs: as many as that takes, or as keep
    the number of steps.
    """
    changed = recipe.but(code, batch_size=size)
    if not (recipe.epochs and recipe.samples):
        return changed
    before, after = (ceil(recipe.samples / each) for each in (recipe.batch_size, size))
    epochs = min(ceil(ENOUGH / after), ceil(recipe.epochs * before / after))
    if epochs <= recipe.epochs:
        return changed
    return changed.but(f"epochs = {epochs}", epochs=epochs)
