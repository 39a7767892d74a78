"""A user's own problems and remedies, passed as objects or brought by another package."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import torch
from torch import nn

import sickbay
from sickbay import plugins
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.repairs.run_settings import RunSettings


class TooQuiet(Problem):
    """Nobody speaks. Written as users do: no dataclass, as it has no thresholds."""

    advice = "make some noise"
    tolerated_at_best = True

    def check(self, history: History) -> Finding | None:
        return self.found(history, "too quiet") if history.step == 2 else None


class Whisper(Remedy):
    """Halve the learning rate, quietly."""

    treats = ("dead_units", "vanishing_gradient", "improper_loss")

    def prescribe(self, _finding: Finding, recipe: Recipe) -> Recipe | None:
        return recipe.with_lr(recipe.lr / 2, "lr = lr / 2  # quietly")


def train(problems: list[str | Problem]) -> list[Finding]:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = sickbay.watch(model, optimizer, problems=problems, on_finding="silent")
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(torch.ones(8, 4)).square().mean()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    doctor.close()
    return doctor.findings


def brought(monkeypatch: pytest.MonkeyPatch) -> None:
    points = {
        f"sickbay.{group}": (EntryPoint(name, f"{__name__}:{name}", f"sickbay.{group}"),)
        for group, name in (("problems", "TooQuiet"), ("remedies", "Whisper"))
    }
    monkeypatch.setattr(plugins, "_declared", points.get)


def test_watch_takes_a_problem_of_the_users() -> None:
    assert [each.problem for each in train([TooQuiet()])] == ["too_quiet"]


def test_watch_takes_a_problem_of_a_package_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    brought(monkeypatch)
    assert [each.problem for each in train(["too_quiet", "non_finite"])] == ["too_quiet"]


def test_what_a_problem_of_the_users_is_like_counts() -> None:
    finding = Finding(problem="too_quiet", step=2)
    settings = RunSettings(problems=[TooQuiet()], treatable={"too_quiet"}, epochs=1)
    assert settings.stops(finding, near_best=False)
    assert not settings.stops(finding, near_best=True)


@pytest.mark.parametrize("by_name", [False, True], ids=["object", "name"])
def test_fit_takes_a_remedy_of_the_users(
    by_name: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    brought(monkeypatch)
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path))
    torch.manual_seed(0)
    inputs = torch.randn(64, 2)
    outcome = sickbay.fit(
        nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3)),
        (inputs, (inputs[:, :1] > 0).long().flatten()),
        loss=nn.NLLLoss(),  # of values that are not logarithms
        optimizer=lambda held: torch.optim.SGD(held, lr=0.1),
        epochs=3,
        remedies=["whisper" if by_name else Whisper()],
        progress=False,
    )
    assert outcome.findings[0].problem == "improper_loss"
    assert "whisper" in {each.remedy for each in outcome.attempts}


def test_a_problem_that_reads_what_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="There is no part of the history that Misspelt reads"):

        class Misspelt(TooQuiet):
            reads = ("steps",)  # type: ignore[assignment]
