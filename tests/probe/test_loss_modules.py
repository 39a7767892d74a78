import copy
import pickle
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.loss import _Loss

from sickbay.probe import loss_modules
from sickbay.probe.guard import Guard
from tests.models import mlp

OUT, NUMBERS = torch.zeros(6, 4, requires_grad=True), torch.ones(6, 4)
LABELS = torch.arange(6) % 4


@dataclass(eq=False)
class Listener:
    """Remembers what losses have compared."""

    heard_of: list[tuple[str, Tensor, Tensor]] = field(default_factory=list)

    values: list[Any] = field(default_factory=list)
    guard: Guard = field(default_factory=lambda: Guard(print))
    due: bool = True

    def on_loss(self, loss: str, outputs: Tensor, targets: Tensor, value: Any) -> None:
        self.heard_of.append((loss, outputs, targets))
        self.values.append(value)

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.heard_of]


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    loss_modules.listen(made)
    yield made
    loss_modules.forget(made)


class Own(nn.Module):
    """A loss that is none of torch's."""

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs - targets).square().mean()


class Focal(nn.CrossEntropyLoss):
    """A loss that is made from one of torch's."""


@dataclass
class Unhashable:
    """A loss that cannot be looked up."""

    scale: float = 1.0

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.scale * (outputs - targets).square().mean()


@pytest.mark.parametrize(
    ("loss", "targets", "name"),
    [
        (nn.CrossEntropyLoss(), LABELS, "cross_entropy"),
        (nn.CrossEntropyLoss(weight=torch.ones(4)), LABELS, "cross_entropy"),
        (nn.NLLLoss(), LABELS, "nll"),
        (nn.BCEWithLogitsLoss(), NUMBERS, "bce_logits"),
        (nn.MultiLabelSoftMarginLoss(), NUMBERS, "bce_logits"),
        (nn.MSELoss(), NUMBERS, "mse"),
        (nn.L1Loss(), NUMBERS, "l1"),
        (nn.SmoothL1Loss(), NUMBERS, "smooth_l1"),
        (nn.HuberLoss(), NUMBERS, "huber"),
        (nn.KLDivLoss(reduction="sum"), NUMBERS, "kl_div"),
        (nn.PoissonNLLLoss(), NUMBERS, "poisson_nll"),
        (nn.SoftMarginLoss(), NUMBERS, "soft_margin"),
        (nn.MultiMarginLoss(), LABELS, "multi_margin"),
        (nn.HingeEmbeddingLoss(), NUMBERS, "hinge_embedding"),
        (Focal(), LABELS, ""),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, nn.Module) else "",
)
def test_heard_by_name(listener: Listener, loss: nn.Module, targets: Tensor, name: str) -> None:
    assert loss(OUT, targets).ndim == 0
    ((heard, outputs, compared),) = listener.heard_of
    assert heard == name
    assert outputs is OUT
    assert compared is targets


def test_binary_cross_entropy_is_heard(listener: Listener) -> None:
    nn.BCELoss()(OUT.sigmoid(), NUMBERS)
    assert listener.names == ["bce"]


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        pytest.param(functional.mse_loss, "mse", id="function"),
        pytest.param(partial(functional.nll_loss, ignore_index=0), "nll", id="partial"),
        pytest.param(nn.L1Loss(), "l1", id="module"),
        pytest.param(Focal(), "", id="subclass"),
        pytest.param(Unhashable(), "", id="unhashable"),
    ],
)
def test_a_loss_is_named_by_what_it_is(loss: object, name: str) -> None:
    assert loss_modules.loss_name(loss) == name


def test_another_function_of_the_same_name_is_none_of_torchs() -> None:
    def mse_loss(outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs - targets).abs().sum()

    assert loss_modules.loss_name(mse_loss) == ""


def test_every_name_is_a_loss_of_torch() -> None:
    for kind in loss_modules.NAMES:
        assert issubclass(kind, _Loss)


def test_the_result_is_that_of_the_loss(listener: Listener) -> None:
    calls = []
    loss = nn.MSELoss(reduction="none")
    loss.register_forward_hook(lambda *_: calls.append("hook"))
    assert torch.equal(loss(OUT, NUMBERS), torch.ones(6, 4))
    assert (calls, listener.names) == (["hook"], ["mse"])


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        pytest.param((OUT,), {"target": NUMBERS}, id="targets"),
        pytest.param((), {"input": OUT, "target": NUMBERS}, id="both"),
    ],
)
def test_keyword_arguments(listener: Listener, args: Any, kwargs: Any) -> None:
    assert nn.MSELoss()(*args, **kwargs) == 1
    ((_, outputs, targets),) = listener.heard_of
    assert outputs is OUT
    assert targets is NUMBERS


def test_what_is_no_pair_of_tensors_passes_unheard(listener: Listener) -> None:
    class Odd(_Loss):
        def forward(self, *args: Any, **kwargs: Any) -> int:
            return len(args) + len(kwargs)

    odd = Odd()
    assert (odd(), odd(OUT), odd(OUT, 1), odd(1, OUT)) == (0, 1, 2, 2)
    assert listener.names == []


def test_a_wrong_call_fails_as_without_us(listener: Listener) -> None:
    with pytest.raises(TypeError, match="target"):
        nn.MSELoss()(OUT)
    with pytest.raises(TypeError, match="surprise"):
        nn.MSELoss()(OUT, NUMBERS, surprise=1)
    assert listener.heard_of == []


def test_what_came_out_is_told(listener: Listener) -> None:
    loss = nn.MSELoss()(OUT, NUMBERS)
    assert listener.values == [loss]


def test_a_forgotten_listener_is_let_go() -> None:
    made = Listener()
    loss_modules.listen(made)
    gone = weakref.ref(made)
    del made
    assert gone() is None
    nn.MSELoss()(OUT, NUMBERS)


def test_not_heard_without_a_gradient(listener: Listener) -> None:
    with torch.no_grad():
        nn.MSELoss()(OUT, NUMBERS)
    assert listener.names == []


def test_other_modules_are_not_touched(listener: Listener) -> None:
    assert nn.Linear.__call__ is nn.Module.__call__
    Own()(OUT, NUMBERS)
    nn.functional.mse_loss(OUT, NUMBERS)
    assert listener.names == []


def test_heard_only_while_somebody_listens() -> None:
    before = _Loss.__call__
    first, second = Listener(), Listener()
    nn.MSELoss()(OUT, NUMBERS)
    loss_modules.listen(first)
    assert "__call__" in vars(_Loss)
    loss_modules.listen(second)
    nn.MSELoss()(OUT, NUMBERS)
    loss_modules.forget(first)
    nn.L1Loss()(OUT, NUMBERS)
    loss_modules.forget(second)
    nn.HuberLoss()(OUT, NUMBERS)
    assert (first.names, second.names) == (["mse"], ["mse", "l1"])
    assert "__call__" not in vars(_Loss)
    assert _Loss.__call__ is before is nn.Module.__call__


def test_forgetting_a_stranger_changes_nothing(listener: Listener) -> None:
    loss_modules.forget(Listener())
    nn.MSELoss()(OUT, NUMBERS)
    loss_modules.forget(listener)
    loss_modules.forget(listener)
    nn.MSELoss()(OUT, NUMBERS)
    assert listener.names == ["mse"]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_copy_made_while_we_listen_is_free(listener: Listener, duplicate: Any) -> None:
    loss = nn.CrossEntropyLoss(weight=torch.ones(4))
    twin = duplicate(loss)
    assert vars(twin).keys() == vars(loss).keys()
    twin(OUT, LABELS)
    assert listener.names == ["cross_entropy"]
    loss_modules.forget(listener)
    assert twin(OUT, LABELS) == loss(OUT, LABELS)
    assert listener.names == ["cross_entropy"]


def test_a_pickle_does_not_know_of_us(listener: Listener) -> None:
    assert b"sickbay" not in pickle.dumps(nn.MSELoss())
    assert listener.names == []


class WithLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.loss = mlp(), nn.MSELoss()

    def forward(self, x: Tensor, targets: Tensor) -> Any:
        return self.loss(self.body(x), targets)


def counted() -> tuple[Any, list[Any]]:
    """Compile a model with its loss as one graph; return it, and the graphs made as they come."""
    torch._dynamo.reset()
    graphs: list[Any] = []

    def backend(graph: Any, _inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    return torch.compile(WithLoss(), backend=backend, fullgraph=True), graphs


def test_a_compiled_loss_is_not_compiled_anew_when_we_listen() -> None:
    run, graphs = counted()
    listener, x = Listener(), torch.randn(6, 8)
    expected = run(x, NUMBERS)
    loss_modules.listen(listener)
    try:
        assert torch.equal(run(x, NUMBERS), expected)
    finally:
        loss_modules.forget(listener)
    assert torch.equal(run(x, NUMBERS), expected)
    assert (len(graphs), listener.names) == (1, [])


def test_a_loss_compiled_while_we_listen_is_not_compiled_anew_without(listener: Listener) -> None:
    run, graphs = counted()
    x = torch.randn(6, 8)
    expected = run(x, NUMBERS)
    loss_modules.forget(listener)
    assert torch.equal(run(x, NUMBERS), expected)
    assert (len(graphs), listener.names) == (1, [])


def test_a_loss_after_a_compiled_model_is_heard(listener: Listener) -> None:
    torch._dynamo.reset()
    run: Any = torch.compile(mlp(), backend="eager")
    nn.MSELoss()(run(torch.randn(6, 8)), NUMBERS)
    assert listener.names == ["mse"]


def test_classes_that_a_loss_ignores_are_none(listener: Listener) -> None:
    nn.CrossEntropyLoss(ignore_index=0)(torch.randn(6, 4), LABELS)
    assert listener.heard_of[0][2].tolist() == [-100, 1, 2, 3, -100, 1]
