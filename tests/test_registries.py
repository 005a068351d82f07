"""Each kind of a registry is named in its file and in its line, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# Where else a kind's name may stand, and why.
NAMES = {
    "crates/sim/src/scenario/pca.rs": "translates another program's parameters into names",
    "crates/packetdrill/src/main.rs": "a test tool: bounds of the comparison with a kernel, by its controller",
    "crates/packetdrill/src/trace/compare.rs": "the same",
    "crates/packetdrill/src/run/sysctl.rs": "translates a kernel's settings into names",
    "crates/studies/src/path.rs": "what a scenario needs beside its path",
    "python/transorbit/cli/channel.py": "the channel that `transorbit channel` shows if none is given",
    "python/transorbit/emulation/_session.py": "the flow over which the programs outside send",
    "python/transorbit/plugins.py": "the kind by which a scenario asks for a user's own Python",
    "python/transorbit/plots/capacity.py": "the capacity study's bound has a label of its own",
}
# Where else the struct of a kind's options may be named, and why.
STRUCTS = {
    "crates/packetdrill/src/run/sysctl.rs": "translates a kernel's settings into those of TCP",
    "crates/studies/src/constellation/delays.rs": "the delay of a path over a constellation is asked for",
    "crates/studies/src/constellation/globe.rs": "a path over a constellation is drawn",
}
BLOCK = re.compile(r"units::registry! \{.*?pub enum (\w+): dyn \w+ \{(.*?)\n\s*\}", re.DOTALL)
LINE = re.compile(r'"([\w-]+)" => (\w+)\((\w+)\)(?: in (\w+))?,')


@dataclass(frozen=True)
class Kind:
    registry: str
    name: str
    variant: str
    # The struct of its options.
    config: str
    # Where it may be named: its own file or folder, and the file of the registry's line.
    files: tuple[Path, ...]


@cache
def sources() -> dict[Path, str]:
    """The code of the crates: without comments, tests and registry blocks."""
    code = {}
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        if "test" in path.stem or "tests" in path.parts:
            continue
        text = re.split(r"#\[cfg\(test\)\]\s*mod tests \{", path.read_text())[0]
        code[path] = BLOCK.sub("", re.sub(r"(?m)(^|\s)//.*$", "", text))
    return code


@cache
def kinds() -> list[Kind]:
    found = []
    for path in sources():
        for registry, lines in BLOCK.findall(path.read_text()):
            for name, variant, config, module in LINE.findall(lines):
                struct = re.compile(rf"pub struct {config}\b")
                own = [path.parent / f"{module}.rs", path.parent / module] if module else []
                own += [other for other, text in sources().items() if struct.search(text)]
                found.append(Kind(registry, name, variant, config, tuple(own)))
    return found


def is_own(kind: Kind, path: Path) -> bool:
    return any(path == own or own in path.parents for own in kind.files)


def test_registries_are_found() -> None:
    per_registry = Counter(kind.registry for kind in kinds())

    assert len(per_registry) >= 15
    assert min(per_registry.values()) >= 2
    assert {"pf", "red", "adaptive", "lms", "voice"} <= {kind.name for kind in kinds()}
    assert all(any(own.exists() for own in kind.files) for kind in kinds())


def test_no_variant_is_named_outside_its_file() -> None:
    """Whoever needs to know something of a kind asks its entry."""
    found: Counter[str] = Counter()
    for path, text in sources().items():
        for kind in kinds():
            # `Self` within the enum's own implementations.
            blocks = re.findall(rf"(?ms)^impl (?:\w+ for )?{kind.registry} \{{.*?^\}}", text)
            hits = sum(len(re.findall(rf"\bSelf::{kind.variant}\b", block)) for block in blocks)
            hits += len(re.findall(rf"\b{kind.registry}::{kind.variant}\b", text))
            if hits and not is_own(kind, path):
                found[path.relative_to(ROOT).as_posix()] += hits

    assert not found


def crate(path: Path) -> str:
    return path.relative_to(ROOT / "crates").parts[0]


def test_no_other_crate_names_the_options_of_a_kind() -> None:
    """A crate that needs a kind of another one asks the registry for it."""
    structs = {(crate(kind.files[0]), kind.config) for kind in kinds()}
    # `link::scheduler::pf::PfConfig` or `link::{PfConfig, …}`.
    named = re.compile(r"\b([a-z]\w*)::(?:[a-z]\w*::)*(\{[^;]*?\}|[A-Z]\w*)")
    found = {
        path.relative_to(ROOT).as_posix()
        for path, text in sources().items()
        for owner, names in named.findall(text)
        for name in re.findall(r"\b[A-Z]\w*", names)
        if owner != crate(path) and (owner, name) in structs
    }

    assert found == set(STRUCTS)


# Names that have another meaning elsewhere, as a column of the record, a unit or a protocol: a text that is one of them
# need not be the kind.
COMMON = set(
    """
    adaptive bps constellation dash dedicated drop game granted hysteresis live load none queue sequence speed table tcp
    trace udp voice web
    """.split()  # noqa: SIM905 - as words
)


def texts(path: Path, source: str) -> set[str]:
    """The string literals of a file; a longer one, such as an example in a comment, is none of the names."""
    if path.suffix == ".py":
        constants = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
        return {value for value in constants if isinstance(value, str)}
    return set(re.findall(r'"([\w-]+)"', source))


@cache
def elsewhere() -> set[tuple[str, str]]:
    """The file and the kind's name of each text that is a kind's name, but for the kind's own files."""
    python = {path: path.read_text() for path in sorted((ROOT / "python/transorbit").rglob("*.py"))}
    return {
        (path.relative_to(ROOT).as_posix(), kind.name)
        for path, source in (sources() | python).items()
        for written in [texts(path, source)]
        for kind in kinds()
        if kind.name in written and not is_own(kind, path)
    }


def test_no_name_stands_outside_its_file() -> None:
    found = {f"{file}: {name}" for file, name in elsewhere() if file not in NAMES and name not in COMMON}

    assert not found, "a registry's name outside its file: a common word in another sense belongs into COMMON"


def test_every_exception_is_needed() -> None:
    assert {name for file, name in elsewhere() if file not in NAMES} == COMMON
    assert {file for file, name in elsewhere() if name not in COMMON} == set(NAMES)
