"""Small complete training programs with real faults, and how sickbay and others do on them."""
