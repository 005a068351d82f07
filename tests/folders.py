"""The folders of the core and of the package, with their files, for ARCHITECTURE.md. As a program it writes them."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
_BEGIN, _END = "<!-- folders of {}: written by make reference -->\n", "<!-- end of folders -->"
_COLUMNS = 116
# Told by their folder.
_UNNAMED = {"lib", "mod", "main", "testing", "__init__", "__main__"}


def page() -> str:
    """ARCHITECTURE.md as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    listings = {"the core": "\n".join(map(_rust, _crates())), "the package": _python(ROOT / "python" / "transorbit")}
    for name, listing in listings.items():
        begin = _BEGIN.format(name)
        before, marked, rest = text.partition(begin)
        if not marked:
            raise ValueError(f"{PAGE.name}: no line {begin!r}")
        _, end, after = rest.partition(_END)
        text = f"{before}{begin}```text\n{listing}\n```\n{end}{after}"
    return text


def _crates() -> list[Path]:
    return sorted(path.parent for path in (ROOT / "crates").glob("*/src"))


def _rust(folder: Path) -> str:
    source = folder / "src"
    return _lines(folder.name, source, ".rs", lambda path: _comment(path.read_text(encoding="utf-8")))


def _python(folder: Path) -> str:
    return _lines(folder.name, folder, ".py", lambda path: ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")


def _lines(name: str, folder: Path, suffix: str, doc: Callable[[Path], str], depth: int = 0) -> str:
    """A folder with what it says of itself and the names of its files, then those in it."""
    own = (folder / f"{part}{suffix}" for part in ("lib", "mod", "__init__"))
    about = next((path for path in (*own, folder.with_suffix(suffix)) if path.is_file()), None)
    folders = sorted(path for path in folder.iterdir() if path.name != "tests" and any(path.rglob(f"*{suffix}")))
    files = sorted(path.stem for path in folder.glob(f"*{suffix}") if "tests" not in path.stem)
    shown = [file for file in files if file not in _UNNAMED and not (folder / file).is_dir()]
    indent, deeper = "  " * depth, "  " * (depth + 2)
    lines = textwrap.wrap(f"{name}/  {_sentence(doc(about)) if about else ''}", _COLUMNS, **_wrap(indent, deeper))
    lines += textwrap.wrap(" ".join(shown), _COLUMNS, **_wrap(deeper, deeper))
    return "\n".join([*lines, *(_lines(path.name, path, suffix, doc, depth + 1) for path in folders)])


