"""The command line reports any error of the user's code in one line."""

import sys
from pathlib import Path

import pytest

from sickbay.cli import main

FILES = {
    "fine.py": """
import torch
from torch import nn
from torch.utils.data import DataLoader
def net(): return nn.Linear(4, 3)
def inner(): raise ValueError("first\\nsecond \\x1b[31m")
def fails(): inner()
def needs(width): return nn.Linear(width, 3)
def leaves(): raise SystemExit(3)
def mixed(): return {"model": nn.Linear(4, 3), 1: 2}
def keys(): return {1: 2, "x": 3}
def words(): return "a model"
def loader():
    class Gone:
        def __len__(self): return 2
        def __getitem__(self, index): raise OSError("gone")
    return DataLoader(Gone())
class Untold(Exception):
    def __str__(self): raise RuntimeError
def untold(): raise Untold
class Odd:
    def __getattr__(self, name): raise ZeroDivisionError("odd")
    def __dir__(self): return []
odd = Odd()
def exits(): raise SystemExit(0)
class Exits(nn.Linear):
    def forward(self, x): exits()
class Leaving(DataLoader):
    def __iter__(self): exits()
def pair(): return torch.randn(8, 4), torch.arange(8) % 3
def ending(): return Exits(4, 3)
def leaving(): return Leaving([1])
def lost(output, targets): exits()
number = 7
""",
    "raises.py": "import json\n\njson.loads('no')\n",
    "leaves.py": "import sys\nsys.exit('not here')\n",
    "broken.py": "def net(:\n",
    "needs.py": "import a_package_that_is_not_there\n",
}


PAIR = ["fine:net", "--batch", "fine:pair"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param([".fine:net"], "named as package.module:function, got '.fine:net'.", id="dot"),
        pytest.param(["..:net"], "named as package.module:function", id="dots"),
        pytest.param(["fine:"], "named as package.module:function", id="no-name"),
        pytest.param(["fine:net."], "named as package.module:function", id="ends-in-a-dot"),
        pytest.param(["fi\0ne:net"], "named as package.module:function", id="nul"),
        pytest.param([""], "A checkup needs a function that returns the model", id="empty"),
        pytest.param(["raises:net"], "raised JSONDecodeError: Expecting value", id="raises"),
        pytest.param(["leaves:net"], "Importing 'leaves' raised SystemExit: not here", id="leaves"),
        pytest.param(["broken:net"], "raised SyntaxError", id="broken"),
        pytest.param(["needs:net"], "No module named 'a_package_that_is_not_there'", id="needs"),
        pytest.param(["json.nothing:net"], "There is no module 'json.nothing'", id="no-package"),
        pytest.param(["fine:fails"], "raised ValueError: first second \\x1b[31m", id="fails"),
        pytest.param(["fine:needs"], "missing 1 required positional argument", id="an-argument"),
        pytest.param(["fine:leaves"], "fine:leaves raised SystemExit: 3", id="ends-it-all"),
        pytest.param(["fine:mixed"], "There is no part of a checkup '1'", id="mixed-keys"),
        pytest.param(["fine:keys"], "must return a model", id="only-odd-keys"),
        pytest.param(["fine:words"], "must return a model, or a dict", id="words"),
        pytest.param(["fine:number"], "must return a model, or a dict", id="a-number"),
        pytest.param(["fine:untold"], "fine:untold raised Untold", id="an-untold-error"),
        pytest.param(["fine:odd.part"], "'part' of 'fine' raised ZeroDivisionError", id="odd"),
        pytest.param(["fine:net", "--loss", "fine:number"], "loss must be a function", id="loss"),
        pytest.param(["fine:net", "--loss", ""], "named as package.module:function", id="no-loss"),
        pytest.param(["fine:net", "--tests", ""], "There is no test ''", id="no-tests"),
        pytest.param(["fine:net", "--task", ""], "There is no task ''", id="no-task"),
        pytest.param(["fine:ending"], "the data raised SystemExit: 0 (at ", id="in-the-model"),
        pytest.param(["fine:net", "--batch", "fine:leaving"], "raised SystemExit", id="in-data"),
        pytest.param([*PAIR, "--loss", "fine:lost"], "raised SystemExit: 0 (at ", id="in-the-loss"),
        pytest.param(["fine:net", "--batch", "fine:loader"], "raised OSError: gone", id="loader"),
    ],
)
def test_errors_in_user_code(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["checkup", *arguments]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.startswith("sickbay: ")
    assert printed.err.count("\n") == 1
    assert not printed.out


@pytest.mark.parametrize(
    ("factory", "place"),
    [
        ("raises:net", "raises.py:3"),
        ("leaves:net", "leaves.py:2"),
        ("broken:net", "broken.py:1"),
        ("fine:fails", "fine.py:6"),
    ],
)
def test_an_error_says_where_in_the_user_s_code_it_was(
    factory: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["checkup", factory])
    assert f"(at {tmp_path / place})." in capsys.readouterr().err


LIMIT = "--batch must have 1 to 268,435,456 numbers in at most 16 dimensions"


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ("4x4:0", "The number of tokens in --batch '4x4:0' must be a whole number of at least 1"),
        ("0x4", LIMIT),
        ("100000x100000", LIMIT),
        ("999999999999x999999999999x4:9", LIMIT),
        ("x".join("1" * 17), LIMIT),
        ("", "--batch must be a shape such as 8x3x32x32"),
        ("=-4x4", "--batch must be a shape such as 8x3x32x32"),
        ("4x4:99999999999999999999", "--batch must be a shape such as 8x3x32x32"),
        ("9" * 5000, "--batch must be a shape such as 8x3x32x32"),
        ("4xx4", "--batch must be a shape such as 8x3x32x32"),
        (".fine:net", "--batch must be a shape such as 8x3x32x32"),
        ("fine:number", "batch must be inputs, (inputs, targets) or a DataLoader"),
    ],
)
def test_odd_batches(batch: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkup", "fine:net", "--batch", batch]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.count("\n") == 1


def test_a_missing_module_or_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["checkup", "fine:net"]) == 2
    assert "The current folder no longer exists" in capsys.readouterr().err
