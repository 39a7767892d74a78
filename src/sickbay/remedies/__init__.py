"""Remedies, one file each. To add one, write its file and its test, then run `make exports`."""

# Written by `make exports`.
from .add_dropout import AddDropout as AddDropout
from .add_weight_decay import AddWeightDecay as AddWeightDecay
from .base import Remedy as Remedy
from .change_loss import ChangeLoss as ChangeLoss
from .change_optimizer import ChangeOptimizer as ChangeOptimizer
from .change_output import ChangeOutput as ChangeOutput
from .clear_gradients import ClearGradients as ClearGradients
from .clip_norm import ClipNorm as ClipNorm
from .clip_values import ClipValues as ClipValues
from .enlarge_batch import EnlargeBatch as EnlargeBatch
from .fit_loss_to_task import Fitted as Fitted
from .fit_output_to_task import FitOutputToTask as FitOutputToTask
from .halve_learning_rate import HalveLearningRate as HalveLearningRate
from .hold_all_parameters import HoldAllParameters as HoldAllParameters
from .initialise_again import InitialiseAgain as InitialiseAgain
from .insert_normalisation import InsertNormalisation as InsertNormalisation
from .lower_on_plateau import LowerOnPlateau as LowerOnPlateau
from .mend_targets import MendTargets as MendTargets
from .normalise_data import NormaliseData as NormaliseData
from .process_data import ProcessData as ProcessData
from .replace_activation import ReplaceActivation as ReplaceActivation
from .roll_back import RollBack as RollBack
from .scale_learning_rate import ScaleLearningRate as ScaleLearningRate
from .set_batch_size import SetBatchSize as SetBatchSize
from .set_learning_rate import SetLearningRate as SetLearningRate
from .skip_bad_batches import SkipBadBatches as SkipBadBatches
from .together import Together as Together
from .train_mode import TrainMode as TrainMode
from .use_another_optimizer import UseAnotherOptimizer as UseAnotherOptimizer
from .usual_learning_rate import UsualLearningRate as UsualLearningRate
from .warm_up import WarmUp as WarmUp
