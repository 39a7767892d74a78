"""Measuring on a GPU: at the speed of its memory, and without ever waiting for it."""
