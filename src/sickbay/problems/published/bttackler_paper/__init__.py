"""The rules of BTTackler that its paper defines otherwise than the code published with it.

Pei et al. (2024), BTTackler: a diagnosis-based framework for efficient deep learning hyperparameter
optimization. The paper protects no trial; the code does.
"""

# Written by `make exports`.
from .abnormal_gradient import AbnormalGradient as AbnormalGradient
from .amplified_gradient import AmplifiedGradient as AmplifiedGradient
from .low_activation import LowActivation as LowActivation
from .no_more_gain import NoMoreGain as NoMoreGain
from .passive_loss import PassiveLoss as PassiveLoss
from .reduced_gradient import ReducedGradient as ReducedGradient
