"""Wrong input of every kind: files, command lines and calls. Nothing may end in a bare exception."""
