"""Loops in processes of their own: several that train together, and one that nobody reads."""

import os
import subprocess
import sys
from pathlib import Path

LOOP = """
import os
import random
import sys
import torch
from torch import nn
import sickbay

torch.manual_seed(0)
torch.set_num_threads(1)

def train(model, doctor, optimizer, spoilt):
    losses = []
    for step in range(8):
        inputs = torch.ones(4, 8) * random.random()
        if step == spoilt:
            inputs[0, 0] = float("nan")
        optimizer.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
        if doctor is not None:
            doctor.step(loss if step != 4 else float("nan"))
        losses.append(loss.item())
    return losses
"""

ALONE = (
    LOOP
    + """
random.seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
doctor = sickbay.watch(model, optimizer) if sys.argv[1] == "watched" else None
print(train(model, doctor, optimizer, spoilt=None), flush=True)
"""
)

TOGETHER = (
    LOOP
    + """
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

rank, place = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", f"file://{place}/meet", rank=rank, world_size=2)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 1))
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
doctor = sickbay.watch(model, optimizer, every={"gradient": 1 + rank})
random.seed(rank)
train(model, doctor, optimizer, spoilt=4)
print([finding.problem for finding in doctor.findings], flush=True)
distributed.barrier()
os._exit(0)  # gloo's threads now and then abort a process that ends in the usual way
"""
)


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_what_is_printed_draws_no_random_number() -> None:
    plain, watched = start(ALONE, "plain"), start(ALONE, "watched")
    losses, said = watched.communicate(timeout=120)
    assert losses == plain.communicate(timeout=120)[0]
    assert "non finite" in said


def test_training_goes_on_if_nobody_reads_what_is_said() -> None:
    plain, watched = start(ALONE, "plain"), start(ALONE, "watched")
    assert watched.stderr is not None
    watched.stderr.close()
    watched.stderr = None
    losses, _ = watched.communicate(timeout=120)
    assert losses == plain.communicate(timeout=120)[0]
    assert watched.returncode == 0


def test_of_several_processes_one_speaks_and_none_waits_for_another(tmp_path: Path) -> None:
    ranks = [start(TOGETHER, str(rank), str(tmp_path)) for rank in range(2)]
    found, said = zip(*(each.communicate(timeout=120) for each in ranks), strict=True)
    assert [each.returncode for each in ranks] == [0, 0], said
    assert all("non_finite" in each for each in found)
    assert ["non finite" in each for each in said] == [True, False]
