"""What a doctor learns of the batch, the loss and the loop, in loops as people write them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

import sickbay
from sickbay.doctor import Doctor
from sickbay.vitals import Setup, Table
from tests.models import Lstm, compiled, features, mlp, tokens

LABELS, NUMBERS = torch.arange(6) % 4, torch.linspace(-2, 2, 24).reshape(6, 4)
Criterion = Callable[[Tensor, Tensor], Tensor]


def watched(model: nn.Module, **options: Any) -> tuple[torch.optim.Optimizer, Doctor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    options = {"every": 1, "on_finding": "silent", **options}
    return optimizer, sickbay.watch(model, optimizer, **options)


def learn(
    model: nn.Module,
    criterion: Criterion,
    targets: Tensor,
    *,
    steps: int = 2,
    give: bool = False,
    batch: Callable[[], Tensor] = features,
    run: nn.Module | None = None,
) -> Doctor:
    torch.manual_seed(0)
    optimizer, doctor = watched(model)
    for _ in range(steps):
        optimizer.zero_grad()
        outputs = (run or model)(batch())
        loss = criterion(outputs, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss, outputs=outputs, targets=targets) if give else doctor.step(loss)
    assert not [event for event in doctor.events if event.kind == "trouble"]
    return doctor


def facts(doctor: Doctor) -> tuple[str, str, str, tuple[int, ...], tuple[int, ...]]:
    setup = doctor.history.setup
    return setup.loss, setup.output, setup.task, setup.output_shape, setup.target_shape


def newest(doctor: Doctor) -> Table:
    table = doctor.history.table("batch")
    assert table is not None
    return table


@pytest.mark.parametrize(
    ("criterion", "targets", "loss", "task"),
    [
        (nn.CrossEntropyLoss(), LABELS, "cross_entropy", "multiclass"),
        (nn.CrossEntropyLoss(label_smoothing=0.1), LABELS, "cross_entropy", "multiclass"),
        (nn.CrossEntropyLoss(), torch.eye(4)[LABELS], "cross_entropy", "multiclass"),
        (nn.BCEWithLogitsLoss(), (NUMBERS > 0).float(), "bce_logits", "multilabel"),
        (nn.MSELoss(), NUMBERS, "mse", "regression"),
        (nn.L1Loss(), NUMBERS, "l1", "regression"),
        (nn.SoftMarginLoss(), NUMBERS.sign(), "soft_margin", "multilabel"),
    ],
    ids=["classes", "smoothing", "one-hot", "tags", "mse", "l1", "soft-margin"],
)
def test_a_loss_module(criterion: Criterion, targets: Tensor, loss: str, task: str) -> None:
    doctor = learn(mlp(), criterion, targets)
    assert facts(doctor) == (loss, "linear", task, (6, 4), tuple(targets.shape))
    assert (doctor.history.setup.stretched, doctor.history.setup.strays) == (False, 0)
    table = newest(doctor)
    assert (table.names, table.step) == (("input", "output", "target"), 1)
    assert table.row("target")["maximum"] == targets.max()
    assert table.row("target")["count"] == targets.numel()
    assert (table.row("input")["count"], table.row("output")["count"]) == (48, 24)


def test_the_table_holds_the_batch_of_its_step() -> None:
    batches = [torch.full((6, 8), float(size)) for size in (1, 2, 3)]
    rest = iter(batches)
    doctor = learn(mlp(), nn.MSELoss(), NUMBERS, steps=3, batch=lambda: next(rest))
    tables = doctor.history.tables("batch", 9)
    assert [table.step for table in tables] == [0, 1, 2]
    assert [table.row("input")["maximum"] for table in tables] == [1, 2, 3]


def test_a_functional_loss_with_its_outputs_and_targets() -> None:
    doctor = learn(mlp(), f.cross_entropy, LABELS, give=True)
    assert facts(doctor) == ("cross_entropy", "linear", "multiclass", (6, 4), (6,))
    assert newest(doctor).names == ("input", "output", "target")


def test_a_functional_loss_alone() -> None:
    doctor = learn(mlp(), f.l1_loss, NUMBERS)
    assert facts(doctor) == ("l1", "linear", "regression", (6, 4), (6, 4))
    assert newest(doctor).names == ("input", "output", "target")
    doctor = learn(mlp(), lambda out, y: f.cross_entropy(out, y, label_smoothing=0.2), LABELS)
    assert facts(doctor) == ("cross_entropy", "linear", "multiclass", (6, 4), (6,))
    assert newest(doctor).names == ("input", "output", "target")


@pytest.mark.parametrize(
    ("criterion", "targets", "loss", "task"),
    [
        pytest.param(f.cross_entropy, LABELS, "cross_entropy", "multiclass", id="classes"),
        pytest.param(f.mse_loss, NUMBERS, "mse", "regression", id="numbers"),
        pytest.param(
            f.binary_cross_entropy_with_logits,
            (NUMBERS > 0).float(),
            "bce_logits",
            "multilabel",
            id="tags",
        ),
    ],
)
def test_targets_follow_from_the_gradient(
    criterion: Criterion, targets: Tensor, loss: str, task: str
) -> None:
    doctor = learn(mlp(), criterion, targets)
    assert facts(doctor) == (loss, "linear", task, (6, 4), tuple(targets.shape))
    row = newest(doctor).row("target")
    assert row["count"] == targets.numel()
    assert row["mean"] == pytest.approx(float(targets.float().mean()), abs=1e-4)
    assert row["maximum"] == pytest.approx(float(targets.max()), abs=1e-4)


def test_the_activation_before_the_loss() -> None:
    model = nn.Sequential(mlp(), nn.Softmax(1))
    for give in (False, True):
        assert facts(learn(model, nn.CrossEntropyLoss(), LABELS, give=give))[1] == "softmax"
    functional = learn(mlp(), lambda out, y: f.cross_entropy(out.softmax(1), y), LABELS)
    assert functional.history.setup.output == "softmax"


def test_a_loss_given_as_a_float() -> None:
    model = nn.Sequential(mlp(), nn.Tanh())
    optimizer, doctor = watched(model)
    for _ in range(2):
        optimizer.zero_grad()
        loss = nn.MSELoss()(model(features()), NUMBERS)
        loss.backward()
        optimizer.step()
        doctor.step(loss.item())
    assert facts(doctor) == ("mse", "tanh", "regression", (6, 4), (6, 4))


def test_outputs_and_targets_given_beside_a_float() -> None:
    model = nn.Sequential(mlp(), nn.Softmax(1))
    optimizer, doctor = watched(model)
    outputs = model(features())
    loss = f.l1_loss(outputs, NUMBERS)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    doctor.step(loss.item(), outputs=outputs, targets=NUMBERS)
    assert facts(doctor) == ("", "softmax", "regression", (6, 4), (6, 4))


def test_a_loss_not_given_at_all() -> None:
    model = mlp()
    optimizer, doctor = watched(model)
    nn.CrossEntropyLoss()(model(features()), LABELS).backward()
    optimizer.step()
    doctor.step()
    assert facts(doctor) == ("cross_entropy", "linear", "multiclass", (6, 4), (6,))


def test_a_compiled_model() -> None:
    model = nn.Sequential(nn.Linear(8, 4), nn.Sigmoid())
    doctor = learn(model, nn.MSELoss(), NUMBERS, run=compiled(model))
    assert facts(doctor) == ("mse", "", "regression", (6, 4), (6, 4))


@pytest.mark.parametrize("give", [False, True])
@pytest.mark.parametrize(
    ("criterion", "out_shape", "target_shape", "stretched"),
    [
        pytest.param(nn.MSELoss(), (6, 1), (6,), True, id="column-against-row"),
        pytest.param(nn.L1Loss(), (6,), (6, 1), True, id="row-against-column"),
        pytest.param(nn.MSELoss(), (6, 1), (6, 1), False, id="columns"),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_stretched_shapes(
    criterion: Criterion,
    out_shape: tuple[int, ...],
    target_shape: tuple[int, ...],
    stretched: bool,
    give: bool,
) -> None:
    class Shaped(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x).reshape(out_shape)

    model = Shaped(8, out_shape[1] if len(out_shape) > 1 else 1)
    doctor = learn(model, criterion, torch.randn(target_shape), give=give)
    assert doctor.history.setup.stretched is stretched
    assert facts(doctor)[3:] == (out_shape, target_shape)


@pytest.mark.parametrize(
    ("criterion", "head", "task"),
    [
        pytest.param(nn.CrossEntropyLoss(), 4, "next_token", id="many-classes"),
        pytest.param(nn.CrossEntropyLoss(), 2, "multiclass", id="two-classes"),
    ],
)
def test_tokens_as_input(criterion: Criterion, head: int, task: str) -> None:
    model = Lstm()
    model.head = nn.Linear(16, head)
    doctor = learn(model, criterion, LABELS % head, batch=tokens)
    assert facts(doctor) == ("cross_entropy", "linear", task, (6, head), (6,))
    assert newest(doctor).names == ("output", "target")  # numbers of words have no size


def test_one_number_for_each_sample_is_no_sequence() -> None:
    model = nn.Embedding(11, 4)
    doctor = learn(model, nn.CrossEntropyLoss(), LABELS, batch=lambda: torch.arange(6))
    assert facts(doctor) == ("cross_entropy", "linear", "multiclass", (6, 4), (6,))


class Named(nn.Module):
    """Puts out a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.body = mlp()

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"ids": torch.arange(3), "logits": self.body(x)}


@pytest.mark.parametrize("criterion", [nn.CrossEntropyLoss(), f.cross_entropy])
def test_dict_outputs(criterion: Any) -> None:
    doctor = learn(Named(), lambda out, y: criterion(out["logits"], y), LABELS)  # type: ignore[index]
    assert facts(doctor)[:4] == ("cross_entropy", "linear", "multiclass", (6, 4))
    assert newest(doctor).row("output")["count"] == 24


def test_the_most_labels_of_any_batch_count() -> None:
    model = mlp()
    optimizer, doctor = watched(model)
    labels = []
    for targets in (LABELS % 2, LABELS, LABELS % 3):
        nn.CrossEntropyLoss()(model(features()), targets).backward()
        optimizer.step()
        doctor.step()
        labels.append(doctor.history.setup.labels)
    assert labels == [2, 4, 4]
    assert learn(mlp(), nn.MSELoss(), NUMBERS).history.setup.labels == 0


def test_a_batch_may_look_like_a_simpler_task() -> None:
    model = mlp()
    optimizer, doctor = watched(model)
    tasks = []
    for targets in (torch.eye(4)[LABELS], (NUMBERS > 0).float(), torch.eye(4)[LABELS], NUMBERS):
        nn.MSELoss()(model(features()), targets).backward()
        optimizer.step()
        doctor.step()
        tasks.append(doctor.history.setup.task)
    assert tasks == ["multiclass", "multilabel", "multilabel", "regression"]


def test_nothing_is_read_where_the_batch_is_not_due() -> None:
    model = mlp()
    optimizer, doctor = watched(model, every={"gradient": 1})
    nn.MSELoss()(model(features()), NUMBERS).backward()
    optimizer.step()
    doctor.step()
    assert doctor.history.table("batch") is None
    assert doctor.history.setup == Setup(**{**vars(doctor.history.setup), "loss": "", "task": ""})


def test_the_doctor_leaves_nothing_behind() -> None:
    model = mlp()
    doctor = learn(model, nn.MSELoss(), NUMBERS)
    doctor.close()
    assert "__call__" not in vars(nn.modules.loss._Loss)
    assert not model._forward_hooks
    assert not model._forward_pre_hooks
