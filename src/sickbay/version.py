"""The version of sickbay."""

__version__ = "0.1.0"
