"""Statements about parameters, their gradients and the optimizer."""
