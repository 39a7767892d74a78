"""A hash of almost any Python object, the same in every process."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import partial
from hashlib import blake2b
from numbers import Number
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

WHOLE = 1 << 32  # bytes of a tensor that are all hashed; of a larger one, evenly spread parts
PIECE = 1 << 24  # bytes that are copied at a time
MAX_DEPTH = 12
MODULE_INTERNALS = frozenset(vars(nn.Module()))
LIBRARIES = frozenset(("torch", "numpy", "sickbay", *sys.stdlib_module_names))
VALUES = (str, bytes, Number, np.generic, torch.dtype, torch.device, Enum, PurePath)


class Digest:
    """A hash that grows with every object added.

    Numbers, strings and tensors count by value; functions by their code, their closure and the
    functions they call; classes by methods and values; modules by class, settings and children;
    other objects by class and attributes. Code of libraries counts by name. `weights=False` leaves
    out the weights of modules.

    >>> one, other = Digest().add({"a": 1, "b": torch.ones(2)}), Digest().add({"a": 1})
    >>> one.text == other.text
    False
    """

    def __init__(self, weights: bool = True) -> None:
        self._weights = weights
        self._hash = blake2b(digest_size=16)
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no other object gets the same id

    @property
    def text(self) -> str:
        """The hash so far."""
        return self._hash.hexdigest()

    def add(self, value: Any, depth: int = 0) -> Digest:
        """Add an object and return the digest."""
        if value is None or isinstance(value, VALUES):
            return self._write(type(value).__name__, str(value))
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, tuple):
            return self._sequence(value, depth)
        if isinstance(value, set | frozenset):
            hashes = sorted(Digest().add(each, MAX_DEPTH).text for each in value)
            return self._write("set", *hashes)
        if depth > MAX_DEPTH or id(value) in self._seen:  # it may contain itself
            return self._write("again", self._seen.get(id(value), ""))
        self._seen[id(value)] = len(self._seen)
        self._alive.append(value)
        if isinstance(value, list):
            return self._sequence(value, depth)
        if isinstance(value, Mapping):
            return self._sequence(tuple(value.items()), depth)
        return self._object(value, depth + 1)

    def _sequence(self, values: Iterable[Any], depth: int) -> Digest:
        self._write("several")
        for each in values:
            self.add(each, depth + 1)
        return self._write("end")

    def _object(self, value: Any, depth: int) -> Digest:
        if isinstance(value, type):
            return self._class(value, depth)
        if isinstance(value, partial):
            return self.add(("partial", value.func, value.args, value.keywords), depth)
        if isinstance(value, types.MethodType):
            return self.add(("method", value.__func__, value.__self__), depth)
        if isinstance(value, types.FunctionType):
            self._write("function", value.__module__, value.__qualname__)
            return self if in_library(value) else self._code(value, depth)
        if isinstance(value, nn.Module):
            return self._module(value, depth)
        if hasattr(value, "__name__"):  # a function written in C, or a Python module
            return self._write(type(value).__name__, str(value.__name__))
        stdlib = type(value).__module__ in sys.stdlib_module_names
        attributes = {} if stdlib else dict(getattr(value, "__dict__", {}))
        return self.add(("object", type(value), attributes), depth)

    def _module(self, module: nn.Module, depth: int) -> Digest:
        settings = {n: each for n, each in vars(module).items() if n not in MODULE_INTERNALS}
        self.add(("module", type(module), module.training, settings), depth)
        for name, each in module._parameters.items():
            self._write(name, None if each is None else (tuple(each.shape), each.requires_grad))
        if self._weights:
            self.add((tuple(module._parameters.items()), tuple(module._buffers.items())), depth)
        for name, child in module.named_children():
            self._write("child", name)
            self.add(child)  # modules may be nested deeply, but not in themselves
        return self

    def _class(self, cls: type, depth: int) -> Digest:
        self._write("class", cls.__module__, cls.__qualname__)
        for parent in cls.__mro__:
            if not in_library(parent):
                for name, each in sorted(vars(parent).items(), key=lambda pair: pair[0]):
                    self._attribute(name, each, depth)
        return self

    def _attribute(self, name: str, value: Any, depth: int) -> None:
        """Add an attribute of a class: a method of any kind, a property or a value."""
        parts = [getattr(value, part, None) for part in ("__func__", "fget", "fset")]
        for each in (value, *parts):
            if isinstance(each, types.FunctionType):
                self._write(name)._code(each, depth)
        plain = isinstance(value, (*VALUES, Tensor, tuple, list, dict))
        if plain and not name.startswith("__"):  # those are Python's own
            self._write(name).add(value, depth)

    def _code(self, function: types.FunctionType, depth: int) -> Digest:
        self._compiled(function.__code__)
        closure = [_cell_contents(cell) for cell in function.__closure__ or ()]
        self.add((function.__defaults__, function.__kwdefaults__, closure), depth)
        for name in function.__code__.co_names:
            called = function.__globals__.get(name)
            if isinstance(called, types.FunctionType | types.BuiltinFunctionType):
                self.add(called, depth)
        return self

    def _compiled(self, code: types.CodeType) -> None:
        self._write("code", code.co_code, code.co_names, code.co_varnames)
        for each in code.co_consts:
            self._compiled(each) if isinstance(each, types.CodeType) else self.add(each)

    def _array(self, value: Any) -> Digest:
        self._write("array", str(value.dtype), value.shape)
        if value.dtype.hasobject:
            return self.add(value.tolist(), MAX_DEPTH - 2)
        self._hash.update(np.ascontiguousarray(value).tobytes())
        return self

    def _tensor(self, value: Tensor) -> Digest:
        self._write("tensor", str(value.dtype), str(value.layout), tuple(value.shape))
        plain = value.layout is torch.strided and not value.is_meta and not value.is_quantized
        for piece in pieces(value.detach()) if plain else ():  # others have no contiguous bytes
            self._hash.update(piece.cpu().contiguous().view(torch.uint8).numpy().data)
        return self

    def _write(self, *words: Any) -> Digest:
        for word in words:
            data = word if isinstance(word, bytes) else repr(word).encode("utf-8", "replace")
            self._hash.update(len(data).to_bytes(8, "little") + data)
        return self


def pieces(value: Tensor) -> Iterable[Tensor]:
    """Return the pieces of a tensor to hash: all, or evenly spread ones if it is too large."""
    if not value.numel():
        return ()
    real = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    flat = real.resolve_neg().reshape(-1)
    every = -(-flat.numel() * flat.element_size() // WHOLE)
    return torch.split(flat, PIECE // flat.element_size())[::every]


def in_library(value: Any) -> bool:
    """Return whether a class or function comes from a library, so that its name is enough."""
    return str(value.__module__).partition(".")[0] in LIBRARIES


def _cell_contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
