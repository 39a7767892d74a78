"""Architectures of published libraries, a module for each library."""
