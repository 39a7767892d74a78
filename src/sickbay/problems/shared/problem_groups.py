"""Groups of problems with common causes, for use in `explains`."""

GRADIENTS = ("vanishing_gradient", "exploding_gradient")
JUMPS = ("gradient_spike", "gradient_collapse", "loss_spike")
UNITS = ("dead_units", "dying_relu", "saturated_activation")
SLOW = ("learning_rate_too_low", "layer_imbalance")  # what weakens gradients looks like this
RATES = ("learning_rate_too_high", *SLOW)
# How a run that does not learn looks from outside, whatever the cause.
NO_PROGRESS = ("constant_prediction", "slow_convergence", "not_learning", "underfitting")
# What a model shows after its weights were damaged.
AFTER_DAMAGE = ("overfitting", *JUMPS, *UNITS, *RATES, *NO_PROGRESS, "oscillating_accuracy")
# What a run shows when its data, its loss or its loop is wrong.
EVERYTHING = ("unchanged_weights", *GRADIENTS, *AFTER_DAMAGE)
