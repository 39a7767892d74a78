"""The nine solutions of AutoTrainer for each of its problems, in the order of the paper.

Zhang et al. (2021), AutoTrainer. A solution that can be tried in several ways is listed once for
each: S2 with other activations, S4 with other initialisers, S5, S6 and S7.
"""

from collections.abc import Mapping, Sequence

from sickbay import remedies as r
from sickbay.remedies.base import Remedy

NORMALISATION = (r.InsertNormalisation(),)  # S1
SELU, RELU, LEAKY, ELU, TANH = (
    r.ReplaceActivation(to=name) for name in ("selu", "relu", "leaky_relu", "elu", "tanh")
)  # S2
CLIPPING = (r.ClipValues(limit=10.0),)  # S3
INITIALISERS = tuple(
    r.InitialiseAgain(scheme=f"{name}_{kind}")
    for kind in ("uniform", "normal")
    for name in ("he", "lecun", "glorot")
)  # S4
BATCH_SIZES = tuple(r.SetBatchSize(to=size) for size in (32, 64, 128, 256))  # S5
HIGHER_RATES = tuple(r.SetLearningRate(factor=factor) for factor in (1.0, 10.0, 100.0))  # S6
LOWER_RATES = tuple(r.SetLearningRate(factor=factor) for factor in (1.0, 0.1, 0.01))  # S6
WITH_MOMENTUM = (r.ChangeOptimizer(to="adam"), r.ChangeOptimizer(to="sgd_momentum"))  # S7
OTHERS = tuple(
    r.UseAnotherOptimizer(to=name) for name in ("adam", "nadam", "adamax", "rmsprop", "sgd")
)  # S7

SOLUTIONS: Mapping[str, Sequence[Remedy]] = {
    "vanishing_gradient": (SELU, RELU, *NORMALISATION),
    "exploding_gradient": (SELU, RELU, TANH, *NORMALISATION, *CLIPPING),
    "dying_relu": (LEAKY, ELU, *NORMALISATION, *INITIALISERS),
    "oscillating_accuracy": (*WITH_MOMENTUM, *LOWER_RATES, *INITIALISERS, *BATCH_SIZES),
    "slow_convergence": (*OTHERS, *HIGHER_RATES, *INITIALISERS),
    "improper_output": (r.FitOutputToTask(),),  # S2
    "improper_loss": (r.ChangeLoss(),),  # S8
    "abnormal_data": (r.NormaliseData(),),  # S9
}
