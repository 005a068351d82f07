"""What STYLE.md promises, counted. As a program it prints the counts, and keeps what has fallen with `--write`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from circles import bare, circles, methods, python, rust

ROOT = Path(__file__).parent.parent
NUMBERS = Path(__file__).with_suffix(".toml")
_LINES_OF_A_FUNCTION, _LINES_OF_A_FILE, _COLUMNS = 70, 600, 120
# Values that are the process's and may change: of a `static`, or of a macro that makes one, which is counted with it.
_MUTABLE = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?static\s(?:mut\s|[^=;]*\b(?:\w*Once\w*|\w*Lazy\w*|Mutex|RwLock|Atomic\w+|\w*Cell)\b)"
    r"|\bthread_local!\s*\{\s*static\b",
    re.MULTILINE,
)
_CACHES = {"cache", "lru_cache"}
# Methods by which a container changes.
_CHANGES = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}
# Containers that are Python's own: whoever changes one changes it for the whole process.
_OF_PYTHON = {"sys.path", "sys.modules", "linecache.cache", "os.environ"}
# A block of a page with what a command prints, which tests/test_docs.py holds to it.
_PRINTED = re.compile(r"<!-- test: printed -->\n+```.*?^```", re.DOTALL | re.MULTILINE)


@cache
def tracked(suffix: str) -> tuple[Path, ...]:
    """The project's files with this suffix: those in git, and those that are about to be."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = (ROOT / name for name in names if name.endswith(suffix))
    return tuple(path for path in sorted(paths) if path.is_file() and "fixtures" not in path.parts)


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def long_functions() -> list[str]:
    """Functions of more than 70 lines, from their first line to their last."""
    found = []
    for path in tracked(".rs"):
        found += [f"{_at(path, line)}: {length} lines" for line, length in _rust_functions(bare(_text(path)))]
    for path in tracked(".py"):
        for node in ast.walk(ast.parse(_text(path))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                length = node.end_lineno - node.lineno + 1 - _of_docstring(node)
                found += [f"{_at(path, node.lineno)}: {length} lines"] if length > _LINES_OF_A_FUNCTION else []
    return found


def _rust_functions(code: str) -> list[tuple[int, int]]:
    found = []
    for function in re.finditer(r"\bfn\s+\w+", code):
        opening = re.compile(r"[{;]").search(code, function.end())
        if not opening or opening[0] == ";":
            continue
        depth, end = 1, opening.end()
        for brace in re.compile(r"[{}]").finditer(code, opening.end()):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                end = brace.end()
                break
        length = code.count("\n", function.start(), end) + 1
        if length > _LINES_OF_A_FUNCTION:
            found.append((code.count("\n", 0, function.start()) + 1, length))
    return found


def _of_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return (first.end_lineno or 0) - first.lineno + 1 if text else 0


def long_files() -> list[str]:
    """Files of Rust and Python of more than 600 lines."""
    counts = ((path, _text(path).count("\n")) for path in (*tracked(".rs"), *tracked(".py")))
    return [f"{path.relative_to(ROOT)}: {count} lines" for path, count in counts if count > _LINES_OF_A_FILE]


def long_lines() -> list[str]:
    """Lines of more than 120 columns: code and comments; prose of Markdown but its tables and what a program wrote."""
    found = []
    for path in (*tracked(".rs"), *tracked(".py"), *tracked(".md")):
        if path.suffix == ".md" and re.search(r"^<!-- Written by", _text(path), re.MULTILINE):
            continue
        text = _PRINTED.sub(_emptied, _text(path)) if path.suffix == ".md" else _text(path)
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > _COLUMNS and not (path.suffix == ".md" and line.lstrip().startswith("|")):
                found.append(f"{_at(path, number)}: {len(line)} columns")
    return found


def _emptied(block: re.Match[str]) -> str:
    return "\n" * block[0].count("\n")


def files_in_circles() -> list[str]:
    """Files that use each other, directly or over others: the modules of each crate, and those of the package."""
    groups = [(crate.name, group) for crate in _crates() for group in circles(rust(crate / "src"))]
    groups += [("python", group) for group in circles(python(ROOT / "python/transorbit"))]
    return [f"{place}: {one} with {', '.join(group)}" for place, group in groups for one in group]


def methods_in_circles() -> list[str]:
    """Files of one type's methods that call each other, directly or over others."""
    found = []
    for crate in _crates():
        for name, uses in methods(crate / "src").items():
            found += [f"{crate.name}, {name}: {one}" for group in circles(uses) for one in group]
    return found


def _crates() -> list[Path]:
    return [path.parent for path in sorted((ROOT / "crates").glob("*/Cargo.toml"))]


def process_wide_state() -> list[str]:
    """Values of the process that may change: statics that can be written, and what Python's modules keep.

    What is kept for other runs belongs to the caller.
    """
    found = []
    for path in tracked(".rs"):
        if "src" in path.parts:
            code = bare(_text(path))
            found += [_at(path, code.count("\n", 0, one.end()) + 1) for one in _MUTABLE.finditer(code)]
    modules = {path: ast.parse(_text(path)) for path in tracked(".py") if (ROOT / "python") in path.parents}
    changing = {name for module in modules.values() for name in changing_classes(module)}
    for path, module in modules.items():
        found += [_at(path, line) for line in python_state(module, changing)]
    return found


def changing_classes(module: ast.Module) -> set[str]:
    """The classes of a module whose objects change after they are made."""
    return {
        one.name
        for one in module.body
        if isinstance(one, ast.ClassDef)
        for method in one.body
        if isinstance(method, ast.FunctionDef) and method.name not in {"__init__", "__post_init__"}
        if any(_changes_itself(part) for part in ast.walk(method))
    }


def _changes_itself(part: ast.AST) -> bool:
    return any(name.startswith("self.") for name in _changed(part))


def _changed(part: ast.AST) -> list[str]:
    """The attributes, as `self.name`, that it assigns to, or to what they hold, or of which it calls a method."""
    if isinstance(part, ast.Assign | ast.Delete):
        targets = part.targets
    elif isinstance(part, ast.AugAssign | ast.AnnAssign):
        targets = [part.target]
    elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _CHANGES:
        targets = [part.func.value]
    else:
        return []
    found = []
    for target in targets:
        inner = target
        while isinstance(inner, ast.Subscript):
            inner = inner.value
        if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            found.append(f"{inner.value.id}.{inner.attr}")
    return found


def python_state(module: ast.Module, changing: set[str]) -> list[int]:
    """Functions whose answers are kept, containers filled later, context variables, objects and Python that change."""
    parts = (part for part in ast.walk(module) if isinstance(part, ast.stmt | ast.expr))
    lines = [part.lineno for part in parts if _OF_PYTHON.intersection(_changed(part))]
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            parts = [part for one in node.decorator_list for part in ast.walk(one)]
            names = {getattr(part, "id", None) or getattr(part, "attr", None) for part in parts}
            lines += [node.lineno] if names & _CACHES else []
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        empty = isinstance(value, ast.Dict) and not value.keys
        empty |= isinstance(value, ast.List) and not value.elts
        empty |= (
            isinstance(value, ast.Call) and not value.args and getattr(value.func, "id", "") in {"dict", "list", "set"}
        )
        called = value.func if isinstance(value, ast.Call) else None
        made = getattr(called, "id", None) or getattr(called, "attr", None)
        lines += [node.lineno] if empty or made in changing | {"ContextVar"} else []
    return lines


def _at(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


COUNTS = {
    count.__name__: count
    for count in (long_functions, long_files, long_lines, files_in_circles, methods_in_circles, process_wide_state)
}


def kept() -> dict[str, int]:
    """The numbers of `ratchet.toml`."""
    numbers: dict[str, int] = tomllib.loads(NUMBERS.read_text(encoding="utf-8"))
    return numbers


def _write(found: dict[str, int]) -> None:
    """Keep the counts that have fallen."""
    text = NUMBERS.read_text(encoding="utf-8")
    for name, number in found.items():
        text = re.sub(rf"^{name} = \d+", f"{name} = {number}", text, flags=re.MULTILINE)
    NUMBERS.write_text(text, encoding="utf-8")


def main() -> None:
    """Print the counts, with every place of those named."""
    before = kept()
    named = [name for name in sys.argv[1:] if name in COUNTS]
    found = {name: COUNTS[name]() for name in named or COUNTS}
    for name, places in found.items():
        print(*(places if named else ()), f"{name}: {len(places)} ({before.get(name)} in {NUMBERS.name})", sep="\n")
    if "--write" in sys.argv:
        _write({name: min(len(places), before[name]) for name, places in found.items()})


if __name__ == "__main__":
    main()
