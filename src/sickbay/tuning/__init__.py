"""Hyperparameter search: which trials to end, and which to leave alone."""
