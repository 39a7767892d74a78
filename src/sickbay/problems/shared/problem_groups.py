"""Groups of problems with common causes, for use in `explains`."""

GRADIENTS = ("vanishing_gradient", "exploding_gradient")
JUMPS = ("gradient_spike", "gradient_collapse", "loss_spike")
UNITS = ("dead_units", "dying_relu", "saturated_activation")
RATES = ("learning_rate_too_high", "learning_rate_too_low", "layer_imbalance")
# How a run that does not learn looks from outside, whatever the cause.
STANDSTILL = ("constant_prediction", "slow_convergence")
UNREST = ("oscillating_accuracy",)
# What a model shows after its weights were damaged.
AFTERMATH = ("overfitting", *JUMPS, *UNITS, *RATES, *STANDSTILL, *UNREST)
# What a run shows when its data, its loss or its loop is wrong.
EVERYTHING = ("unchanged_weights", *GRADIENTS, *AFTERMATH)
