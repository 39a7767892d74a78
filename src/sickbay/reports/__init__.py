"""Showing findings to people."""
