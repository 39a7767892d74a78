from sickbay.remedies.base import Finding, Recipe, Remedy, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class LowerOnPlateau(Remedy):
    """Halve the learning rate whenever the loss stops falling.

    Why it helps:
        Large steps jump over a minimum; small steps reach it.

    Example:
        >>> LowerOnPlateau(epochs=5).code
        'scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=5)'
    """

    keeps_weights = True
    code_template = (
        "scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau"
        "(optimizer, factor=0.5, patience={epochs})"
    )

    epochs: int = threshold(3, "Epochs without a better loss.", least=1)

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        scheduled = recipe.patience or recipe.scheduler is not None  # two would fight
        return None if scheduled else recipe.but(self.code, patience=self.epochs)
