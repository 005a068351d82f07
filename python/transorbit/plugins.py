"""A user's own Python in a run: schedulers, congestion controllers and traffic sources, by kind and name.

A class is registered under a name by `transorbit.scheduler`, `transorbit.controller` or `transorbit.source`, in a
script, a cell of a notebook, or a file that `--plugin` names on the command line. A scenario names it; nothing in a
scenario, a sweep or a result folder is run. Its source is kept with results and sent to the workers of a cluster as
text.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.abc import ExecutionLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from transorbit import _code, _hash, _inputs, _source
from transorbit._core import ScenarioError, SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_Factory = TypeVar("_Factory")


class Kind(NamedTuple):
    """A kind of code: how a scenario names it, and how the message of an error calls it."""

    key: str
    choice: str
    word: str


KINDS = {
    "scheduler": Kind("last_hop.scheduler", "external", "a scheduler"),
    "controller": Kind("flows.transport.congestion", "external", "a congestion controller"),
    "source": Kind("flows.traffic", "script", "a traffic source"),
}


@dataclass(frozen=True)
class Plugin:
    """What was registered under a name.

    Attributes:
        factory: what makes an object of it when called: the class.
        given: its source, where that is known from the start: the file that registered it, or the caller's text.
        file: the name of that file, if there is one.
    """

    kind: str
    name: str
    factory: Any
    given: str | None = None
    file: str = ""

    def text(self) -> str:
        """A Python file that registers it, with all of the user's code that it needs.

        Raises:
            SourceError: the source is not to be had.
        """
        if self.given is not None:
            return self.given
        return _source.text_of(self.factory, kind=self.kind, name=self.name)


@dataclass(frozen=True)
class Shipped:
    """A plugin as a task has it: text, or why there is none, and its hash (empty if none)."""

    kind: str
    name: str
    text: str | None
    reason: str
    fingerprint: str

    def refusal(self) -> str:
        """The reason why the plugin cannot be sent."""
        key, _, word = KINDS[self.kind]
        return (
            f'{key}: "{self.name}" is {word} in Python, which cannot be sent to the workers ({self.reason}): '
            "without dask it runs on the cores of this computer"
        )


# Stands with each exception that a user's code raised in a run, or that refuses what it answered.
NOTE = "in a user's own Python that the scenario names"


@contextmanager
def blamed(plugins: object) -> Iterator[None]:
    """Add a note to an exception raised while the core runs: it may come from the user's own code.

    `plugins` are those of the run.
    """
    try:
        yield
    except (ScenarioError, SimulationError, OSError):
        raise
    # `sys.exit` in the user's code would end the command as if all were well.
    except (Exception, SystemExit) as error:
        if plugins:
            error.add_note(NOTE)
        raise


class Registry:
    """The registered classes, by kind and name."""

    def __init__(self) -> None:
        self._plugins: dict[tuple[str, str], Plugin] = {}

    def add(self, plugin: Plugin) -> None:
        """Take a plugin in the place of an earlier one of its name, as where a cell is run again."""
        self._plugins[plugin.kind, plugin.name] = plugin

    def get(self, kind: str, name: str) -> Plugin | None:
        """The plugin of this name."""
        return self._plugins.get((kind, name))

    def find(self, kind: str, name: str) -> Any | None:
        """Returns the factory of its objects; None if nobody has registered the name."""
        plugin = self._plugins.get((kind, name))
        return plugin.factory if plugin else None

    def plugins(self) -> list[Plugin]:
        """All of them, in the order of their first registration."""
        return list(self._plugins.values())

    def names(self) -> dict[str, list[str]]:
        """The names of each kind, in order."""
        return {kind: sorted(name for of, name in self._plugins if of == kind) for kind in KINDS}


REGISTRY = Registry()


class _Registering(NamedTuple):
    """Where plugins are registered, and the text and the name of the file that is being run."""

    registry: Registry
    source: tuple[str, str] | None = None


_REGISTERING: ContextVar[_Registering | None] = ContextVar("registering", default=None)


def _registering() -> _Registering:
    return _REGISTERING.get() or _Registering(REGISTRY)


def register(kind: str, name: str, *, source: str | None = None) -> Callable[[_Factory], _Factory]:
    """What registers a class, or anything that makes an object when called, under a name.

    Args:
        kind: one of `KINDS`.
        name: as a scenario gives it.
        source: the text of a Python file that registers it; by default it is found where the class was defined.

    Raises:
        TypeError: the name is no text, as where a decorator stands without one; or what is registered makes nothing.
        ValueError: it is empty.
    """
    if not (isinstance(name, str) and name):
        given = getattr(name, "__name__", None) or repr(name)
        wrong = f'{given} was given, a name is expected, as in @transorbit.{kind}("name")'
        raise (ValueError if isinstance(name, str) else TypeError)(f"{kind}: {wrong}")

    def add(factory: _Factory) -> _Factory:
        if not callable(factory):
            raise TypeError(f"{kind}: {factory!r} was given, a class is expected, or what makes an object when called")
        registry, run = _registering()
        text, file = run or (None, "")
        registry.add(Plugin(kind, name, factory, source if source is not None else text, file))
        return factory

    return add


@contextmanager
def running(text: str, file: str) -> Iterator[None]:
    """While a file is run: what it registers has its text."""
    token = _REGISTERING.set(_registering()._replace(source=(text, file)))
    try:
        yield
    finally:
        _REGISTERING.reset(token)


def loaded(shipped: Iterable[Shipped]) -> Registry:
    """A registry of its own with what these texts register: for a worker, which may have tasks of several sweeps.

    Raises:
        Exception: whatever a text raises.
    """
    registry = Registry()
    token = _REGISTERING.set(_Registering(registry))
    try:
        for each in shipped:
            assert each.text is not None, "refused before it is sent"
            loader = _Loader(each.text, f"{each.kind} {each.name} {_hash.sha256(each.text)[:12]}")
            spec = importlib.util.spec_from_loader("transorbit_plugin", loader)
            assert spec
            with running(each.text, loader.file):
                loader.exec_module(importlib.util.module_from_spec(spec))
    finally:
        _REGISTERING.reset(token)
    return registry


class _Loader(ExecutionLoader):
    """The loader of a module that is a text: a traceback, for one, asks it for the lines."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - it has one module
        return self.text

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002
        return self.file


def used(toml: str) -> list[Plugin]:
    """Returns the registered plugins that a resolved scenario names, in the order of kinds and names."""
    if not any(f'"{kind.choice}"' in toml for kind in KINDS.values()):
        return []
    table = tomllib.loads(toml)
    hop, flows = table.get("last_hop", {}), table.get("flows", [])
    transports = [part["transport"] for flow in flows for part in (flow, flow.get("pep", {})) if "transport" in part]
    asked = {
        "scheduler": [part.get("scheduler") for part in (hop, *hop.get("classes", []))],
        "controller": [transport.get("congestion") for transport in transports if isinstance(transport, dict)],
        "source": [flow.get("traffic") for flow in flows],
    }
    names = {(kind, name) for kind, choices in asked.items() for each in choices if (name := _named(kind, each))}
    return [plugin for key in sorted(names) if (plugin := REGISTRY.get(*key))]


def _named(kind: str, choice: object) -> str | None:
    """The name in a table `{ kind = "external", name = … }`."""
    if isinstance(choice, dict) and choice.get("kind") == KINDS[kind].choice and isinstance(choice.get("name"), str):
        return str(choice["name"])
    return None


def mentioned(table: object) -> list[Plugin]:
    """Returns the registered plugins that tables of any shape name, such as the axes of a sweep."""
    return [plugin for key in _plugins_named(table) if (plugin := REGISTRY.get(*key))]


def options(table: object) -> str:
    """The options by which a command runs what a result folder has kept of these tables' plugins."""
    files = (_file(kind, name) for kind, name in _plugins_named(table))
    return "".join(f" --plugin {file}" for file in files)


def _plugins_named(table: object) -> list[tuple[str, str]]:
    """Kinds and names in tables of any shape."""
    names: set[tuple[str, str]] = set()

    def walk(value: object) -> None:
        if isinstance(value, dict):
            names.update((kind, name) for kind in KINDS if (name := _named(kind, value)))
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, str) and "{" in value:
            # A value as `--set` writes it.
            found = ((kind, name) for kind in KINDS for name in re.findall(r'name *= *["\']([^"\']+)', value))
            names.update(key for key in found if REGISTRY.get(*key))

    walk(table)
    return sorted(names)


def shipped(toml: str) -> tuple[Shipped, ...]:
    """Returns the plugins that a resolved scenario names, as a task has them."""
    sent = []
    for plugin in used(toml):
        text, reason = _text(plugin)
        # The text of a plugin is all of it where it is known from the start; otherwise its values are looked at too.
        fingerprint = _code.fingerprint(plugin.factory) or ""
        sent.append(Shipped(plugin.kind, plugin.name, text, reason, fingerprint))
    return tuple(sent)


def _text(plugin: Plugin) -> tuple[str | None, str]:
    try:
        return plugin.text(), ""
    except _source.SourceError as error:
        return None, str(error)


def kept(plugins: Iterable[Plugin]) -> tuple[_inputs.Input, ...]:
    """The sources as a result folder keeps them; one that cannot be had has no contents."""
    inputs = []
    for plugin in plugins:
        text, reason = _text(plugin)
        contents = f"# The source of this {plugin.kind} could not be kept: {reason}.\n" if text is None else text
        file, data = _file(plugin.kind, plugin.name), contents.encode()
        inputs.append(_inputs.Input(f"{plugin.kind} {plugin.name}", file, _hash.sha256(contents), data))
    return tuple(inputs)


def _file(kind: str, name: str) -> str:
    """Returns the place of a source in a result folder."""
    plain = re.sub(r"[^a-z0-9._-]", "_", name)
    # Two names may not share a file, on no disk.
    told = plain if plain == name else f"{plain}-{_hash.sha256(name)[:8]}"
    return f"plugins/{kind}-{told}.py"


def write(plugins: Iterable[Plugin], directory: Path) -> None:
    """Keep the sources in the folder of a sweep, with their hashes; those of another sweep go, unless changed."""
    import json

    inputs = kept(plugins)
    listed = directory / "plugins" / "plugins.json"
    if listed.is_file() and not listed.parent.is_symlink():
        for each in json.loads(listed.read_text(encoding="utf-8")):
            file = listed.parent / Path(str(each["kept"])).name
            if file.is_file() and _hash.sha256(file.read_bytes()) == each["sha256"]:
                file.unlink()
        listed.unlink()
    if inputs:
        _inputs.write(inputs, directory)
        text = json.dumps(_inputs.described(inputs), indent=2) + "\n"
        (directory / "plugins" / "plugins.json").write_text(text, encoding="utf-8")
