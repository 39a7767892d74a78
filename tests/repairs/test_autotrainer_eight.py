"""Networks with one of AutoTrainer's problems each: found by its rules, cured by its solutions."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.published.autotrainer import ImproperLoss, ImproperOutput
from sickbay.recipe import Recipe
from sickbay.remedies import ChangeLoss, FitOutputToTask, Fitted, NormaliseData
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.training_loop import TrainingLoop
from sickbay.surgery import output_activation
from sickbay.vitals import Setup
from tests.repairs.test_training_loop import training_loop

OUTPUTS = {
    "linear": nn.Identity(), "sigmoid": nn.Sigmoid(), "softmax": nn.Softmax(-1), "relu": nn.ReLU(),
}  # fmt: skip


def repair(
    model: nn.Module, x: Tensor, y: Tensor, *, lr: float = 0.01, epochs: int = 24, **more: Any
) -> sickbay.Outcome:
    recipe = Recipe(
        model,
        nn.CrossEntropyLoss(),
        torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9),
        epochs=epochs,
    )
    strategy = more.pop("strategy", "autotrainer")
    return sickbay.repair(recipe, (x, y), strategy=strategy, progress=False, learn=False, **more)


def points(scale: float = 1.0) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x = torch.randn(400, 4)
    return scale * x, (x[:, 0] + x[:, 1] > 0).long() + (x[:, 2] > 1).long()


def layers(depth: int = 3, gain: float = 1.0, bias: float = 0.0) -> nn.Sequential:
    torch.manual_seed(0)
    made: list[nn.Module] = []
    for index in range(depth):
        layer = nn.Linear(4 if index == 0 else 16, 16)
        nn.init.kaiming_normal_(layer.weight)
        with torch.no_grad():
            layer.weight *= gain
            layer.bias.fill_(bias)
        made += [layer, nn.ReLU()]
    return nn.Sequential(*made, nn.Linear(16, 3))


def test_an_exploding_network_has_exploding_gradients() -> None:
    outcome = repair(layers(8, gain=6.0), *points())
    first = [each.problem for each in outcome.findings[:2]]
    assert first == ["abnormal_data", "exploding_gradient"]  # both show, the data is in order
    assert outcome.attempts[0].result == "exploding_gradient"
    assert outcome.attempts[1].remedy == "replace_activation to=selu"
    assert outcome.solved
    assert outcome.score > 0.8


@pytest.mark.parametrize("spoil", ["scale", "nan", "outlier"])
def test_abnormal_data_is_processed(spoil: str) -> None:
    x, y = points(1000.0 if spoil == "scale" else 1.0)
    if spoil != "scale":
        x[::50] = torch.nan if spoil == "nan" else 1e9
    outcome = repair(layers(), x, y)
    assert outcome.attempts[0].result == "abnormal_data"
    assert [each.remedy for each in outcome.attempts[1:]] == ["normalise_data limit=10.0"]
    assert outcome.solved


def test_dying_relu_shows_in_the_rows_of_the_gradients() -> None:
    outcome = repair(layers(bias=-50.0), *points())
    assert outcome.attempts[0].result == "dying_relu"
    assert outcome.attempts[1].remedy == "replace_activation to=leaky_relu"


def test_a_loss_that_swings_and_one_that_stands_still() -> None:
    slow = repair(layers(), *points(), lr=1e-7, epochs=9)
    assert slow.attempts[0].result == "slow_convergence"
    assert slow.attempts[1].remedy == "use_another_optimizer to=adam"
    assert slow.solved
    swinging = repair(layers(1), *points(), lr=3.0, epochs=30, problems=["oscillating_accuracy"])
    assert swinging.attempts[0].result == "oscillating_accuracy"
    assert swinging.attempts[1].remedy == "change_optimizer to=adam"


def test_out_of_solutions_the_most_accurate_model_is_returned() -> None:
    outcome = repair(layers(), *points(), lr=1e-7, remedies=["initialise_again scheme=he_uniform"])
    assert [each.result for each in outcome.attempts] == ["slow_convergence"] * 2
    assert not outcome.solved
    assert outcome.score == max(each.score for each in outcome.attempts)


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel", "regression"])
@pytest.mark.parametrize("loss", ["bce", "bce_logits", "cross_entropy", "nll", "mse", ""])
@pytest.mark.parametrize("output", OUTPUTS)
def test_an_improper_output_is_not_found_again(task: str, loss: str, output: str) -> None:
    def history() -> History:
        return History(Setup(task=task, loss=loss, output=output), accuracy=[0.1])

    model = nn.Sequential(nn.Linear(2, 2), OUTPUTS[output])
    recipe = Recipe(
        model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1),
        example=(torch.randn(4, 2),), setup=history().setup,
    )  # fmt: skip
    finding = ImproperOutput().check(history())
    changed = FitOutputToTask().prescribe(Finding(problem="improper_output", step=0), recipe)
    assert (finding is None) == (changed is None)
    if changed is not None:
        output = output_activation(changed.model, recipe.example)
        assert ImproperOutput().check(history()) is None


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel", "regression"])
def test_neither_is_an_improper_loss(task: str) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    setup = Setup(task=task, loss="hinge", output="relu", output_shape=(4, 2))
    assert ImproperLoss().check(History(setup, accuracy=[0.1])) is not None
    recipe = Recipe(
        model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1),
        example=(torch.randn(4, 2),), setup=setup,
    )  # fmt: skip
    changed = ChangeLoss().prescribe(Finding(problem="improper_loss", step=0), recipe)
    assert changed is not None
    assert isinstance(changed.loss, Fitted)
    kind = type(changed.loss.loss).__name__
    names = {"CrossEntropyLoss": "cross_entropy", "BCEWithLogitsLoss": "bce_logits"}
    after = Setup(task=task, loss=names.get(kind, "mse"), output="linear")
    for problem in (ImproperLoss(), ImproperOutput()):
        assert problem.check(History(after, accuracy=[0.1])) is None


@pytest.mark.parametrize(
    ("mean", "std", "bad", "clean", "expected"),
    [
        pytest.param(0.0, 1.0, False, False, False, id="standardised"),
        pytest.param(0.5, 0.3, False, False, False, id="pixels-from-0-to-1"),
        pytest.param(128.0, 60.0, False, False, True, id="pixels-from-0-to-255"),
        pytest.param(0.0, 1.0, True, False, True, id="bad-samples"),
        pytest.param(128.0, 60.0, False, True, False, id="processed-already"),
        pytest.param(1.0, 3.0, False, False, True, id="at-the-limit"),
    ],
)
def test_only_abnormal_data_is_processed(
    mean: float, std: float, bad: bool, clean: bool, expected: bool
) -> None:
    given = training_loop().recipe
    recipe = given.but(
        inputs=(torch.full((2,), mean), torch.full((2,), std)), bad_samples=bad, clean_data=clean
    )
    assert NormaliseData().applies(recipe) is expected
    finding = Finding(problem="abnormal_data", step=0)
    assert bool(NormaliseData().prescribe(finding, recipe)) is expected


def test_a_problem_without_a_remedy_that_applies_stops_no_run() -> None:
    outcome = repair(layers(8, gain=6.0), *points(), problems=["abnormal_data"], epochs=3)
    assert [each.result for each in outcome.attempts] == ["healthy"]
    assert outcome.findings[0].problem == "abnormal_data"


def test_a_run_that_must_not_stop_goes_on() -> None:
    given = training_loop(epochs=3)
    settings = RunSettings(
        problems=[ImproperLoss(accuracy=1.0)], treatable=["improper_loss"], epochs=3, check_every=1
    )
    loop = TrainingLoop(given.recipe, given.data, settings)
    assert loop.advance(3, stop_at_findings=False).epochs == 3
