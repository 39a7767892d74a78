"""Values that are wrong for every argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.fuzz import odd_models
from benchmarks.fuzz.verdict import Mine

DEEP = 3000


class Raises:
    """Raises at every operation."""

    def __repr__(self) -> str:
        raise Mine("repr")

    def __eq__(self, other: object) -> bool:
        raise Mine("eq")

    def __hash__(self) -> int:
        raise Mine("hash")

    def __len__(self) -> int:
        raise Mine("len")

    def __bool__(self) -> bool:
        raise Mine("bool")

    def __float__(self) -> float:
        raise Mine("float")

    def __int__(self) -> int:
        raise Mine("int")

    def __index__(self) -> int:
        raise Mine("index")

    def __iter__(self) -> Iterator[Any]:
        raise Mine("iter")

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise Mine("call")

    def __fspath__(self) -> str:
        raise Mine("fspath")

    def __getitem__(self, key: Any) -> Any:
        raise Mine("getitem")

    def __lt__(self, other: object) -> bool:
        raise Mine("lt")


class RaisesOnRepr:
    """Raises when printed."""

    def __repr__(self) -> str:
        raise Mine("repr")


class OddFloat(float):
    """A number that cannot be compared."""

    def __lt__(self, other: object) -> bool:
        raise Mine("lt")

    def __gt__(self, other: object) -> bool:
        raise Mine("gt")

    def __repr__(self) -> str:
        raise Mine("repr")


class OddText(str):
    """A text that cannot be shown."""

    def __repr__(self) -> str:
        raise Mine("repr")

    def __str__(self) -> str:
        raise Mine("str")


class NotAPath:
    """Claims to be a path but is not."""

    def __fspath__(self) -> Any:
        return 7


def raising(*_: Any, **__: Any) -> Any:
    raise Mine("called")


def nested() -> list[Any]:
    made: list[Any] = []
    for _ in range(DEEP):
        made = [made]
    return made


def itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def endless() -> Iterator[int]:
    number = 0
    while number < 100_000:  # long, but not endless
        yield number
        number += 1


def sparse() -> torch.Tensor:
    return torch.eye(3).to_sparse()


PLAIN: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "2": lambda: 2,
    "1.5": lambda: 1.5,
    "nan": lambda: nan,
    "inf": lambda: inf,
    "-inf": lambda: -inf,
    "1e-320": lambda: 1e-320,
    "10**30": lambda: 10**30,
    "10**400": lambda: 10**400,
    "2**63": lambda: 2**63,
    "2**32": lambda: 2**32,
    "1j": lambda: 1j,
    "Fraction": lambda: Fraction(1, 3),
    "''": lambda: "",
    "'x'": lambda: "x",
    "'../x'": lambda: "../x",
    "escape": lambda: "\x1b[31m",
    "markup": lambda: "val[/red]",
    "null byte": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "long text": lambda: "x" * 100_000,
    "odd text": lambda: OddText("x"),
    "bytes": lambda: b"",
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set": lambda: {1},
    "[None]": lambda: [None],
    "['x']": lambda: ["x"],
    "['x', 'x']": lambda: ["x", "x"],
    "[1, nan]": lambda: [1, nan],
    "{'x': 1}": lambda: {"x": 1},
    "{1: 2}": lambda: {1: 2},
    "{None: []}": lambda: {None: []},
    "nested": nested,
    "itself": itself,
    "endless": endless,
    "empty iterator": lambda: iter(()),
    "range": lambda: range(3),
    "object": object,
    "lambda": lambda: lambda: None,
    "lambda x": lambda: lambda x: x,
    "raising": lambda: raising,
    "a class": lambda: dict,
    "an exception": lambda: ValueError,
    "a module": lambda: torch,
    "Path": lambda: Path("x"),
    "Path()": Path,
    "not a path": NotAPath,
    "raises": Raises,
    "raises on repr": RaisesOnRepr,
    "odd float": lambda: OddFloat(0.5),
    "...": lambda: ...,
    "type": lambda: type,
}

ARRAYS: dict[str, Callable[[], Any]] = {
    "int64": lambda: np.int64(3),
    "float32": lambda: np.float32(0.5),
    "np.nan": lambda: np.float64(nan),
    "np.bool": lambda: np.bool_(True),
    "np.str": lambda: np.str_("x"),
    "array": lambda: np.zeros((2, 3)),
    "empty array": lambda: np.zeros(0),
    "array of objects": lambda: np.array([None, "x"], object),
    "datetime": lambda: np.datetime64("2020-01-01"),
    "0-d": lambda: torch.tensor(1.0),
    "0-d nan": lambda: torch.tensor(nan),
    "0-d whole": lambda: torch.tensor(3),
    "empty": lambda: torch.empty(0),
    "empty rows": lambda: torch.empty(0, 3),
    "vector": lambda: torch.ones(4),
    "matrix": lambda: torch.ones(4, 3),
    "complex": lambda: torch.ones(2, dtype=torch.complex64),
    "0-d complex": lambda: torch.tensor(1j),
    "sparse": sparse,
    "meta": lambda: torch.empty(2, 3, device="meta"),
    "0-d meta": lambda: torch.empty((), device="meta"),
    "needs grad": lambda: torch.ones(2, requires_grad=True),
    "0-d needs grad": lambda: torch.ones((), requires_grad=True) * 2,
    "bool": lambda: torch.tensor([True, False]),
    "huge ints": lambda: torch.tensor([2**62, -(2**62)]),
    "int8": lambda: torch.ones(4, 3, dtype=torch.int8),
    "half": lambda: torch.ones(4, 3, dtype=torch.float16),
    "bfloat16 nan": lambda: torch.full((4, 3), nan, dtype=torch.bfloat16),
    "stretched": lambda: torch.ones(1).expand(4, 3),
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    "nested tensor": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "pair": lambda: (torch.ones(4, 3), torch.zeros(4, dtype=torch.long)),
    "pair of different lengths": lambda: (torch.ones(4, 3), torch.zeros(3)),
    "pair without samples": lambda: (torch.ones(0, 3), torch.zeros(0)),
    "dict of tensors": lambda: {"x": torch.ones(4, 3)},
    "list of batches": lambda: [(torch.ones(4, 3), torch.zeros(4, dtype=torch.long))],
    "generator": torch.Generator,
    "parameter": lambda: nn.Parameter(torch.ones(2)),
    "dtype": lambda: torch.float32,
    "device": lambda: torch.device("cpu"),
    "no such device": lambda: "cuda:99",
}

VALUES: dict[str, Callable[[], Any]] = {
    **PLAIN,
    **ARRAYS,
    **odd_models.MODELS,
    **odd_models.OPTIMIZERS,
}
