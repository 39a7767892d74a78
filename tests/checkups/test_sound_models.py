import pytest
import torch

from sickbay.checkups import Statement, checkup
from sickbay.checkups.statements.limits.survives_edge_inputs import SurvivesEdgeInputs
from sickbay.checkups.statements.limits.survives_lower_precision import SurvivesLowerPrecision
from sickbay.checkups.statements.modes.normalisation_normalises import NormalisationNormalises
from sickbay.checkups.statements.sequences.attention_rows_sum_to_one import AttentionRowsSumToOne
from sickbay.checkups.statements.sequences.respects_masks import RespectsMasks
from sickbay.checkups.statements.sequences.samples_stay_apart import SamplesStayApart
from sickbay.checkups.statements.sequences.sees_no_future import SeesNoFuture
from sickbay.checkups.statements.sequences.shapes_follow_the_batch import ShapesFollowTheBatch
from sickbay.checkups.statements.sequences.uses_positions import UsesPositions
from tests.checkups.sound_models import SOUND

TESTS: list[Statement] = [
    ShapesFollowTheBatch(),
    SurvivesEdgeInputs(),
    SurvivesLowerPrecision(),
    AttentionRowsSumToOne(),
    SeesNoFuture(),
    RespectsMasks(),
    UsesPositions(),
    NormalisationNormalises(),
    SamplesStayApart(),
]


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_model_fails_nothing(name: str) -> None:
    torch.manual_seed(0)
    model, batch = SOUND[name]()
    report = checkup(model, batch, tests=TESTS, progress=False)
    assert not report.failed
    assert report["shapes_follow_the_batch"].outcome == "passed"
