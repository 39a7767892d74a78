"""Tracing, exporting, scripting, saving and copying a watched model."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from tests.doctor.loops import learn, table, undisturbed, watch
from tests.doctor.test_harmless import hooks_of
from tests.models import features, mlp


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True])
def test_scripted_modules_are_watched_as_far_as_possible(inside: bool) -> None:
    scripted: nn.Module = torch.jit.script(mlp())
    model = nn.Sequential(scripted, nn.Linear(4, 1)) if inside else scripted
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _ in range(3):
        doctor.step(learn(model, optimizer, features()))
    assert len(table(doctor, "gradient").names) == len(list(model.parameters()))
    assert table(doctor, "weight").row(table(doctor, "weight").names[0])["update_ratio"] > 0
    assert [each.text for each in doctor.events if "torch.jit.script take no hooks" in each.text]
    assert undisturbed(doctor)


def exported(model: nn.Module, strict: bool) -> list[str]:
    program = torch.export.export(model, (features(),), strict=strict)
    return [node.name for node in program.graph.nodes]


def traced(model: nn.Module) -> list[str]:
    program: Any = torch.jit.trace(model, features())  # type: ignore[no-untyped-call]
    return [node.kind() for node in program.inlined_graph.nodes()]


TOOLS: dict[str, Callable[[nn.Module], object]] = {
    "trace": traced,
    "fx": lambda model: torch.fx.symbolic_trace(model).code,
    "export": lambda model: exported(model, strict=False),
    "strict export": lambda model: exported(model, strict=True),
}


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_of_ours_is_traced_or_exported(tool: str, steps: int) -> None:
    plain, model = mlp(), mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _ in range(steps):
        doctor.step(learn(model, optimizer, features()))
    assert TOOLS[tool](model) == TOOLS[tool](plain)
    doctor.step(learn(model, optimizer, features()))
    assert undisturbed(doctor)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_scripting_a_watched_model_says_what_to_do() -> None:
    model = mlp()
    doctor = watch(model, torch.optim.SGD(model.parameters(), lr=0.1))
    with pytest.raises(sickbay.SickbayError, match=r"call doctor\.close\(\) first"):
        torch.jit.script(model)
    doctor.close()
    torch.jit.script(model)


def test_a_model_is_saved_and_copied_without_our_hooks(tmp_path: Path) -> None:
    model = mlp()
    model.register_forward_hook(noted)
    plain, state = hooks_of(model), vars(nn.Module).get("__getstate__")
    doctor = watch(model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert hooks_of(model) > plain
    assert hooks_of(copy.deepcopy(model)) == plain
    assert hooks_of(pickle.loads(pickle.dumps(model))) == plain
    torch.save(model, tmp_path / "model.pt")
    assert not [
        name
        for name in torch.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "model.pt")
        if not name.startswith(("torch.", f"{__name__}."))
    ]
    assert hooks_of(model) > plain
    doctor.close()
    assert vars(nn.Module).get("__getstate__") is state


def noted(*_: Any) -> None:
    """Be a hook of the user's own."""
