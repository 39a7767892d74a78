"""Measure on a GPU at the speed of its memory, without ever waiting for it."""
