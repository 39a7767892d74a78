"""The tests, each a statement that should hold, in the order they are run."""

from sickbay.checkups.base import Statement
from sickbay.checkups.statements.attention_rows_sum_to_one import AttentionRowsSumToOne
from sickbay.checkups.statements.classes_are_balanced import ClassesAreBalanced
from sickbay.checkups.statements.evaluation_is_deterministic import EvaluationIsDeterministic
from sickbay.checkups.statements.every_parameter_is_used import EveryParameterIsUsed
from sickbay.checkups.statements.gradient_reaches_every_parameter import (
    GradientReachesEveryParameter,
)
from sickbay.checkups.statements.inputs_are_sane import InputsAreSane
from sickbay.checkups.statements.learning_rate_is_sane import LearningRateIsSane
from sickbay.checkups.statements.memory_is_bounded import MemoryIsBounded
from sickbay.checkups.statements.modes_differ import ModesDiffer
from sickbay.checkups.statements.normalisation_normalises import NormalisationNormalises
from sickbay.checkups.statements.optimizer_holds_every_parameter import OptimizerHoldsEveryParameter
from sickbay.checkups.statements.output_fits_the_loss import OutputFitsTheLoss
from sickbay.checkups.statements.output_fits_the_targets import OutputFitsTheTargets
from sickbay.checkups.statements.overfits_one_batch import OverfitsOneBatch
from sickbay.checkups.statements.parameters_are_sane import ParametersAreSane
from sickbay.checkups.statements.respects_masks import RespectsMasks
from sickbay.checkups.statements.runs_on_the_batch import RunsOnTheBatch
from sickbay.checkups.statements.samples_stay_apart import SamplesStayApart
from sickbay.checkups.statements.sees_no_future import SeesNoFuture
from sickbay.checkups.statements.shapes_follow_the_batch import ShapesFollowTheBatch
from sickbay.checkups.statements.starts_at_chance import StartsAtChance
from sickbay.checkups.statements.survives_edge_inputs import SurvivesEdgeInputs
from sickbay.checkups.statements.survives_lower_precision import SurvivesLowerPrecision
from sickbay.checkups.statements.survives_saving import SurvivesSaving
from sickbay.checkups.statements.targets_are_sane import TargetsAreSane
from sickbay.checkups.statements.uses_positions import UsesPositions
from sickbay.checkups.statements.validation_is_apart import ValidationIsApart
from sickbay.checkups.statements.works_when_compiled import WorksWhenCompiled

EVERY: tuple[type[Statement], ...] = (
    RunsOnTheBatch,
    InputsAreSane,
    TargetsAreSane,
    ClassesAreBalanced,
    ValidationIsApart,
    ParametersAreSane,
    EveryParameterIsUsed,
    GradientReachesEveryParameter,
    OptimizerHoldsEveryParameter,
    OutputFitsTheTargets,
    OutputFitsTheLoss,
    StartsAtChance,
    OverfitsOneBatch,
    ShapesFollowTheBatch,
    SamplesStayApart,
    AttentionRowsSumToOne,
    SeesNoFuture,
    RespectsMasks,
    UsesPositions,
    NormalisationNormalises,
    ModesDiffer,
    EvaluationIsDeterministic,
    SurvivesEdgeInputs,
    SurvivesLowerPrecision,
    SurvivesSaving,
    MemoryIsBounded,
    LearningRateIsSane,
    WorksWhenCompiled,
)

__all__ = [
    "EVERY",
    "AttentionRowsSumToOne",
    "ClassesAreBalanced",
    "EvaluationIsDeterministic",
    "EveryParameterIsUsed",
    "GradientReachesEveryParameter",
    "InputsAreSane",
    "LearningRateIsSane",
    "MemoryIsBounded",
    "ModesDiffer",
    "NormalisationNormalises",
    "OptimizerHoldsEveryParameter",
    "OutputFitsTheLoss",
    "OutputFitsTheTargets",
    "OverfitsOneBatch",
    "ParametersAreSane",
    "RespectsMasks",
    "RunsOnTheBatch",
    "SamplesStayApart",
    "SeesNoFuture",
    "ShapesFollowTheBatch",
    "StartsAtChance",
    "SurvivesEdgeInputs",
    "SurvivesLowerPrecision",
    "SurvivesSaving",
    "TargetsAreSane",
    "UsesPositions",
    "ValidationIsApart",
    "WorksWhenCompiled",
]
