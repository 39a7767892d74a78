"""Statements about outputs, targets and the loss."""
