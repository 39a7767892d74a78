"""Statements are found by their folder or by entry points, run in order, and stay short."""

import ast
import inspect
import io
import tokenize
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from sickbay import plugins
from sickbay.checkups import Result, Setup, Statement, checkup, statements
from sickbay.checkups.statements import EVERY, GROUPS, group_of, known_statements
from tests.checkups.small_network import data, network

FOLDER = Path(statements.__file__).parent
HERE = Path(__file__).parent / "statements"
MOST_LINES = 60
ORDER = (
    "runs_on_the_batch", "inputs_are_sane", "targets_are_sane", "classes_are_balanced",
    "validation_is_apart", "parameters_are_sane", "every_parameter_is_used",
    "gradient_reaches_every_parameter", "optimizer_holds_every_parameter",
    "output_fits_the_targets", "output_fits_the_loss", "starts_at_chance", "overfits_one_batch",
    "shapes_follow_the_batch", "samples_stay_apart", "attention_rows_sum_to_one",
    "sees_no_future", "respects_masks", "uses_positions", "normalisation_normalises",
    "modes_differ", "evaluation_is_deterministic", "survives_edge_inputs",
    "survives_lower_precision", "survives_saving", "memory_is_bounded", "learning_rate_is_sane",
    "works_when_compiled",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class HasABias(Statement):
    """The model has a bias."""

    def examine(self, setup: Setup) -> Result:
        found = [name for name, _ in setup.model.named_parameters() if name.endswith("bias")]
        return self.holds("it has one") if found else self.fails("it has none")


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


@pytest.mark.parametrize("kind", EVERY)
def test_every_statement_is_short_or_its_file_says_why_not(kind: type[Statement]) -> None:
    text = Path(inspect.getfile(kind)).read_text(encoding="utf-8")
    tree = ast.parse(text)
    [node] = [each for each in tree.body if getattr(each, "name", "") == kind.__name__]
    lines = code_lines(text, tree)
    assert len(lines & {*range(node.lineno, (node.end_lineno or 0) + 1)}) <= MOST_LINES
    assert len(lines) <= MOST_LINES or (ast.get_docstring(tree) or "").startswith("Longer than 60")


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """Return the lines that hold code, neither docstrings nor comments."""
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    used = [each for each in tokens if each.type not in (*layout, tokenize.ENDMARKER)]
    lines = {line for each in used for line in range(each.start[0], each.end[0] + 1)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            each
        ):
            first = each.body[0]
            lines -= {*range(first.lineno, (first.end_lineno or 0) + 1)}
    return lines


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
    value, group = f"{__name__}:{HasABias.__name__}", statements.ENTRY_POINTS
    points = (EntryPoint("has_a_bias", value, group),)
    monkeypatch.setattr(plugins, "_declared", lambda name: points if name == group else ())
    assert [*known_statements()][-1] == "has_a_bias"
    assert group_of(known_statements()["has_a_bias"]) == "added"
    report = checkup(network(), data(), tests="has_a_bias")
    assert [result.test for result in report.results] == ["has_a_bias"]
    assert checkup(network(), data()).results[-1].test == "has_a_bias"
