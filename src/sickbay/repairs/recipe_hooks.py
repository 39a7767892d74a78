"""Apply a recipe's clipping, warm-up and skipping of bad batches by hooks of its optimizer."""

from sickbay.doctor.optimizer_step import OptimizerStep, clip_gradients, with_gradients
from sickbay.probe.finite import all_finite
from sickbay.recipe import Recipe


class RecipeHooks:
    """Hooks that apply a recipe to every step of its optimizer, whatever loop calls it.

    Sparse gradients are not clipped.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._count = 0  # steps that were not skipped
        self._hooks = OptimizerStep(recipe.optimizer, self._prepare)

    def close(self) -> None:
        """Remove the hooks."""
        self._hooks.close()

    def _prepare(self, step: OptimizerStep, _closure: bool) -> None:
        recipe = self.recipe
        held, grads = with_gradients(recipe.optimizer)
        if recipe.skip_bad_batches and not all_finite(grads):
            # Not by `step.skip`, which copies the weights and undoes the step so that hooks of a
            # watched loop still find gradients. Optimizers pass over parameters without a gradient.
            for each in held:
                each.grad = None
            return
        clip_gradients(held, recipe.clip_norm, recipe.clip_value)
        self._count += 1
        if self._count <= recipe.warmup:
            for group in recipe.optimizer.param_groups:
                step.set_rate(group, group["lr"] * self._count / recipe.warmup)
