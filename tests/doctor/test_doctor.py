"""What using a doctor is like."""

import shutil
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay import problems
from sickbay.doctor import Doctor
from tests.doctor.loops import learn
from tests.models import FAMILIES, features, mlp


def sick() -> nn.Module:
    torch.manual_seed(0)
    return mlp(depth=12, width=8, activation=nn.Sigmoid)


def train(
    model: nn.Module, optimizer: torch.optim.Optimizer, doctor: Doctor, steps: int = 10
) -> list[list[sickbay.Finding]]:
    """Return what was found, step by step."""
    return [doctor.step(learn(model, optimizer, features())) for _ in range(steps)]


def watched(model: nn.Module, **options: Any) -> tuple[torch.optim.Optimizer, Doctor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return optimizer, sickbay.watch(model, optimizer, **options)


def test_a_finding_is_returned_kept_and_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    model = sick()
    optimizer, doctor = watched(model)
    found = train(model, optimizer, doctor, steps=100)
    (finding,) = [finding for step in found for finding in step]
    assert doctor.findings == [finding]
    assert (finding.problem, finding.severity, finding.step) == ("vanishing_gradient", "warning", 2)
    assert found[2] == [finding]
    assert finding.layers[0] == "0"
    printed = capsys.readouterr()
    assert printed.out == ""
    first, second, *code = printed.err.splitlines()
    assert first == f"⚠ {finding}"
    assert second.startswith("  try  ")
    assert second.endswith(" such cases)")
    assert all(line.startswith("       model = sickbay.surgery.") for line in code)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("profile", ["default", "autotrainer"])
def test_a_healthy_run_is_silent(
    family: str, profile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    make, batch = FAMILIES[family]
    model, inputs, labels = make(), batch(), torch.arange(6) % 4
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    with sickbay.watch(model, optimizer, every=1, profile=profile) as doctor:
        for _ in range(60):
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = nn.functional.cross_entropy(outputs, labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss, accuracy=(outputs.argmax(1) == labels).float().mean())
        assert doctor.history.latest("loss") < doctor.history.first("loss")
        assert doctor.events == []
        assert capsys.readouterr() == ("", "")
    # So short a run ends while its loss still falls, which is only an info.
    assert {each.problem for each in doctor.findings} <= {"still_falling"}


def test_a_problem_that_goes_away_is_an_event_and_may_come_back() -> None:
    model = mlp()
    optimizer, doctor = watched(model, on_finding="silent", problems=["non_finite"], every=1)
    for losses in ([1.0, nan, nan], [1.0] * 11, [inf]):
        for loss in losses:
            learn(model, optimizer, features())
            doctor.step(loss)
    assert [event.kind for event in doctor.events] == ["finding", "gone", "finding"]
    assert [finding.step for finding in doctor.findings] == [1, 14]
    assert doctor.events[1].text == "non_finite is gone"


def test_stop_raises_at_the_next_step() -> None:
    model = sick()
    optimizer, doctor = watched(model, on_finding="stop", every=1)
    with pytest.raises(sickbay.Diagnosed, match="vanishing gradient") as stopped:
        train(model, optimizer, doctor)
    assert doctor.history.step == 2
    assert stopped.value.findings == doctor.findings
    train(model, optimizer, doctor)  # whoever catches it may go on


def test_a_function_gets_each_finding() -> None:
    seen: list[sickbay.Finding] = []
    model = sick()
    optimizer, doctor = watched(model, on_finding=seen.append)
    train(model, optimizer, doctor)
    assert seen == doctor.findings != []


def test_silent_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    model = sick()
    optimizer, doctor = watched(model, on_finding="silent")
    train(model, optimizer, doctor)
    assert doctor.findings
    assert capsys.readouterr() == ("", "")


def test_thresholds_of_ones_own() -> None:
    model = sick()
    own = problems.VanishingGradient(checks=5)
    optimizer, doctor = watched(model, problems=[own], every=1, on_finding="silent")
    train(model, optimizer, doctor)
    assert [finding.step for finding in doctor.findings] == [4]


def test_the_autotrainer_profile_goes_by_the_accuracy() -> None:
    for accuracy, expected in ((0.5, ["vanishing_gradient"]), (0.8, []), (None, [])):
        model = sick()
        optimizer, doctor = watched(model, profile="autotrainer", every=1, on_finding="silent")
        for _ in range(3):
            learn(model, optimizer, features())
            if accuracy is None:
                doctor.step(1.0)
            else:
                doctor.step(1.0, accuracy=accuracy)
        assert [finding.problem for finding in doctor.findings] == expected


def test_epochs_and_metrics() -> None:
    model = mlp()
    optimizer, doctor = watched(model, every=1)
    for epoch in range(3):
        for step in range(4):
            learn(model, optimizer, features())
            doctor.step(float(step), accuracy=torch.tensor(0.1 * epoch))
        assert doctor.epoch(val_loss=torch.tensor(2.0), val_accuracy=0.5) == []
    history = doctor.history
    assert history.epochs("loss") == [1.5, 1.5, 1.5]
    assert history.epochs("accuracy") == pytest.approx([0.0, 0.1, 0.2])
    assert history.epochs("val_loss") == [2.0, 2.0, 2.0]
    assert (history.epoch, history.step) == (3, 11)


def test_the_cost_is_measured() -> None:
    model = mlp()
    optimizer, doctor = watched(model)
    assert doctor.overhead == 0.0
    train(model, optimizer, doctor, steps=50)
    assert 0 < doctor.overhead < 1


def test_a_fast_loop_loses_no_step_in_history_and_chart(tmp_path: Path) -> None:
    model = mlp()
    optimizer, doctor = watched(model, chart=tmp_path / "run", budget=0.001)
    losses = []
    for step in range(300):
        loss = learn(model, optimizer, features())
        doctor.step(loss)
        losses.append(loss.item())
        if step == 150:
            assert doctor.history.step == 150
    assert doctor.history.recent("loss", 300) == losses
    doctor.close()
    history = sickbay.Chart.open(tmp_path / "run").history()
    assert history.recent("loss", 300) == losses
    assert history.setup.optimizer == "SGD"
    assert list(history.setup.layers)[:2] == ["0", "1"]


def test_the_chart_has_what_was_found(tmp_path: Path) -> None:
    model = sick()
    with watched(model, chart=tmp_path / "run", on_finding="silent", epochs=7)[1] as doctor:
        train(model, doctor._probe.held.optimizers[0], doctor)
        doctor.epoch(val_loss=0.5)
        chart = sickbay.Chart.open(tmp_path / "run")
        assert chart.findings() == doctor.findings != []
        assert chart.events() == doctor.events
    assert chart.setup.epochs == 7
    assert chart.history().epochs("val_loss") == [0.5]
    table, ours = chart.history().table("gradient"), doctor.history.table("gradient")
    assert table is not None
    assert ours is not None
    assert table.names == ours.names
    assert table.column("norm") == pytest.approx(ours.column("norm"), rel=1e-6)


def test_a_chart_whose_folder_is_deleted_or_renamed_is_mentioned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("deleted", "renamed"):
        optimizer, doctor = watched(model := mlp(), chart=tmp_path / name)
        doctor.step(learn(model, optimizer, features()))
        if name == "deleted":
            shutil.rmtree(tmp_path / name)
        else:
            (tmp_path / name).rename(tmp_path / "other")
        for _ in range(3):
            doctor.epoch(val_loss=1.0)
            doctor._log.event("notice", "something")
        doctor.close()
    text = capsys.readouterr().err.replace("\n", "")
    assert text.count("chart failed and is switched off (UsageError: The chart's folder") == 1
    assert text.count("other'; recording goes on there.") == 1
    assert len(sickbay.Chart.open(tmp_path / "other").history().epochs("val_loss")) == 3


def narrow(steps: int, **options: Any) -> Doctor:
    """Return the doctor of a model that is too narrow, closed after so many steps."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 1), nn.ReLU(), nn.Linear(1, 6))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with sickbay.watch(model, optimizer, every=1, **options) as doctor:
        for step in range(100):
            if step == steps:
                raise KeyboardInterrupt
            x = torch.randn(64, 8)
            loss = nn.functional.cross_entropy(model(x), x[:, :6].argmax(1))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss)
    return doctor


def test_what_is_found_at_the_end_is_printed_though_nothing_is_left_to_stop(
    capsys: pytest.CaptureFixture[str],
) -> None:
    doctor = narrow(100, on_finding="stop")
    assert "network_too_small" in [finding.problem for finding in doctor.findings]
    assert "network too small" in capsys.readouterr().err


def test_a_run_that_is_interrupted_is_not_judged_as_a_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(KeyboardInterrupt):
        narrow(90)
    assert "network too small" not in capsys.readouterr().err
