"""The rules of BTTackler, as in the code published with it; `problems` has those of the paper too.

Pei et al. (2024), BTTackler: a diagnosis-based framework for efficient deep learning hyperparameter
optimization.
"""

# Written by `make exports`.
from .abnormal_gradient import AbnormalGradient as AbnormalGradient
from .amplified_gradient import AmplifiedGradient as AmplifiedGradient
from .low_activation import LowActivation as LowActivation
from .no_more_gain import NoMoreGain as NoMoreGain
from .passive_loss import PassiveLoss as PassiveLoss
from .reduced_gradient import ReducedGradient as ReducedGradient
from .rules import problems as problems
from .unexpected_loss import UnexpectedLoss as UnexpectedLoss
