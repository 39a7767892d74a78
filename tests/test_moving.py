"""The pages for users of other tools: their code runs, and what they name exists."""

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay.errors import UsageError
from sickbay.problems.profiles import PROFILES
from sickbay.tuning import optuna as searches
from sickbay.tuning.optuna.watch_trial import OptunaDoctor
from tests.documented_names import NAMES, SCALARS, check_code

FOLDER = Path(__file__).parents[1] / "docs" / "moving"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
IN_A_SEARCH = {"watch": searches.watch, "doctor": OptunaDoctor}
SEARCHES = ("nni", "bttackler")
SECTIONS = ("## Example", "## Without a counterpart", "## What is different")
THEIRS = {
    "autotrainer": "model_train iters batch_size dataset autorepair callbacks ReduceLR estop "
    "save_dir log_dir new_issue_dir root_path balance structure efficiency modification_sufferance "
    "memory_limit params Theta checktype alpha_1 alpha_2 alpha_3 beta_1 beta_2 beta_3 gamma delta "
    "zeta eta omega_1 omega_2 vanish explode relu unstable not_converge activation_issue "
    "loss_issue abnormal_data overfit bn selu tanh leaky activation gradient initial batch lr adam "
    "momentum optimizer loss data GN regular dropout determine_threshold satisfied_acc",
    "bttackler": "BTWatcher init_basic refresh_before_epoch_start collect_per_batch "
    "collect_after_training collect_after_validating collect_after_testing stop_by_diagnosis "
    "report_intermediate_result report_final_result EG VG SC DR HO NMG OF p_eg1 p_eg2 p_vg1 p_vg2 "
    "p_dr1 p_sc1 p_sc2 p_ho1 p_ho2 p_of wd_ho wd_nmg max_epoch cmp_percent min_cmp_num "
    "symptom_name_list enable_dict quick_calc start_step_float end_step_float intermediate_default",
    "cockpit": "Loss Parameters Distance UpdateSize GradNorm Time Alpha CABS EarlyStopping "
    "GradHist1d GradHist2d NormTest InnerTest OrthoTest HessMaxEV HessTrace TICDiag TICTrace "
    "MeanGSNR economy business full linear logarithmic log write get_output",
    "nni": "get_next_parameter report_intermediate_result report_final_result Medianstop "
    "Curvefitting optimize_mode start_step epoch_num threshold gap assess_trial trial_end "
    "AssessResult TPE Random GridSearch GP SMAC Anneal Evolution Metis DNGO Batch PBT BOHB "
    "Hyperband load_checkpoint_dir save_checkpoint_dir",
    "sagemaker": "VanishingGradient ExplodingTensor DeadRelu SaturatedActivation "
    "WeightUpdateRatio UnchangedTensor AllZero LossNotDecreasing Overfit Overtraining "
    "PoorWeightInitialization ClassImbalance Confusion SimilarAcrossRuns StalledTrainingRule "
    "TensorVariance CheckInputImages NLPSequenceRatio TreeDepth FeatureImportanceOverweight "
    "StopTraining Email SMS",
    "training_doctor": "TrainingDiagnostics AutomatedTester multi_health learning_rate grad_clip "
    "dropout",
}
SIGNS = {  # as the papers write them
    "autotrainer": "Θ α1 α2 α3 α4 β1 β2 β3 γ δ ζ η ω VG EG DR OL SC IO IL AD "  # noqa: RUF001
    "S1 S2 S3 S4 S5 S6 S7 S8 S9",
    "bttackler": "AGV EAG ERG PLC LAR ULC NMG Top10HR TSBA MSR LCE",
    "training_doctor": "τ_grad ε_grad ε_plateau δ_overfit CV σ μ",  # noqa: RUF001
}


def text_of(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def tables(page: str) -> Iterator[list[list[str]]]:
    """Yield every table of a page as rows of cells."""
    for block in re.findall(r"(?:^\|.*\n)+", text_of(page), re.MULTILINE):
        rows = [re.split(r"(?<!\\)\|", row.strip()[1:-1]) for row in block.splitlines()]
        yield [[cell.strip() for cell in row] for row in rows]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short_and_has_its_parts(page: str) -> None:
    text = text_of(page)
    assert len(text.splitlines()) <= 150
    assert [part for part in SECTIONS if f"\n{part}\n" not in text] == []
    assert next(tables(page))


@pytest.mark.parametrize("page", PAGES)
def test_what_stands_in_our_column_exists(page: str) -> None:
    names = {**NAMES, **(IN_A_SEARCH if page in SEARCHES else {})}
    for table in tables(page):
        assert table[0][-1] == "sickbay"
        for row in table[2:]:
            assert len(row) == len(table[0]), row
            for code in re.findall(r"`([^`]+)`", row[-1]):
                check_code(code, names)


@pytest.mark.parametrize("page", THEIRS)
def test_nothing_of_theirs_is_left_out(page: str) -> None:
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", prose))))
    assert [name for name in THEIRS[page].split() if name not in words] == []
    left = {word for table in tables(page) for row in table for word in re.findall(r"\w+", row[0])}
    known = left | words
    assert [sign for sign in SIGNS.get(page, "").split() if sign not in known] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page in PROFILES])
def test_published_values_are_those_of_the_profile(page: str) -> None:
    cells = (row[-1] for table in tables(page) for row in table)
    written = re.findall(rf"`({page}\w*)\.(\w+)\((.*?)\)`", " ".join(cells))
    assert len(written) >= len(PROFILES[page]) - 1
    for profile, kind, values in written:
        rules = {type(each).__name__: each for each in PROFILES[profile]}
        given = [value.split("=") for value in values.split(", ")]
        assert {name: float(value) for name, value in given} == pytest.approx(
            {name: getattr(rules[kind], name) for name, _ in given}
        )


@pytest.mark.parametrize("page", PAGES)
def test_the_example_prints_what_the_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path / "home"))
    example = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text_of(page), re.DOTALL)
    assert example is not None
    code, shown = example.groups()
    with redirect_stdout(StringIO()) as printed:
        exec(compile(code, page, "exec"), {"__name__": page})
    assert printed.getvalue() == shown


def test_every_scalar_that_pages_may_name_is_recorded() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with sickbay.watch(model, optimizer, every=1, on_finding="silent") as doctor:
        for _ in range(2):
            loss = nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss)
    assert {*doctor.history.scalars()} >= {*SCALARS}


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("vanishing_gradients", id="problem"),
        pytest.param("VanishingGradient(epsilon=1)", id="threshold"),
        pytest.param("watch(..., interval=3)", id="argument"),
        pytest.param("watch(..., profile='autotrain')", id="profile"),
        pytest.param("watch(..., problems=['overfit'])", id="problem-in-a-list"),
        pytest.param("watch(..., problems=[Overfitting(fall=1)])", id="threshold-in-a-list"),
        pytest.param("fit(..., remedies=['clip'])", id="remedy"),
        pytest.param("watch(..., on_finding='cure')", id="choice"),
        pytest.param("doctor.stop()", id="method"),
        pytest.param("finding.reason", id="field"),
        pytest.param("sickbay.surgery.amputate", id="function"),
        pytest.param("sickbay:verdict", id="attribute-of-a-trial"),
        pytest.param("send_mail(finding)", id="unknown-function"),
    ],
)
def test_what_does_not_exist_is_noticed(code: str) -> None:
    with pytest.raises((AssertionError, UsageError, ModuleNotFoundError)):
        check_code(code)


@pytest.mark.parametrize("code", ["sickbay operate", "sickbay demo --fast"])
def test_a_command_that_does_not_exist_is_noticed(
    code: str, capsys: pytest.CaptureFixture[Any]
) -> None:
    with pytest.raises(SystemExit):
        check_code(code)
    assert "error" in capsys.readouterr().err
