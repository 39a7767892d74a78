"""Measuring: statistics of tensors, and the probe that takes them from a running loop."""
