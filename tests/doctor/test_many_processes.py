"""Live treatment where several processes train one model: refused, or ended before they part."""

from collections.abc import Iterator
from contextlib import redirect_stderr
from datetime import timedelta
from io import StringIO
from math import nan
from pathlib import Path

import pytest
import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor
from torch.multiprocessing.spawn import spawn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD

import sickbay
from sickbay.doctor.treatment import PARTED
from sickbay.errors import UsageError
from sickbay.probe.finite import all_finite
from tests.doctor.loops import undisturbed
from tests.doctor.treated import learn, regression, treated


def join(folder: Path, rank: int, count: int) -> None:
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder / 'meeting'}",
        rank=rank,
        world_size=count,
        timeout=timedelta(seconds=30),
    )


def one_of_two(rank: int, folder: Path) -> None:
    """Watch, then train with the other process; what comes of it is written down."""
    torch.set_num_threads(1)
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    with redirect_stderr(StringIO()):
        doctor = treated(model, optimizer, every=1)
        learn(model, optimizer, doctor, steps=25)
        join(folder, rank, 2)
        spread = DistributedDataParallel(model)
        for step in range(4):
            optimizer.zero_grad()
            x = torch.full((4, 8), nan if (step, rank) == (0, 1) else 1.0)
            loss = spread(x).square().mean()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    assert [event.text for event in doctor.events].count(PARTED) == 1
    assert doctor.treatments == []
    assert undisturbed(doctor)
    assert not all_finite(model.parameters())  # as without treatment
    try:
        treated(model, optimizer)
    except UsageError as error:
        (folder / f"said-{rank}").write_text(str(error))
    distributed.destroy_process_group()


def test_two_processes(tmp_path: Path) -> None:
    spawn(one_of_two, (tmp_path,), nprocs=2)  # type: ignore[no-untyped-call]
    for rank in (0, 1):
        assert (tmp_path / f"said-{rank}").read_text() == (
            "on_finding must not be 'treat' where several processes train together, got 2 "
            "processes; 'advise', 'silent', 'stop' or a function is possible."
        )


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[None]:
    join(tmp_path, 0, 1)
    yield
    distributed.destroy_process_group()


@pytest.mark.usefixtures("alone")
def test_parameters_that_are_spread_over_processes() -> None:
    mesh = init_device_mesh("cpu", (1,))
    layers = [nn.Linear(8, 4), nn.Linear(4, 1)]
    for layer in layers:
        layer.weight = nn.Parameter(distribute_tensor(layer.weight.detach(), mesh))
    model = nn.Sequential(*layers)
    optimizer = SGD(model.parameters(), lr=0.1)
    with pytest.raises(UsageError, match=r"where parameters are DTensors, got one in '0\.weight';"):
        treated(model, optimizer)
    sickbay.watch(model, optimizer, on_finding="silent").close()


@pytest.mark.usefixtures("alone")
def test_a_process_of_its_own_is_treated() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer)
    model(torch.full((2, 8), nan)).sum().backward()
    optimizer.step()
    doctor.step(nan)
    assert [each.remedy for each in doctor.treatments] == ["skip_bad_batches"]
