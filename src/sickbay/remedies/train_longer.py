from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class TrainLonger(Remedy):
    """Train for more epochs.

    Why it helps:
        A loss that is still falling at the end has not reached what the model can do.

    Example:
        >>> TrainLonger(factor=3).code
        'epochs = 3 * epochs'
    """

    keeps_weights = True
    continues = True
    code_template = "epochs = {factor} * epochs"
    words_template = "train for {factor} times as many epochs"

    factor: int = threshold(3, "How many times as many epochs.", least=2)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        if recipe.epochs is None:
            return None
        epochs = self.factor * recipe.epochs
        return recipe.but(f"epochs = {epochs}", epochs=epochs)
