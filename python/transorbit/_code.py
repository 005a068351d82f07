"""A hash of a user's own code, so that runs of other code are not taken for its runs."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from transorbit import _hash, _source

# Modules that read nothing from outside, and change only with Python, or with the version that is part of every key.
# Those in C have the same names with a line before.
_SETTLED = frozenset(
    {"abc", "array", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal",
     "enum", "fractions", "functools", "future", "heapq", "itertools", "math", "numbers", "operator", "random", "re",
     "statistics", "string", "struct", "transorbit", "types", "typing"}
)  # fmt: skip
# Python's own functions that read something, or run what is not in the file.
_OUTSIDE = frozenset({"__import__", "eval", "exec", "input", "open"})


def fingerprint(factory: object) -> str | None:
    """SHA-256 over the file that the class is written in, its byte code, and the plain values that it reads.

    None where that is not all that it depends on: it is no plain class or function, it is made by other code (a
    closure, a partial, a class within a function), its file does not exist or imports what may change, or it names
    what reads from outside, such as `open`.
    """
    try:
        return _Reader(factory).digest
    except _UnsettledError:
        return None


class _UnsettledError(Exception):
    """The code depends on more than can be read off it."""


class _Reader:
    """Walks through a class or function and all of its file that it uses."""

    digest: str

    def __init__(self, factory: object) -> None:
        if not isinstance(factory, type | FunctionType):
            raise _UnsettledError
        self._file: str | None = None
        self._parts: list[str] = []
        self._seen: set[int] = set()
        self._value("", factory)
        if self._file is None:
            raise _UnsettledError
        contents = _settled_file(Path(self._file))
        self.digest = _hash.sha256("\n".join(self._parts).encode() + contents)

    def _value(self, name: str, value: Any) -> None:
        if id(value) in self._seen:
            return
        if _source.is_plain(value):
            self._parts.append(f"{name} = {value!r}")
        elif isinstance(value, ModuleType):
            if not _is_settled_name(value.__name__):
                raise _UnsettledError
        elif not _is_settled(value):
            self._seen.add(id(value))
            self._own(name, value)

    def _own(self, name: str, value: Any) -> None:
        if isinstance(value, staticmethod | classmethod):
            self._own(name, value.__func__)
        elif isinstance(value, property):
            for part in (value.fget, value.fset, value.fdel):
                self._value(name, part)
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type) and type(value) is type and "<locals>" not in value.__qualname__:
            for base in value.__bases__:
                self._value("", base)
            for key, member in vars(value).items():
                if key not in _OF_EVERY_CLASS:
                    self._value(f"{value.__qualname__}.{key}", member)
        else:
            raise _UnsettledError

    def _function(self, function: FunctionType) -> None:
        code = function.__code__
        self._file = self._file or code.co_filename
        # A method that calls `super()` closes over its class, which is read anyway.
        if code.co_filename != self._file or "<locals>" in function.__qualname__ or {*code.co_freevars} - {"__class__"}:
            raise _UnsettledError
        self._parts.append(function.__qualname__)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._value("default", value)
        self._code(code, function.__globals__)

    def _code(self, code: CodeType, variables: dict[str, Any]) -> None:
        self._parts.append(f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}")
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant, variables)
            else:
                # The order of a set of texts is another in each process.
                self._parts.append(repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant))
        for name in code.co_names:
            if name in variables:
                self._value(name, variables[name])
            elif name in _OUTSIDE:
                raise _UnsettledError


# The names that Python itself puts into a class.
_OF_EVERY_CLASS = frozenset(
    {"__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__annotations__", "__firstlineno__",
     "__static_attributes__", "__annotate__", "__annotate_func__", "__annotations_cache__"}
)  # fmt: skip


def _is_settled(value: Any) -> bool:
    """Whether it is a class or function of Python or of this package, under its own name."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    if not module or not _is_settled_name(module.__name__):
        return False
    name = getattr(value, "__name__", None)
    return isinstance(name, str) and getattr(module, name, None) is value


def _is_settled_name(module: str) -> bool:
    return module.partition(".")[0].strip("_") in _SETTLED


def _settled_file(file: Path) -> bytes:
    """Returns the contents of the file."""
    try:
        contents = file.read_bytes()
        tree = ast.parse(contents)
    except (OSError, SyntaxError, ValueError):
        raise _UnsettledError from None
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        if not all(map(_is_settled_name, names)):
            raise _UnsettledError
    return contents
