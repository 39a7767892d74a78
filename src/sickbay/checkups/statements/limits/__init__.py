"""Statements about extreme inputs, precision, saving, memory, learning rate and compilation."""
