"""Train, find what is wrong, repair it and train again."""

from sickbay.repairs.autotrainer import AutoTrainer as AutoTrainer
from sickbay.repairs.callbacks import EpochEnd as EpochEnd
from sickbay.repairs.fit import fit as fit
from sickbay.repairs.fit import repair as repair
from sickbay.repairs.outcome import Attempt as Attempt
from sickbay.repairs.outcome import Outcome as Outcome
from sickbay.repairs.race import Race as Race
