"""Statements about norms, and about training and evaluation mode."""
