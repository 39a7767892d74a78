"""The calibration half: what thresholds and remedies may be set on."""
