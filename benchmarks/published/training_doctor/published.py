"""Figures of the Training Doctor paper: its Table 1 and the numbers in its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedRun:
    """A row of Table 1."""

    train_loss: float
    val_loss: float
    seconds: float
    tokens_per_second: float


@dataclass(frozen=True)
class PublishedText:
    """The two rows of a text in Table 1, with its steps and its batch size (section 5.2)."""

    steps: int
    batch: int
    plain: PublishedRun
    watched: PublishedRun

    @property
    def overhead(self) -> float:
        return self.watched.seconds / self.plain.seconds - 1

    @property
    def slower_writing(self) -> float:
        return self.watched.tokens_per_second / self.plain.tokens_per_second - 1


TABLE_1 = {
    "shakespeare_char": PublishedText(
        5_000, 64,
        PublishedRun(0.806, 1.460, 94.3, 730.1), PublishedRun(0.814, 1.464, 96.8, 720.9),
    ),
    "enwik8": PublishedText(
        100_000, 32,
        PublishedRun(0.940, 1.005, 1215.5, 733.6), PublishedRun(0.934, 1.005, 1348.2, 670.8),
    ),
    "text8": PublishedText(
        100_000, 32,
        PublishedRun(0.996, 0.979, 1256.3, 739.0), PublishedRun(0.995, 0.980, 1255.2, 670.2),
    ),
    "gutenberg": PublishedText(
        75_000, 48,
        PublishedRun(0.858, 1.189, 1052.4, 703.6), PublishedRun(0.856, 1.191, 1051.1, 675.1),
    ),
}  # fmt: skip

STABLE_OR_BETTER, FALLING = 0.85, 0.92  # of training phases (section 6.2)
FOUND, DELAY = 1.0, "1 to 3"  # of injected faults, in steps (section 6.2)
DOUBLE = 0.87  # of double injections, resolved by one intervention (section 4.4)
COMPONENTS_PASSED = 0.95  # of component tests (section 6.3)
MEMORY_MB = 50  # at most (section 6.3)
