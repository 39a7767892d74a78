"""Measures whether sickbay finds injected faults: `python -m benchmarks.injection`."""
