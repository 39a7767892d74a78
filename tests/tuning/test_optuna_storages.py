"""Several processes on one study, and a study that goes away."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial, TrialState

import sickbay
from sickbay.tuning.optuna import watch
from tests.tuning import postgres, proxy, workers
from tests.tuning.loops import BATCHES, learn, network, train

SPAWN = multiprocessing.get_context("spawn")  # as several machines would: nothing is shared


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=SPAWN) as made:
        yield made


@pytest.fixture(scope="module")
def grpc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Any]]:
    """The port of a server, and its process."""
    url = f"sqlite:///{tmp_path_factory.mktemp('grpc')}/study.db"
    optuna.storages.RDBStorage(url)
    port = postgres.free_port()
    process = SPAWN.Process(target=proxy.serve, args=(port, url), daemon=True)
    process.start()
    client: Any = workers.storage("grpc", str(port))
    client.wait_server_ready(timeout=60)
    yield port, process
    process.kill()
    process.join()


@pytest.fixture(params=["sqlite", "journal", "postgres", "grpc"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """A storage: its kind and its address."""
    if request.param == "grpc":
        yield "grpc", str(request.getfixturevalue("grpc")[0])
    elif request.param == "postgres":
        try:
            with postgres.server() as url:
                yield "postgres", url
        except postgres.Unavailable as why:
            pytest.skip(str(why))
    else:
        path = str(tmp_path_factory.mktemp(request.param) / "study")
        yield request.param, f"sqlite:///{path}.db" if request.param == "sqlite" else path


def test_two_processes_end_their_trials_and_know_each_other(
    place: tuple[str, str], pool: ProcessPoolExecutor
) -> None:
    storage = workers.storage(*place)
    study = optuna.create_study(study_name=workers.STUDY, storage=storage, direction="maximize")
    jobs = [pool.submit(workers.search, *place, 4) for _ in range(2)]
    met = sorted(count for job in jobs for count in job.result(120))
    trials = study.trials
    workers.close(storage)
    assert [each.number for each in trials] == list(range(8))
    for each in trials:
        assert each.state == (TrialState.PRUNED if each.number % 2 else TrialState.COMPLETE)
        diagnosis = each.user_attrs.get("sickbay:diagnosis", {})
        assert diagnosis.get("problem") == ("passive_loss" if each.number % 2 else None)
        assert len(each.user_attrs["sickbay:course"]["losses"]) == (3 if each.number % 2 else 8)
    assert met[-1] >= 5  # more than one process has made


def test_where_the_study_goes_away_training_goes_on_and_the_finding_is_kept(
    grpc: tuple[int, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port, process = grpc
    storage = workers.storage("grpc", str(port))
    study = optuna.create_study(study_name="doomed", storage=storage, direction="maximize")
    model, optimizer = network(rate=0.0)
    doctor = watch(study.ask(), model, optimizer, epochs=6, profile="bttackler", chart=tmp_path)

    def evaluate(_: Any) -> float:
        if doctor.history.epoch == 1:
            process.kill()
            process.join()
        return 0.5

    train(doctor, model, optimizer, evaluate)
    assert doctor.history.epoch == 6
    assert doctor.result() == doctor.best
    assert [each.problem for each in doctor.findings] == ["passive_loss"]
    kept = sickbay.Chart.open(tmp_path / "trial-0").findings()
    assert [each.problem for each in kept] == ["passive_loss"]
    assert capsys.readouterr().err.count("the study cannot be reached") == 1


def test_where_the_study_comes_back_the_trial_is_ended_then(tmp_path: Path) -> None:
    path, away = tmp_path / "study.db", tmp_path / "away.db"
    study = optuna.create_study(storage=f"sqlite:///{path}", direction="maximize")
    model, optimizer = network(rate=0.0)
    doctor = watch(study.ask(), model, optimizer, epochs=8, profile="bttackler")
    for epoch in range(5):
        if epoch == 1:
            path.rename(away)
            path.mkdir()  # so that no new one is made
        doctor.step(learn(model, optimizer, *BATCHES[0]))
        doctor.epoch(val_accuracy=0.5)
    path.rmdir()
    away.rename(path)
    doctor.step(learn(model, optimizer, *BATCHES[0]))
    with pytest.raises(optuna.TrialPruned, match="passive loss at epoch 3"):
        doctor.epoch(val_accuracy=0.5)
    (trial,) = study.trials
    assert trial.user_attrs["sickbay:diagnosis"]["epoch"] == 3
    assert len(trial.user_attrs["sickbay:course"]["losses"]) == 6
    assert sorted(trial.intermediate_values) == [0, 5]


class Shaky(InMemoryStorage):
    """Fails in a new way each time while it is `down`, and notes which threads take leave."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False
        self.failures = 0
        self.left: list[str] = []

    def set_trial_user_attr(self, trial_id: int, key: str, value: Any) -> None:
        self.fail()
        super().set_trial_user_attr(trial_id, key, value)

    def get_trial(self, trial_id: int) -> FrozenTrial:
        self.fail()
        return super().get_trial(trial_id)

    def get_all_trials(self, *args: Any, **options: Any) -> list[FrozenTrial]:
        self.fail()
        return super().get_all_trials(*args, **options)

    def fail(self) -> None:
        if self.down:
            self.failures += 1
            raise OSError(f"failure {self.failures}")

    def remove_session(self) -> None:
        self.left.append(threading.current_thread().name)


def test_a_study_that_fails_again_and_again_is_said_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    storage = Shaky()
    study = optuna.create_study(storage=storage, direction="maximize")
    model, optimizer = network(rate=0.5)
    doctor = watch(study.ask(), model, optimizer, epochs=6, profile="bttackler")
    storage.down = True
    train(doctor, model, optimizer)
    storage.down = False
    assert storage.failures >= 6
    said = capsys.readouterr().err
    assert said.count("(OSError: failure 1); training goes on") == 1
    assert said.count("cannot be reached") == 1
    assert "sickbay:course" not in study.trials[0].user_attrs


@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("learns", ["last", "constraint", "penalty"])
def test_a_study_that_is_gone_for_good_costs_no_trial(
    learns: Any, rate: float, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = Shaky()
    study = optuna.create_study(storage=storage, direction="maximize")
    study.add_trial(optuna.create_trial(value=-1.0))
    model, optimizer = network(rate)
    doctor = watch(study.ask(), model, optimizer, epochs=6, profile="bttackler", learns=learns)
    storage.down = True
    train(doctor, model, optimizer)
    assert doctor.result() == doctor.best is not None
    assert [each.problem for each in doctor.findings] == ([] if rate else ["passive_loss"])
    said = capsys.readouterr().err
    assert said.count("cannot be reached") == 1
    assert "pruner" not in said


def test_what_fails_only_at_the_close_is_said_too(capsys: pytest.CaptureFixture[str]) -> None:
    storage = Shaky()
    study = optuna.create_study(storage=storage, direction="maximize")
    with watch(study.ask(), *network(0.5), epochs=6, learns="constraint"):
        storage.down = True
    assert "the study cannot be reached (OSError: failure 1)" in capsys.readouterr().err


def test_the_judge_takes_leave_of_the_storage() -> None:
    storage = Shaky()
    study = optuna.create_study(storage=storage, direction="maximize")
    model, optimizer = network(rate=0.5)
    doctor = watch(study.ask(), model, optimizer, epochs=2, profile="bttackler")
    train(doctor, model, optimizer)
    thread = doctor._background._thread
    assert thread is not None
    thread.join(10)
    assert storage.left == ["sickbay judge"]
