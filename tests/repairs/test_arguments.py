"""Numbers and devices that cannot be used get one clear sentence."""

from inspect import signature
from math import inf, nan
from typing import Any, get_type_hints

import numpy as np
import pytest
import torch

import sickbay
from sickbay.printable import error_message
from sickbay.repairs.data import Data
from tests.repairs.datasets import refused
from tests.repairs.test_fit import fit, healthy
from tests.repairs.user_loops import recipe_of

X, Y = torch.rand(100, 5, generator=torch.Generator().manual_seed(0)), torch.arange(100) % 4


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"budget": -1.5}, "budget must be a finite number above 0, got -1.5."),
        ({"budget": nan}, "budget must be a finite number above 0, got nan."),
        ({"budget": inf}, "budget must be a finite number above 0, got inf."),
        ({"budget": "long"}, "budget must be a number above 0, got 'long'."),
        ({"epochs": -3}, "epochs must be a whole number of at least 1, got -3."),
        ({"epochs": 1.5}, "epochs must be a whole number of at least 1, got 1.5."),
        ({"epochs": None}, "epochs must be a whole number of at least 1, got None."),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, got 0."),
        ({"batch_size": True}, "batch_size must be a whole number of at least 1, got True."),
        ({"target": "high"}, "target must be a number, got 'high'."),
        ({"target": nan}, "target must be a number, got nan."),
        ({"target": True}, "target must be a number, got True."),
        ({"seed": "one"}, "seed must be a whole number of at least 0"),
        ({"seed": 0.5}, "seed must be a whole number of at least 0"),
        ({"seed": 10**30}, "seed must be a whole number of at least 0"),
        ({"console": 3}, "console must be a rich.console.Console or None, got 3."),
        ({"chart": 3}, "chart must be a path, as str or os.PathLike, got 3."),
        ({"chart": ""}, "chart must be a path, as str or os.PathLike, got ''."),
        ({"chart": "a\0b"}, "chart must be a path, as str or os.PathLike, got 'a\\x00b'."),
        ({"progress": "no"}, "progress must be True or False, got 'no'."),
        ({"resume": 1, "chart": "x"}, "resume must be True or False, got 1."),
        ({"profile": ""}, "There is no profile ''."),
        (
            {"metric": "f2"},
            "There is no metric 'f2'. Possible: 'accuracy', 'balanced_accuracy', 'f1', 'loss'",
        ),
        ({"metric": 3}, "metric must be a function of outputs and targets, or one of 'accuracy'"),
        ({"metric": "r2"}, "metric must be one that fits the task, got 'r2'. Possible: 'accuracy'"),
        ({"metric": max}, "metric must be a function of outputs and targets, but max raised: "),
        ({"metric": "f1", "target": 90}, "target must be at most 1, as the metric 'f1' is, got 90"),
        ({"callbacks": print}, "callbacks must be a list of functions, got <built-in function"),
        ({"callbacks": [print, 3]}, "callbacks must be a list of functions, got one with 3."),
        (
            {"scheduler": 3},
            "scheduler must be a torch scheduler, or a function that makes one from",
        ),
        (
            {"scheduler": int},
            "scheduler must make a scheduler from an optimizer, but raised: int()",
        ),
        (
            {"scheduler": type},
            "scheduler must return a torch.optim.lr_scheduler.LRScheduler, got t",
        ),
        (
            {"scheduler_step": "step"},
            "There is no scheduler_step 'step'. Possible: 'batch', 'epoch'",
        ),
        (
            {"strategy": sickbay.AutoTrainer},
            "strategy must be 'race', 'autotrainer' or sickbay.AutoTrainer(...), got <class ",
        ),
        ({"workers": torch.ones(2)}, "workers must be a number from 1 on, 'ray' or None, got"),
        ({"remedies": [3]}, "remedies must be a list of names or Remedy objects, got 3 in it."),
        (
            {"optimizer": int},
            "optimizer must make an optimizer from parameters, but raised: int() arg",
        ),
        pytest.param(
            {"optimizer": lambda _: 3},
            "optimizer must return a torch.optim.Optimizer, got int.",
            id="optimizer-returns-a-number",
        ),
    ],
    ids=str,
)
def test_what_fit_refuses(given: dict[str, Any], sentence: str) -> None:
    assert refused(lambda: fit(healthy(), **given)).startswith(sentence)


def test_a_chart_that_cannot_be_made(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "run", tmp_path / ("x" * 300)):
        told = refused(lambda path=path: fit(healthy(), chart=path))  # type: ignore[misc]
        assert told.startswith("chart must be a folder to write in, got ")


def test_fit_and_repair_share_their_options() -> None:
    of_fit, of_repair = (signature(each).parameters for each in (sickbay.fit, sickbay.repair))
    assert of_repair.keys() - of_fit.keys() == {"recipe", "train", "learn"}
    assert of_fit.keys() - of_repair.keys() == {
        "model",
        "loss",
        "optimizer",
        "batch_size",
        "epochs",
        "scheduler",
        "scheduler_step",
    }
    for name in of_fit.keys() & of_repair.keys() - {"data"}:
        assert of_fit[name] == of_repair[name]
    assert get_type_hints(sickbay.fit).keys() == {*of_fit, "return"}


def test_a_recipe_is_needed() -> None:
    given: Any = healthy()
    assert refused(lambda: sickbay.repair(given, (X, Y))).startswith("recipe must be a sickbay.Rec")


def test_numbers_of_numpy_will_do() -> None:
    numbers = {"epochs": np.int64(1), "batch_size": np.int32(64), "seed": np.int64(3)}
    outcome = fit(healthy(), remedies=[], **numbers)
    assert outcome.epochs == 1
    assert repr(outcome.recipe.batch_size) == "64"
    assert repr(recipe_of(healthy(), epochs=np.int64(2)).epochs) == "2"  # type: ignore[arg-type]


def test_data_needs_a_batch_size() -> None:
    sentence = "batch_size must be a whole number of at least 1, got 0."
    assert refused(lambda: Data.of((X, Y), batch_size=0)) == sentence


@pytest.mark.parametrize("device", ["qpu", "cuda:99", "meta", 7.5])
def test_devices(device: Any) -> None:
    sentence = refused(lambda: Data.of((X, Y), batch_size=8, device=device))
    assert sentence.startswith(f"device must be one that torch can use here, got {device!r}: ")


class Mute(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError


def test_an_error_is_quoted_so_that_it_can_be_printed() -> None:
    assert error_message(ValueError("first\nlast \x1b[31mred")) == "last \\x1b[31mred."
    assert error_message(Mute()) == "Mute."
