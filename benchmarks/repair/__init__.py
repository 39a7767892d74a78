"""Measures how many faulty runs sickbay repairs: `python -m benchmarks.repair`."""

import os

# Keep the odds counted from this user's own repairs apart from the benchmark.
os.environ["SICKBAY_HOME"] = os.devnull
