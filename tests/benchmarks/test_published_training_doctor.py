"""The benchmark of Training Doctor: its runs, its pairs of faults and its page."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks.injection import double_faults
from benchmarks.injection.faulty_runs import QUICK as INJECTION_SIZE
from benchmarks.published.training_doctor.__main__ import FILES, main
from benchmarks.published.training_doctor.component_tests import COMPONENTS
from benchmarks.published.training_doctor.page import write_page
from benchmarks.published.training_doctor.published import TABLE_1
from benchmarks.published.training_doctor.texts import cleaned
from benchmarks.published.training_doctor.watched_runs import (
    VARIANTS,
    Plan,
    compare,
    train_in_turns,
)
from sickbay.checkups import statements
from sickbay.checkups.base import Statement
from sickbay.plugins import classes_in

TINY = Plan(
    layers=1, heads=1, width=8, length=8, steps=10, warmup=2, block=2, validate=5 * 2, batches=1,
    written=3, rounds=1, batch=2,
)  # fmt: skip


@pytest.fixture(scope="module")
def tiny() -> dict[str, Any]:
    data = torch.arange(200) % 50
    return train_in_turns("text8", (data, data), TINY, lambda: None)


def test_watching_changes_no_loss(tiny: dict[str, Any]) -> None:
    for name in list(VARIANTS)[1:]:
        for loss in ("final_train_loss", "best_val_loss"):
            assert tiny[name][loss] == tiny["plain"][loss]


def test_runs_report_what_the_page_needs(tiny: dict[str, Any]) -> None:
    for name in list(VARIANTS)[1:]:
        made = tiny[name]
        assert len(made["states"]) == len(made["trends"]) == 1  # one validation
        assert made["characters_per_second"] > 0
        assert made["characters_per_second_closed"] > 0
        assert made["extra_memory_mb"] is None


def test_overhead_is_the_median_of_pairs_of_blocks() -> None:
    plain = {"block_seconds": [9.0, 9.0, 1.0, 2.0, 4.0], "memory_mb": 100.0}
    watched = {"block_seconds": [50.0, 9.0, 1.5, 2.2, 4.0], "memory_mb": 101.5}
    made = compare(watched, plain)
    assert made["overhead"] == pytest.approx(0.1)
    assert made["overhead_first_half"] == pytest.approx(0.5)
    assert made["overhead_second_half"] == pytest.approx(0.05)
    assert made["extra_memory_mb"] == 1.5


@pytest.mark.parametrize(
    ("text", "overhead", "slower"),
    [
        pytest.param("shakespeare_char", "+2.7%", "-1.3%", id="shakespeare_char"),
        pytest.param("enwik8", "+10.9%", "-8.6%", id="enwik8"),
        pytest.param("text8", "-0.1%", "-9.3%", id="text8"),
        pytest.param("gutenberg", "-0.1%", "-4.1%", id="gutenberg"),
    ],
)
def test_the_published_table_agrees_with_itself(text: str, overhead: str, slower: str) -> None:
    assert f"{TABLE_1[text].overhead:+.1%}" == overhead
    assert f"{TABLE_1[text].slower_writing:+.1%}" == slower


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param("<text>A 42!</text>", "a four two", id="digits"),
        pytest.param("<title>No</title><text>Yes</text>", "yes", id="only-the-text"),
        pytest.param("<text>a [[b|c d]] [[e]]</text>", "a c d e", id="links"),
        pytest.param("<text>a {{x|y}} &lt;ref&gt;z&lt;/ref&gt; b</text>", "a b", id="markup"),
        pytest.param("<text>a [[Image:x.png|y]] [http://x.org z]</text>", "a z", id="pictures"),
    ],
)
def test_text8(page: str, text: str) -> None:
    assert cleaned(page) == text


def test_every_component_has_a_test_of_a_checkup() -> None:
    known = classes_in(statements, Statement)  # type: ignore[type-abstract]
    assert len(COMPONENTS) == 8
    assert {name for names in COMPONENTS.values() for name in names} <= known.keys()


def pair_run(found: dict[str, list[bool]], resolved: bool) -> dict[str, Any]:
    ways = ("silent", "treat", "suggest")
    return {
        "faults": ["a", "b"], "later": 0, "found": found, "resolved": dict.fromkeys(ways, resolved),
    }  # fmt: skip


def test_a_pair_is_found_if_both_faults_are() -> None:
    runs = {
        "one": pair_run({"default": [True, True], "training_doctor": [True, False]}, True),
        "two": pair_run({"default": [True, True], "training_doctor": [True, True]}, False),
    }
    total = double_faults.summary(runs)
    assert total["both_found"] == {"default": 2, "training_doctor": 1}
    assert total["resolved"] == {"silent": 1, "treat": 1, "suggest": 1}
    sheet = double_faults.sheet({"pairs": runs, "summary": total})
    assert sheet.rows[0] == ["a, b", "2 of 2", "1 of 2", "yes", "yes", "yes"]
    assert sheet.rows[-1] == ["all", "2 of 2", "1 of 2", *["1 of 2"] * 3]


def test_what_was_said_before_the_faults_does_not_count() -> None:
    said = {"default": [("loss_spike", INJECTION_SIZE.at - 1), ("plateau", INJECTION_SIZE.at)]}
    run = double_faults.DoubleRun(said=said)
    right = frozenset({"loss_spike"})
    assert double_faults.hit(run, "default", right, INJECTION_SIZE) == []
    said["default"].append(("loss_spike", INJECTION_SIZE.at))
    assert double_faults.hit(run, "default", right, INJECTION_SIZE) == [INJECTION_SIZE.at]


@pytest.mark.parametrize(
    ("code", "rate", "norm"),
    [
        pytest.param("learning_rate *= 0.5", 0.05, None, id="learning-rate"),
        pytest.param("grad_clip = 1.0", 0.1, 1.0, id="clipping"),
    ],
)
def test_a_suggestion_is_carried_out(code: str, rate: float, norm: float | None) -> None:
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    clip = double_faults.Clipping(optimizer)
    double_faults.carry_out(code, schedule, clip)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == rate
    assert clip.norm == norm


def test_the_page(tiny: dict[str, Any]) -> None:
    plan = {"steps": 10, "batch": 2, "layers": 1, "heads": 1, "width": 8, "length": 8}
    about = {"command": "COMMAND", "device": "DEVICE", "torch": "2"}
    judged = {
        "right_names": ["x"], "put_in": 2, "found": 2, "delays": [0, 1],
        "false_alarms_in_warmup": 4, "false_alarms_later": 5,
    }  # fmt: skip
    profiles = {"default": judged, "training_doctor": judged}
    names = ("clean_gpt", "clean_cnn", "gradients_up", "gradients_down")
    full, quick = {"quick": False, "every": "auto"}, {"quick": True, "every": 1}
    pairs = {"one": pair_run({"default": [True, True], "training_doctor": [True, False]}, True)}
    page = write_page(
        {"about": about, "plan": plan, "texts": {"text8": tiny}},
        {name: {"outcome": "passed"} for names in COMPONENTS.values() for name in names},
        {"about": full, "runs": {name: {"profiles": profiles} for name in names}},
        {"about": quick, "pairs": pairs, "summary": double_faults.summary(pairs)},
    )
    assert "| clean_gpt, default | - | - | - | 1 | 4 | 5 |" in page
    assert "| gradients_up, default | all | 1 to 3 | 2 of 2 | 1 | 4 | 5 |" in page
    assert "`python -m benchmarks.injection --double`, with `--quick` and `--every 1`." in page
    assert "`default` found 4 of 4, at most 1 steps later (published: all, 1 to 3 steps)" in page
    assert "both found in 0 of 1 pairs by `training_doctor`, in 1 by `default`" in page
    assert "8 of 8 passed (published: 95 %)" in page
    assert "| text8, best validation loss | 0.979 | 0.980 |" in page
    assert "| large_gradient | `learning_rate *= 0.5`<br>`grad_clip = 1.0` | 0.9<br>0.8 |" in page


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        pytest.param("30", "at least 50, got 30", id="too-few"),
        pytest.param("85", "a multiple of 10", id="no-multiple"),
    ],
)
def test_wrong_steps(
    steps: str, message: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in FILES:
        (tmp_path / name).touch()
    options = ["--data", str(tmp_path), "--json", str(tmp_path / "x"), "--quick"]
    with pytest.raises(SystemExit):
        main(["run", *options, "--steps", steps])
    assert message in capsys.readouterr().err
