"""What each remedy changes, and when it has nothing to change."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from sickbay import remedies as r
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.vitals import Setup
from tests.remedies.test_all import recipe

FOUND = Finding(problem="any", step=0)


def given(remedy: Remedy, before: Recipe | None = None) -> Recipe:
    made = remedy.prescribe(FOUND, before or recipe())
    assert made is not None
    return made


def kinds(model: nn.Module) -> list[str]:
    return [type(each).__name__ for each in model.children()]


def test_activations_and_fitting_weights() -> None:
    made = given(r.ReplaceActivation(to="relu"))
    assert kinds(made.model) == ["Linear", "ReLU", "Linear", "Sigmoid"]
    weight = made.model.get_parameter("0.weight")
    assert weight.abs().max() <= (6 / 4) ** 0.5
    assert not torch.equal(weight, recipe().model.get_parameter("0.weight"))


def test_normalisation() -> None:
    model = given(r.InsertNormalisation()).model
    assert any(isinstance(each, nn.BatchNorm1d) for each in model.modules())


def test_dropout() -> None:
    made = given(r.AddDropout(share=0.3)).model
    assert [each.p for each in made.modules() if isinstance(each, nn.Dropout)] == [0.3]


@pytest.mark.parametrize(
    ("remedy", "code"),
    [(r.ClearGradients(), "zero_grad()"), (r.MendTargets(), "y.unique()")],
)
def test_what_only_a_person_can_do_is_shown_as_code(remedy: Remedy, code: str) -> None:
    assert remedy.prescribe(FOUND, recipe()) is None
    assert code in remedy.code


@pytest.mark.parametrize(
    ("remedy", "name", "value"),
    [
        (r.ClipNorm(), "clip_norm", 1.0),
        (r.ClipValues(), "clip_value", 10.0),
        (r.EnlargeBatch(), "batch_size", 32),
        (r.WarmUp(), "warmup", 100),
        (r.LowerOnPlateau(), "patience", 3),
        (r.SkipBadBatches(), "skip_bad_batches", True),
        (r.TrainMode(), "train_mode", True),
        (r.RollBack(), "rollbacks", 1),
    ],
)
def test_settings(remedy: Remedy, name: str, value: object) -> None:
    assert getattr(given(remedy), name) == value


@pytest.mark.parametrize(
    ("remedy", "lr"),
    [
        (r.HalveLearningRate(), 0.25),
        (r.ScaleLearningRate(factor=10.0), 5.0),
        (r.ScaleLearningRate(factor=0.1), 0.05),
        (r.UsualLearningRate(), 0.01),
        (r.ChangeOptimizer(to="adam"), 0.001),
    ],
)
def test_rates(remedy: Remedy, lr: float) -> None:
    assert given(remedy).lr == pytest.approx(lr)


@pytest.mark.parametrize(
    ("remedy", "changes"),
    [
        (r.ClipNorm(), {"clip_norm": 0.5}),
        (r.ClipValues(limit=2.0), {"clip_value": 1.0}),
        (r.EnlargeBatch(), {"batch_size": 256}),
        (r.EnlargeBatch(), {"batch_size": 1000}),
        (r.WarmUp(steps=10), {"warmup": 10}),
        (r.LowerOnPlateau(), {"patience": 1}),
        (r.SkipBadBatches(), {"skip_bad_batches": True}),
        (r.RollBack(most=2), {"rollbacks": 2}),
        (r.ProcessData(), {"clean_data": True}),
        (r.ProcessData(), {"inputs": None}),
        (r.ChangeLoss(), {"setup": Setup()}),
        (r.HoldAllParameters(), {}),
    ],
)
def test_nothing_to_change(remedy: Remedy, changes: dict[str, object]) -> None:
    before = replace(recipe(), **changes)  # type: ignore[arg-type]
    assert remedy.prescribe(FOUND, before) is None


def test_the_batch_doubles_up_to_the_most() -> None:
    sizes = []
    made: Recipe | None = replace(recipe(), batch_size=20)
    while made is not None:
        sizes.append(made.batch_size)
        made = r.EnlargeBatch().prescribe(FOUND, made)
    assert sizes == [20, 40, 80, 160, 256]


def test_the_usual_rate_is_that_of_the_optimizer() -> None:
    adam = given(r.ChangeOptimizer(to="adam"))
    assert r.ChangeOptimizer(to="adam").prescribe(FOUND, adam) is None
    assert r.UsualLearningRate().prescribe(FOUND, adam) is None
    assert given(r.UsualLearningRate(), adam.with_lr(1.0)).lr == 0.001


def test_weight_decay_only_where_there_is_less() -> None:
    made = given(r.AddWeightDecay())
    assert made.optimizer.param_groups[0]["weight_decay"] == 0.01
    assert r.AddWeightDecay().prescribe(FOUND, made) is None


def test_the_output_that_the_loss_asks_for() -> None:
    made = given(r.ChangeOutput())
    assert kinds(made.model) == ["Linear", "Sigmoid", "Linear", "Identity"]
    assert r.ChangeOutput().prescribe(FOUND, made) is None
    probabilities = replace(recipe(), setup=replace(recipe().setup, loss="bce"))
    assert r.ChangeOutput().prescribe(FOUND, probabilities) is None


def test_a_log_softmax_stays_before_a_likelihood_that_looks_like_a_cross_entropy() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(-1))
    seen = replace(recipe().setup, task="multiclass", loss="cross_entropy")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = replace(recipe(), model=model, optimizer=optimizer, loss=nn.NLLLoss(), setup=seen)
    assert r.ChangeOutput().prescribe(FOUND, before) is None
    made = given(r.ChangeOutput(), replace(before, loss=nn.CrossEntropyLoss()))
    assert kinds(made.model) == ["Linear", "Identity"]


def test_a_loss_for_classes_makes_as_many_outputs() -> None:
    setup = Setup(
        task="regression", labels=3, loss="mse", output="sigmoid",
        output_shape=(8, 1), target_shape=(8, 1),
    )  # fmt: skip
    targets = torch.tensor([[0.0], [1.0], [2.0]])
    made = given(r.ChangeLoss(), replace(recipe(), setup=setup, targets=targets))
    outputs = made.model(torch.randn(3, 4))
    assert outputs.shape == (3, 3)
    assert isinstance(made.loss, r.Fitted)
    expected = nn.functional.cross_entropy(outputs, torch.tensor([0, 1, 2]))
    assert made.loss(outputs, targets).item() == pytest.approx(expected.item())
    assert kinds(made.model)[-1] == "Identity"


def test_answers_of_minus_one_become_zero() -> None:
    loss = r.Fitted(nn.BCEWithLogitsLoss(), "answers")
    outputs, signs = torch.tensor([[0.5], [-2.0]]), torch.tensor([-1.0, 1.0])
    expected = nn.BCEWithLogitsLoss()(outputs, torch.tensor([[0.0], [1.0]]))
    assert loss(outputs, signs).item() == pytest.approx(expected.item())


def test_values_get_the_shape_of_the_outputs() -> None:
    loss = r.Fitted(nn.MSELoss(), "values")
    assert loss(torch.ones(5, 1), torch.ones(5)).item() == 0


def test_one_hot_classes_stay_as_they_are() -> None:
    loss = r.Fitted(nn.CrossEntropyLoss(), "classes")
    outputs, onehot = torch.randn(4, 3), torch.eye(3)[[0, 2, 1, 1]]
    expected = nn.functional.cross_entropy(outputs, torch.tensor([0, 2, 1, 1]))
    assert loss(outputs, onehot).item() == pytest.approx(expected.item(), rel=1e-5)


def test_missing_parameters_are_held() -> None:
    before = recipe()
    assert not r.HoldAllParameters().applies(before)
    part = torch.optim.SGD(before.model.get_submodule("2").parameters(), lr=0.1)
    made = given(r.HoldAllParameters(), replace(before, optimizer=part))
    assert len(made.optimizer.param_groups[0]["params"]) == 4


def test_groups_with_no_rate_get_one() -> None:
    before = recipe()
    groups: list[dict[str, object]] = [
        {"params": list(before.model.get_submodule("0").parameters()), "lr": 0.0},
        {"params": list(before.model.get_submodule("2").parameters())},
    ]
    made = given(r.HoldAllParameters(), replace(before, optimizer=torch.optim.SGD(groups, lr=0.1)))
    assert [group["lr"] for group in made.optimizer.param_groups] == [0.1, 0.1]


def test_inputs_are_standardised() -> None:
    before = replace(recipe(), inputs=(torch.full((4,), 100.0), torch.full((4,), 50.0)))
    made = given(r.ProcessData(), before)
    outputs = made.model(torch.full((1, 4), 150.0))
    assert torch.allclose(outputs, before.model(torch.ones(1, 4)))
    assert made.clean_data


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: r.ReplaceActivation(to="rleu"), "There is no to 'rleu'; did you mean 'relu'?"),
        (lambda: r.ClipNorm(limit=0), "limit must be a number above 0, got 0."),
        (lambda: r.WarmUp(steps=0), "steps must be a whole number of at least 1, got 0."),
    ],
)
def test_wrong_settings(make: object, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(("loss", "changes"), [("", False), ("cross_entropy", True)])
def test_a_softmax_over_the_samples_goes_with_its_loss(loss: str, changes: bool) -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Softmax(0))
    setup = Setup(output="softmax", mixes_samples=True, loss=loss, task="multiclass")
    before = replace(
        recipe(), model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), setup=setup,
        example=(torch.ones(4, 2),),
    )  # fmt: skip
    assert bool(r.ChangeOutput().prescribe(FOUND, before)) is changes
    made = given(r.ChangeLoss(), before)
    assert kinds(made.model) == ["Linear", "Identity"]
