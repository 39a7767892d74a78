"""The kinds of faults, with the names that are right for each.

The kinds come from the taxonomy of Humbatova et al. (2020), the mutation operators of DeepCrime,
the categories of defects4ML, and reports in forums and issues. Several programs may share a kind.
"""

from benchmarks.programs.program import Fault

UNSTABLE = ("non_finite", "loss_spike", "gradient_spike", "learning_rate_too_high")
DEAD = ("dead_units", "dying_relu", "saturated_activation", "unchanged_weights")
TOO_HIGH = ("learning_rate_too_high", "exploding_gradient")
STILL = ("frozen_by_accident", "unchanged_weights")

# Outputs
SOFTMAX_TWICE = Fault(
    "softmax before a loss with softmax", ("double_activation", "improper_output")
)
SIGMOID_TWICE = Fault(
    "sigmoid before a loss with sigmoid", ("double_activation", "improper_output")
)
RELU_OUTPUT = Fault("ReLU on the outputs", ("improper_output",), ("dead_units", "dying_relu"))
BOUNDED_OUTPUT = Fault(
    "bounded outputs for unbounded targets",
    ("improper_output", "unscaled_targets"),
    ("saturated_activation", "vanishing_gradient", "improper_loss"),
)
SOFTMAX_OF_ONE = Fault("softmax over one unit", ("improper_output",), ("improper_loss", *STILL))
SOFTMAX_FOR_TAGS = Fault(
    "softmax where several labels may hold", ("improper_output", "improper_loss")
)
SOFTMAX_OVER_BATCH = Fault(
    "softmax over the batch", ("improper_output", "improper_loss"), ("double_activation",)
)
LOGITS_AS_PROBABILITIES = Fault(
    "no softmax or sigmoid before a loss that needs one",
    ("improper_output", "improper_loss"),
    (*UNSTABLE, "exploding_gradient"),
)
TEMPERATURE = Fault(
    "temperature of 100",
    ("improper_output", "vanishing_gradient", "learning_rate_too_low"),
    ("improper_loss",),
)
WRONG_WIDTH = Fault(
    "outputs do not fit the classes", ("improper_output", "improper_loss", "bad_targets")
)

# Losses
MSE_FOR_CLASSES = Fault("squared error for classes", ("improper_loss",), ("improper_output",))
CLASS_NUMBERS = Fault("class numbers as a regression", ("improper_loss", "improper_output"))
ARGMAX = Fault("argmax before the loss", ("improper_loss", *STILL))
WRONG_SIGN = Fault(
    "wrong sign of the loss",
    ("improper_loss", "wrong_sign"),
    (*UNSTABLE, *DEAD, "exploding_gradient"),
)
SUM = Fault("sum in place of the mean", ("improper_loss", *TOO_HIGH), (*UNSTABLE, *DEAD))
CLASSES_ELSEWHERE = Fault(
    "the loss takes the wrong dimension for classes", ("improper_loss", "improper_output")
)
WRONG_DIMENSION = Fault("mean over the wrong dimension", ("improper_loss", "shape_broadcast"))
NO_EPSILON = Fault("log without epsilon", ("improper_loss", "non_finite"), UNSTABLE)
BROADCAST = Fault("shapes broadcast", ("shape_broadcast",), ("improper_loss",))
GAN_LABELS = Fault("GAN with wrong labels", ("improper_loss", "bad_targets"), UNSTABLE)
POLICY_SIGN = Fault(
    "wrong sign of the advantage", ("improper_loss", "wrong_sign"), (*UNSTABLE, *DEAD)
)
WEIGHTS_UPSIDE_DOWN = Fault(
    "class weights the wrong way round",
    ("improper_loss", "class_imbalance", "wrong_class_weights"),
    ("bad_targets", "overfitting"),
)
WRONG_TERM = Fault("one term of the loss drowns the other", ("improper_loss",), UNSTABLE)

# Targets and inputs
RAW_TARGETS = Fault(
    "raw targets",
    ("unscaled_targets",),
    (*TOO_HIGH, *UNSTABLE, *DEAD, "learning_rate_too_low", "improper_output"),
)
LABELS_FROM_ONE = Fault("labels start at 1", ("bad_targets",), ("improper_loss", "improper_output"))
SIGNED_LABELS = Fault(
    "labels of -1 and 1 for a sigmoid",
    ("bad_targets", "improper_loss", "improper_output"),
    (*UNSTABLE, "saturated_activation"),
)
SHUFFLED_LABELS = Fault(
    "labels in another order", ("not_learning", "bad_targets"), ("overfitting",)
)
WRONG_LABELS = Fault(
    "many labels are wrong", ("bad_targets", "noisy_labels", "overfitting"), ("loss_spike",)
)
MIXED_SAMPLES = Fault(
    "a reshape mixes samples", ("mixed_samples", "not_learning", "bad_targets"), ("overfitting",)
)
WRONG_SHIFT = Fault("targets are not shifted", ("target_leak", "bad_targets", "improper_loss"))
RAW_INPUTS = Fault("raw inputs", ("unnormalised_input",), (*TOO_HIGH, *UNSTABLE, *DEAD))
CONSTANT_INPUTS = Fault(
    "constant inputs",
    ("constant_input", "bad_inputs", "unnormalised_input", "constant_prediction", "not_learning"),
    ("vanishing_gradient", *STILL),
)
NAN_INPUTS = Fault("NaN in the data", ("non_finite", "bad_inputs"), UNSTABLE)

# Optimisation
HIGH_RATE = Fault("rate too high", TOO_HIGH, (*UNSTABLE, *DEAD, "vanishing_gradient"))
LOW_RATE = Fault(
    "rate too low", ("learning_rate_too_low", "still_falling"), ("vanishing_gradient",)
)
FEW_EPOCHS = Fault("too few epochs", ("still_falling",), ("learning_rate_too_low",))
DECAY = Fault(
    "weight decay far too strong",
    ("excessive_weight_decay",),
    ("gradient_collapse", "vanishing_gradient", "learning_rate_too_low"),
)
CLIPPING = Fault("clipping far too tight", ("excessive_clipping",), ("learning_rate_too_low",))
BATCH_OF_ONE = Fault(
    "momentum with a batch of one", ("batch_too_small", *TOO_HIGH), (*UNSTABLE, *DEAD)
)
NO_ZERO_GRAD = Fault("no zero_grad", ("missing_zero_grad",), (*TOO_HIGH, *UNSTABLE, *DEAD))
NOT_IN_OPTIMIZER = Fault("parameters missing from the optimizer", (*STILL, "refused"))
SCHEDULER = Fault(
    "a schedule stepped per batch",
    ("learning_rate_too_low", "still_falling"),
    ("gradient_collapse",),
)

# Models
DROPOUT = Fault("dropout far too high", ("excessive_dropout",), ("learning_rate_too_low",))
SMALL = Fault("network too small", ("network_too_small", "underfitting"))
NO_ACTIVATION = Fault("no hidden activation", ("no_hidden_activation",))
DEEP_SIGMOID = Fault(
    "many sigmoid layers",
    ("vanishing_gradient", "saturated_activation"),
    ("learning_rate_too_low", "unchanged_weights"),
)
DEAD_RELU = Fault(
    "dead ReLUs by a bad start",
    ("dying_relu", "dead_units", "improper_initialisation"),
    ("unchanged_weights",),
)
ZERO_START = Fault(
    "all weights start at zero",
    (
        *("unchanged_weights", "dead_units", "dying_relu", "vanishing_gradient"),
        *("symmetric_weights", "improper_initialisation"),
    ),
    ("frozen_by_accident",),
)
LARGE_START = Fault(
    "weights start too large",
    ("saturated_activation", "exploding_gradient", "improper_initialisation"),
    (*UNSTABLE, *DEAD, "vanishing_gradient"),
)
FROZEN = Fault("frozen by requires_grad", (*STILL, "refused"), ("vanishing_gradient",))
DETACHED = Fault("detached", STILL, ("vanishing_gradient",))
EVAL_MODE = Fault("trained in eval mode", ("wrong_mode",))
