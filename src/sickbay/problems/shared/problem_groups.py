"""Problems that have causes in common, to be named together in `explains`."""

GRADIENTS = ("vanishing_gradient", "exploding_gradient")
JUMPS = ("gradient_spike", "gradient_collapse", "loss_spike")
UNITS = ("dead_units", "dying_relu", "saturated_activation")
RATES = ("learning_rate_too_high", "learning_rate_too_low", "layer_imbalance")
# What a run that does not learn looks like from outside, whatever the cause.
STANDSTILL = ("constant_prediction", "slow_convergence")
UNREST = ("oscillating_accuracy",)
# What a model shows after something has torn its weights apart.
AFTERMATH = ("overfitting", *JUMPS, *UNITS, *RATES, *STANDSTILL, *UNREST)
# What a run shows when something is wrong with it from outside: its data, its loss, its loop.
EVERYTHING = ("unchanged_weights", *GRADIENTS, *AFTERMATH)
