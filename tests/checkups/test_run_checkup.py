"""Models, losses and tests in a checkup, including those that fail."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import Inapplicable, Statement, checkup
from sickbay.checkups.model_setup import ModelSetup
from sickbay.errors import UsageError
from sickbay.reports.checkup_report import Result
from tests.checkups.small_network import data, network


def test_the_same_model_gives_the_same_report() -> None:
    one, other = (checkup(network(), data(), nn.CrossEntropyLoss()) for _ in range(2))
    assert [(each.outcome, each.message) for each in one.results if "memory" not in each.test] == [
        (each.outcome, each.message) for each in other.results if "memory" not in each.test
    ]


@dataclass(frozen=True, kw_only=True)
class Crashes(Statement):
    """It does not crash.

    Why it matters:
        It would.
    """

    def examine(self, setup: ModelSetup) -> Result:  # noqa: ARG002
        raise ZeroDivisionError("first line\nlast line")


@dataclass(frozen=True, kw_only=True)
class MakesNoSense(Statement):
    """It makes sense."""

    def examine(self, setup: ModelSetup) -> Result:  # noqa: ARG002
        raise Inapplicable("there is none")


def test_a_test_that_crashes_accuses_nobody() -> None:
    report = checkup(network(), tests=[Crashes(), MakesNoSense()])
    crashed, senseless = report.results
    assert (crashed.outcome, crashed.message) == (
        "skipped",
        "it raised ZeroDivisionError: last line",
    )
    assert (crashed.statement, crashed.reason) == ("It does not crash.", "It would.")
    assert (senseless.outcome, senseless.message) == ("skipped", "there is none")
    assert not report.failed
    assert report.crashed == [crashed]


def test_a_test_that_crashes_is_shown_apart() -> None:
    report = checkup(network(), tests=[Crashes(), MakesNoSense()])
    lines = str(report).splitlines()
    assert lines[:2] == [
        "? crashed 'crashes': it raised ZeroDivisionError: last line",
        "- skipped 'makes no sense': there is none",
    ]
    assert "0 failed, 0 passed, 2 skipped (1 crashed)" in lines[-1]
    as_json = report.as_json()
    assert (as_json["skipped"], as_json["crashed"]) == (2, 1)
    assert [each["crashed"] for each in as_json["results"]] == [True, False]


def test_the_report_lists_what_was_not_tested() -> None:
    untested = checkup(network(), tests="runs_on_the_batch").untested
    assert [each.split(":")[0] for each in untested] == [
        "the inputs were generated for 0 (Linear)",
        "the loss is not tested without targets",
        "the optimizer is not tested",
    ]
    optimizer = torch.optim.SGD(network().parameters(), 0.1)
    assert not checkup(network(), data(), None, optimizer, tests="runs_on_the_batch").untested


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({"model": 3}, "model must be a torch.nn.Module, got int.", id="model"),
        pytest.param({"task": "guessing"}, "There is no task 'guessing'", id="task"),
        pytest.param({"loss": 3}, "loss must be a function", id="loss"),
        pytest.param({"loss": nn.MSELoss}, "got the class", id="loss-class"),
        pytest.param({"model": nn.Linear}, "got the class", id="model-class"),
        pytest.param({"tests": []}, "at least one test", id="no-tests"),
        pytest.param({"tests": "runs"}, "There is no test 'runs'", id="tests"),
        pytest.param({"batch": "abc"}, "batch must be inputs", id="batch"),
        pytest.param({"batch": torch.ones(0, 4)}, "got inputs of (0, 4)", id="empty-batch"),
        pytest.param(
            {"batch": (torch.ones(2, 4), "y")}, "targets must be a tensor, or a dict", id="targets"
        ),
    ],
)
def test_bad_arguments(given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as error:
        checkup(**{"model": network(), **given})  # type: ignore[arg-type]
    assert said in str(error.value)


class Encoder(nn.Module):
    """A variational autoencoder: what it puts out is for its own loss."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread, self.back = nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(2, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, spread = self.mean(x), self.spread(x)
        return self.back(mean + torch.randn_like(mean) * spread.exp()), mean, spread


def elbo(outputs: tuple[Tensor, Tensor, Tensor], x: Tensor) -> Tensor:
    made, mean, spread = outputs
    return (made - x).square().mean() + (mean.square() + spread.square()).mean()


def test_a_loss_may_take_the_whole_output() -> None:
    x, _ = data()
    report = checkup(Encoder(), (x, x), elbo, tests="gradient_reaches_every_parameter")
    assert report.results[0].message == "gradients reach 6 parameters"
    first = checkup(Encoder(), (x, x), nn.MSELoss(), tests="gradient_reaches_every_parameter")
    assert first.ok  # which takes the first


class Fixed(nn.Module):
    """Has the size of its batches in the code."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x.view(32, 4))
        return out


def test_a_model_that_only_runs_with_the_full_batch() -> None:
    report = checkup(Fixed(), data(), nn.CrossEntropyLoss())
    assert [each.test for each in report.failed] == ["shapes_follow_the_batch"]
    assert "only runs with 32 samples" in report.failed[0].message
    assert report["runs_on_the_batch"].outcome == "passed"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        pytest.param(nn.LazyLinear(3), "a lazy 'weight'", id="lazy"),
        pytest.param(nn.Linear(4, 3, device="meta"), "'weight' on the meta device", id="meta"),
    ],
)
def test_models_without_weights(model: nn.Module, said: str) -> None:
    with pytest.raises(UsageError) as error:
        checkup(model, data())
    assert said in str(error.value)


def test_a_model_that_is_wrapped_or_compiled_in_part() -> None:
    wrapped = nn.DataParallel(network())
    assert checkup(wrapped, data(), nn.CrossEntropyLoss()).model == "Sequential"
    part: Any = torch.compile(nn.Linear(4, 8), backend="eager")
    model = nn.Sequential(part, nn.ReLU(), nn.Linear(8, 3))
    assert not checkup(model, data(), nn.CrossEntropyLoss()).failed


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, image: Tensor) -> Tensor:
        out: Tensor = self.layer(image)
        return out


def test_labels_that_the_model_does_not_take_are_targets() -> None:
    x, y = data()
    assert checkup(Named(), {"image": x, "label": y}, nn.CrossEntropyLoss()).ok


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        pytest.param(lambda _o, _y: 0.5, "one number, got float", id="float"),
        pytest.param(nn.CrossEntropyLoss(reduction="none"), "of shape (16,)", id="many"),
    ],
)
def test_losses_that_are_not_one_number(loss: Any, said: str) -> None:
    report = checkup(network(), data(), loss, tests="runs_on_the_batch")
    assert said in report.failed[0].message


def test_a_test_is_run_once_and_may_be_a_class() -> None:
    report = checkup(network(), tests=[Crashes, Crashes(), "runs_on_the_batch"])
    assert [each.test for each in report.results] == ["crashes", "runs_on_the_batch"]
    with pytest.raises(KeyError):
        report["overfits_one_batch"]


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kind, self.size = nn.Linear(4, 3), nn.Linear(4, 1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"kind": self.kind(x), "size": self.size(x)}


def of_both(outputs: dict[str, Tensor], targets: dict[str, Tensor]) -> Tensor:
    kinds = nn.functional.cross_entropy(outputs["kind"], targets["kind"])
    return kinds + (outputs["size"] - targets["size"]).square().mean()


def test_targets_of_several_heads() -> None:
    x, y = data()
    report = checkup(Heads(), (x, {"kind": y, "size": x[:, :1]}), of_both)
    assert not report.failed
    assert report["gradient_reaches_every_parameter"].outcome == "passed"
    assert report["overfits_one_batch"].outcome == "passed"


def test_each_reason_for_skipping_is_printed_once() -> None:
    printed = str(checkup(network(), data(), nn.CrossEntropyLoss()))
    told = "- skipped 'attention rows sum to one', 'uses positions': the model has no attention"
    assert told in printed.splitlines()


@dataclass(frozen=True, kw_only=True)
class Warns(Statement):
    """It is of little worth."""

    severity = "warning"

    def examine(self, setup: ModelSetup) -> Result:  # noqa: ARG002
        return self.holds("it ran")


@dataclass(frozen=True, kw_only=True)
class TakesLong(Statement):
    """It is done at once."""

    def examine(self, setup: ModelSetup) -> Result:  # noqa: ARG002
        clock.now += 100.0
        return self.holds("it ran")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


clock = Clock()


def test_when_time_is_up_warnings_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sickbay.checkups.run_checkup.perf_counter", clock)
    tests = [Warns(), TakesLong()]
    report = checkup(network(), data(), tests=tests, seconds=30)
    assert [each.test for each in report.results] == ["warns", "takes_long"]
    assert [each.outcome for each in report.results] == ["skipped", "passed"]
    assert report.untested[0] == "1 test did not run: the time was up"
    assert report.as_json()["results"][0]["message"] == "the time was up"
    assert 'skipped message="the time was up"' in report.as_junit()
    assert checkup(network(), data(), tests=tests).ok
    assert len(checkup(network(), data(), tests=tests).passed) == 2


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "9"])
def test_seconds_are_checked(seconds: Any) -> None:
    with pytest.raises(UsageError, match="seconds must be a"):
        checkup(network(), data(), seconds=seconds)
