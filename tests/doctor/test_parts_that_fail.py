"""Every part is made to raise, one after the other: nothing of it reaches the loop."""

from __future__ import annotations

import gc
import struct
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tests.doctor.failing_loops import LOOPS
from tests.doctor.made_to_fail import MadeToFail, called, failing, functions, load, name_of

FEWEST = 150  # parts that each loop must reach, so that nothing is tested by reaching nothing


# What may raise, and why. All else may not.
ALLOWED = {
    # The guard and the report of what it caught are what everything else is caught by.
    "probe.guard:Guard.run",
    "probe.guard:Guard.fail",
    # The shell itself: all that torch calls, and what stands in the place of its methods.
    "probe.guard:Guard.wrap.<locals>.wrapped",
    "probe.hooks:Hook.__call__",
    "probe.activations:_LayerHook.__call__",
    "probe.hooks:weakly.<locals>.call",
    "probe.before_backward:_backward",
    "probe.loss_modules:_call",
    "probe.grad_scaler:_step",
    "doctor.optimizer_step:OptimizerStep._wrapped.<locals>.step",
    "tuning.trial_doctor:TrialDoctor._guarded",
    "probe.method_patch:Patch.call",
    "probe.method_patch:Patch._bound",
    # What the loop itself calls: made to raise, it is the call that is replaced, and nothing of
    # ours is around it.
    *(
        f"doctor.doctor:Doctor.{name}"
        for name in ("step", "epoch", "close", "__enter__", "__exit__")
    ),
    *(
        f"doctor.view:DoctorView.{name}"
        for name in (
            "findings", "events", "history", "overhead", "treatments", "example", "chart", "health",
            "reports", "__repr__",
        )
    ),
    *(f"tuning.trial_doctor:TrialDoctor.{name}" for name in ("step", "epoch", "close")),
    "tuning.optuna.watch_trial:OptunaDoctor.close",
}  # fmt: skip


@pytest.fixture(scope="module")
def known() -> dict[CodeType, list[FunctionType]]:
    load()
    return functions()


def bits(losses: list[float]) -> list[bytes]:
    return [struct.pack("d", loss) for loss in losses]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", LOOPS)
def test_no_part_that_raises_reaches_the_loop(
    name: str, known: dict[CodeType, list[FunctionType]], tmp_path: Path
) -> None:
    kind, options = LOOPS[name]
    plain = kind().run().losses
    parts: list[CodeType] = []
    for number in range(2):  # what the first loop loads is loaded then

        def trace(run: Callable[[], object]) -> None:
            parts[:] = called(run)

        kind(options, tmp_path / f"traced-{number}", armed=trace).run()
    parts = [code for code in parts if name_of(code) not in ALLOWED]
    assert len(parts) >= FEWEST

    broken: dict[str, str] = {}
    for number, code in enumerate(parts):
        part = name_of(code)

        def armed(run: Callable[[], object], code: CodeType = code) -> None:
            with failing(code, known):
                run()

        loop = kind(options, tmp_path / f"{number}", armed=armed).run()
        same = "treat" in options.values() or bits(loop.losses) == bits(plain)
        if loop.reached:
            broken[part] = f"reaches {', '.join(dict.fromkeys(loop.reached))}"
        elif not same:
            broken[part] = "changes the losses"
    gc.collect()  # what is left of a failed end complains here, where that is ignored
    said = "\n".join(f"  {part}: {how}" for part, how in sorted(broken.items()))
    assert not broken, f"{len(broken)} of {len(parts)} parts reach the loop:\n{said}"


def test_a_part_that_is_made_to_raise_does(known: dict[CodeType, list[FunctionType]]) -> None:
    from sickbay.probe.jump_alarm import Alarm

    code = Alarm.rings.__code__
    with failing(code, known), pytest.raises(MadeToFail):
        Alarm().rings(1.0)
    assert not Alarm().rings(1.0)


def test_all_functions_of_the_package_are_walked(
    known: dict[CodeType, list[FunctionType]],
) -> None:
    assert len(known) > 1000
