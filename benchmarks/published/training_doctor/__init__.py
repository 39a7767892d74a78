"""Repeats the experiments of the Training Doctor paper.

python -m benchmarks.published.training_doctor
"""
