"""The source of a class that a user has written: one text that stands for itself, wherever the class was defined."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import symtable
import sys
from types import FunctionType, ModuleType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class SourceError(Exception):
    """The source is not to be had: why, in a few words."""


def text_of(factory: object, *, kind: str, name: str) -> str:
    """A Python file that defines the class and all of the user's code that it names, and registers it.

    The definition is found by the line of its code: in a file, or in a cell of a notebook. What it names is looked up
    as it is now: modules and what comes from them are imported, plain values are written out, the user's own classes
    and functions are taken with it.

    Raises:
        SourceError: there is no such text.
    """
    writer = _Writer()
    writer.define(factory)
    lines = [*sorted(writer.imports), "", *writer.parts]
    if not writer.registers(name):
        own = getattr(factory, "__name__", "")
        lines += ["", "", f"transorbit.{kind}({name!r})({own})"]
        lines.insert(0, "import transorbit")
    return "\n".join(lines).strip() + "\n"


class _Writer:
    """Walks through a class or function and all that it names."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.parts: list[str] = []
        self._seen: set[str] = set()
        self._first: ast.ClassDef | ast.FunctionDef | None = None

    def registers(self, name: str) -> bool:
        """Whether a decorator of the definition does so."""
        decorators = self._first.decorator_list if self._first else []
        given = [each.args[0] for each in decorators if isinstance(each, ast.Call) and each.args]
        return any(isinstance(each, ast.Constant) and each.value == name for each in given)

    def define(self, value: Any) -> None:
        if not isinstance(value, type | FunctionType):
            raise SourceError(f"it is no class or function but {type(value).__name__}")
        self._seen.add(value.__name__)
        functions = [value] if isinstance(value, FunctionType) else _methods(value)
        if not functions:
            raise SourceError(f"{value.__name__} has no methods")
        for function in functions:
            if {*function.__code__.co_freevars} - {"__class__"}:
                raise SourceError(f"{function.__qualname__} uses variables of the function around it")
        node, text = _definition(value, functions[0])
        if isinstance(node, ast.ClassDef):
            _check_unchanged(value, node, functions[0].__code__.co_filename)
        if self._first is None:
            self._first = node
        scope = functions[0].__globals__
        for name in sorted(_global_names(text)):
            if name in scope and name not in self._seen and getattr(builtins, name, scope) is not scope[name]:
                self._need(name, scope[name])
        self.parts += ["", "", text] if self.parts else [text]

    def _need(self, name: str, value: Any) -> None:
        self._seen.add(name)
        if isinstance(value, ModuleType):
            self.imports.add(f"import {value.__name__}" if value.__name__ == name else _import(value.__name__, name))
        elif _is_literal(value):
            self.parts.append(f"{name} = {value!r}")
        elif (module := _home(value)) is not None:
            own = value.__name__
            self.imports.add(f"from {module} import {own}" if own == name else f"from {module} import {own} as {name}")
        elif isinstance(value, type | FunctionType) and value.__name__ == name:
            self.define(value)
        else:
            raise SourceError(f"{name} is {type(value).__name__}, which no text stands for")


def _global_names(text: str) -> set[str]:
    """The names in a definition that are not its own: what a function assigns or takes is not what surrounds it."""
    globals_of_definition: set[str] = set()
    tables = [symtable.symtable(text, "<definition>", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        # At the top everything but the definition itself is looked up around it: decorators, bases, defaults.
        is_top = table.get_type() == "module"
        globals_of_definition |= {
            each.get_name() for each in table.get_symbols() if each.is_global() or (is_top and each.is_referenced())
        }
    return globals_of_definition


def _import(module: str, name: str) -> str:
    parent, _, last = module.rpartition(".")
    return f"from {parent} import {last}" if last == name else f"import {module} as {name}"


def _methods(value: type) -> list[FunctionType]:
    functions = [inner for inner in map(_function_of, vars(value).values()) if isinstance(inner, FunctionType)]
    methods = [each for each in functions if each.__qualname__.startswith(f"{value.__qualname__}.")]
    # Those that a decorator has made, as that of a dataclass, have no text.
    return [each for each in methods if linecache.getlines(each.__code__.co_filename, each.__globals__)] or methods


def _function_of(member: Any) -> Any:
    """The function that was written for a method or property; anything else stays."""
    inner = member.__func__ if isinstance(member, staticmethod | classmethod) else member
    written: Any = inner.fget if isinstance(inner, property) else inner
    return inspect.unwrap(written)


def _check_unchanged(value: Any, node: ast.ClassDef, file: str) -> None:
    """Hold a class against its definition: methods, but for decorated ones, and plain values, unless they are computed.

    Raises:
        SourceError: one was set later.
    """
    said: dict[str, ast.expr] = {}
    for each in node.body:
        match each:
            case ast.Assign([ast.Name(name)], given) | ast.AnnAssign(ast.Name(name), value=ast.expr() as given):
                said[name] = given
    methods = {each.name: each.decorator_list for each in node.body if isinstance(each, ast.FunctionDef)}
    bound = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    for name, member in vars(value).items():
        # A decorator answers with what it wants, and that of a class adds such methods.
        inner, is_same = _function_of(member), bool(methods.get(name, name.startswith("__")))
        if isinstance(inner, FunctionType):
            line = inner.__code__.co_firstlineno
            is_same |= inner.__code__.co_filename == file and _first_line(node) <= line <= (node.end_lineno or 0)
        elif is_plain(member):
            is_same |= _gives(said[name], member) if name in said else name in bound
        else:
            is_same = True
        if not is_same:
            raise SourceError(f"{value.__name__}.{name} was set after the definition of {value.__name__}")


def _gives(expression: ast.expr, value: object) -> bool:
    """Whether an expression has the value; one that is computed may have any."""
    try:
        return repr(ast.literal_eval(expression)) == repr(value)
    except ValueError:
        return True


def _definition(value: Any, function: FunctionType) -> tuple[ast.ClassDef | ast.FunctionDef, str]:
    """The definition that has the line of the function's code, and its text."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    text = "".join(lines)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        raise SourceError(f"{code.co_filename} is not Python") from None
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and node.name == value.__name__
        and _first_line(node) <= code.co_firstlineno <= (node.end_lineno or 0)
    ]
    if not around:
        raise SourceError(f"the text of {value.__name__} is not in {code.co_filename}")
    node = max(around, key=_first_line)
    indent = " " * node.col_offset
    own = lines[_first_line(node) - 1 : node.end_lineno]
    return node, "".join(line.removeprefix(indent) for line in own).rstrip()


def _first_line(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def is_plain(value: object) -> bool:
    """Whether the value is a number, a text, or a list, tuple or table of such."""
    if type(value) in (tuple, list):
        return all(is_plain(item) for item in value)  # type: ignore[attr-defined]
    if type(value) is dict:
        return all(is_plain(item) for pair in value.items() for item in pair)
    return type(value) in _PLAIN


def _is_literal(value: object) -> bool:
    """Whether Python reads the value's text as the value: not of infinity, and not of what is no number."""
    if not is_plain(value):
        return False
    try:
        ast.literal_eval(repr(value))
    except ValueError:
        return False
    return True


def _home(value: Any) -> str | None:
    """The module that a class, function or object is imported from; None if it is the user's own or has none."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__name__", None)
    if module is None or not isinstance(name, str) or getattr(module, name, None) is not value:
        return None
    top = sys.modules.get(module.__name__.partition(".")[0])
    file = getattr(top, "__file__", None) or ""
    of_others = module.__name__.partition(".")[0] in sys.stdlib_module_names or "site-packages" in file
    return module.__name__ if (of_others or module.__name__.startswith("transorbit")) else None
