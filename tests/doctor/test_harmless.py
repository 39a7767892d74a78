"""With a doctor watching, training is bit for bit the training without one."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import torch
from torch import nn
from torch.amp import GradScaler

import sickbay
from tests.doctor.loops import learn, table, watch
from tests.models import FAMILIES, compiled, features, mlp, train

# Said by torch itself while it compiles, watched or not.
compiling = pytest.mark.filterwarnings("ignore:The .grad attribute", "ignore:.*torch.jit")

every_family = pytest.mark.parametrize("family", FAMILIES)


def watching(**options: Any) -> Callable[[nn.Module, torch.optim.Optimizer], sickbay.Doctor]:
    return lambda model, optimizer: sickbay.watch(model, optimizer, on_finding="silent", **options)


def hooks_of(model: nn.Module) -> int:
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    on_modules = sum(len(getattr(module, kind)) for module in model.modules() for kind in kinds)
    on_parameters = sum(
        len(parameter._post_accumulate_grad_hooks or ()) + len(parameter._backward_hooks or ())
        for parameter in model.parameters()
    )
    return on_modules + on_parameters


@every_family
@pytest.mark.parametrize("every", [1, 3, "auto", {"gradient": 1}])
def test_eager_training_is_unchanged(family: str, every: object, tmp_path: Path) -> None:
    watched = train(family, watching(every=every, chart=tmp_path / "run"))
    assert watched.same_as(train(family))
    doctor = watched.doctor
    assert doctor is not None
    assert doctor.history.table("gradient") is not None
    assert not [event for event in doctor.events if event.kind in ("trouble", "notice")]


@compiling
@every_family
def test_compiled_training_is_unchanged_without_activations(family: str) -> None:
    watched = train(family, watching(every=1, activations=False), prepare=compiled)
    assert watched.same_as(train(family, prepare=compiled))
    assert watched.doctor is not None
    assert watched.doctor.history.table("gradient") is not None


@compiling
@pytest.mark.skipif(which("g++") is None, reason="torch's own compiler needs a C++ compiler")
def test_training_compiled_by_inductor_is_unchanged_without_activations() -> None:
    def by_inductor(model: nn.Module) -> nn.Module:
        return compiled(model, backend="inductor")

    watched = train("mlp", watching(every=1, activations=False), prepare=by_inductor)
    assert watched.same_as(train("mlp", prepare=by_inductor))


@compiling
@every_family
def test_compiled_training_with_activations_is_equal_to_float_tolerance(family: str) -> None:
    def whole(model: nn.Module) -> nn.Module:
        return compiled(model, fullgraph=family != "lstm")  # torch itself breaks the graph there

    plain, watched = train(family, prepare=whole), train(family, watching(every=1), prepare=whole)
    assert watched.losses == pytest.approx(plain.losses, rel=1e-5)
    assert watched.doctor is not None
    assert len(table(watched.doctor, "activation").names) > 2
    assert not watched.doctor._guard.off


def test_hooks_make_a_compiled_model_compile_once_more_at_most() -> None:
    graphs = 0

    def count(graph: torch.fx.GraphModule, _inputs: object) -> Callable[..., object]:
        nonlocal graphs
        graphs += 1
        return graph.forward

    train("mlp", watching(every=2), prepare=lambda model: compiled(model, backend=count))
    assert graphs == 2  # one that hands over samples and one that does not


@compiling
def test_batches_of_other_sizes_in_a_compiled_model_are_read_right() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer)
    run = compiled(model)
    for rows in (64, 2, 64, 3):
        doctor.step(learn(run, optimizer, features(rows)))
        activation = table(doctor, "activation")
        assert not activation.column("nonfinite").any()
        assert activation.column("count").max() <= rows * 8


@every_family
def test_close_leaves_nothing_behind(family: str) -> None:
    plain_step = GradScaler.step
    watched = train(family, watching(every=1))
    assert watched.doctor is not None
    assert hooks_of(watched.model) > 0
    assert GradScaler.step is not plain_step
    watched.doctor.close()
    assert hooks_of(watched.model) == 0
    assert GradScaler.step is plain_step
    watched.doctor.close()
    assert watched.doctor.step(1.0) == []


def test_the_optimizer_is_left_without_hooks() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with sickbay.watch(model, optimizer):
        assert optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks


def test_an_armed_model_can_be_copied_and_state_keys_are_the_same() -> None:
    model = mlp()
    keys = list(model.state_dict())
    doctor = sickbay.watch(model, torch.optim.SGD(model.parameters(), lr=0.1), every=1)
    twin = copy.deepcopy(model)
    assert list(model.state_dict()) == list(twin.state_dict()) == keys
    x = torch.randn(5, 8)
    twin(x).sum().backward()
    assert torch.equal(twin(x), model(x))
    assert doctor.step() == []
    read = doctor.history.table("activation")
    assert read is None or len(read.names) == 7  # the model's own pass, not the twin's


def test_an_armed_model_can_be_pickled_and_loaded_without_sickbay(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    sickbay.watch(model, torch.optim.SGD(model.parameters(), lr=0.1), every=1)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    code = (
        "import pickle, sys, torch\n"
        f"model = pickle.load(open({str(path)!r}, 'rb'))\n"
        "model(torch.ones(2, 3)).sum().backward()\n"
        "assert not any(name.startswith('sickbay') for name in sys.modules), 'needs sickbay'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_does_not_load_what_it_does_not_need() -> None:
    code = (
        "import sys, sickbay\n"
        "loaded = [name for name in ('torch', 'rich', 'numpy') if name in sys.modules]\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
