"""The rules of AutoTrainer.

Zhang et al. (2021), AutoTrainer: an automatic DNN training problem detection and repair system.
"""

# Written by `make exports`.
from .abnormal_data import AbnormalData as AbnormalData
from .dying_relu import DyingRelu as DyingRelu
from .exploding_gradient import ExplodingGradient as ExplodingGradient
from .improper_loss import ImproperLoss as ImproperLoss
from .improper_output import ImproperOutput as ImproperOutput
from .oscillating_accuracy import OscillatingAccuracy as OscillatingAccuracy
from .slow_convergence import SlowConvergence as SlowConvergence
from .vanishing_gradient import VanishingGradient as VanishingGradient
