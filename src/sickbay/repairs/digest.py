"""A hash of almost anything, the same in every process."""

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
DEEP = 12  # things in things
INSIDE = frozenset(vars(nn.Module()))  # what every module has beside its settings
FOREIGN = frozenset(("torch", "numpy", "sickbay", *sys.stdlib_module_names))  # not the user's code
VALUES = (str, bytes, Number, np.generic, torch.dtype, torch.device, Enum, PurePath)


class Digest:
    """A hash that grows with what is added.

    Numbers, texts and tensors count by their values, functions by their code, what they enclose
    and the functions they call, classes by their methods and values, modules by their class,
    settings and parts, other objects by their class and what they hold. The weights of modules may
    be left out.

    >>> one, other = Digest().add({"a": 1, "b": torch.ones(2)}), Digest().add({"a": 1})
    >>> one.text == other.text
    False
    """

    def __init__(self, weights: bool = True) -> None:
        self._weights = weights
        self._hash = blake2b(digest_size=16)
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # else another object may get the same address

    @property
    def text(self) -> str:
        """The hash so far."""
        return self._hash.hexdigest()

    def add(self, value: Any, depth: int = 0) -> Digest:
        """Take a value in, and return the digest."""
        if value is None or isinstance(value, VALUES):
            return self._say(type(value).__name__, str(value))
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, tuple):
            return self._several(value, depth)
        if isinstance(value, set | frozenset):
            return self._say("set", *sorted(Digest().add(each, DEEP).text for each in value))
        if depth > DEEP or id(value) in self._seen:  # it may hold itself
            return self._say("again", self._seen.get(id(value), ""))
        self._seen[id(value)] = len(self._seen)
        self._alive.append(value)
        if isinstance(value, list):
            return self._several(value, depth)
        if isinstance(value, Mapping):
            return self._several(tuple(value.items()), depth)
        return self._object(value, depth + 1)

    def _several(self, values: Iterable[Any], depth: int) -> Digest:
        self._say("several")
        for each in values:
            self.add(each, depth + 1)
        return self._say("end")

    def _object(self, value: Any, depth: int) -> Digest:
        if isinstance(value, type):
            return self._class(value, depth)
        if isinstance(value, partial):
            return self.add(("partial", value.func, value.args, value.keywords), depth)
        if isinstance(value, types.MethodType):
            return self.add(("method", value.__func__, value.__self__), depth)
        if isinstance(value, types.FunctionType):
            return self._function(value, depth)
        if isinstance(value, nn.Module):
            return self._module(value, depth)
        if hasattr(value, "__name__"):  # a function of C, or a whole module of Python
            return self._say(type(value).__name__, str(value.__name__))
        own = {} if type(value).__module__ in sys.stdlib_module_names else vars_of(value)
        return self.add(("object", type(value), own), depth)

    def _module(self, module: nn.Module, depth: int) -> Digest:
        settings = {name: each for name, each in vars(module).items() if name not in INSIDE}
        self.add(("module", type(module), module.training, settings), depth)
        for name, each in module._parameters.items():
            self._say(name, None if each is None else (tuple(each.shape), each.requires_grad))
        if self._weights:
            self.add((tuple(module._parameters.items()), tuple(module._buffers.items())), depth)
        for name, child in module.named_children():
            self._say("child", name)
            self.add(child)  # modules may be nested deeply, and end somewhere
        return self

    def _class(self, kind: type, depth: int) -> Digest:
        self._say("class", kind.__module__, kind.__qualname__)
        for parent in kind.__mro__:
            if not is_foreign(parent):
                for name, each in sorted(vars(parent).items(), key=lambda pair: pair[0]):
                    self._attribute(name, each, depth)
        return self

    def _attribute(self, name: str, value: Any, depth: int) -> None:
        """Take in what a class has under a name: a method of any kind, or a value."""
        parts = [getattr(value, part, None) for part in ("__func__", "fget", "fset")]
        for each in (value, *parts):
            if isinstance(each, types.FunctionType):
                self._say(name)._code(each, depth)
        plain = isinstance(value, (*VALUES, Tensor, tuple, list, dict))
        if plain and not name.startswith("__"):  # what Python notes there is no part of it
            self._say(name).add(value, depth)

    def _function(self, function: types.FunctionType, depth: int) -> Digest:
        self._say("function", function.__module__, function.__qualname__)
        return self if is_foreign(function) else self._code(function, depth)

    def _code(self, function: types.FunctionType, depth: int) -> Digest:
        self._compiled(function.__code__)
        enclosed = [contents(cell) for cell in function.__closure__ or ()]
        self.add((function.__defaults__, function.__kwdefaults__, enclosed), depth)
        for name in function.__code__.co_names:
            called = function.__globals__.get(name)
            if is_function(called):
                self.add(called, depth)
        return self

    def _compiled(self, code: types.CodeType) -> None:
        self._say("code", code.co_code, code.co_names, code.co_varnames)
        for each in code.co_consts:
            if isinstance(each, types.CodeType):
                self._compiled(each)
            else:
                self.add(each)

    def _array(self, value: Any) -> Digest:
        self._say("array", str(value.dtype), value.shape)
        if value.dtype.hasobject:
            return self.add(value.tolist(), DEEP - 2)
        self._hash.update(np.ascontiguousarray(value).tobytes())
        return self

    def _tensor(self, value: Tensor) -> Digest:
        self._say("tensor", str(value.dtype), str(value.layout), tuple(value.shape))
        plain = value.layout is torch.strided and not value.is_meta and not value.is_quantized
        for piece in pieces(value.detach()) if plain else ():  # others have no bytes in a row
            self._hash.update(piece.cpu().contiguous().view(torch.uint8).numpy().data)
        return self

    def _say(self, *words: Any) -> Digest:
        for word in words:
            data = word if isinstance(word, bytes) else repr(word).encode("utf-8", "replace")
            self._hash.update(len(data).to_bytes(8, "little") + data)
        return self


def pieces(value: Tensor) -> Iterable[Tensor]:
    """Return a tensor in pieces; of one that is too large every n-th, always the same ones."""
    if not value.numel():
        return ()
    real = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    flat = real.resolve_neg().reshape(-1)
    rare = -(-flat.numel() * flat.element_size() // WHOLE)
    return torch.split(flat, PIECE // flat.element_size())[::rare]


def is_function(value: Any) -> bool:
    """Tell whether this is a function, of Python or of C."""
    return isinstance(value, types.FunctionType | types.BuiltinFunctionType)


def is_foreign(value: Any) -> bool:
    """Tell whether a class or function is not the user's, so that its name says it all."""
    return str(value.__module__).partition(".")[0] in FOREIGN


def vars_of(value: Any) -> dict[str, Any]:
    """Return what an object holds under names."""
    return dict(getattr(value, "__dict__", {}))


def contents(cell: types.CellType) -> Any:
    """Return what a function has enclosed, None if that is not there yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
