"""Redoes AutoTrainer's tables and figures: `python -m benchmarks.published.autotrainer`."""

import os

# Keep the odds counted from this user's own repairs apart from the benchmark.
os.environ["SICKBAY_HOME"] = os.devnull
