import json
from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path
from typing import Any, Literal

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from sickbay.chart import ChartWriter
from sickbay.errors import UsageError
from sickbay.problems import NeverLearnt, NonFinite
from sickbay.tuning.charted_trials import note
from sickbay.tuning.load_search import read
from sickbay.tuning.optuna import watch
from sickbay.tuning.recorded_search import Epoch, RecordedTrial
from sickbay.tuning.replay import replay
from sickbay.vitals import Setup, Table, Vitals
from tests.tuning.loops import BATCHES, accuracy, learn, network
from tests.tuning.sample_problems import save_charts

Direction = Literal["maximize", "minimize"]
NAN = Table.of("gradient", 2, {"a.weight": {"nonfinite": 1.0}})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two charted trials of two epochs, the second written first, and something else."""
    for start, name, value in ((100.0, "trial-1", 0.6), (50.0, "trial-0", 0.7)):
        monkeypatch.setattr("time.time", lambda start=start: start)
        writer = ChartWriter(tmp_path / "runs" / name, Setup(epochs=3))
        for step, loss in enumerate([4.0, 2.0, 1.0, 1.0]):
            tables = [NAN] if (name, step) == ("trial-1", 2) else []
            seconds = start + 2 * (step + 1)
            writer.append(Vitals(step, step // 2, seconds, {"loss": loss}, tables))
            if step % 2:
                writer.end_epoch(step // 2, {"val_accuracy": value + 0.1 * step, "score": 5.0})
        writer.close()
    (tmp_path / "runs" / "notes").mkdir()
    (tmp_path / "runs" / "a.txt").touch()
    return tmp_path / "runs"


def test_a_folder_of_charts(folder: Path) -> None:
    search = read(folder)
    assert (search.name, search.metric, search.maximize) == ("runs", "val_accuracy", True)
    assert [each.name for each in search.trials] == ["trial-0", "trial-1"]
    first = search.trials[0]
    assert [dict(each.scalars) for each in first.epochs] == [
        {"loss": 3.0, "val_accuracy": pytest.approx(0.8), "score": 5.0},
        {"loss": 1.0, "val_accuracy": pytest.approx(1.0), "score": 5.0},
    ]
    assert [each.seconds for each in first.epochs] == [4.0, 4.0]
    assert first.setup.epochs == 3


def test_charts_are_judged_by_all_that_was_read(folder: Path) -> None:
    (ended,) = replay(read(folder), [NonFinite()]).together.ended
    assert (ended.trial, ended.epoch, ended.finding.step) == ("trial-1", 2, 2)
    losses = [history.recent("loss", 9) for history in read(folder).trials[0].histories()]
    assert losses == [[4.0, 2.0], [4.0, 2.0, 1.0, 1.0]]


def test_a_single_chart_is_a_search_too(folder: Path) -> None:
    assert [each.name for each in read(folder / "trial-1").trials] == ["trial-1"]


def test_what_is_noted_beside_a_chart(folder: Path) -> None:
    note(folder / "trial-1", "score", "minimize", params={"lr": 0.1})
    search = read(folder)
    assert (search.metric, search.maximize) == ("score", False)
    assert search.trials[1].about["params"] == {"lr": 0.1}
    other = read(folder, metric="val_accuracy")
    assert (other.metric, other.maximize) == ("val_accuracy", True)
    assert read(folder, direction="maximize").maximize
    (folder / "trial-1" / "trial.json").write_text("{")
    assert read(folder).metric == "val_accuracy"


def test_a_bad_chart_is_left_out_and_said(folder: Path) -> None:
    said: list[str] = []
    (folder / "trial-2").mkdir()
    (folder / "trial-2" / "chart.json").write_text('{"schema": 1}')
    events = folder / "trial-1" / "events.jsonl"
    events.write_bytes(b"[]\n" + events.read_bytes())
    assert [each.name for each in read(folder, notice=said.append).trials] == ["trial-0", "trial-1"]
    damage, left_out = said
    assert damage.endswith("trial-1: events.jsonl: 1 line of 2 is damaged and left out.")
    assert left_out.startswith("skipped a chart: '")
    assert left_out.endswith("trial-2/chart.json' cannot be read: started is missing.")


def test_nothing_but_bad_charts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("trial-0", "trial-1"):
        (folder / name / "chart.json").write_text("{")
    with pytest.raises(UsageError, match=r"no charts in .*; none can be read: '.*trial-0"):
        read(folder)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("text", ["[]", '{"metric": [1], "direction": {}}', "[" * 99999])
def test_a_note_that_makes_no_sense(folder: Path, text: str) -> None:
    (folder / "trial-0" / "trial.json").write_text(text)
    assert (read(folder).metric, read(folder).maximize) == ("val_accuracy", True)


def test_readings_without_time_make_epochs_of_one_second(tmp_path: Path) -> None:
    writer = ChartWriter(tmp_path / "run", Setup())
    for step in range(2):
        writer.append(Vitals(step, step, scalars={"loss": 1.0}))
        writer.end_epoch(step, {})
    writer.close()
    assert [each.seconds for each in read(tmp_path).trials[0].epochs] == [1.0, 1.0]


def test_a_metric_that_is_not_given_at_every_epoch(tmp_path: Path) -> None:
    writer = ChartWriter(tmp_path / "run", Setup())
    for step, metrics in enumerate([{}, {"val_loss": 0.5}, {}]):
        writer.append(Vitals(step, step, scalars={"loss": 1.0}))
        writer.end_epoch(step, metrics)
    writer.close()
    search = read(tmp_path)
    assert (search.metric, search.maximize) == ("val_loss", False)
    assert [sorted(each.scalars) for each in search.trials[0].epochs] == [
        ["loss"],
        ["loss", "val_loss"],
        ["loss"],
    ]


def test_what_was_never_measured_is_no_metric(tmp_path: Path) -> None:
    odd = RecordedTrial("a", Setup(), [Epoch({"val_accuracy": nan, "val_loss": 0.5})])
    assert read(save_charts(tmp_path, [odd])).metric == "val_loss"


def make_study(folder: Path, name: str, direction: Direction = "minimize") -> optuna.Study:
    return optuna.create_study(
        storage=f"sqlite:///{folder}/all.db", study_name=name, direction=direction
    )


def test_a_study_is_one_of_a_storage(folder: Path) -> None:
    with pytest.raises(UsageError, match="--study needs an Optuna storage"):
        read(folder, study="mine")


def test_a_study_in_a_storage(folder: Path) -> None:
    study = make_study(folder, "mine", "maximize")
    with_chart, with_course, reported, _failed = (study.ask() for _ in range(4))
    with_chart.set_user_attr("sickbay:chart", str(folder / "trial-0"))
    with_course.set_user_attr("sickbay:chart", str(folder / "not-there"))
    written = {"losses": [2.0, 1.0, 0.5], "values": [0.2, None, 0.9]}
    with_course.set_user_attr("sickbay:course", written)
    for epoch, value in enumerate([0.3, 0.8]):
        reported.report(value, epoch)
    search = read(f"sqlite:///{folder}/all.db")
    assert (search.name, search.metric, search.maximize) == ("all", "val_accuracy", True)
    assert [each.name for each in search.trials] == ["trial-0", "trial-1", "trial-2"]
    assert search.values == [pytest.approx(1.0), 0.9, 0.8]
    curve = search.learning_curve(search.trials[1], 9)
    assert curve.losses == [2.0, 1.0, 0.5]
    assert isnan(curve.values[1])
    assert [each.setup.epochs for each in search.trials] == [3, 3, 3]


def test_the_direction_is_that_of_the_study(folder: Path) -> None:
    study = make_study(folder, "mine")
    study.ask().set_user_attr("sickbay:chart", str(folder / "trial-0"))
    storage = f"sqlite:///{folder}/all.db"
    assert not read(storage).maximize
    note(folder / "trial-0", "score", "minimize")
    assert (read(storage).metric, read(storage).maximize) == ("score", False)
    assert read(storage, metric="val_accuracy").maximize


def test_a_metric_that_is_only_known_to_the_study(tmp_path: Path) -> None:
    make_study(tmp_path, "mine").ask().report(0.5, 0)
    search = read(f"sqlite:///{tmp_path}/all.db", metric="my_score")
    assert (search.metric, search.maximize, search.values) == ("my_score", False, [0.5])


def watched_study(storage: Any, rates: Sequence[float], **options: Any) -> optuna.Study:
    """Return a study of val_loss whose trials have no charts, and stop after 4 of 40 epochs."""
    study = optuna.create_study(storage=storage, study_name="mine", direction="minimize")
    for rate in rates:
        trial = study.ask()
        model, optimizer = network(rate)
        options = {"epochs": 40, "metric": "val_loss", "problems": [], **options}
        doctor = watch(trial, model, optimizer, **options)
        for _ in range(4):
            for _ in range(40):
                doctor.step(learn(model, optimizer, *BATCHES[0]))
            doctor.epoch(val_loss=2 - accuracy(model))
        study.tell(trial, doctor.result())
    return study


def test_a_study_without_charts_knows_its_metric_and_its_planned_epochs(tmp_path: Path) -> None:
    study = watched_study(f"sqlite:///{tmp_path}/all.db", [0.5, 0.0])
    search = read(f"sqlite:///{tmp_path}/all.db")
    assert (search.metric, search.maximize) == ("val_loss", False)
    assert search.values == pytest.approx([each.value for each in study.trials])
    assert [each.setup.epochs for each in search.trials] == [40, 40]
    with pytest.raises(UsageError, match="There is no metric in 'all' called 'val_accuracy'"):
        read(f"sqlite:///{tmp_path}/all.db", metric="val_accuracy")


def test_a_study_without_charts_knows_first_losses_and_steps(tmp_path: Path) -> None:
    watched_study(f"sqlite:///{tmp_path}/all.db", [0.5, 0.0])
    search = read(f"sqlite:///{tmp_path}/all.db")
    assert [[history.step for history in each.histories()] for each in search.trials] == [
        [39, 79, 119, 159]
    ] * 2
    (ended,) = replay(search, [NeverLearnt(window=0.01)]).together.ended
    assert (ended.trial, ended.epoch, ended.finding.step) == ("trial-1", 3, 119)
    first = next(search.trials[0].histories()).first("loss")
    assert first > search.trials[0].epochs[0].scalars["loss"]  # not the mean of an epoch


def test_a_loop_that_only_tells_epochs_has_no_first_step(tmp_path: Path) -> None:
    study = make_study(tmp_path, "mine")
    doctor = watch(study.ask(), *network(0.5), epochs=4, metric="val_loss", problems=[])
    for loss in (2.0, 1.0):
        doctor.epoch(loss=loss, val_loss=loss)
    (trial,) = read(f"sqlite:///{tmp_path}/all.db").trials
    assert not trial.first
    assert [history.step for history in trial.histories()] == [0, 1]


def test_a_study_in_a_journal_file(tmp_path: Path) -> None:
    file = tmp_path / "study.log"
    watched_study(JournalStorage(JournalFileBackend(str(file))), [0.5])
    for source in (file, str(file)):
        search = read(source)
        assert (search.name, search.metric, len(search.trials)) == ("study", "val_loss", 1)
    file.write_text('{"op_code": 99, "worker_id": "x"}\n')
    with pytest.raises(UsageError, match="cannot be read"):
        read(file)


def test_the_address_of_a_sqlite_file_may_have_options(tmp_path: Path) -> None:
    make_study(tmp_path, "mine").ask().report(0.5, 0)
    assert read(f"sqlite:///{tmp_path}/all.db?timeout=9").values == [0.5]


def test_one_of_several_studies(folder: Path) -> None:
    for name, value in (("mine", 0.1), ("yours", 0.2)):
        make_study(folder, name).ask().report(value, 0)
    storage = f"sqlite:///{folder}/all.db"
    assert read(storage, study="yours").values == [0.2]
    with pytest.raises(UsageError, match=r"--study must be one of \['mine', 'yours'\]"):
        read(storage)
    with pytest.raises(UsageError, match=r"There is no study in .* called 'your'; did you mean"):
        read(storage, study="your")


def test_what_cannot_be_read(folder: Path) -> None:
    (folder / "notes" / "x.zip").write_text("x")
    cases: dict[str | Path, str] = {
        folder / "nowhere": "STUDY must be a folder of charts, the address",
        folder / "notes": "There are no charts in",
        folder / "notes" / "x.zip": "which `python -m benchmarks.tuning replay` in",
        f"sqlite:///{folder}/none.db": "There is no storage",
        "nonsense://x": "cannot be read",
    }
    for source, expected in cases.items():
        with pytest.raises(UsageError, match=expected):
            read(source)
    assert not (folder / "none.db").exists()
    with pytest.raises(UsageError, match="There is no metric in 'runs' called 'val_acuracy'; did"):
        read(folder, metric="val_acuracy")
    with pytest.raises(UsageError, match="There is no direction 'up'"):
        read(folder, direction="up")


def test_the_file_of_a_database_is_to_be_named_as_one(tmp_path: Path) -> None:
    optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db")
    with pytest.raises(UsageError, match="is a database; name it 'sqlite:///"):
        read(tmp_path / "study.db")


def test_trials_that_never_ended_an_epoch(tmp_path: Path) -> None:
    ChartWriter(tmp_path / "trial-0", Setup()).close()
    with pytest.raises(UsageError, match="no trial has finished an epoch"):
        read(tmp_path)
    assert json.loads((tmp_path / "trial-0" / "chart.json").read_text())["schema"] == 2
