"""Statements about extreme inputs, precision, saving, memory, speed and compilation."""
