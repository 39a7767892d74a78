"""Whatever a model returns and a loss does with it, reading it leaves training bit for bit."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

import sickbay
from tests.doctor.loops import backward, undisturbed, watch
from tests.models import compiled

ROWS, WIDE = 32, 3000  # outputs of so many values are read only in part
LABELS, TOKENS = torch.arange(ROWS) % WIDE, torch.arange(ROWS * 8).view(ROWS, 8) % 11
# Said by torch itself while it compiles, watched or not.
compiling = pytest.mark.filterwarnings("ignore:The .grad attribute", "ignore:.*torch.jit")


class Returning(nn.Module):
    """Returns its outputs in some form."""

    def __init__(self, form: Callable[[Tensor], Any], width: int = 4, dropout: float = 0.2) -> None:
        super().__init__()
        layers = nn.Linear(8, 8), nn.Dropout(dropout), nn.ReLU(), nn.Linear(8, width)
        self.body, self.form = nn.Sequential(*layers), form

    def forward(self, x: Tensor) -> Any:
        return self.form(self.body(x))


class Language(nn.Module):
    """A large output for every token."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 500))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(x)
        return out


def plain(out: Tensor) -> Tensor:
    return out


def classes(out: Tensor) -> Tensor:
    return f.cross_entropy(out, LABELS % out.shape[1])


def of_each_sample(model: nn.Module, x: Tensor) -> Tensor:
    """Return the loss plus a term of the gradients of single samples."""
    weights = {name: each.detach() for name, each in model.named_parameters()}

    def of_one(given: dict[str, Tensor], row: Tensor) -> Tensor:
        out: Tensor = torch.func.functional_call(model, given, (row[None],))
        return out.square().mean()

    each = torch.func.vmap(torch.func.grad(of_one), in_dims=(None, 0))(weights, x)
    loss: Tensor = classes(model(x)) + 0.0 * next(iter(each.values())).sum()
    return loss


Make: TypeAlias = Callable[[], nn.Module]
Step: TypeAlias = Callable[[Any, Tensor], Tensor]
LOOPS: dict[str, tuple[Make, Step]] = {
    "large": (lambda: Returning(plain, WIDE), lambda model, x: classes(model(x))),
    "large-module": (
        lambda: Returning(plain, WIDE),
        lambda model, x: nn.CrossEntropyLoss()(model(x), LABELS),
    ),
    "large-numbers": (
        lambda: Returning(plain, WIDE),
        lambda model, x: f.mse_loss(model(x), x.repeat(1, WIDE // 8)),
    ),
    "tokens": (
        Language,
        lambda model, _: f.cross_entropy(model(TOKENS).view(-1, 500), TOKENS.view(-1)),
    ),
    "tokens-transposed": (
        Language,
        lambda model, _: nn.CrossEntropyLoss()(model(TOKENS).mT, TOKENS),
    ),
    "tuple": (lambda: Returning(lambda out: (out, 3)), lambda model, x: classes(model(x)[0])),
    "dict": (
        lambda: Returning(lambda out: {"logits": out, "loss": None}),
        lambda model, x: classes(model(x)["logits"]),
    ),
    "a-part-without-gradient": (
        lambda: Returning(lambda out: (out.detach(), out)),
        lambda model, x: classes(model(x)[1]),
    ),
    "no-tensor": (
        lambda: Returning(lambda out: [str(len(out)), (), {"out": [out]}]),
        lambda model, x: classes(model(x)[2]["out"][0]),
    ),
    "changed-in-place": (
        lambda: Returning(plain),
        lambda model, x: classes(model(x).mul_(2).add_(1)),
    ),
    "stretched": (
        lambda: Returning(plain, 1),
        lambda model, x: ((model(x) - x[:, 0]) ** 2).mean(),
    ),
    "wrong-sign": (
        lambda: Returning(plain),
        lambda model, x: -nn.CrossEntropyLoss()(model(x), LABELS % 4),
    ),
    "called-twice": (
        lambda: Returning(plain),
        lambda model, x: classes(model(x)) + classes(model(x + 1)),
    ),
    "gradients-of-samples": (lambda: Returning(plain, dropout=0.0), of_each_sample),
}


def trained(
    loop: str, *, watched: bool, scaled: bool = False, prepare: Any = plain
) -> tuple[list[float], list[Tensor], Tensor, sickbay.Doctor | None]:
    torch.manual_seed(0)
    make, step = LOOPS[loop]
    model = make()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=scaled)
    doctor = watch(model, optimizer, activations=prepare is plain) if watched else None
    run, losses = prepare(model), []
    for _ in range(6):
        optimizer.zero_grad()
        loss = step(run, torch.randn(ROWS, 8))
        backward(scaler.scale(loss))
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        if doctor:
            doctor.step(loss)
    return losses, [each.detach() for each in model.parameters()], torch.get_rng_state(), doctor


def check_same(loop: str, **options: Any) -> sickbay.Doctor:
    plain_losses, plain_weights, plain_random, _ = trained(loop, watched=False, **options)
    losses, weights, random, doctor = trained(loop, watched=True, **options)
    assert losses == plain_losses
    assert all(map(torch.equal, weights, plain_weights))
    assert torch.equal(random, plain_random)
    assert doctor is not None
    assert undisturbed(doctor)
    doctor.close()
    assert undisturbed(doctor)
    return doctor


@pytest.mark.parametrize("loop", LOOPS)
def test_training_is_unchanged(loop: str) -> None:
    assert check_same(loop).history.table("batch") is not None


@pytest.mark.parametrize("loop", LOOPS)
def test_training_with_a_scaler_is_unchanged(loop: str) -> None:
    check_same(loop, scaled=True)


@compiling
@pytest.mark.parametrize("loop", ["large", "tokens", "tuple", "dict", "a-part-without-gradient"])
def test_compiled_training_is_unchanged(loop: str) -> None:
    check_same(loop, prepare=compiled)


@pytest.mark.parametrize(
    "loop", ["large", "large-module", "tokens", "tokens-transposed", "tuple", "dict"]
)
def test_answers_are_scored_whatever_their_size(loop: str) -> None:
    history = check_same(loop).history
    assert len(history.recent("score", 9)) == len(history.recent("constant_score", 9)) == 6


@pytest.mark.parametrize(("loop", "expected"), [("wrong-sign", True), ("dict", False)])
def test_a_loss_of_the_wrong_sign_pulls_away(loop: str, expected: bool) -> None:
    doctor = check_same(loop)
    pulls = doctor.history.recent("pull", 9)
    assert len(pulls) == 6
    assert all((pull < 0) is expected for pull in pulls)
    assert ("improper_loss" in [each.problem for each in doctor.findings]) is expected
