"""Repeats the experiments of the Training Doctor paper: `python -m benchmarks.training_doctor`."""
