"""Measures which faults sickbay finds in training runs: `python -m benchmarks.detection`."""
