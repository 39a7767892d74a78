import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.data.validation_is_apart import ValidationIsApart

X = torch.randn(32, 8, generator=torch.Generator().manual_seed(0))
OTHERS = torch.randn(32, 8, generator=torch.Generator().manual_seed(1))
BLANK = torch.tensor([[0.0], [1.0], [2.0]]).expand(3, 8)
TOKENS = torch.randint(50, (32, 12), generator=torch.Generator().manual_seed(2))


def examined(batch: object, validation: object) -> Result:
    model = nn.Flatten()
    [result] = checkup(model, batch, validation=validation, tests=ValidationIsApart()).results
    return result


@pytest.mark.parametrize(
    ("batch", "validation", "message"),
    [
        pytest.param(X, torch.cat([OTHERS[:30], X[:2]]), "2 of 32", id="two-rows"),
        pytest.param(X, X.flip(0), "32 of 32", id="all-in-another-order"),
        pytest.param((X, torch.zeros(32)), (X, torch.ones(32)), "32 of 32", id="other-targets"),
        pytest.param(TOKENS, TOKENS[:5], "5 of 5", id="tokens"),
        pytest.param(X, X[:5].double(), "5 of 5", id="another-type"),
        pytest.param({"x": TOKENS}, {"x": TOKENS[3:9]}, "6 of 6", id="by-name"),
    ],
)
def test_fails(batch: object, validation: object, message: str) -> None:
    result = examined(batch, validation)
    assert result.outcome == "failed"
    assert message in result.message


@pytest.mark.parametrize(
    ("batch", "validation"),
    [
        pytest.param(X, OTHERS, id="apart"),
        pytest.param(X, torch.cat([OTHERS, X[:1]]), id="one-row"),
        pytest.param(torch.cat([X, BLANK]), torch.cat([OTHERS, BLANK]), id="blank"),
        pytest.param(torch.eye(8).repeat(4, 1), torch.eye(8), id="few-kinds-of-samples"),
        pytest.param(X, torch.cat([OTHERS, OTHERS]), id="repeated-in-validation"),
    ],
)
def test_passes(batch: Tensor, validation: Tensor) -> None:
    result = examined(batch, validation)
    assert result.outcome == "passed", result.message


def test_samples_of_few_values_do_not_count() -> None:
    assert examined(X[:, :3], X[:, :3]).outcome == "skipped"


def test_samples_with_two_inputs_must_match_in_both() -> None:
    targets = torch.zeros(32)
    assert examined((X, OTHERS, targets), (X, OTHERS, targets)).outcome == "failed"
    assert examined((X, OTHERS, targets), (X, OTHERS.flip(0), targets)).outcome == "passed"


def test_skips_without_validation() -> None:
    assert examined(X, None).message == "no validation batch was given"
