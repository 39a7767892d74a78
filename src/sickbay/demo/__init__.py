"""The command `sickbay demo`: small networks with a flaw, found, repaired and trained again."""
