"""The reporting half: written without knowledge of the problems' code, and run once."""
