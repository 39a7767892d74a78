import torch
from torch import Tensor, nn

from sickbay.checkups import Result, checkup


def block() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU())


class Residual(nn.Module):
    """Adds what each block computes."""

    def __init__(self, blocks: list[nn.Module]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Tensor) -> Tensor:
        for each in self.blocks:
            x = x + each(x)
        return x


class Levels(nn.Module):
    """Has one head for the outputs of several layers, as detectors have."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([block(), block()])
        self.heads = nn.ModuleList([nn.Linear(8, 3)] * 2)

    def forward(self, x: Tensor) -> Tensor:
        found = []
        for layer, head in zip(self.layers, self.heads, strict=True):
            x = layer(x)
            found.append(head(x))
        return torch.cat(found, 1)


def examined(model: nn.Module) -> Result:
    report = checkup(model, torch.rand(8, 8), tests="listed_layers_are_separate")
    return report.results[0]


def test_one_block_in_several_places_is_found() -> None:
    for model in (nn.Sequential(*[block()] * 3), Residual([block()] * 3)):
        result = examined(model)
        assert result.outcome == "failed"
        assert "stands 3 times in a list" in result.message


def test_separate_blocks_and_shared_activations_are_right() -> None:
    assert examined(Residual([block() for _ in range(3)])).outcome == "passed"
    act = nn.ReLU()
    model = nn.Sequential(nn.Linear(8, 8), act, nn.Linear(8, 8), act)
    assert examined(model).outcome == "passed"


def test_a_head_may_be_shared_by_levels() -> None:
    assert examined(Levels()).outcome == "passed"


def test_skips_a_model_without_lists() -> None:
    assert examined(nn.Linear(8, 8)).outcome == "skipped"


class Pairs(nn.Module):
    """Has a list of lists, whose parts it calls itself."""

    def __init__(self, shared: bool) -> None:
        super().__init__()
        pairs = [nn.ModuleList([nn.LayerNorm(8), block()]) for _ in range(2)]
        for each in pairs:
            each.register_module("optional", None)
        self.pairs = nn.ModuleList(pairs[:1] * 2 if shared else pairs)

    def forward(self, x: Tensor) -> Tensor:
        for pair in self.pairs:
            norm, layer = pair.children()
            x = x + layer(norm(x))
        return x


def test_a_list_of_lists_may_hold_one_of_them_twice() -> None:
    result = examined(Pairs(shared=True))
    assert (result.outcome, result.layers) == ("failed", ("pairs.0",))
    assert examined(Pairs(shared=False)).outcome == "passed"
