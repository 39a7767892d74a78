"""Tell from the graph of a loss whether it makes well rewarded actions less likely.

The loss of a policy sums the logarithms of what it has chosen, each times what that has earned.
Descent makes a choice with a positive weight rarer unless there is a minus.
"""

from typing import Any

from sickbay.probe.loss_graph import MOVING, inputs_of, shape_of, title

MOST = 60  # nodes looked at
KEEPING = ("Mean", "Sum", "Add", "ToCopy")
PICKING = ("Gather", "Index")  # the actions that were taken
COLLECTING = (*MOVING, "Stack", "Sum")


def policy_sign(loss: Any) -> float:
    """Return the sign of weighted logarithms of choices in a loss, 0 if there are none or both.

    >>> import torch
    >>> policy = torch.distributions.Categorical(logits=torch.nn.Linear(2, 3)(torch.ones(4, 2)))
    >>> chosen, earned = policy.log_prob(policy.sample()), torch.arange(4.0)
    >>> [policy_sign(loss.grad_fn) for loss in (-(chosen * earned).mean(), (chosen * earned).sum())]
    [-1.0, 1.0]
    """
    found, waiting, seen = set[float](), [(loss, 1.0)], 0
    while waiting and seen < MOST:
        node, sign = waiting.pop(0)
        seen += 1
        name, before = title(node), inputs_of(node)
        if name == "Mul" and len(before) == 1 and shape_of(node):
            factor = _choice(before[0])
            found |= {sign * factor} if factor else set()
        elif name in KEEPING:
            waiting += [(each, sign) for each in before]
        elif name == "Neg" or (name == "Rsub" and len(before) == 1):
            waiting += [(each, -sign) for each in before]
        elif name == "Sub":
            both = enumerate(each for each, _ in node.next_functions)
            waiting += [(each, -sign if place else sign) for place, each in both if each]
    return found.pop() if len(found) == 1 else 0.0


def _choice(node: Any) -> float:
    """Return 1 if a node is the logarithm of the share of a choice, -1 if less that, else 0."""
    sign, picked = 1.0, False
    for _ in range(MOST):
        name, before = title(node), inputs_of(node)
        if picked and _is_logarithm(node):
            return sign
        if name == "Log" and before and title(before[0]) in PICKING:
            return sign
        sign = -sign if name == "Neg" else sign
        picked |= name in PICKING
        if name not in (*COLLECTING, *PICKING, "Neg") or not before:
            break
        node = before[0]
    return 0.0


def _is_logarithm(node: Any) -> bool:
    """Return whether a node is the logarithm of shares, such as logits less their log-sum-exp."""
    name, before = title(node), inputs_of(node)
    less = name == "Sub" and any(title(each) == "Logsumexp" for each in before)
    return less or name in ("LogSoftmax", "Log")
