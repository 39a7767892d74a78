"""Redo the tables and figures of papers."""
