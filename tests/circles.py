"""Files that use each other: the modules of a crate, and those of the package."""

from __future__ import annotations

import ast
import re
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_STRINGS = re.compile(r'b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def circles(uses: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The files that reach each other, in groups (strongly connected components, after Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(file: str) -> None:
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in sorted(uses[file]):
            if other not in number:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], number[other])
        if low[file] == number[file]:
            at = stack.index(file)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(uses):
        if file not in number:
            visit(file)
    return [group for group in found if len(group) > 1]


def bare(text: str) -> str:
    """Rust without what its strings and comments say; lines stay where they are."""
    keep = re.compile(f"{_COMMENTS.pattern}|{_STRINGS.pattern}", re.DOTALL)
    return keep.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


# Rust


def rust(source: Path) -> dict[str, set[str]]:
    """Which files of a crate's `src` use which: by `use` and by paths that begin with `crate`, `super` or `self`.

    A name is followed through re-exports to the file that defines it. That a file declares another is no use of it.
    """
    files = {_module(path, source): path for path in sorted(source.rglob("*.rs"))}
    code = {name: _without_tests(bare(path.read_text(encoding="utf-8"))) for name, path in files.items()}
    imports = {name: _imports(name, text, files) for name, text in code.items()}
    uses: dict[str, set[str]] = {}
    for name, text in code.items():
        rest = _without_uses(text)
        paths = [path for path, _ in imports[name]]
        paths += [_absolute(name, path) for path in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", rest)]
        for child in _children(name, files):
            inline = re.findall(rf"(?<![\w:]){child}(?:::\w+)+", rest)
            paths += [(*name, *path.split("::")) for path in inline]
        targets = {_definer(path, files, imports) for path in paths}
        uses[_shown(name)] = {_shown(target) for target in targets if target is not None and target != name}
    return uses


_Module = tuple[str, ...]


def _module(path: Path, source: Path) -> _Module:
    parts = path.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts


def _shown(module: _Module) -> str:
    return "::".join(("crate", *module))


def _children(name: _Module, files: Mapping[_Module, object]) -> list[str]:
    return [other[-1] for other in files if other and other[:-1] == name]


def _without_tests(text: str) -> str:
    """Without the tests at the end of a file, whose `super` is the file itself."""
    while found := re.search(r"#\[cfg\(test\)\]\s*mod \w+ \{", text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        text = text[: found.start()] + text[end:]
    return text


def _without_uses(text: str) -> str:
    """Without imports, and without the paths that only say who may see something."""
    text = re.sub(r"\bpub\(in [^)]*\)", "pub", text)
    return re.sub(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s[^;]*;", "", text, flags=re.MULTILINE)


def _absolute(module: _Module, path: str) -> _Module:
    parts = path.split("::")
    if parts[0] == "crate":
        return tuple(parts[1:])
    at = module
    while parts and parts[0] in {"super", "self"}:
        at = at[:-1] if parts[0] == "super" else at
        parts = parts[1:]
    return (*at, *parts)


def _imports(module: _Module, text: str, files: Mapping[_Module, object]) -> list[tuple[_Module, str]]:
    """The paths that a file's `use` name within the crate, each with the name it has from then on."""
    found = []
    for tree in re.findall(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s([^;]*);", text, re.MULTILINE):
        for path, name in _flat(re.sub(r"\s+", " ", tree).strip()):
            first = path.split("::")[0]
            if first in {"crate", "super", "self"}:
                found.append((_absolute(module, path), name))
            elif first in _children(module, files):
                found.append(((*module, *path.split("::")), name))
    return found


def _flat(tree: str) -> list[tuple[str, str]]:
    """`a::{b, c::d as e}` as [("a::b", "b"), ("a::c::d", "e")]."""
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, name = tree.partition(" as ")
        path = path.strip()
        path = path.removesuffix("::self")
        return [(path, name.strip() or path.split("::")[-1])] if path else []
    parts, depth, begin = [], 0, 0
    inner = rest[: rest.rindex("}")]
    for at, char in enumerate(inner):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append(inner[begin:at])
            begin = at + 1
    parts.append(inner[begin:])
    return [(head.strip() + path, name) for part in parts if part.strip() for path, name in _flat(part.strip())]


def _definer(
    path: _Module,
    files: Mapping[_Module, object],
    imports: Mapping[_Module, list[tuple[_Module, str]]],
    seen: frozenset[_Module] = frozenset(),
) -> _Module | None:
    """The file that defines what a path names."""
    at: _Module = ()
    rest = list(path)
    while rest and (*at, rest[0]) in files:
        at = (*at, rest.pop(0))
    if not rest or path in seen:
        return at if at in files else None
    for target, name in imports.get(at, []):
        if name == rest[0]:
            return _definer((*target, *rest[1:]), files, imports, seen | {path})
    return at if at in files else None


def methods(source: Path) -> dict[str, dict[str, set[str]]]:
    """For each type of a crate whose own methods stand in several files: which of these call methods of which.

    Files see each other's methods without naming the file, so [`rust`] does not find these uses. A type is known by its
    name and by the file that declares it, or, of several types of a name, the nearest one.
    """
    files = {_module(path, source): path for path in sorted(source.rglob("*.rs"))}
    code = {module: _without_tests(bare(path.read_text(encoding="utf-8"))) for module, path in files.items()}
    declared = [(found[1], module) for module, text in code.items() for found in _DECLARED.finditer(text)]
    own: dict[tuple[str, _Module], dict[_Module, str]] = {}
    for module, text in code.items():
        for name, body in _own_methods(text):
            homes = [home for one, home in declared if one == name]
            if homes:
                home = max(homes, key=lambda home: _in_common(home, module))
                of_type = own.setdefault((name, home), {})
                of_type[module] = of_type.get(module, "") + body
    return {
        f"{_shown(home)}::{name}": _calls(name, bodies)
        for (name, home), bodies in sorted(own.items())
        if len(bodies) > 1
    }


_DECLARED = re.compile(r"^(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum)\s+(\w+)", re.MULTILINE)


def _own_methods(text: str) -> list[tuple[str, str]]:
    """The types that a file gives methods of their own, not those of a trait, and what stands in these."""
    blocks = re.findall(r"^impl(?:<[^{]*?>)?\s+(\w+)([^{;]*)\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    return [(name, body) for name, rest, body in blocks if " for " not in rest]


def _in_common(one: _Module, other: _Module) -> tuple[bool, int]:
    """Whether two are the same file, and how many folders lead to both."""
    return one == other, len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def _calls(name: str, bodies: Mapping[_Module, str]) -> dict[str, set[str]]:
    home = {method: module for module, body in bodies.items() for method in re.findall(r"\bfn\s+(\w+)", body)}
    call = re.compile(rf"\bself\s*\.(\w+)(?:::<[^(]*>)?\(|\b(?:Self|{name})::(\w+)\(")
    return {
        _shown(module): {
            _shown(home[method])
            for pair in call.findall(body)
            for method in pair
            if method in home and home[method] != module
        }
        for module, body in bodies.items()
    }


# Python


def python(package: Path) -> dict[str, set[str]]:
    """Which modules of a package import which, wherever the statement stands.

    That an import of `a.b` also runs `a/__init__.py` is not counted.
    """
    files = {_dotted(path, package): path for path in sorted(package.rglob("*.py"))}
    known = files.keys() | {_dotted(path, package) for path in package.rglob("*.pyi")}
    uses: dict[str, set[str]] = {}
    for name, path in files.items():
        found: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {one if one in known else node.module for one in inner}
        uses[name] = found & files.keys() - {name}
    return uses


def _dotted(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
