"""Measure how hard the terms of a loss pull where their gradients meet.

Two terms can only be compared at a value that both depend on. So this looks for a value through
which both terms' gradients flow, each by its own path, and hears of both during backward.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from math import ceil, prod, sqrt
from typing import Any

from torch import Tensor, nn

from sickbay.probe.guard import Guard
from sickbay.probe.loss_graph import (
    LOSSES,
    MOVING,
    distance,
    inputs_of,
    nodes,
    shape_of,
    title,
    unmoved,
    variable_side,
)
from sickbay.probe.meter import Meter

ADDING = ("Add", "Sub", "Rsub", "Neg", "Mean", "Sum", "Mul", "Div", "ToCopy")
CHOOSING = ("Gather", "Logsumexp", "LogSoftmax")  # of actions, as in the loss of a policy
USING = (*MOVING, "Addmm", "Mm", "Bmm", "Convolution")
NODES, EDGES, VALUES = 4_000, 256, 4_000_000  # limits up to which it is measured
READINGS, RARER = 3, 1.4  # at first, and then ever more rarely, as weights of terms may rise
OTHERS = "others"  # all terms that compare nothing with targets


class TermPulls:
    """Hears of the gradients of a loss whose terms meet, in the first and a few later readings."""

    def __init__(self, guard: Guard, meter: Meter) -> None:
        self._guard = guard
        self._off = meter.late
        self._step = self._due = 0  # the batches read so far, and the number of the next one
        self._gradients: dict[tuple[int, int, str], Tensor] = {}
        self._handles: list[Any] = []

    def listen(self, loss: Any, model: nn.Module) -> None:
        """Hook the nodes behind a loss where its terms meet; `loss` is its node before backward."""
        if self._off or self._step < self._due or self._gradients or loss is None:
            return
        self.forget()
        edges = list(_meetings(loss, {*map(id, model.parameters())}))
        wanted: dict[Any, list[tuple[int, tuple[int, int], str]]] = defaultdict(list)
        for user, place, output, term in edges if len(edges) <= EDGES else ():
            wanted[user].append((place, output, term))
        keep = self._guard.wrap("terms of the loss", self._keep)
        for user, some in wanted.items():
            self._handles.append(user.register_hook(partial(keep, some)))

    def ratios(self) -> dict[str, float]:
        """Return how hard other terms pull as a multiple of errors, or the weakest error's share.

        Forget what was heard.
        """
        squares: dict[str, float] = defaultdict(float)
        for (_, _, term), gradient in self._gradients.items():
            squares[term] += float(gradient.float().square().sum())
        if self._step >= self._due:
            read = self._step + 1
            self._due = read if read < READINGS else ceil(RARER * read)
        self._step += 1
        self.forget()
        beside, other = OTHERS in squares, sqrt(squares.pop(OTHERS, 0.0))
        errors = sqrt(sum(squares.values()))
        if not errors > 0:
            return {}
        if beside:
            return {"side_pull": other / errors}
        return {"least_pull": sqrt(min(squares.values())) / errors} if len(squares) > 1 else {}

    def forget(self) -> None:
        """Let go of gradients and hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._gradients.clear()

    def _keep(
        self, edges: list[tuple[int, tuple[int, int], str]], inputs: Sequence[Any], _outputs: Any
    ) -> None:
        for place, (node, number), term in edges:
            if (gradient := inputs[place]) is not None:
                key, gradient = (node, number, term), gradient.detach()
                before = self._gradients.get(key)
                self._gradients[key] = gradient if before is None else before + gradient


def _meetings(loss: Any, own: Collection[int]) -> Iterator[tuple[Any, int, tuple[int, int], str]]:
    """Yield user, place among its inputs, output that it uses, and the term that comes that way.

    Only outputs that get the gradients of several terms, each by ways of its own. Parameters count
    where the other term is a penalty on them, and not computed by another pass through the model.
    Gradients of gradients and losses of policies are left alone. So are errors inside another
    term, as in a likelihood: what stands beside them there belongs to the same comparison.
    """
    graph = nodes(loss, most=NODES)
    errors = {each: name for each in graph if (name := error(each))}
    if len(graph) > NODES or not errors or not any(_variable(each) in own for each in graph):
        return
    policy = any(title(each) in CHOOSING for each in graph - nodes(*errors))
    if policy or any("Back" in title(each) for each in graph):
        return
    sums, uses, values = _sums(loss), _uses(graph), 0
    terms = {unmoved(each) for each in (loss, *(part for one in sums for part in inputs_of(one)))}
    if not errors.keys() <= terms:
        return
    through: dict[Any, frozenset[str]] = {}
    for node in _sorted(loss):
        ways = [(*use, _flow(use[0], node, sums, errors, through)) for use in uses[node]]
        met = frozenset[str]().union(*(flow for _, _, flow in ways))
        through[node] = frozenset({errors[node]}) if node in errors else met
        if node in sums or node in errors or len(met) < 2 or any(len(e) != 1 for _, _, e in ways):
            continue
        if _variable(node) and any(OTHERS in e and title(user) in USING for user, _, e in ways):
            continue
        values += prod(shape_of(node))
        if values > VALUES:
            return
        for user, place, [term] in ways:
            yield user, place, (id(node), user.next_functions[place][1]), term


def _variable(node: Any) -> int:
    """Return the id of the parameter whose gradient a node adds up, 0 if it is no such node."""
    variable = getattr(node, "variable", None)
    return 0 if variable is None else id(variable)


def _uses(graph: Collection[Any]) -> dict[Any, list[tuple[Any, int]]]:
    """Return for each node those that use it, and as which of their inputs."""
    uses: dict[Any, list[tuple[Any, int]]] = defaultdict(list)
    for user in graph:
        for place, (node, _) in enumerate(user.next_functions):
            if node is not None:
                uses[node].append((user, place))
    return uses


def _flow(
    user: Any, node: Any, sums: set[Any], errors: dict[Any, str], through: dict[Any, frozenset[str]]
) -> frozenset[str]:
    """Return the terms whose gradient comes to a node from one of its users."""
    if user not in sums:
        return through[user]
    return frozenset() if node in sums else frozenset({errors.get(unmoved(node), OTHERS)})


def error(node: Any) -> str:
    """Return the name of the loss if a node compares outputs with targets, else "".

    A difference between a parameter and what it was before is no error.

    >>> import torch
    >>> output = torch.ones(3, requires_grad=True) * 2
    >>> [error(each.grad_fn) for each in ((output - torch.zeros(3)) ** 2, output**2)]
    ['mse', '']
    """
    if name := LOSSES.get(title(node), ""):
        return name
    side = variable_side(inputs_of(node)[0]) if (name := distance(node)) else None
    return "" if side is None or _variable(unmoved(side)) else name


def _sums(loss: Any) -> set[Any]:
    """Return the nodes that add terms, or multiply them by constants."""
    found, waiting = set[Any](), [loss]
    while waiting:
        node = waiting.pop()
        constant = title(node) not in ("Mul", "Div") or len(inputs_of(node)) == 1
        if node not in found and title(node) in ADDING and constant and not error(node):
            found.add(node)
            waiting += inputs_of(node)
    return found


def _sorted(loss: Any) -> list[Any]:
    """Return the nodes behind a loss, each after all of its users."""
    ordered, seen, waiting = [], {loss}, [(loss, iter(inputs_of(loss)))]
    while waiting:
        node, rest = waiting[-1]
        for each in rest:
            if each not in seen:
                seen.add(each)
                waiting.append((each, iter(inputs_of(each))))
                break
        else:
            waiting.pop()
            ordered.append(node)
    return ordered[::-1]
