"""What watching a training loop costs."""
