import copy

import torch
from torch import Tensor, nn

from sickbay.checkups import Result, checkup

TOKENS = torch.randint(40, (8, 6), generator=torch.Generator().manual_seed(0))


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.tokens, self.mixed, self.head = (
            nn.Embedding(40, 16),
            nn.Linear(16, 16),
            nn.Linear(16, 3),
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.mixed(self.tokens(x)).relu().mean(1))
        return out


def examined(model: nn.Module) -> Result:
    return checkup(model, TOKENS, tests="frozen_embeddings_were_trained").results[0]


def test_an_embedding_frozen_at_random_is_found() -> None:
    model = Words()
    model.tokens.requires_grad_(False)
    result = examined(model)
    assert result.outcome == "failed"
    assert result.message == "tokens is frozen with random weights"


def test_a_trained_embedding_may_be_frozen() -> None:
    model = Words()
    nn.init.normal_(model.tokens.weight.requires_grad_(False), std=0.3)
    assert examined(model).outcome == "passed"


class Taught(Words):
    """Follows the embedding of a teacher that starts as its copy."""

    def __init__(self) -> None:
        super().__init__()
        self.teacher = copy.deepcopy(self.tokens).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            wanted: Tensor = self.teacher(x).mean()
        return super().forward(x) + 0 * wanted


def test_a_teacher_may_be_a_copy() -> None:
    assert examined(Taught()).outcome == "passed"


def test_a_whole_body_may_be_frozen_for_a_new_head() -> None:
    model = Words()
    model.tokens.requires_grad_(False)
    model.mixed.requires_grad_(False)
    assert examined(model).message == "more than the embeddings is frozen"


def test_skips_a_model_without_frozen_layers() -> None:
    assert examined(Words()).message == "no layer is frozen"


class Moving(Words):
    """Moves a codebook to what it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Embedding(40, 16).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            with torch.no_grad():
                self.codes.weight.lerp_(self.tokens.weight, 0.1)
        return super().forward(x)


def test_a_codebook_may_be_moved_by_the_model() -> None:
    assert examined(Moving()).outcome == "passed"
