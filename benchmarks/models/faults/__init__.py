"""Faults planted in the architectures. The README of the benchmark tells how to write one."""
