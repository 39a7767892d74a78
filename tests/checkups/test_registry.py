"""Statements are found by their folder or by entry points, and run in order."""

import inspect
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from sickbay import plugins
from sickbay.checkups import ModelSetup, Result, Statement, checkup, statements
from sickbay.checkups.statements import EVERY, GROUPS, group_of, known_statements
from sickbay.cli import main
from tests.checkups.small_network import data, network

FOLDER = Path(statements.__file__).parent
HERE = Path(__file__).parent / "statements"
ORDER = (
    "runs_on_the_batch", "inputs_are_sane", "targets_are_sane", "classes_are_balanced",
    "validation_is_apart", "parameters_are_sane", "every_parameter_is_used",
    "gradient_reaches_every_parameter", "optimizer_holds_every_parameter",
    "frozen_embeddings_were_trained", "listed_layers_are_separate", "output_fits_the_targets",
    "output_fits_the_loss", "starts_at_chance", "overfits_one_batch", "labels_are_shifted_once",
    "loss_leaves_out_padding", "shapes_follow_the_batch", "samples_stay_apart",
    "attention_rows_sum_to_one", "sees_no_future", "respects_masks", "uses_positions",
    "means_leave_out_padding", "normalisation_normalises", "modes_differ",
    "evaluation_is_deterministic", "survives_edge_inputs",
    "survives_lower_precision", "survives_saving", "memory_is_bounded", "learning_rate_is_sane",
    "works_when_compiled",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class HasABias(Statement):
    """The model has a bias."""

    def examine(self, setup: ModelSetup) -> Result:
        found = [name for name, _ in setup.model.named_parameters() if name.endswith("bias")]
        return self.holds("it has one") if found else self.fails("it has none")


class HasParameters(Statement):
    """The model has parameters."""

    def examine(self, setup: ModelSetup) -> Result:
        return self.holds(f"it has {len(list(setup.model.parameters()))}")


@dataclass(frozen=True, kw_only=True)
class HasFewParameters(HasParameters):
    """The model has few parameters."""

    most: int = 9


@dataclass(frozen=True, kw_only=True)
class HasExactly(HasParameters):
    """The model has a number of parameters."""

    number: int


def install(monkeypatch: pytest.MonkeyPatch, kind: type[Statement]) -> None:
    group = statements.ENTRY_POINTS
    points = (EntryPoint(kind.name(), f"{__name__}:{kind.__name__}", group),)
    monkeypatch.setattr(plugins, "_declared", lambda name: points if name == group else ())


def test_the_order_of_the_tests_stays() -> None:
    names = [kind.name() for kind in EVERY]
    assert [name for name in names if name in ORDER] == list(ORDER)
    groups = [group_of(kind) for kind in EVERY]
    assert groups == sorted(groups, key=GROUPS.index)


@pytest.mark.parametrize("kind", EVERY)
def test_every_statement_has_its_file_and_its_test(kind: type[Statement]) -> None:
    group, name = group_of(kind), kind.name()
    assert Path(inspect.getfile(kind)) == FOLDER / group / f"{name}.py"
    assert (HERE / group / f"test_{name}.py").exists()
    assert getattr(statements, kind.__name__) is kind
    assert kind.__name__ in dir(statements)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchStatement"):
        _ = statements.NoSuchStatement


@pytest.mark.parametrize("own", [HasABias, HasABias()])
def test_users_add_their_own_statements(own: type[Statement] | Statement) -> None:
    assert checkup(network(), data(), tests=own)["has_a_bias"].outcome == "passed"
    report = checkup(network(), data(), tests=["default", own])
    usual = [kind.name() for kind in EVERY if not kind.optional]
    assert [result.test for result in report.results] == [*usual, "has_a_bias"]


def test_packages_add_statements_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, HasABias)
    assert [*known_statements()][-1] == "has_a_bias"
    assert group_of(known_statements()["has_a_bias"]) == "added"
    report = checkup(network(), data(), tests="has_a_bias")
    assert [result.test for result in report.results] == ["has_a_bias"]
    assert checkup(network(), data()).results[-1].test == "has_a_bias"


def test_a_statement_that_needs_arguments_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, HasExactly)
    with pytest.warns(RuntimeWarning, match=r"HasExactly of sickbay.statements: TypeError: "):
        report = checkup(network(), data())
    assert "has_exactly" not in [result.test for result in report.results]


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        pytest.param(HasParameters, "The model has parameters.", id="no-dataclass"),
        pytest.param(HasFewParameters, "most  9", id="plain-field"),
    ],
)
def test_statements_of_packages_are_explained(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: type[Statement],
    end: str,
) -> None:
    install(monkeypatch, kind)
    assert main(["explain", kind.name()]) == 0
    assert capsys.readouterr().out.endswith(f"{end}\n")
