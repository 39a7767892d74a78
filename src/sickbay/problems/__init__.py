"""Problems, one file each. To add one, write its file and its test, then run `make exports`."""

import warnings
from typing import TYPE_CHECKING

# Written by `make exports`.
from .bad_targets import BadTargets as BadTargets
from .batch_too_small import BatchTooSmall as BatchTooSmall
from .constant_input import ConstantInput as ConstantInput
from .constant_prediction import ConstantPrediction as ConstantPrediction
from .dead_units import DeadUnits as DeadUnits
from .double_activation import DoubleActivation as DoubleActivation
from .dying_relu import DyingRelu as DyingRelu
from .excessive_clipping import ExcessiveClipping as ExcessiveClipping
from .excessive_dropout import ExcessiveDropout as ExcessiveDropout
from .excessive_weight_decay import ExcessiveWeightDecay as ExcessiveWeightDecay
from .exploding_gradient import ExplodingGradient as ExplodingGradient
from .frozen_by_accident import FrozenByAccident as FrozenByAccident
from .gradient_collapse import GradientCollapse as GradientCollapse
from .gradient_spike import GradientSpike as GradientSpike
from .improper_initialisation import ImproperInitialisation as ImproperInitialisation
from .improper_loss import ImproperLoss as ImproperLoss
from .improper_output import ImproperOutput as ImproperOutput
from .layer_imbalance import LayerImbalance as LayerImbalance
from .learning_rate_too_high import LearningRateTooHigh as LearningRateTooHigh
from .learning_rate_too_low import LearningRateTooLow as LearningRateTooLow
from .loss_spike import LossSpike as LossSpike
from .missing_zero_grad import MissingZeroGrad as MissingZeroGrad
from .mixed_samples import MixedSamples as MixedSamples
from .network_too_small import NetworkTooSmall as NetworkTooSmall
from .no_hidden_activation import NoHiddenActivation as NoHiddenActivation
from .noisy_labels import NoisyLabels as NoisyLabels
from .non_finite import NonFinite as NonFinite
from .not_learning import NotLearning as NotLearning
from .overfitting import Overfitting as Overfitting
from .published.autotrainer.abnormal_data import AbnormalData as AbnormalData
from .published.autotrainer.oscillating_accuracy import OscillatingAccuracy as OscillatingAccuracy
from .published.autotrainer.slow_convergence import SlowConvergence as SlowConvergence
from .published.bttackler.abnormal_gradient import AbnormalGradient as AbnormalGradient
from .published.bttackler.amplified_gradient import AmplifiedGradient as AmplifiedGradient
from .published.bttackler.low_activation import LowActivation as LowActivation
from .published.bttackler.no_more_gain import NoMoreGain as NoMoreGain
from .published.bttackler.passive_loss import PassiveLoss as PassiveLoss
from .published.bttackler.reduced_gradient import ReducedGradient as ReducedGradient
from .published.bttackler.unexpected_loss import UnexpectedLoss as UnexpectedLoss
from .published.training_doctor.large_gradient import LargeGradient as LargeGradient
from .published.training_doctor.loss_explosion import LossExplosion as LossExplosion
from .published.training_doctor.plateau import Plateau as Plateau
from .published.training_doctor.small_gradient import SmallGradient as SmallGradient
from .published.training_doctor.unstable_gradient import UnstableGradient as UnstableGradient
from .saturated_activation import SaturatedActivation as SaturatedActivation
from .shape_broadcast import ShapeBroadcast as ShapeBroadcast
from .shared.base import Problem as Problem
from .shared.unusually_high_rate import UnusuallyHighRate as UnusuallyHighRate
from .shared.unusually_low_rate import UnusuallyLowRate as UnusuallyLowRate
from .still_falling import StillFalling as StillFalling
from .target_leak import TargetLeak as TargetLeak
from .trials.never_learnt import NeverLearnt as NeverLearnt
from .trials.no_recent_gain import NoRecentGain as NoRecentGain
from .trials.out_of_reach import OutOfReach as OutOfReach
from .unchanged_weights import UnchangedWeights as UnchangedWeights
from .underfitting import Underfitting as Underfitting
from .unnormalised_input import UnnormalisedInput as UnnormalisedInput
from .unscaled_targets import UnscaledTargets as UnscaledTargets
from .unshuffled_data import UnshuffledData as UnshuffledData
from .vanishing_gradient import VanishingGradient as VanishingGradient
from .wrong_mode import WrongMode as WrongMode

# End of what `make exports` has written.


if not TYPE_CHECKING:  # type checkers shall not know the old name

    def __getattr__(name: str) -> type[Problem]:
        if name != "OscillatingLoss":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        message = "OscillatingLoss is now called OscillatingAccuracy."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return OscillatingAccuracy
