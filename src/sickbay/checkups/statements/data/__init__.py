"""Statements about the batch: inputs, targets, and the split."""
