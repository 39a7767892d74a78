"""What ending sick trials is worth in a hyperparameter search: `python -m benchmarks.tuning`."""
