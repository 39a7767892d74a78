"""Sizes that CONTRIBUTING.md asks for."""

import ast
import io
import tokenize
from importlib import import_module
from inspect import getsourcefile
from pathlib import Path
from pkgutil import walk_packages

import pytest

from sickbay import problems, remedies
from sickbay.checkups import statements
from sickbay.checkups.base import Statement
from sickbay.problems import Problem
from sickbay.remedies import Remedy
from sickbay.thresholds import Tunable

ROOT = Path(__file__).parents[1]
MOST_LINES = 300  # in any file
MOST_CODE = 60  # in a problem, remedy or statement, docstrings and comments apart
EXCUSE = f"Longer than {MOST_CODE} lines"  # begins the docstring of a file, which then says why
NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)

FILES = [
    path
    for folder in ("src", "tests", "benchmarks", "examples", "tools")
    for path in ROOT.glob(f"{folder}/**/*.py")
]
PUBLISHED = "sickbay.problems.published"
KINDS = ((problems, Problem), (remedies, Remedy), (statements, Statement))
PARTS = sorted(
    (
        part
        for package, base in KINDS
        for info in walk_packages(package.__path__, f"{package.__name__}.")
        for part in vars(import_module(info.name)).values()
        if isinstance(part, type) and issubclass(part, base) and part.__module__ == info.name
    ),
    key=lambda part: part.__module__,
)


def docstring_lines(tree: ast.AST) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def code_lines(source: str) -> set[int]:
    """Return the lines that hold code."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {
        line
        for token in tokens
        if token.type not in (*NO_CODE, tokenize.ENDMARKER)
        for line in range(token.start[0], token.end[0] + 1)
    }
    return lines - docstring_lines(ast.parse(source))


def test_docstrings_comments_and_blank_lines_are_no_code() -> None:
    source = '"""Text\n\nof a file."""\n\n# why\nx = (\n    1\n)\n'
    assert code_lines(source) == {6, 7, 8}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_rules_that_share_a_name_are_all_looked_at() -> None:
    rules = [part.__module__ for part in PARTS if part.__name__ == "DyingRelu"]
    assert rules == ["sickbay.problems.dying_relu", f"{PUBLISHED}.autotrainer.dying_relu"]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.__module__}.{part.__name__}")
def test_problems_remedies_and_statements_are_short(part: type[Tunable]) -> None:
    source = Path(getsourcefile(part) or "").read_text()
    tree = ast.parse(source)
    [body] = [node for node in tree.body if getattr(node, "name", "") == part.__name__]
    lines = code_lines(source)
    assert len(lines & {*range(body.lineno, (body.end_lineno or 0) + 1)}) <= MOST_CODE
    assert len(lines) <= MOST_CODE or (ast.get_docstring(tree) or "").startswith(EXCUSE)
