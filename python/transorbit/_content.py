"""The scenarios and the papers' items that come with the package."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from transorbit._core import ScenarioError
from transorbit._names import hint, hint_or_all

_SUFFIXES = (".sweep.toml", ".toml")


def folder(name: str) -> Path:
    """`scenarios` or `papers`: of the repository where the package is used from one, else of the installed package."""
    here = Path(__file__).parent
    checkout = here.parents[1]
    return checkout / name if (checkout / "packaging/backend.py").is_file() else here / "content" / name


def papers() -> Path:
    """The folder of the papers."""
    return folder("papers")


def scenarios() -> dict[str, Path]:
    """The scenario and sweep files by their names, in this order: scenarios, then sweeps."""
    files = sorted(folder("scenarios").glob("*.toml"), key=lambda file: (file.name.endswith(".sweep.toml"), file.name))
    return {stem(file): file for file in files}


def scenario(name: str) -> Path:
    """The file of a name.

    Raises:
        ScenarioError: there is none.
    """
    known = scenarios()
    if name not in known:
        raise ScenarioError(f"{name!r} is no scenario of transorbit{hint_or_all(name, known)}")
    return known[name]


def find(path: str | Path) -> Path:
    """The file at a path; where there is none, the one of that name which comes with the package.

    In any folder `leo-tcp`, `leo-tcp.toml` and `scenarios/leo-tcp.toml` name a scenario, `towns.csv` what lies beside.

    Raises:
        FileNotFoundError: there is none, but one of a name that is like it.
    """
    path = Path(path)
    # A folder of that name, as that of a result, hides none.
    if path.parent in (Path(), Path("scenarios")) and "\0" not in path.name and (path.is_dir() or not path.exists()):
        beside = folder("scenarios") / path.name
        scenario_file = scenarios().get(stem(path), beside if path.name and beside.is_file() else path)
        if not scenario_file.exists() and (
            near := hint(stem(path), (stem(file) for file in beside.parent.glob("*.*")))
        ):
            raise FileNotFoundError(errno.ENOENT, f"{os.strerror(errno.ENOENT)}{near}", str(path))
        return scenario_file
    return path


def stem(file: Path) -> str:
    """The name of a scenario: that of its file without `.toml` or `.sweep.toml`."""
    return next((file.name.removesuffix(suffix) for suffix in _SUFFIXES if file.name.endswith(suffix)), file.name)


def description(file: Path) -> str:
    """The sentence that a scenario begins with."""
    comment = re.match(r"(?:#.*\n)+", file.read_text(encoding="utf-8"))
    lines = [line.removeprefix("#").strip() for line in (comment[0] if comment else "").splitlines()]
    sentence = re.match(r".*?[.?](?=\s|$)", " ".join(lines))
    return sentence[0].rstrip(".") if sentence else ""


def needed(file: Path) -> list[Path]:
    """The files beside a scenario that it names, and the scenario of a sweep."""
    text = file.read_text(encoding="utf-8")
    beside = (other for other in folder("scenarios").iterdir() if other != file and other.is_file())
    named = [other for other in beside if re.search(rf'"{re.escape(other.name)}"', text)]
    return sorted({one for other in named for one in (other, *(needed(other) if other.suffix == ".toml" else ()))})
