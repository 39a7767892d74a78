"""Measure the wrong answers of which a model is sure, to tell wrong labels from hard samples.

An honest error is a doubtful one, and the right class comes close to the one that was chosen. A
label that was drawn at random is as far from the choice as any class.
"""

from torch import Tensor

LEAST, MOST = 4, 1000  # classes: fewer have no ranks to speak of, more take too long
SAMPLES = 8  # needed to take half of them


def sure_errors(outputs: Tensor, one_hot: Tensor) -> dict[str, float]:
    """Return the share of wrong answers among the surer half, and how far off their labels are.

    `sure_distance` is the mean rank of these labels among the classes that were not chosen, from
    0 for the second choice to 1 for the last.

    >>> import torch
    >>> outputs = torch.arange(4.0).repeat(8, 1)
    >>> outputs[:4] *= 2
    >>> found = sure_errors(outputs, torch.nn.functional.one_hot(torch.tensor(8 * [1]), 4))
    >>> found
    {'sure_errors': 1.0, 'sure_distance': 0.5}
    """
    samples, classes = outputs.shape
    if samples < SAMPLES or not LEAST <= classes <= MOST:
        return {}
    if not bool((one_hot.amax(1) == 1).all()):  # mixed samples
        return {}
    best = outputs.topk(2, 1).values
    surest = (best[:, 0] - best[:, 1]).topk(samples // 2).indices
    outputs, labels = outputs[surest], one_hot[surest].argmax(1)
    wrong = outputs.argmax(1) != labels
    found = {"sure_errors": float(wrong.double().mean())}
    if bool(wrong.any()):
        above = outputs > outputs.gather(1, labels[:, None])
        rank = above.sum(1)[wrong].double() - 1
        found["sure_distance"] = float(rank.mean()) / (classes - 2)
    return found
