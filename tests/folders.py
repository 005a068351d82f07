"""What the folders of the core and of the package say of themselves, as listed in ARCHITECTURE.md.

As a program it writes the lists there.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
_COLUMNS = 120
# Files that their folder's sentence is about, or that only test.
_UNNAMED = re.compile(r"lib|mod|main|testing|__init__|__main__|(.*_)?tests")


def written() -> str:
    """ARCHITECTURE.md with the lists as they should be."""
    text = PAGE.read_text(encoding="utf-8")
    for name, listing in {"crates": _crates(), "package": _package()}.items():
        block = re.compile(rf"(<!-- folders: {name} -->\n```text\n).*?(```\n)", re.DOTALL)
        text, found = block.subn(lambda marks, listing=listing: f"{marks[1]}{listing}\n{marks[2]}", text)
        assert found == 1, f"{PAGE.name} has one list of {name}"
    return text


def _crates() -> str:
    crates = sorted(path.parent for path in (ROOT / "crates").glob("*/src"))
    return "\n".join(_listed(crate.name, crate / "src", ("lib.rs", "mod.rs"), _rust) for crate in crates)


def _package() -> str:
    return _listed("transorbit", ROOT / "python" / "transorbit", ("__init__.py",), _python)


def _listed(name: str, folder: Path, own: tuple[str, ...], doc: Callable[[str], str], depth: int = 0) -> str:
    """A folder with its sentence and its files, and those in it."""
    suffix = Path(own[0]).suffix
    about = next(path for file in own if (path := folder / file).is_file())
    files = sorted(path.stem for path in folder.glob(f"*{suffix}") if not _UNNAMED.fullmatch(path.stem))
    inside = sorted(path for path in folder.iterdir() if any((path / file).is_file() for file in own))
    indent, deeper = "  " * depth, "  " * (depth + 2)
    lines = [
        *_wrapped(f"{name}/ · {_sentence(doc(about.read_text(encoding='utf-8')))}", indent, deeper),
        *_wrapped(" ".join(files), deeper, deeper),
    ]
    more = (_listed(path.name, path, own, doc, depth + 1) for path in inside if not _UNNAMED.fullmatch(path.name))
    return "\n".join([*lines, *more])


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, _COLUMNS, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def _rust(source: str) -> str:
    comment = re.match(r"(?://!.*\n)+", source)
    assert comment, f"a module says what it is: {source[:80]}"
    return "\n".join(line.removeprefix("//!").strip() for line in comment[0].splitlines())


def _python(source: str) -> str:
    doc = ast.get_docstring(ast.parse(source))
    assert doc, f"a package says what it is: {source[:80]}"
    return doc


def _sentence(doc: str) -> str:
    """The first sentence."""
    return re.split(r"(?<=\.)\s", " ".join(doc.split("\n\n")[0].split()))[0]


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
