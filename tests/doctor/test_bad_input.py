"""What cannot be used gets one clear sentence, and nothing is changed."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from tests.doctor.test_harmless import hooks_of
from tests.models import mlp

MODEL = mlp()
OTHER = torch.optim.SGD(mlp().parameters(), lr=0.1)

CASES: list[tuple[dict[str, Any], str]] = [
    ({"model": "mlp"}, "model must be a torch.nn.Module, got str."),
    ({"model": nn.ReLU()}, "model must have parameters that require a gradient, got none."),
    (
        {"optimizer": 0.1},
        "optimizer must be a torch.optim.Optimizer, a list of them, or None, got float.",
    ),
    (
        {"optimizer": OTHER},
        "optimizer must hold parameters of the model, got SGD with 8 parameters, "
        "none of them of the Sequential.",
    ),
    (
        {"profile": "defualt"},
        "There is no profile 'defualt'; did you mean 'default'? "
        "Possible: 'autotrainer', 'bttackler', 'bttackler_paper', 'default', 'training_doctor', "
        "'tuning'.",
    ),
    (
        {"problems": ["exploding"]},
        "There is no problem 'exploding'; did you mean 'exploding_gradient'? Possible: "
        "'abnormal_data', 'abnormal_gradient', ",
    ),
    (
        {"problems": "non_finite"},
        "problems must be a list of names or Problem objects, got 'non_finite'.",
    ),
    (
        {"every": 0},
        "every must be a whole number of steps from 1 on, 'auto', such numbers by kind, "
        "or a function, got 0.",
    ),
    ({"every": "often"}, "got 'often'."),
    ({"every": {"gradients": 1}}, "gradient, weight, activation"),
    (
        {"budget": 3},
        "budget must be a number above 0 and at most 1, got 3.",
    ),
    ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0."),
    (
        {"on_finding": "shout"},
        "on_finding must be 'advise', 'silent', 'stop', 'treat' or a function, got 'shout'.",
    ),
    (
        {"on_finding": "treat", "optimizer": None},
        "on_finding must not be 'treat' without an optimizer, got no optimizer.",
    ),
    ({"on_finding": torch.ones(2)}, "or a function, got tensor([1., 1.])."),
    ({"activations": torch.ones(2)}, "activations must be True or False, got tensor([1., 1.])."),
    (
        {"every": lambda: True},
        "every must be a function of a step's number; it raised TypeError at step 0: ",
    ),
    ({"chart": 7}, "got 7."),
    ({"chart": Path(__file__)}, "chart must be a folder that can be made or written to"),
]


@pytest.mark.parametrize(("given", "sentence"), CASES, ids=lambda each: str(each)[:30])
def test_one_sentence(given: dict[str, Any], sentence: str) -> None:
    optimizer = torch.optim.SGD(MODEL.parameters(), lr=0.1)
    with pytest.raises(sickbay.UsageError) as refused:
        sickbay.watch(**{"model": MODEL, "optimizer": optimizer, **given})
    assert sentence in str(refused.value)
    assert str(refused.value).count("\n") == 0
    assert hooks_of(MODEL) == 0
    assert not optimizer._optimizer_step_pre_hooks


def test_a_refused_watch_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(sickbay.UsageError):
        sickbay.watch(MODEL, chart=tmp_path / "run", budget=-1)
    assert list(tmp_path.iterdir()) == []
