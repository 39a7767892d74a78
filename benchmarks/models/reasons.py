"""Why a test that fails on a published, sound model is right.

Each is a fact about the model that its authors or a competent person would grant.
"""

from __future__ import annotations

# By test: a reason, and the architectures that it holds for.
REASONS: dict[str, dict[str, tuple[str, ...]]] = {}


def why_right(architecture: str, test: str) -> str:
    """Return why a test is right to fail on an architecture, "" if it is not."""
    reasons = REASONS.get(test, {})
    return next((why for why, names in reasons.items() if architecture in names), "")
