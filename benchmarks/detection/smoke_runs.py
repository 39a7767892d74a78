"""Seven runs of a small network that every tool should diagnose."""

from __future__ import annotations

from functools import partial

from benchmarks.detection.case import Case
from benchmarks.detection.fault_code import Scaled
from benchmarks.detection.run_variants import Settings, plan
from benchmarks.detection.training_loop import train

SOUND = plan("digits", depth=3, optimizer="sgd", lr=0.1, steps=300, tell=frozenset({"outputs"}))
FAULTS: dict[str, tuple[str, Settings]] = {
    "vanishing": ("vanishing_gradient", {"depth": 10, "activation": "sigmoid"}),
    "dead": ("dying_relu", {"bias": -10.0}),
    "exploding": ("exploding_gradient", {"lr": 50.0}),
    "softmax": ("improper_output", {"output": "softmax"}),
    "unnormalised": ("unnormalised_input", {"inputs": Scaled(1e4)}),
    "slow": ("learning_rate_too_low", {"lr": 1e-7}),
}


def smoke() -> list[Case]:
    """Return a healthy run and six runs with one fault each. All pass outputs and targets."""
    twin = partial(train, SOUND, 0, None)
    healthy = Case("smoke/healthy", "", 0, SOUND.data, twin, None, quick=True)
    return [healthy] + [
        Case(
            f"smoke/{name}",
            problem,
            0,
            SOUND.data,
            partial(train, SOUND.but(**fault), 0, None),
            twin,
            quick=True,
        )
        for name, (problem, fault) in FAULTS.items()
    ]
