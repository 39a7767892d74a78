"""What every remedy must honour."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from inspect import getdoc
from pathlib import Path

import pytest
import torch
from torch import nn

from sickbay import plugins, remedies
from sickbay.errors import Declined, UsageError
from sickbay.findings import Finding
from sickbay.plugins import classes_in
from sickbay.problems.by_name import EVERY as PROBLEMS
from sickbay.recipe import Recipe
from sickbay.remedies import ClearGradients, Remedy
from sickbay.remedies.by_problem import CHOICES, EVERY, choose, treats
from sickbay.vitals import Setup

KINDS = classes_in(remedies, Remedy)  # type: ignore[type-abstract]
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
every_remedy = pytest.mark.parametrize("remedy", EVERY.values(), ids=EVERY)
SECTIONS = ("Why it helps:", "Example:")


def recipe() -> Recipe:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1), nn.Sigmoid())
    return Recipe(
        model,
        nn.BCEWithLogitsLoss(),
        torch.optim.SGD(model.parameters(), lr=0.5),
        batch_size=8,
        example=(torch.randn(8, 4),),
        inputs=(torch.zeros(4), torch.ones(4)),
        targets=torch.tensor([[0.0], [1.0]]),
        setup=Setup(task="binary", loss="bce_logits", output="sigmoid", output_shape=(8, 1)),
    )


@every_kind
def test_is_documented(kind: type[Remedy]) -> None:
    words = getdoc(kind) or ""
    places = [words.find(f"\n{section}\n    ") for section in SECTIONS]
    missing = [section for section, place in zip(SECTIONS, places, strict=True) if place < 0]
    assert not missing, f"the docstring lacks these sections: {missing}"
    assert places == sorted(places), f"the sections must come in this order: {SECTIONS}"
    assert ">>>" in words
    assert words.splitlines()[0].endswith(".")


@every_kind
def test_treats_what_there_is(kind: type[Remedy]) -> None:
    assert set(treats(kind())) <= set(PROBLEMS)
    assert kind.safety in ("live", "retrain", "advice")
    assert any(isinstance(each, kind) for each in EVERY.values())


@every_kind
def test_has_a_test(kind: type[Remedy]) -> None:
    paths = {*Path(__file__).parent.glob("test_*.py")} - {Path(__file__)}
    named = any(kind.__name__ in path.read_text(encoding="utf-8") for path in paths)
    assert named, f"no test in tests/remedies names {kind.__name__}"


def test_every_remedy_of_a_problem_is_listed_once() -> None:
    assert set(CHOICES) <= set(PROBLEMS)
    for chosen in CHOICES.values():
        assert len({remedy.key for remedy in chosen}) == len(chosen)


@dataclass(frozen=True, kw_only=True)
class Mine(ClearGradients):
    """Do something of a user's own."""


class Brought(Mine):
    treats = ("plateau", "made_up")


def test_a_remedy_treats_what_it_says() -> None:
    assert treats(Brought()) == ("plateau", "made_up")
    chosen = choose([Brought(), "warm_up"])
    assert [each.name() for each in chosen["made_up"]] == ["brought"]
    assert [each.name() for each in chosen["loss_spike"]] == ["warm_up"]


def test_a_remedy_may_use_the_old_name_of_a_problem() -> None:
    class Outdated(Mine):
        treats = ("oscillating_loss",)

    with pytest.warns(DeprecationWarning, match="is now called 'oscillating_accuracy'"):
        assert treats(Outdated()) == ("oscillating_accuracy",)


def test_a_remedy_that_says_nothing_treats_what_its_kind_does() -> None:
    assert treats(Mine()) == ("missing_zero_grad",)


def test_a_remedy_of_another_package_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("mine", f"{__name__}:Brought", "sickbay.remedies")
    monkeypatch.setattr(plugins, "_declared", {"sickbay.remedies": (point,)}.get)
    assert [each.name() for each in choose(["brought"])["plateau"]] == ["brought"]
    with pytest.raises(UsageError, match=r"no remedy 'brough'; did you mean 'brought'"):
        choose(["brough"])


def test_a_remedy_for_nothing_is_refused() -> None:
    class Vague(Remedy):
        """Do something."""

        def prescribe(self, _finding: Finding, _recipe: Recipe) -> Recipe | None:
            return None

    with pytest.raises(UsageError, match=r"treats of vague must be the names of problems, got"):
        choose([dataclass(frozen=True)(Vague)()])


@every_remedy
def test_says_what_it_does(remedy: Remedy) -> None:
    assert len(remedy.words.split()) > 2
    assert remedy.words[0].islower()
    assert not remedy.words.endswith(".")
    assert str(remedy) == remedy.words


@every_remedy
def test_prescribing_leaves_everything_as_it_is(remedy: Remedy) -> None:
    given = recipe()
    before = {name: value.clone() for name, value in given.model.state_dict().items()}
    shown, state = repr(given), torch.get_rng_state()
    try:
        made = remedy.prescribe(Finding(problem=treats(remedy)[0], step=0), given)
    except Declined:
        made = None
    assert repr(given) == shown
    assert torch.equal(torch.get_rng_state(), state)
    for name, value in given.model.state_dict().items():
        assert torch.equal(value, before[name])
    if remedy.safety == "advice":
        assert made is None
        assert remedy.code
    if made is not None:
        assert given.diff(made) != "no change"
        assert made.code
        trained(made)


def trained(made: Recipe) -> None:
    """The optimizer holds the model's parameters, and a step can be made."""
    held = {id(each) for group in made.optimizer.param_groups for each in group["params"]}
    assert held <= {id(each) for each in made.model.parameters()}
    loss = made.loss(made.model(torch.randn(8, 4)), torch.rand(8, 1).round())
    loss.backward()  # type: ignore[no-untyped-call]
    made.optimizer.step()
