"""Statements about samples, sequences, attention and masks."""
