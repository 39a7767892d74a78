"""How much ending sick trials helps a hyperparameter search: `python -m benchmarks.tuning`."""
