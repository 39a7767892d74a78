"""A zoo of training runs, sick and healthy: `python -m benchmarks.detection`."""
