"""What Training Doctor suggests for each of its problems, as code with a stated confidence.

The paper names the first suggestion for exploding and vanishing gradients, instability and
overfitting, with a confidence. For the other problems, and from the second time on, it says only
that suggestions grow more aggressive. Those suggestions are ours and state a confidence only where
they are a stronger form of a published one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sickbay.findings import Suggestion, SuggestionKind, by_priority

STEPS_UP = 3  # from the third time on, suggestions stay as they are


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """A change that is suggested, and how it grows when the problem comes again.

    Attributes:
        kind: Its place in the order of priority.
        words: What to do, with `{amount}`.
        code: The same as code.
        amounts: How much, at the first, second and third time.
        since: The time from which on it is suggested at all.
        confidence: As the paper states it.
        remedy: The key of sickbay's remedy for the first amount.
    """

    kind: SuggestionKind
    words: str
    code: str
    amounts: tuple[str, str, str] = ("", "", "")
    since: int = 1
    confidence: float | None = None
    remedy: str = ""

    def at(self, time: int) -> Suggestion:
        """Return the suggestion for the first (1), second or third time."""
        amount = self.amounts[time - 1]
        return Suggestion(
            words=self.words.format(amount=amount),
            code=self.code.format(amount=amount),
            remedy=self.remedy if time == 1 else "",
            confidence=self.confidence,
            kind=self.kind,
        )


_RATE = "multiply the learning rate by {amount}", "learning_rate *= {amount}"
_CLIP = "clip the norm of the gradients to {amount}", "grad_clip = {amount}"
SLOWER = Intervention(
    kind="gradient_control", words=_RATE[0], code=_RATE[1], amounts=("0.5", "0.25", "0.125"),
    confidence=0.9, remedy="halve_learning_rate",
)  # fmt: skip
CLIPPED = Intervention(
    kind="gradient_control", words=_CLIP[0], code=_CLIP[1], amounts=("1.0", "1.0", "1.0"),
    confidence=0.8, remedy="clip_norm limit=1.0",
)  # fmt: skip
FASTER = Intervention(
    kind="gradient_control", words=_RATE[0], code=_RATE[1], amounts=("2", "4", "8"),
    confidence=0.7, remedy="scale_learning_rate factor=2.0",
)  # fmt: skip
DROPOUT = Intervention(
    kind="regularisation", words="add {amount} to the dropout, up to 0.5",
    code="dropout = min(dropout + {amount}, 0.5)", amounts=("0.1", "0.2", "0.3"),
    confidence=0.8, remedy="add_dropout share=0.1",
)  # fmt: skip
DECAY = Intervention(
    kind="regularisation", words="use a weight decay of {amount}", code="weight_decay = {amount}",
    amounts=("0.01", "0.01", "0.1"), since=2,
)  # fmt: skip
DECAYING = Intervention(
    kind="gradient_control",
    words="multiply the learning rate by {amount} whenever the loss stops falling",
    code="scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor={amount})",
    amounts=("0.5", "0.25", "0.1"),
)  # fmt: skip
NORMALISED = Intervention(
    kind="architecture", words="normalise before each hidden activation",
    code="model = sickbay.surgery.insert_normalisation(model, (x,))", since=3,
)  # fmt: skip


def _unstated(published: Intervention) -> Intervention:
    """Return an intervention for a problem that the paper does not suggest it for."""
    return replace(published, confidence=None)


INTERVENTIONS: Mapping[str, Sequence[Intervention]] = {
    "large_gradient": (SLOWER, CLIPPED, NORMALISED),
    "loss_explosion": (_unstated(SLOWER), _unstated(CLIPPED), NORMALISED),
    "small_gradient": (FASTER, NORMALISED),
    "unstable_gradient": (
        replace(CLIPPED, amounts=("1.0", "0.5", "0.25")),
        replace(_unstated(SLOWER), amounts=("0.5", "0.5", "0.25"), since=2),
        NORMALISED,
    ),
    "overfitting": (DROPOUT, DECAY),
    "plateau": (DECAYING,),
}


def suggestions(problem: str, times: int) -> tuple[Suggestion, ...]:
    """Return what to suggest when a problem is found for the n-th time in the window.

    >>> [(each.code, each.confidence) for each in suggestions("large_gradient", 1)]
    [('learning_rate *= 0.5', 0.9), ('grad_clip = 1.0', 0.8)]
    >>> [each.code for each in suggestions("overfitting", 2)]
    ['dropout = min(dropout + 0.2, 0.5)', 'weight_decay = 0.01']
    """
    time = min(max(times, 1), STEPS_UP)
    known = INTERVENTIONS.get(problem, ())
    return by_priority(each.at(time) for each in known if time >= each.since)
