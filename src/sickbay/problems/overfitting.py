from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.small_batches import SampledProblem


@dataclass(frozen=True, kw_only=True)
class Overfitting(SampledProblem):
    """The model improves on its training examples and gets worse on others.

    Why it matters:
        The model memorises its training examples, which does not help with new ones.

    How it is judged:
        In each of the last `epochs` epochs the validation loss was above its best by more than
        `rise` of that best, and by more than `least` of the first training loss. Since its best
        epoch, the training loss fell by a tenth or more, and it is below the validation loss.

    Example:
        >>> history = History(loss=[1.0])
        >>> for loss, val_loss in [(0.6, 0.5), (0.4, 0.7), (0.3, 0.8), (0.2, 0.8), (0.2, 0.9)]:
        ...     history.end_epoch(loss=loss, val_loss=val_loss)
        >>> print(Overfitting().check(history).message)
        validation loss 0.9, at best 0.5 in epoch 0; training loss 0.2, in that epoch 0.6

    Reference:
        Prechelt (1998), Early stopping, but when?
    """

    advice = "add dropout (0.1 more), weight decay or data, or stop early"
    reads = ("epoch",)
    tolerated_at_best = True

    rise: float = threshold(0.3, "Rise that is too large, as a share of the best.", above=0)
    least: float = threshold(
        0.1, "Smallest rise that counts, as a share of the first training loss.", least=0
    )
    epochs: int = threshold(3, "Epochs in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        training, validation = history.epochs("loss"), history.epochs("val_loss")
        if not training or not validation:
            return None
        best = min(validation)
        place, newest = validation.index(best), validation[-self.epochs :]
        if place + self.epochs >= len(validation) or len(training) != len(validation) or best <= 0:
            return None
        if not min(newest) > (1 + self.rise) * best or not training[-1] < 0.9 * training[place]:
            return None
        if not min(newest) - best > self.least * self.first_loss(history):
            return None
        if not validation[-1] > training[-1]:
            return None
        message = (
            f"validation loss {validation[-1]:.3g}, at best {best:.3g} in epoch {place}; "
            f"training loss {training[-1]:.3g}, in that epoch {training[place]:.3g}"
        )
        return self.found(history, message, best=best, now=validation[-1], epoch_of_best=place)
