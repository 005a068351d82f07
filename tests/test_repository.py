"""What would rot unseen: stubs, reference pages, definitions, the change log, what is tracked."""

from __future__ import annotations

import inspect
import io
import re
import subprocess
import tokenize
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import transorbit as to
from conftest import ROOT
from transorbit import _columns, _core, _reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def tracked() -> list[Path]:
    """The project's files: those in git, and those that are about to be."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def test_the_stub_says_what_the_binary_has() -> None:
    import ast

    stub = ast.parse((ROOT / "python/transorbit/_core.pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}

    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public == set(classes) | set(functions)
    for name, function in functions.items():
        assert _parameters(getattr(_core, name)) == _written(function), name
    for name, node in classes.items():
        written = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
        offered = {key for key in vars(getattr(_core, name)) if not key.startswith("__")}
        assert offered == {key for key in written if not key.startswith("__")}, name
        for key, function in written.items():
            assert hasattr(getattr(_core, name), key), f"{name}.{key}"
            member = inspect.getattr_static(getattr(_core, name), key)
            if callable(member) and not key.startswith("__"):
                assert [p for p in _parameters(member) if p != "self"] == [p for p in _written(function) if p != "self"]


def _parameters(function: Callable[..., object]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _written(function: object) -> list[str]:
    return [argument.arg for argument in function.args.args]  # type: ignore[attr-defined]


def test_the_reference_pages_are_those_of_the_program() -> None:
    kept = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference").iterdir()}

    made = _reference.pages()
    assert {name for name in made | kept if made.get(name) != kept.get(name)} == set(), "run `make reference`"


def test_the_definitions_are_those_of_the_program() -> None:
    kept = (ROOT / "docs/definitions.md").read_text(encoding="utf-8")

    assert kept == _reference.definitions.page(), "run `make reference`"


def test_every_key_and_column_of_a_result_has_its_line(leo: to.Scenario) -> None:
    result = leo.run()

    def keys(path: str, value: object) -> Iterator[str]:
        for key, item in value.items() if isinstance(value, dict) else ():
            yield f"{path}{key}"
            if key != "dropped_by_reason":
                yield from keys(f"{path}{key}.", item[0] if isinstance(item, list) and item else item)

    def lines(path: str, below: list[dict[str, Any]]) -> Iterator[str]:
        for line in below:
            yield f"{path}{line['name']}"
            yield from lines(f"{path}{line['name']}.", line["below"])

    table = _columns.table()
    assert set(keys("", result.summary)) <= set(lines("", table["summary"]))
    assert list(result.flows.columns) == [name for name in _columns.names("flows") if name in result.flows.columns]
    columns = {re.sub(r"_after_\d+$", "_after_n", column) for column in result.series.columns}
    assert columns <= set(_columns.names("series"))
    assert set(result.summary["conservation"]["dropped_by_reason"]) == set(_columns.reasons())


def test_the_change_log_has_this_version() -> None:
    assert f"## {to.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"] == to.__version__


def test_nothing_tracked_depends_on_one_machine() -> None:
    absolute = re.compile(r"(?<![\w.~$}/-])/(work|root|home|Users|opt|mnt|tmp)/")
    unfinished = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|\bunimpl" + r"emented!|\bto" + r"do!\(")
    numbered = re.compile(r"\bissue #?\d", re.IGNORECASE)
    for path in tracked():
        if path.suffix in {".png", ".svg", ".gz", ".parquet", ".bin"} or path.name in {"uv.lock", "Cargo.lock"}:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for pattern in (absolute, unfinished, numbered):
                assert not (pattern.search(line) and path != Path(__file__)), f"{path}:{number}: {line.strip()}"


def identifiers(path: Path) -> set[str]:
    """The identifiers of a file of code: words in lower case, with `_` around and between them."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        names = {token.string for token in tokens if token.type == tokenize.NAME}
    else:
        code = re.sub(r'"(?:\\.|[^"\\])*"', "", re.sub(r"//.*", "", text))
        names = set(re.findall(r"[A-Za-z_]\w*", code))
    return {f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower()}_" for name in names}


def test_no_identifier_has_a_word_that_the_glossary_retires() -> None:
    glossary = (ROOT / "STYLE.md").read_text().split("## Glossary")[1]
    rows = [row.split("|") for row in re.findall(r"^\| *[^- |].*\|$", glossary, re.MULTILINE)]
    retired = {word for row in rows for word in re.findall(r"`(\w+)`", row[-2])}
    assert {"climb", "under_way"} <= retired
    code = [path for path in tracked() if path.suffix in {".rs", ".py", ".ts"}]
    assert {".rs", ".py", ".ts"} == {path.suffix for path in code}
    assert len(code) > 500

    named = {(path, name) for path in code for name in identifiers(path)}
    assert not {(path.name, name) for path, name in named for word in retired if f"_{word}_" in name}


def test_lock_files_name_the_public_registries_only() -> None:
    hosts = set(re.findall(r"https?://([^/\"]+)", (ROOT / "uv.lock").read_text()))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}
    sources = set(re.findall(r'^source = "([^"]+)"', (ROOT / "Cargo.lock").read_text(), re.MULTILINE))
    assert sources == {"registry+https://github.com/rust-lang/crates.io-index"}


def test_no_tracked_file_is_large() -> None:
    large = {str(path.relative_to(ROOT)): path.stat().st_size for path in tracked() if path.stat().st_size > 1 << 20}

    assert not large
