from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass


@dataclass(frozen=True, kw_only=True)
class TrainMode(Remedy):
    """Put the model into training mode.

    Why it helps:
        In evaluation mode, dropout is off, and batch norm does not use the statistics of the batch.

    Example:
        >>> TrainMode().code
        'model.train()'
    """

    safety = "live"
    keeps_weights = True
    between_runs = False
    code = "model.train()"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        return None if recipe.train_mode else recipe.but(self.code, train_mode=True)
