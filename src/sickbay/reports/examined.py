"""A checkup as text."""
