"""Wrong input of every kind: files, command lines and calls."""
