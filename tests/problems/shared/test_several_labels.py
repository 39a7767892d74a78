"""Cross-entropy over labels of which several hold at once."""

from collections.abc import Sequence
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import ImproperLoss
from sickbay.vitals import Setup


@pytest.mark.parametrize(
    ("setup", "tags", "expected"),
    [
        pytest.param({"loss": "cross_entropy"}, [1.0, 3.0, 1.0], True, id="several"),
        pytest.param({"loss": "cross_entropy"}, [1.0, 0.0], False, id="one-at-most"),
        pytest.param({"loss": "cross_entropy"}, [], False, id="not-known"),
        pytest.param({"loss": "bce_logits"}, [3.0], False, id="another-loss"),
        pytest.param(
            {"loss": "cross_entropy", "output_shape": (8, 5, 9, 9)}, [30.0], False, id="pixels"
        ),
        pytest.param({"loss": "cross_entropy", "task": "multiclass"}, [3.0], False, id="classes"),
    ],
)
def test_several_labels_at_once(
    setup: dict[str, Any], tags: Sequence[float], expected: bool
) -> None:
    known = {"task": "multilabel", "output_shape": (8, 5), **setup}
    finding = ImproperLoss().check(History(Setup(**known), loss=[1.0], tags=tags))
    assert bool(finding) is expected
    if finding is not None:
        assert finding.message.startswith("cross_entropy shares 1 among labels")
