from math import inf, nan

import numpy as np
import pytest

from sickbay.tuning.judge import is_protected

ELEVEN = [float(loss) for loss in range(11)]  # the best 10 % end at 1


@pytest.mark.parametrize(
    ("loss", "others", "expected"),
    [
        pytest.param(0.5, ELEVEN, True, id="among-the-best"),
        pytest.param(1.0, ELEVEN, True, id="at-the-limit"),
        pytest.param(1.001, ELEVEN, False, id="above-the-limit"),
        pytest.param(-1.0, ELEVEN, True, id="best-of-all"),
        pytest.param(1.0, ELEVEN[::-1], True, id="any-order"),
        pytest.param(0.9, ELEVEN[:10], True, id="interpolated-at-the-limit"),
        pytest.param(0.901, ELEVEN[:10], False, id="interpolated-above-the-limit"),
        pytest.param(-1.0, ELEVEN[:9], False, id="too-early"),
        pytest.param(-1.0, [], False, id="no-others"),
        pytest.param(1.0, [1.0] * 10, True, id="all-the-same"),
        pytest.param(1e-9, [1e-9 * loss for loss in ELEVEN], True, id="any-scale-small"),
        pytest.param(1e9, [1e9 * loss for loss in ELEVEN], True, id="any-scale-large"),
        pytest.param(nan, ELEVEN, False, id="nan"),
        pytest.param(inf, ELEVEN, False, id="inf"),
        pytest.param(0.95, [*ELEVEN[:10], nan], True, id="others-with-nan"),
        pytest.param(1.001, [*ELEVEN[:10], nan], False, id="others-with-nan-are-the-worst"),
        pytest.param(5.0, [nan] * 10, True, id="all-others-lost"),
    ],
)
def test_is_protected(loss: float, others: list[float], expected: bool) -> None:
    assert is_protected(loss, others) is expected


@pytest.mark.parametrize(
    ("share", "least", "expected"),
    [
        pytest.param(0.1, 11, True, id="enough-others"),
        pytest.param(0.1, 12, False, id="too-few-others"),
        pytest.param(0.05, 10, False, id="smaller-share"),
        pytest.param(1.0, 10, True, id="everybody"),
        pytest.param(0.0, 0, False, id="only-the-best"),
    ],
)
def test_share_and_least(share: float, least: int, expected: bool) -> None:
    assert is_protected(1.0, ELEVEN, share=share, least=least) is expected
    assert is_protected(1.0, [], share=share, least=0) is False


@pytest.mark.parametrize("count", [10, 13, 27, 100])
def test_the_limit_is_the_percentile(count: int) -> None:
    others = np.random.default_rng(count).normal(size=count)
    limit = float(np.percentile(others, 10))
    assert is_protected(limit - 1e-9, others.tolist())
    assert not is_protected(limit + 1e-9, others.tolist())
