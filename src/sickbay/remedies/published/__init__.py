"""Remedies as the papers list them."""
