"""Batches and losses of all common forms are read as the model takes them."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.batch import Batch
from tests.checkups import batch_models as models

TESTED = ("runs_on_the_batch", "gradient_reaches_every_parameter", "overfits_one_batch")


@pytest.mark.parametrize("name", list(models.KINDS))
def test_a_sound_model_fails_nothing(name: str) -> None:
    model, batch, loss = models.KINDS[name]()
    report = checkup(model, batch, loss, progress=False)
    assert not report.failed, report
    for test in TESTED:
        assert report[test].outcome == "passed", report[test].message
    assert "the loss is not tested without targets" not in report.untested


@pytest.mark.parametrize("model", [models.TwoInputs(), models.OfList()])
def test_a_pair_may_be_two_inputs(model: nn.Module) -> None:
    pair = models.numbers(8, 4), models.numbers(8, 3)
    report = checkup(model, pair, progress=False)
    assert not report.failed
    assert "the loss is not tested without targets" in report.untested


class Scaled(nn.Module):
    """Needs a second input."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor, scale: Tensor) -> Tensor:
        out: Tensor = self.head(x) * scale[:, None]
        return out


def test_a_forgotten_input_is_not_replaced_by_the_targets_of_a_loss() -> None:
    batch = models.numbers(8, 4), models.LABELS
    report = checkup(Scaled(), batch, nn.CrossEntropyLoss())
    assert "missing 1 required positional argument" in report["runs_on_the_batch"].message
    assert report.fails("critical")


@pytest.mark.parametrize("loss", [None, lambda output: output.square().mean()])
def test_the_report_says_that_targets_were_taken_as_an_input(loss: Any) -> None:
    report = checkup(Scaled(), (models.numbers(8, 4), models.numbers(8)), loss)
    assert report["runs_on_the_batch"].outcome == "passed"
    assert "the last part of the batch was taken as an input, not as targets" in report.untested


def test_a_row_with_a_single_target_is_one_sample() -> None:
    batch = models.numbers(4), torch.tensor(1)
    assert (Batch.of(batch).size, len(Batch.of(batch).first(1).main)) == (1, 4)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    report = checkup(model, batch, nn.CrossEntropyLoss())
    assert not report.failed, report
    assert report["targets_are_sane"].message == "there is only one target"
    assert report["runs_on_the_batch"].outcome == "passed"


class Wide(nn.Module):
    """Has a mistake that no other reading of the batch may hide."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        out: Tensor = self.layer(x if mask is None else models.numbers(8, 5))
        return out


def test_a_model_that_does_not_run_is_not_given_its_targets_as_another_input() -> None:
    report = checkup(Wide(), (models.numbers(8, 4), models.LABELS), nn.CrossEntropyLoss())
    assert "mat1 and mat2 shapes cannot be multiplied" in report["runs_on_the_batch"].message


class WithLabels(nn.Module):
    """Returns logits and a loss, as GPTs do; without labels only the last logits."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(11, 16), nn.Linear(16, 11)

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Any]:
        logits = self.head(self.tokens(idx))
        if targets is None:
            return logits[:, -1:], None
        return logits, nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def test_labels_go_to_a_model_that_needs_them_for_its_loss() -> None:
    tokens = torch.randint(11, (8, 7), generator=torch.Generator().manual_seed(0))
    report = checkup(WithLabels(), (tokens[:, :-1], tokens[:, 1:]), progress=False)
    assert not report.failed
    assert "the output has shape (8, 6, 11)" in report["runs_on_the_batch"].message


class Halves(nn.Module):
    """Gets the number of its samples as an argument."""

    def __init__(self) -> None:
        super().__init__()
        self.net = models.perceptron()

    def forward(self, x: Tensor, count: int) -> Tensor:
        out: Tensor = self.net(x.view(count, 4))
        return out


def test_a_batch_that_cannot_be_cut_is_used_as_a_whole() -> None:
    batch = (models.numbers(32, 4), 32), torch.arange(32) % 3
    report = checkup(Halves(), batch, nn.CrossEntropyLoss(), progress=False)
    assert not report.failed
    assert report["overfits_one_batch"].outcome == "passed"
    assert report["shapes_follow_the_batch"].message == "the batch only runs as a whole"


class Fixed(nn.Module):
    """Has the size of its small batch in the code."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(*models.perceptron(), nn.Dropout(0.1))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x.view(4, 4))
        return out


def test_a_size_in_the_code_is_one_failure_with_a_small_batch_too() -> None:
    batch = models.numbers(4, 4), models.LABELS[:4]
    report = checkup(Fixed(), batch, nn.CrossEntropyLoss(), progress=False)
    assert [each.test for each in report.failed] == ["shapes_follow_the_batch"]
    only = "the model only runs with 4 samples"
    assert report["shapes_follow_the_batch"].message == only
    assert report["evaluation_is_deterministic"].message == only


class FixedInTraining(Fixed):
    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x.view(32, 4) if self.training else x)
        return out


def test_a_size_in_the_code_for_training_is_a_failure_too() -> None:
    batch = models.numbers(32, 4), torch.arange(32) % 3
    report = checkup(FixedInTraining(), batch, nn.CrossEntropyLoss(), progress=False)
    assert [each.test for each in report.failed] == ["shapes_follow_the_batch"]


def test_a_loss_may_need_the_whole_batch() -> None:
    weights = torch.rand(32, generator=torch.Generator().manual_seed(0))

    def weighted(output: Tensor, targets: Tensor) -> Tensor:
        return (nn.functional.cross_entropy(output, targets, reduction="none") * weights).mean()

    batch = models.numbers(32, 4), torch.arange(32) % 3
    report = checkup(models.perceptron(), batch, weighted, progress=False)
    assert not report.failed
    assert report["overfits_one_batch"].outcome == "passed"


class Masked(nn.Module):
    """Gets a causal mask that has as many rows as the batch has samples."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        self.head = nn.Linear(8, 8)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.head(self.layer(x, mask))
        return out.mean(0, keepdim=True).expand_as(out)


def test_a_causal_mask_is_no_graph() -> None:
    mask = nn.Transformer.generate_square_subsequent_mask(8)
    report = checkup(Masked(), ((models.numbers(8, 8, 8), mask), None), tests="samples_stay_apart")
    assert report.results[0].outcome == "failed"  # as it averages over the samples
    table, links = models.numbers(8, 8), torch.rand(8, 8).round()
    assert Batch.of(((table, links), None)).joined
    assert not Batch.of(((table, mask), None)).joined


class Sounds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.head = nn.Linear(8, 20)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(x).log_softmax(-1).transpose(0, 1)
        return out


def test_a_loss_with_fixed_lengths_gets_the_whole_batch() -> None:
    lengths = torch.full((8,), 15), torch.full((8,), 4)
    batch = models.numbers(8, 15, 8), torch.arange(32).view(8, 4) % 19 + 1
    report = checkup(Sounds(), batch, lambda o, y: nn.functional.ctc_loss(o, y, *lengths))
    assert not report.failed
    assert report["overfits_one_batch"].outcome == "passed"


def test_a_second_input_of_the_same_shape_is_no_graph() -> None:
    assert not Batch.of(((models.numbers(8, 8), models.numbers(9, 8)[1:]), None)).joined


def test_many_samples_that_cannot_be_taken_out_need_not_be_memorised() -> None:
    text = torch.randint(9, (4 * 48,), generator=torch.Generator().manual_seed(0))
    labels = torch.randint(2, (48,), generator=torch.Generator().manual_seed(1))
    model = models.Bags()
    for each in model.bag.parameters():
        each.requires_grad_(False)
    batch = (text, torch.arange(48) * 4), labels
    report = checkup(model, batch, nn.CrossEntropyLoss(), tests="overfits_one_batch")
    assert report.results[0].message == "training is too slow to judge"


class Kept(nn.Module):
    """Sums what the mask of each sample keeps, for samples as long as there are samples."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, points: Tensor, mask: Tensor) -> Tensor:
        shown: Tensor = self.layer(points) * mask[..., None]
        return shown.sum(1) / mask.sum(1, keepdim=True)


def test_a_square_mask_is_cut_where_the_model_needs_that() -> None:
    torch.manual_seed(0)
    mask = torch.arange(8) < torch.randint(5, 9, (8, 1))
    batch = torch.randn(8, 8, 3), mask, models.LABELS
    report = checkup(Kept(), batch, nn.CrossEntropyLoss())
    assert not report.failed, report
    assert report["shapes_follow_the_batch"].outcome == "passed"


def test_a_slice_stays_a_slice() -> None:
    """A view of it fails in a checkup as it does in training."""
    text = torch.randint(0, 20, (16, 33))
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))

    def viewed(output: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(output.view(-1, 20), targets.view(-1))

    class Viewing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.inner(x.view(-1))
            return out

    report = checkup(Viewing(), text[:, :-1], tests="runs_on_the_batch")
    assert "view size is not compatible" in report.results[0].message
    for targets, outcome in ((text[:, 1:], "failed"), (text[:, 1:].contiguous(), "passed")):
        report = checkup(model, (text[:, :-1], targets), viewed, tests="runs_on_the_batch")
        assert report.results[0].outcome == outcome
    assert (
        "view size is not compatible"
        in checkup(model, (text[:, :-1], text[:, 1:]), viewed)["runs_on_the_batch"].message
    )
