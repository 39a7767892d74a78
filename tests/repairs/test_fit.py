"""Whole repairs, of networks that train in a second."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import sickbay
from sickbay.demo.flawed_models import FLAWED_MODELS, circles, layers
from sickbay.repairs.executor import WorkerExecutor
from sickbay.repairs.run import Run
from tests.repairs.failing_models import Poison

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def healthy() -> nn.Sequential:
    return layers(2, 32, 32, 1, gain=2.4)


def sick() -> nn.Module:
    return layers(2, *[32] * 9, 1, hidden=nn.Sigmoid)


def fit(model: nn.Module, **more: Any) -> sickbay.Outcome:
    settings: dict[str, Any] = {
        "loss": nn.BCEWithLogitsLoss(),
        "optimizer": lambda held: torch.optim.Adam(held, lr=3e-3),
        "validation": circles(256, seed=1),
        "batch_size": 64,
        "epochs": 20,
        "progress": False,
    }
    return sickbay.fit(model, circles(512), **settings | more)


def test_a_sick_network_is_repaired(home: Path) -> None:
    model = sick()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    outcome = fit(model)
    assert outcome.solved
    assert outcome.score > 0.95
    assert outcome.findings[0].problem == "vanishing_gradient"
    assert outcome.attempts[0].result == "vanishing_gradient"
    assert outcome.attempts[-1].parent == 0
    assert any(each.result == "healthy" for each in outcome.attempts)
    assert outcome.epochs < 2.5 * 20
    assert "sickbay.surgery" in outcome.diff
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    points, labels = circles(256, seed=1)
    right = (outcome.model.eval()(points) > 0) == (labels > 0)
    assert float(right.float().mean()) == pytest.approx(outcome.score)
    assert json.loads((home / "odds.json").read_text())["vanishing_gradient"]


def test_a_healthy_network_is_only_trained() -> None:
    outcome = fit(healthy())
    assert outcome.solved
    assert outcome.score > 0.95
    assert (len(outcome.attempts), outcome.epochs) == (1, 20)
    assert outcome.diff == "no change"
    assert outcome.recipe is outcome.original
    assert len(outcome.history) == 20


def test_training_ends_at_the_target() -> None:
    outcome = fit(healthy(), target=0.9)
    assert outcome.epochs < 20
    assert outcome.score >= 0.9


@pytest.mark.parametrize("problem", FLAWED_MODELS)
def test_each_of_the_eight(problem: str) -> None:
    recipe, data, validation = FLAWED_MODELS[problem].make()
    recipe = replace(recipe, epochs=20)
    outcome = sickbay.repair(recipe, data, validation=validation, progress=False)
    assert outcome.solved
    assert outcome.score > 0.9
    assert outcome.attempts[0].result


def test_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SICKBAY_HOME", os.devnull)  # else the second knows more than the first
    first, second = fit(sick(), epochs=10), fit(sick(), epochs=10)
    assert first.summary().replace("-inf", "") == second.summary().replace("-inf", "")


def test_the_way_of_the_paper() -> None:
    recipe, data, validation = FLAWED_MODELS["slow_convergence"].make()
    outcome = sickbay.repair(
        replace(recipe, epochs=12), data, validation=validation, strategy="autotrainer",
        progress=False,
    )  # fmt: skip
    assert outcome.solved
    assert outcome.attempts[0].result == "slow_convergence"
    assert outcome.attempts[0].epochs % 3 == 0
    tried = [each for each in outcome.attempts if each.parent == 0]
    assert tried[0].remedy == "use_another_optimizer to=nadam"  # it is Adam already


def test_only_the_remedies_given() -> None:
    outcome = fit(sick(), remedies=["insert_normalisation"])
    assert {each.remedy for each in outcome.attempts} == {"", "insert_normalisation"}


def test_without_a_remedy_the_plain_training_is_what_is_left() -> None:
    outcome = fit(sick(), remedies=["warm_up"])
    assert outcome.attempts[-1].epochs == 20
    assert outcome.diff == "no change"


def test_the_chart_has_every_attempt(tmp_path: Path) -> None:
    outcome = fit(sick(), chart=tmp_path / "run")
    lines = (tmp_path / "run" / "attempts.jsonl").read_text().splitlines()
    assert len(lines) == len(outcome.attempts)
    report = json.loads((tmp_path / "run" / "outcome.json").read_text())
    assert report["solved"]
    assert sickbay.Chart.open(tmp_path / "run" / "attempt-0").events()


def test_a_folder_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    fit(healthy(), chart=tmp_path / "run", epochs=1)
    before = (tmp_path / "run" / "outcome.json").read_text()
    fit(healthy(), chart=tmp_path / "run", epochs=2)
    assert (tmp_path / "run" / "outcome.json").read_text() == before
    assert (tmp_path / "run-2" / "outcome.json").exists()


def test_finished_attempts_are_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fit(sick(), chart=tmp_path / "run")
    winner = next(each for each in whole.attempts if each.result == "healthy").number
    (tmp_path / "run" / f"attempt-{winner}.pt").unlink()  # as if it had been killed in that one
    (tmp_path / "run" / "outcome.json").unlink()
    begun: list[int] = []
    real = WorkerExecutor.start

    def start(executor: WorkerExecutor, run: Run, *rest: Any) -> None:
        begun.append(run.number)
        real(executor, run, *rest)

    monkeypatch.setattr(WorkerExecutor, "start", start)
    shutil.rmtree(tmp_path / "home")
    again = fit(sick(), chart=tmp_path / "run", resume=True)
    assert begun == [winner]
    assert (again.score, again.diff) == (whole.score, whole.diff)


def test_runs_in_processes_come_to_the_same() -> None:
    recipe, data, validation = FLAWED_MODELS["dying_relu"].make()
    recipe = replace(recipe, epochs=15)
    more: dict[str, Any] = {
        "validation": validation, "progress": False, "learn": False,
        "remedies": ["insert_normalisation", "initialise_again"],
    }  # fmt: skip
    alone = sickbay.repair(recipe, data, **more)
    several = sickbay.repair(recipe, data, workers=2, **more)
    assert several.solved
    assert several.as_json() == alone.as_json()
    for one, other in zip(several.model.parameters(), alone.model.parameters(), strict=True):
        assert torch.equal(one, other)


class Fragile(nn.Module):
    """Fails in training, but not before."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        if self.training and torch.is_grad_enabled():
            raise IndexError("out of range")
        made: Tensor = self.layer(x)
        return made


def test_a_model_that_cannot_be_trained_is_no_success() -> None:
    with pytest.raises(sickbay.SickbayError, match="could not be trained: out of range"):
        fit(Fragile())


def test_a_loader_keeps_its_batch_size() -> None:
    sizes: set[int] = set()

    class Noted(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            if self.training:
                sizes.add(len(x))
            made: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
            return made

    dataset = TensorDataset(*circles(128))
    loader = DataLoader(dataset, batch_size=16)
    model = Noted(*healthy())
    outcome = sickbay.fit(
        model, loader, loss=nn.BCEWithLogitsLoss(), validation=circles(64, seed=1), epochs=1,
        optimizer=torch.optim.Adam(model.parameters()), progress=False,
    )  # fmt: skip
    assert sizes == {16}
    assert outcome.recipe.batch_size == 16


def test_the_budget_is_kept() -> None:
    outcome = fit(sick(), budget=12)
    assert outcome.epochs <= 13


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"epochs": 0},
            "epochs must be a whole number of at least 1, got 0.",
        ),
        ({"budget": 0}, "budget must be a finite number above 0, got 0."),
        ({"strategy": "rase"}, "There is no strategy 'rase'; did you mean 'race'?"),
        ({"profile": "defualt"}, "There is no profile 'defualt'; did you mean 'default'?"),
        ({"remedies": ["clip"]}, "There is no remedy 'clip'"),
        ({"workers": 0}, "workers must be a number from 1 on, 'ray' or None, got 0."),
        ({"resume": True}, "resume=True needs the folder of the repair to resume as chart=."),
        ({"optimizer": 3}, "optimizer must be an optimizer, or a function making one, got int."),
        (
            {"target": 95},
            "target must be at most 1, as an accuracy is, got 95; for 95 % give 0.95.",
        ),
        ({"loss": nn.MSELoss}, "got the class MSELoss; an object of it is MSELoss()."),
        ({"loss": 3}, "loss must be a module or a function of outputs and labels, got 3."),
    ],
    ids=lambda each: str(each)[:20],
)
def test_bad_input(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(sickbay.UsageError) as error:
        fit(healthy(), chart=None if "resume" in more else tmp_path / "run", **more)
    assert message in str(error.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["epoch", "train", "learn"])
def test_an_unknown_argument_is_an_error_of_fit(name: str) -> None:
    with pytest.raises(TypeError, match=rf"fit\(\) got an unexpected keyword argument '{name}'"):
        fit(healthy(), **{name: None})


def test_an_optimizer_of_another_model() -> None:
    other = torch.optim.Adam(healthy().parameters())
    with pytest.raises(sickbay.UsageError, match="optimizer"):
        fit(healthy(), optimizer=other)


def test_runs_on_a_ray_cluster() -> None:
    ray = pytest.importorskip("ray")
    recipe, data, validation = FLAWED_MODELS["dying_relu"].make()
    # Each starts a process, which takes its time.
    some: list[str | sickbay.Remedy] = ["insert_normalisation", Poison()]
    try:
        outcome = sickbay.repair(
            replace(recipe, epochs=15),
            data,
            validation=validation,
            progress=False,
            workers="ray",
            remedies=some,
        )
    finally:
        ray.shutdown()
    assert outcome.solved
    assert outcome.score > 0.9
    assert len(outcome.attempts) == 3
    died = next(each for each in outcome.attempts if each.remedy.startswith("poison"))
    assert died.result.startswith("failed: its worker on the Ray cluster ended: ")
