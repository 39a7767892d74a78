import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

from sickbay.probe.loss_graph import Origin, activation, leads_to, origin
from tests.models import compiled

Loss = Callable[[Tensor], Tensor]
CLASSES = torch.tensor([0, 2, 1, 1, 0, 2])
ONE_HOT = torch.eye(3)[CLASSES]
ANSWERS = torch.tensor([[0.0, 1.0, 1.0]]).repeat(6, 1)
NUMBERS = torch.linspace(-2, 2, 18).reshape(6, 3)


def body() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(4, 3)


def outputs() -> Tensor:
    out: Tensor = body()(torch.randn(6, 4))
    return out


def seen(loss: Tensor) -> tuple[str, str]:
    found = origin(loss.grad_fn)
    assert not found.stretched
    return found.loss, found.output


C = "cross_entropy"
LOSSES: dict[str, tuple[str, Loss]] = {
    "cross_entropy": (C, lambda out: f.cross_entropy(out, CLASSES)),
    "CrossEntropyLoss": (C, lambda out: nn.CrossEntropyLoss()(out, CLASSES)),
    "label-smoothing": (C, lambda out: f.cross_entropy(out, CLASSES, label_smoothing=0.1)),
    "class-weights": (C, lambda out: f.cross_entropy(out, CLASSES, torch.ones(3))),
    "class-probabilities": (C, lambda out: f.cross_entropy(out, ONE_HOT)),
    "none-then-mean": (C, lambda out: f.cross_entropy(out, CLASSES, reduction="none").mean()),
    "sum": (C, lambda out: f.cross_entropy(out, CLASSES, reduction="sum")),
    "written-cross-entropy": (C, lambda out: -(ONE_HOT * out.log_softmax(1)).sum(1).mean()),
    "log-softmax-and-nll": (C, lambda out: nn.NLLLoss()(nn.LogSoftmax(1)(out), CLASSES)),
    "pixels": (C, lambda out: f.cross_entropy(out.view(6, 3, 1, 1), CLASSES.view(6, 1, 1))),
    "sequence": (C, lambda out: f.cross_entropy(out.view(2, 3, 3).mT, CLASSES.view(2, 3))),
    "nll": ("nll", lambda out: f.nll_loss(out, CLASSES)),
    "bce": ("bce_logits", lambda out: f.binary_cross_entropy_with_logits(out, ANSWERS)),
    "BCE": ("bce_logits", lambda out: nn.BCEWithLogitsLoss(torch.ones(3))(out, ANSWERS)),
    "mse": ("mse", lambda out: f.mse_loss(out, NUMBERS)),
    "MSELoss": ("mse", lambda out: nn.MSELoss(reduction="none")(out, NUMBERS).mean()),
    "written-mse": ("mse", lambda out: ((out - NUMBERS) ** 2).mean()),
    "written-mse-the-other-way": ("mse", lambda out: (NUMBERS - out).square().sum()),
    "l1": ("l1", lambda out: f.l1_loss(out, NUMBERS)),
    "L1Loss": ("l1", lambda out: nn.L1Loss(reduction="none")(out, NUMBERS).mean()),
    "written-l1": ("l1", lambda out: (out - NUMBERS).abs().mean()),
    "huber": ("huber", lambda out: nn.HuberLoss()(out, NUMBERS)),
    "smooth_l1": ("smooth_l1", lambda out: f.smooth_l1_loss(out, NUMBERS)),
    "PoissonNLLLoss": ("poisson_nll", lambda out: nn.PoissonNLLLoss()(out, ANSWERS)),
    "written-hinge": ("hinge", lambda out: (1 - out * (2 * ANSWERS - 1)).clamp(min=0).mean()),
    "written-hinge-by-relu": ("hinge", lambda out: (1 - (2 * ANSWERS - 1) * out).relu().mean()),
    "soft_margin": ("soft_margin", lambda out: f.soft_margin_loss(out, 2 * ANSWERS - 1)),
    "multi_margin": ("multi_margin", lambda out: f.multi_margin_loss(out, CLASSES)),
    "multilabel": ("multilabel_margin", lambda out: f.multilabel_margin_loss(out, ANSWERS.long())),
}
every_loss = pytest.mark.parametrize(("name", "loss"), LOSSES.values(), ids=LOSSES)


@every_loss
def test_losses(name: str, loss: Loss) -> None:
    assert seen(loss(outputs())) == (name, "linear")


@every_loss
@pytest.mark.parametrize("squeezed", ["softmax", "sigmoid", "tanh", "relu"])
def test_an_activation_before_the_loss(name: str, loss: Loss, squeezed: str) -> None:
    out = outputs()
    fed = out.softmax(1) if squeezed == "softmax" else getattr(out, squeezed)()
    assert seen(loss(fed)) == (name, squeezed)


@pytest.mark.parametrize(
    ("squeeze", "name"),
    [
        (nn.Softmax(1), "softmax"), (nn.Sigmoid(), "sigmoid"), (nn.LogSigmoid(), "log_sigmoid"),
        (nn.Tanh(), "tanh"), (nn.ReLU(), "relu"), (nn.ReLU(inplace=True), "relu"),
        (nn.Hardtanh(), "clamp"), (nn.ReLU6(), "clamp"), (nn.Hardsigmoid(), "sigmoid"),
        (nn.Softplus(), "softplus"), (nn.ELU(), "elu"), (nn.LeakyReLU(), "leaky_relu"),
        (nn.GELU(), "gelu"), (nn.SiLU(), "silu"), (nn.LogSoftmax(1), "log_softmax"),
        (nn.Identity(), "linear"), (nn.Linear(3, 3), "linear"), (nn.BatchNorm1d(3), "linear"),
        (nn.Threshold(0, 0), "relu"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, nn.Module) else "",
)  # fmt: skip
def test_activations_as_modules(squeeze: nn.Module, name: str) -> None:
    assert seen(f.mse_loss(squeeze(outputs()), NUMBERS)) == ("mse", name)


@pytest.mark.parametrize(
    ("squeeze", "name"),
    [
        (lambda out: torch.softmax(out, 1), "softmax"), (torch.sigmoid, "sigmoid"),
        (torch.tanh, "tanh"), (f.relu, "relu"), (lambda out: out.clamp(0, 1), "clamp"),
        (lambda out: out.clamp(min=0), "clamp"), (lambda out: out.clamp(max=0), "clamp"),
        (f.logsigmoid, "log_sigmoid"), (lambda out: out.log_softmax(1), "log_softmax"),
        (f.softplus, "softplus"), (f.gelu, "gelu"), (f.elu, "elu"), (f.silu, "silu"),
    ],
)  # fmt: skip
def test_activations_as_functions(squeeze: Callable[[Tensor], Tensor], name: str) -> None:
    assert seen(f.mse_loss(squeeze(outputs()), NUMBERS)) == ("mse", name)


@pytest.mark.parametrize(
    "move",
    [
        lambda out: out.view(-1, 3),
        lambda out: out.unsqueeze(1).squeeze(1),
        lambda out: out.reshape(18).reshape(6, 3),
        lambda out: out.t().t(),
        lambda out: out.transpose(0, 1).contiguous().permute(1, 0),
        lambda out: out[:, :3],
        lambda out: out[torch.arange(6)],
        lambda out: torch.cat([out[:2], out[2:]]),
        lambda out: torch.cat(out.split(2)),
        lambda out: out.clone(),
        lambda out: out.double().float(),
        lambda out: out[None][0],
    ],
    ids=[
        "view", "squeeze", "reshape", "t", "permute", "slice", "index", "cat", "split", "clone",
        "dtype", "select",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["cross_entropy", "mse", "bce", "written-l1"])
def test_moving_values_changes_nothing(move: Callable[[Tensor], Tensor], name: str) -> None:
    kind, loss = LOSSES[name]
    assert seen(loss(move(outputs().sigmoid()))) == (kind, "sigmoid")


@pytest.mark.parametrize(
    "change",
    [
        lambda loss, _: 0.5 * loss,
        lambda loss, _: loss / 4,
        lambda loss, _: -loss,
        lambda loss, _: loss + 1e-4 * outputs().sum(),
        lambda loss, model: loss + 1e-4 * sum(each.pow(2).sum() for each in model.parameters()),
        lambda loss, model: loss + 1e-4 * sum(each.abs().sum() for each in model.parameters()),
        lambda loss, model: loss + 1e-4 * sum(each.norm() for each in model.parameters()),
        lambda loss, _: loss.double(),
    ],
    ids=["scaled", "divided", "negated", "plus-other", "plus-l2", "plus-l1", "plus-norm", "dtype"],
)
@every_loss
def test_what_is_done_to_the_loss_changes_nothing(change: Any, name: str, loss: Loss) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
    assert seen(change(loss(model(torch.randn(6, 4))), model)) == (name, "linear")


def test_two_losses_are_not_told_apart() -> None:
    out = outputs()
    both = f.cross_entropy(out, CLASSES) + 0.1 * f.mse_loss(out.sigmoid(), NUMBERS)
    assert origin(both.grad_fn) == Origin()


def test_the_same_loss_twice_is_one() -> None:
    out = outputs()
    assert seen(f.mse_loss(out, NUMBERS) + f.mse_loss(out, 2 * NUMBERS)) == ("mse", "linear")


@pytest.mark.parametrize(
    ("out_shape", "target_shape", "stretched"),
    [
        pytest.param((6, 1), (6,), True, id="column-against-row"),
        pytest.param((6,), (6, 1), True, id="row-against-column"),
        pytest.param((6, 3), (6, 1), False, id="only-the-targets"),
        pytest.param((6, 1), (6, 1), False, id="columns"),
        pytest.param((6,), (6,), False, id="rows"),
    ],
)
@pytest.mark.parametrize("loss", [f.mse_loss, f.l1_loss, f.huber_loss, f.smooth_l1_loss])
def test_stretching(
    loss: Any, out_shape: tuple[int, ...], target_shape: tuple[int, ...], stretched: bool
) -> None:
    weights = torch.ones(4, out_shape[1] if len(out_shape) > 1 else 1, requires_grad=True)
    out = (torch.randn(6, 4) @ weights).sigmoid().reshape(out_shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of the shapes
        found = origin(loss(out, torch.randn(target_shape)).grad_fn)
    assert (found.output, found.stretched) == ("sigmoid", stretched)


@every_loss
def test_autocast(name: str, loss: Loss) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        out = outputs()
        assert out.dtype == torch.bfloat16
        plain, squeezed = loss(out), loss(out.sigmoid())
    assert (seen(plain), seen(squeezed)) == ((name, "linear"), (name, "sigmoid"))


@every_loss
def test_after_backward_has_freed_the_graph(name: str, loss: Loss) -> None:
    value = loss(outputs().tanh())
    value.backward()  # type: ignore[no-untyped-call]
    with pytest.raises(RuntimeError, match="second time"):
        value.backward()  # type: ignore[no-untyped-call]
    assert seen(value) == (name, "tanh")


def test_a_compiled_model_shows_only_its_outside() -> None:
    model = compiled(nn.Sequential(nn.Linear(4, 3), nn.Sigmoid()))
    out = model(torch.randn(6, 4))
    assert seen(f.cross_entropy(out, CLASSES)) == ("cross_entropy", "")
    assert seen(f.cross_entropy(out.softmax(1), CLASSES)) == ("cross_entropy", "softmax")
    assert activation(out.grad_fn)[0] == ""


def test_a_loss_that_was_compiled_is_not_known() -> None:
    class WithLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = body()

        def forward(self, x: Tensor) -> Tensor:
            return f.cross_entropy(self.body(x), CLASSES)

    loss = compiled(WithLoss())(torch.randn(6, 4))
    assert loss.grad_fn is not None
    assert origin(loss.grad_fn) == Origin()


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda out: out.norm(), id="norm"),
        pytest.param(lambda out: out.sum(), id="sum"),
        pytest.param(lambda out: out.square().mean(), id="without-targets"),
        pytest.param(lambda out: f.mse_loss(out, NUMBERS).sqrt(), id="a-function-of-a-loss"),
        pytest.param(lambda out: out.logsumexp(1).mean(), id="logsumexp"),
        pytest.param(lambda out: ((out - NUMBERS) ** 4).mean(), id="fourth-power"),
    ],
)
def test_other_losses_are_not_known(loss: Loss) -> None:
    assert origin(loss(outputs()).grad_fn) == Origin()


def test_without_a_graph_nothing_is_known() -> None:
    with torch.no_grad():
        loss = f.mse_loss(outputs(), NUMBERS)
    assert origin(loss.grad_fn) == Origin()
    assert activation(None) == ("", False, None)
    assert origin(torch.ones((), requires_grad=True).grad_fn) == Origin()


def test_outputs_that_are_parameters() -> None:
    table = nn.Parameter(torch.randn(6, 3))
    assert origin(f.mse_loss(table, NUMBERS).grad_fn).loss == "mse"
    found = origin(f.mse_loss(table.sigmoid(), NUMBERS).grad_fn)
    assert found == Origin("mse", "sigmoid", bare=True)


def test_a_deep_graph_is_not_walked_to_its_end() -> None:
    out = outputs()
    for _ in range(5000):
        out = out + 1
    assert origin((out.sum() * 2).grad_fn) == Origin()
    for _ in range(5000):
        out = out.view(6, 3)
    assert activation(out.grad_fn)[0] == ""
    assert not leads_to(out.grad_fn, body().weight.grad_fn)


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        pytest.param(lambda out: out, True, id="itself"),
        pytest.param(lambda out: out.view(-1), True, id="moved"),
        pytest.param(lambda out: out.softmax(1), True, id="activation"),
        pytest.param(lambda out: out[:, :2].squeeze().sigmoid(), True, id="both"),
        pytest.param(lambda out: nn.Linear(3, 3)(out), False, id="another-layer"),
        pytest.param(lambda out: nn.Linear(3, 3)(out).sigmoid(), False, id="another-model"),
        pytest.param(lambda out: outputs().view(-1, 3), False, id="another-output"),  # noqa: ARG005
        pytest.param(lambda out: out.detach(), False, id="cut-off"),
    ],
)
def test_leads_to(then: Callable[[Tensor], Tensor], expected: bool) -> None:
    out = outputs()
    assert leads_to(then(out).grad_fn, out.grad_fn) is expected


def test_a_loss_alone_is_bare() -> None:
    out = outputs()
    each = f.mse_loss(out, NUMBERS, reduction="none")
    bare = [each.mean(), each.sum(), f.mse_loss(out, NUMBERS)]
    assert all(origin(loss.grad_fn).bare for loss in bare)
    assert not any(origin(loss.grad_fn).bare for loss in (-each.mean(), each.mean() + out.sum()))
