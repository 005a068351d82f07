"""The commands that begin: the scenarios that come with the package, one of them as a file, and what they show."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import transorbit as to
from transorbit import _content, _folder
from transorbit.cli.common import Force, examples
from transorbit.cli.errors import UsageError
from transorbit.cli.tables import facts

INIT_HELP = examples(
    "transorbit scenarios",
    "transorbit init leo-tcp",
    'transorbit run leo-tcp.toml --set duration="10 s"',
)
SCENARIOS_HELP = examples("transorbit scenarios", "transorbit init voip", "transorbit check voip.toml")
_SCHEMA = "transorbit.schema.json"


def scenarios(*, json_: Annotated[bool, Parameter(name="--json", negative="")] = False) -> None:
    """List the scenarios and sweeps that come with transorbit; each name stands for its file in every command.

    Args:
        json_: Print JSON.
    """
    known = {name: _content.description(file) for name, file in _content.scenarios().items()}
    if json_:
        print(json.dumps(known, indent=2, ensure_ascii=False))
        return
    print("\n".join(facts(known.items())))
    print("\n`transorbit init NAME` writes one here, with comments, to be changed.")


def init(name: str | None = None, /, *, out: Path = Path(), force: Force = False) -> None:
    """Write a scenario with comments into this folder, to be changed, and the schema by which editors complete it.

    Args:
        name: A name of `transorbit scenarios`; without one they are listed, and nothing is written.
        out: Another folder, or another name that ends with .toml.
        force: Replace files of the same names.
    """
    if name is None:
        scenarios()
        return
    source = _content.scenario(name)
    files = {file.name: _own(file) for file in (source, *_content.needed(source))}
    if any(_has_schema(file) for file in files):
        files[_SCHEMA] = json.dumps(to.schema(), indent=2, ensure_ascii=False) + "\n"
    own = out.name if out.suffix == ".toml" else source.name
    out = out.parent if out.suffix == ".toml" else out
    targets = {out / (own if file == source.name else file): text for file, text in files.items()}
    for target, text in targets.items():
        _folder.check_file(target)
        # The schema is ours: another version of it is replaced.
        is_other = target.is_file() and target.name != _SCHEMA and target.read_text(encoding="utf-8") != text
        if is_other and not force:
            raise UsageError(
                f"init: {target} is there already; another folder or name is given by --out, --force replaces it"
            )
    out.mkdir(parents=True, exist_ok=True)
    for target, text in targets.items():
        target.write_text(text, encoding="utf-8")
        print(f"Written: {target}")
    print(f"Try: transorbit {'sweep' if source.name.endswith('.sweep.toml') else 'run'} {out / own}")


def _own(file: Path) -> str:
    """A file as the user's own: it stands in no folder of scenarios, and editors know its schema."""
    text = re.sub(r"\bscenarios/", "", file.read_text(encoding="utf-8"))
    return f"#:schema {_SCHEMA}\n{text}" if _has_schema(file.name) else text


def _has_schema(name: str) -> bool:
    return name.endswith(".toml") and not name.endswith(".sweep.toml")
