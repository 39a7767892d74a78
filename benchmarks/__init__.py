"""What watching costs, measured: `python -m benchmarks.overhead`."""
