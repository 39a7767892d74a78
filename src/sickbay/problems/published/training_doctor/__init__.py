"""The rules of Training Doctor.

Training Doctor: automated diagnosis and treatment of neural network training pathologies (authors
not named).
"""

# Written by `make exports`.
from .large_gradient import LargeGradient as LargeGradient
from .loss_explosion import LossExplosion as LossExplosion
from .overfitting import Overfitting as Overfitting
from .plateau import Plateau as Plateau
from .small_gradient import SmallGradient as SmallGradient
from .unstable_gradient import UnstableGradient as UnstableGradient
