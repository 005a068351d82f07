"""Studies: functions beside the items, for what no scenario is run for. What they gave is kept until they change."""

from __future__ import annotations

import builtins
import hashlib
import importlib.util
import json
import math
import os
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError, version
from transorbit.reproduce.database import EVERY_SEED
from transorbit.sweep.plan import MOST_REPLICATIONS
from transorbit.sweep.work import build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    import polars as pl

    from transorbit.reproduce.items import Item, Study


def rows(item: Item, *, root: int, quick: bool, keep: Path) -> pl.DataFrame:
    """Returns the rows of the item's function, kept from its last call if files, build and seeds are the same.

    Args:
        root: the root seed: the function is handed MOST_REPLICATIONS * root + r for each replication r.
        quick: handed to the function; the item may want fewer replications then.
        keep: the folder for what functions gave.

    Raises:
        ScenarioError: the function does not exist, or gives no rows with a seed.
    """
    import polars as pl

    study = item.study
    assert study
    replications = (study.quick_replications if quick else None) or study.replications
    seeds = [MOST_REPLICATIONS * root + replication for replication in range(replications)]
    kept_file = keep / f"{_key(study, seeds, quick)}.json"
    if kept_file.is_file():
        study_rows = json.loads(kept_file.read_text(encoding="utf-8"))
    else:
        study_rows = _call(item, study, seeds, quick)
        keep.mkdir(parents=True, exist_ok=True)
        fresh = kept_file.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(study_rows), encoding="utf-8")
        fresh.replace(kept_file)
    return pl.DataFrame(study_rows, infer_schema_length=None)


def _key(study: Study, seeds: Sequence[int], quick: bool) -> str:
    digest = hashlib.sha256()
    for name in (f"{study.function.partition(':')[0]}.py", *study.sources):
        content = (study.folder / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    digest.update(json.dumps([study.function, list(seeds), quick, version(), build(), _package()]).encode())
    return digest.hexdigest()


def _package() -> str:
    """A hash of this package's Python files."""
    digest = hashlib.sha256()
    package_folder = Path(__file__).resolve().parent.parent
    for file in sorted(package_folder.rglob("*.py")):
        digest.update(f"{file.relative_to(package_folder).as_posix()}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def _call(item: Item, study: Study, seeds: Sequence[int], quick: bool) -> list[dict[str, Any]]:
    at = f"{item.path}: study.function: {study.function}"
    module, _, name = study.function.partition(":")
    try:
        function = getattr(_Modules(study.folder).load(module), name, None)
        if not callable(function):
            raise ScenarioError(f"{at}: {study.folder / module}.py has no function {name}")
        given = function(seeds=seeds, quick=quick)
    except ScenarioError:
        raise
    except Exception as error:
        # An error in one study does not stop the other items.
        raise ScenarioError(f"{at}: {_told(error, study.folder)}") from error
    if not isinstance(given, list) or not given or not all(isinstance(row, dict) and "seed" in row for row in given):
        raise ScenarioError(f'{at}: has to give a list of rows, each a dict with "seed"')
    strange = {row["seed"] for row in given} - {EVERY_SEED, *seeds}
    if strange:
        raise ScenarioError(f"{at}: gives a row of seed {min(strange)}, which it was not handed")
    return [{key: _kept(value, f"{at}: {key}") for key, value in row.items()} for row in given]


def _told(error: Exception, folder: Path) -> str:
    """The error, and its place in the files of the study."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).absolute().is_relative_to(folder.absolute())]
    where = "".join(f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}: " for frame in own[-1:])
    return f"{where}{type(error).__name__}: {' '.join(str(error).split())}"


def _kept(value: object, at: str) -> object:
    """A value as JSON can keep it; a number that is none is missing."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not isinstance(value, str | int | float | None):
        raise ScenarioError(f"{at}: {value!r} was given, a number, a text or a truth value is expected")
    return value


class _Modules:
    """The modules of a paper's folder. They find each other by name, and nobody else finds them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._made: dict[str, ModuleType] = {}

    def load(self, name: str) -> ModuleType:
        """The module of that name, run when it is first asked for."""
        if name not in self._made:
            # The name of this module: a dataclass looks up the module of its class in `sys.modules`.
            spec = importlib.util.spec_from_file_location(__name__, self._folder / f"{name}.py")
            assert spec
            assert spec.loader
            made = self._made[name] = importlib.util.module_from_spec(spec)
            # An `import` in the code of a module calls `__import__` of its `__builtins__`.
            vars(made)["__builtins__"] = {**vars(builtins), "__import__": self._import}
            spec.loader.exec_module(made)
        return self._made[name]

    def _import(
        self,
        name: str,
        variables: Mapping[str, object] | None = None,
        local: Mapping[str, object] | None = None,
        wanted: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level == 0 and (self._folder / f"{name}.py").is_file():
            return self.load(name)
        return builtins.__import__(name, variables, local, wanted, level)
