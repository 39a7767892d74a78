"""What may cure a problem, one file each; `choices` has the order for each problem."""

from sickbay.remedies.add_dropout import AddDropout as AddDropout
from sickbay.remedies.add_weight_decay import AddWeightDecay as AddWeightDecay
from sickbay.remedies.base import Remedy as Remedy
from sickbay.remedies.change_loss import ChangeLoss as ChangeLoss
from sickbay.remedies.change_optimizer import ChangeOptimizer as ChangeOptimizer
from sickbay.remedies.change_output import ChangeOutput as ChangeOutput
from sickbay.remedies.clear_gradients import ClearGradients as ClearGradients
from sickbay.remedies.clip_norm import ClipNorm as ClipNorm
from sickbay.remedies.clip_values import ClipValues as ClipValues
from sickbay.remedies.enlarge_batch import EnlargeBatch as EnlargeBatch
from sickbay.remedies.halve_learning_rate import HalveLearningRate as HalveLearningRate
from sickbay.remedies.hold_all_parameters import HoldAllParameters as HoldAllParameters
from sickbay.remedies.initialise_again import InitialiseAgain as InitialiseAgain
from sickbay.remedies.insert_normalisation import InsertNormalisation as InsertNormalisation
from sickbay.remedies.lower_on_plateau import LowerOnPlateau as LowerOnPlateau
from sickbay.remedies.mend_targets import MendTargets as MendTargets
from sickbay.remedies.output_and_loss import Fitted as Fitted
from sickbay.remedies.process_data import ProcessData as ProcessData
from sickbay.remedies.replace_activation import ReplaceActivation as ReplaceActivation
from sickbay.remedies.roll_back import RollBack as RollBack
from sickbay.remedies.scale_learning_rate import ScaleLearningRate as ScaleLearningRate
from sickbay.remedies.skip_bad_batches import SkipBadBatches as SkipBadBatches
from sickbay.remedies.together import Together as Together
from sickbay.remedies.train_mode import TrainMode as TrainMode
from sickbay.remedies.usual_learning_rate import UsualLearningRate as UsualLearningRate
from sickbay.remedies.warm_up import WarmUp as WarmUp
