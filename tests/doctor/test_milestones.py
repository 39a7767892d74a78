"""Some steps are read ahead of the accounts, however fast the loop."""

from sickbay.doctor.governor import FIRST_MILESTONE, Governor
from tests.doctor.test_governor import lap


def test_milestones_are_read_ahead_of_the_accounts() -> None:
    governor = Governor("auto", 0.01, ["batch"])
    read = []
    for step in range(1000):  # a step of 1 ms, so the accounts would never cover a reading
        due = lap(governor, step, 1e-3, {"batch": 1e-3})
        read += [step] if due else []
    assert [step for step in read if step >= 40][:4] == [40, 56, 78, 109]
    assert len(read) < 30


def test_no_step_passes_over_a_milestone() -> None:
    governor = Governor("auto", 0.01, ["batch"])
    for step in range(30):
        lap(governor, step, 1e-4, {"batch": 1e-6}, bookkeeping=1e-2)
    assert governor.uneventful(30) == FIRST_MILESTONE - 31


def test_the_batch_has_an_allowance_of_its_own() -> None:
    governor = Governor("auto", 0.01, ["gradient", "weight", "batch"])
    last = {"gradient": 0, "batch": 0}
    for step in range(2000):  # gradients use up their allowance at once
        due = lap(governor, step, 1e-4, {"gradient": 1e-2, "weight": 1e-2, "batch": 1e-4})
        last |= {kind: step for kind in due if kind in last}
    assert last["gradient"] < 200
    assert last["batch"] > 1500
