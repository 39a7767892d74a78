"""Modules that command lines can name, sound and odd ones."""

from __future__ import annotations

import sys
from pathlib import Path

SOURCES = {
    "fuzz_sound": """
import torch
from torch import nn
def model(): return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
def whole(): return {"model": model(), "batch": (torch.ones(4, 3), torch.zeros(4).long()),
                     "loss": nn.CrossEntropyLoss()}
def inputs(): return torch.ones(4, 3)
def trained(**more): return {"data": (torch.rand(8, 3), torch.arange(8) % 2), "epochs": 1, **more,
                             "loss": nn.CrossEntropyLoss(), "model": (made := model()),
                             "optimizer": torch.optim.SGD(made.parameters(), lr=0.1)}
def odd_metric(): return trained(metric=lambda *_: "x")
def odd_callback(): return trained(callbacks=[7])
def odd_scheduler(): return trained(scheduler=lambda _: 7)
def odd_data(): return {**trained(), "data": "x"}
def nothing(): return None
def number(): return 7
def empty(): return {}
def text(): return {"model": "x"}
def odd_part(): return {"model": model(), "modle": 1}
def odd_key(): return {"model": model(), 7: 1, None: 2}
def odd_batch(): return {"model": model(), "batch": "x"}
def odd_loss(): return {"model": model(), "batch": whole()["batch"], "loss": 7}
def odd_task(): return {"model": model(), "batch": whole()["batch"], "task": 7}
def odd_optimizer(): return {"model": model(), "batch": whole()["batch"], "optimizer": "SGD"}
def odd_validation(): return {"model": model(), "batch": whole()["batch"], "validation": 3}
def needs(argument): return model()
def raises(): raise RuntimeError("\\x1b[31m[/red]")
def leaves(): raise SystemExit(5)
def interrupts(): raise StopIteration
def recurses(): return recurses()
def prints(): print("hello"); return model()
def yields(): yield model()
def itself(): return itself
class Kind(nn.Module):
    def __init__(self): super().__init__(); self.layer = nn.Linear(3, 2)
    def forward(self, x): return self.layer(x)
class Odd:
    def __getattr__(self, name): raise RuntimeError(name)
odd = Odd()
instance = model()
value = 3
_hidden = 1
""",
    "fuzz_raising": "raise RuntimeError('at import')",
    "fuzz_leaving": "raise SystemExit(3)",
    "fuzz_missing": "import no_such_module_at_all",
    "fuzz_missing_name": "from os import no_such_name",
    "fuzz_syntax": "def broken(:\n",
    "fuzz_bytes": "\0",
    "fuzz_recursion": "def f(): return f()\nf()",
    "fuzz_attribute": "def __getattr__(name): raise RuntimeError(name)",
    "fuzz_listing": "def __dir__(): raise RuntimeError('dir')",
    "fuzz_empty": "",
    "fuzz_package/__init__": "from fuzz_package import inner",
    "fuzz_package/inner": "raise KeyError('inner')",
}
NAMES = [name.partition("/")[0] for name in SOURCES]


def write(folder: Path) -> None:
    """Write the modules and make them importable."""
    for name, source in SOURCES.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
