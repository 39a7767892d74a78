"""An activation before the log-softmax of a policy."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional as f

from sickbay.probe.loss_axes import squeezed_before

ACTIONS = torch.tensor([0, 1, 2, 0, 1, 2])


def policy(logits: Tensor) -> Tensor:
    return loss_of(Categorical(logits=logits))


def loss_of(actions: Categorical) -> Tensor:
    loss: Tensor = -actions.log_prob(ACTIONS).mean()  # type: ignore[no-untyped-call]
    return loss


@pytest.mark.parametrize(
    ("activation", "loss", "expected"),
    [
        pytest.param("softmax", policy, "softmax", id="policy"),
        pytest.param("sigmoid", policy, "sigmoid", id="policy-of-sigmoids"),
        pytest.param("linear", policy, "", id="policy-of-logits"),
        pytest.param(
            "softmax",
            lambda out: f.cross_entropy(out, ACTIONS) + out.square().mean(),
            "softmax",
            id="cross-entropy-and-a-penalty",
        ),
        pytest.param("log_softmax", policy, "", id="log-softmax-changes-nothing"),
        pytest.param(
            "softmax",
            lambda out: loss_of(Categorical(probs=out)),
            "",
            id="policy-of-probabilities",
        ),
        pytest.param("softmax", lambda out: out.logsumexp(1).mean(), "", id="a-smooth-maximum"),
        pytest.param("tanh", policy, "", id="bounded-logits"),
    ],
)
def test_squeezed_before(activation: str, loss: Callable[[Tensor], Tensor], expected: str) -> None:
    out = nn.Linear(4, 3)(torch.randn(6, 4))
    if activation in ("softmax", "log_softmax"):
        out = getattr(out, activation)(1)
    elif activation != "linear":
        out = getattr(out, activation)()
    assert squeezed_before(loss(out).grad_fn, out.grad_fn) == expected


def test_it_is_also_seen_where_the_loss_squeezes() -> None:
    out = nn.Linear(4, 3)(torch.randn(6, 4))
    assert squeezed_before(policy(out.softmax(1)).grad_fn, out.grad_fn) == "softmax"
