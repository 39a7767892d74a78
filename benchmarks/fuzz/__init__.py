"""Tests sickbay with invalid files, command lines and calls: `python -m benchmarks.fuzz`."""
