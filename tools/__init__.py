"""Tools for developing sickbay; not part of the package."""
