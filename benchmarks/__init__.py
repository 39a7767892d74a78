"""Benchmarks of sickbay: run one with `python -m benchmarks.<name>`."""
