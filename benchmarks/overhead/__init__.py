"""Measures what watching a training loop costs: `python -m benchmarks.overhead`."""
