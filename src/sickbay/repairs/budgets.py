"""How many epochs all runs of a repair may take together."""

from torch import nn

from sickbay.arguments import check_float
from sickbay.recipe import Recipe
from sickbay.repairs.strategy import Strategy

# What the repair of a small model may take at most: a few seconds.
STEPS, BATCH = 6000, 32  # steps, and samples in each of them at least
WORK = 2e8  # samples times weights
RUNS = 40  # trainings as given
EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)  # a sample needs only few of their weights


def budgets(
    strategy: Strategy, recipe: Recipe, epochs: int, given: float | None
) -> tuple[float, float]:
    """Return the usual budget of epochs, and the one as long as nothing meets the yardstick."""
    if given is not None:
        limit = check_float("budget", given, above=0)
        return limit, limit
    return strategy.budget * epochs, max(strategy.most * epochs, small_budget(recipe, epochs))


def small_budget(recipe: Recipe, epochs: int) -> float:
    """Return the epochs that a small model with few samples may take, 0 if nothing is small.

    It goes by counts and not by the clock, so that a resumed repair gets the same.

    >>> from torch import nn, optim
    >>> model = nn.Linear(9, 1)
    >>> recipe = Recipe(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1), samples=320)
    >>> small_budget(recipe, epochs=3), small_budget(recipe, epochs=100)
    (120.0, 600.0)
    """
    size = max(BATCH, recipe.batch_size)
    layers = [each for each in recipe.model.modules() if not isinstance(each, EMBEDDINGS)]
    weights = sum(each.numel() for one in layers for each in one.parameters(recurse=False))
    if not recipe.samples or not weights:
        return 0.0
    steps = min(STEPS, WORK / (size * weights))
    return float(min(steps * size / max(size, recipe.samples), RUNS * epochs))
