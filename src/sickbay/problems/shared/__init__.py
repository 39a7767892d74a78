"""What several problems have in common."""
