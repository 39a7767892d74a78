"""No file that is read may run code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What comes from no file: from a process that was started here, from memory just written.
ALLOWED = {
    "src/sickbay/repairs/process_worker.py": 1,
    "src/sickbay/checkups/statements/limits/survives_saving.py": 2,
    "benchmarks/fuzz/read_damaged_files.py": 1,  # writes what must not be read
}
SAFE = re.compile(r"torch\.load\((?:[^()]|\([^()]*\))*weights_only=True")


def code_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


FILES = [
    path
    for folder in ("src", "benchmarks", "examples", "docs")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md", ".ipynb")
]


def unsafe(code: str) -> list[str]:
    """Return what in some code may run what it reads."""
    found = re.findall(r"weights_only\s*=\s*False", code)
    found += re.findall(r"(?:pickle|dill|joblib|shelve|marshal)\.(?:loads?|open|Unpickler)\b", code)
    found += re.findall(r"allow_pickle\s*=\s*True|yaml\.(?:unsafe_)?load\(|torch\.jit\.load", code)
    loads = len(re.findall(r"torch\.load\(", code)) - len(SAFE.findall(code))
    return found + ["torch.load"] * loads


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_that_is_read_is_run(path: Path) -> None:
    allowed = ALLOWED.get(str(path.relative_to(ROOT)), 0)
    assert len(unsafe(code_of(path))) <= allowed, unsafe(code_of(path))


@pytest.mark.parametrize(
    "code",
    [
        "torch.load(path)", "torch.load(path, weights_only=False)", "pickle.load(file)",
        "pickle.loads(data)", "np.load(file, allow_pickle=True)", "torch.load(open(a), 'cpu')",
    ],
)  # fmt: skip
def test_what_is_unsafe_is_noticed(code: str) -> None:
    assert unsafe(code)


def test_what_is_safe_is_not() -> None:
    assert not unsafe('torch.load(str(path), map_location="cpu", weights_only=True)')
