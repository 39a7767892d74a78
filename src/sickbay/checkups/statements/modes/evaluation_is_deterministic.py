"""Longer than 60 lines: it also tells noise from sampling on purpose."""

from dataclasses import replace
from math import inf
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sickbay.checkups.base import ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.compare_outputs import difference
from sickbay.checkups.settled_statistics import settled_copy
from sickbay.checkups.training_passes import main_output
from sickbay.checkups.wording import several
from sickbay.isolated_random import IsolatedRandom, torch_generators
from sickbay.model_copies import inputs_of, tensors_in
from sickbay.probe.hooks import Handles

NORMAL = ("randn", "randn_like", "normal", "normal_")
FROM_LEARNED = {"normal", "bernoulli", "multinomial", "poisson", "binomial", "gumbel_softmax"}
FROM_LEARNED |= {"_standard_gamma", "_sample_dirichlet"}
SUMS = ("add", "add_", "__add__", "__radd__", "__iadd__", "sub")
JOINS = ("cat", "stack")
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
ORDERS = ("argsort", "sort", "topk")
CHANGED = "the forward pass changes its input, so that the next pass gets other values"
COPY = "write x = x * scale in place of x *= scale, or copy the input first"


@dataclass(frozen=True, kw_only=True)
class EvaluationIsDeterministic(Statement):
    """In evaluation mode, the same batch gives the same output.

    Why it matters:
        Noise in evaluation lowers every score and makes models hard to compare.

    How it is tested:
        Two samples run twice in evaluation with different random numbers, after a few passes in
        training that settle the statistics of batch norm. Outputs may differ if the
        model samples from what it has learned, as a variational model does, or keeps a state. A
        pass must not change the values of its inputs; if another pass over them gives the same
        output, as after a mask was filled, that is a warning.
    """

    order = 3
    remedy = "pass self.training to functional.dropout, and add noise only if self.training"

    slack: float = threshold(1e-4, "Difference of the outputs, relative to their size.", above=0)

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        with settled_copy(setup) as model:
            before = {name: each.detach().clone() for name, each in model.named_buffers()}
            first, second = (setup.seeded_output(model, setup.two_samples, seed) for seed in (1, 2))
            buffers = model.named_buffers()
            changed = [name for name, each in buffers if not each.equal(before.get(name, each))]
        change = difference(first, second)
        if (again := _change_by_inputs(setup)) is not None:
            result = self.fails(CHANGED, remedy=COPY, difference=again)
            return result if again > self.slack else replace(result, severity="warning")
        if change <= self.slack:
            return self.holds("two passes gave the same output", difference=change)
        with setup.model_copy() as model, RandomDraws(model) as draws:
            raw = setup.run(model, setup.two_samples)
        draws.finish(raw)
        message = f"two passes differ by {change:.2g} of the output's size (limit {self.slack:g})"
        if draws.noise:
            layers = [layer for layer, _ in draws.noise]
            operations = ", ".join(dict.fromkeys(operation for _, operation in draws.noise))
            message = f"{message}: {operations} in {several(layers)}"
            return self.fails(message, layers=layers, difference=change)
        if draws.sampled:
            return self.holds("the output differs because the model samples", difference=change)
        if changed:
            message = f"{message}: {several(changed, None, 'changes', 'change')} in evaluation"
            return self.fails(message, layers=changed, difference=change)
        with settled_copy(setup) as model:
            again = difference(first, setup.seeded_output(model, setup.two_samples, 2))
        if again <= self.slack:
            message = "the output differs because the model keeps a state"
            return self.holds(message, difference=change)
        return self.fails(message, difference=change)


def _change_by_inputs(setup: ModelSetup) -> float | None:
    """Return how the output changes as a pass changes its inputs, None if these stay the same."""
    args, kwargs = inputs_of((setup.two_samples.args, dict(setup.two_samples.kwargs)))
    given = [each for each in Batch(args, kwargs).inputs if each.layout == torch.strided]
    before = [each.clone() for each in given]

    def output() -> Tensor:
        with setup.model_copy() as model, torch.no_grad(), IsolatedRandom(1):
            return main_output(model(*args, **kwargs))

    first = output()
    if not any(map(difference, before, given)):
        return None
    try:
        return difference(first, output())
    except Exception:  # such as one for a shape that was changed
        return inf


class RandomDraws(TorchFunctionMode):
    """Records random operations, and the layers they are in.

    Sampling is not noise: values drawn from what is learned or scaled by it, as in a variational
    model; values that outputs are made from, as in a generator; values that choose an order.

    Attributes:
        noise: Layers and operations that add noise.
        sampled: Whether the model samples on purpose.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._inside, self._hooks = [""], Handles()
        self._pure: dict[int, tuple[Tensor, tuple[str, str]]] = {}  # held, so that no id is reused
        self.noise: dict[tuple[str, str], None] = {}
        self.sampled = False
        self._names = {module: name for name, module in model.named_modules()}
        for module in self._names:
            self._hooks.add(module.register_forward_pre_hook(self._enter))
            self._hooks.add(module.register_forward_hook(self._leave))

    def __exit__(self, *error: Any) -> None:
        self._hooks.remove()
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, getattr(func, "__name__", "")
        given = tensors_in([args, kwargs])
        learned = any(each.requires_grad for each in given)
        states = [each.get_state() for each in torch_generators()]
        result = func(*args, **kwargs)
        drawn = not all(map(torch.equal, states, [each.get_state() for each in torch_generators()]))
        if drawn:
            self._draw(name, learned, result)
        else:
            self._follow(name, learned, given, result)
        return result

    def finish(self, raw: Any) -> None:
        """Look at the output: a model that returns its noise samples on purpose."""
        for each in tensors_in(raw):
            if id(each) in self._pure and self._pure[id(each)][1][1] in NORMAL:
                self.sampled = True
                self.noise.clear()

    def _draw(self, name: str, learned: bool, result: Any) -> None:
        if learned and name in FROM_LEARNED:
            self.sampled = True
            return
        source = (self._inside[-1], name)
        self.noise[source] = None
        if isinstance(result, Tensor) and not result.requires_grad:
            self._pure[id(result)] = result, source

    def _follow(self, name: str, learned: bool, given: list[Tensor], result: Any) -> None:
        pure = [each for each in given if id(each) in self._pure]
        if not pure or name == "__get__":
            return
        source = self._pure[id(pure[0])][1]
        if name in RECURRENT and pure[0] is not given[0]:
            return  # a random initial state
        adds = name in SUMS or name in JOINS
        if name in ORDERS or (learned and not adds and source[1] in NORMAL):
            self.sampled = True
            self.noise.pop(source, None)
        elif name in SUMS and len(given) == 1:
            return  # noise around a constant only scales
        elif isinstance(result, Tensor) and (
            name in JOINS or all(not each.ndim or id(each) in self._pure for each in given)
        ):
            self._pure[id(result)] = result, source

    def _enter(self, module: nn.Module, _: Any) -> None:
        self._inside.append(self._names[module])

    def _leave(self, *_: Any) -> None:
        self._inside.pop()
