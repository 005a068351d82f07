"""Random scenarios from the schema: every kind of every registry, with random options."""

from __future__ import annotations

import copy
import re
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Any

import transorbit as to
from transorbit import _content

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

# So that a run takes some milliseconds: what would make it long.
# Kinds of traffic that a byte stream cannot carry.
_BY_DATAGRAMS = ("voice", "game")
_MOST_COUNT = 12
_SPANS = ("50 ms", "100 ms", "200 ms", "400 ms")
_RATES = ("64 kbit/s", "1 Mbit/s", "10 Mbit/s", "50 Mbit/s", "200 Mbit/s")
_OPTIONAL = 0.2
# Rarely, or else nothing would be accepted: each wrong value is one of many.
_EDGE = 0.002
_EDGES: tuple[object, ...] = (
    "",
    "0",
    0,
    -1,
    2**63 - 1,
    -(2**63),
    1e308,
    "1e30 s",
    "-1 dB",
    "nan dB",
    [],
    {},
    True,
    "x" * 300,
)
_DEPTH = 12

# The files of a world's folder, by what names them in the schema.
FILES = {
    "delay.csv": "time_s,delay_s\n0,0.04\n1,0.05\n2,0.03\n10,0.06\n",
    "track.csv": "0,43.6,1.4\n10,44,2\n",
    "places.csv": "name,latitude_deg,longitude_deg\nToulouse,43.6,1.4\nOslo,59.9,10.7\n",
    "loss.csv": "time_s,attenuation_db\n0,0\n1,3\n2,0.5\n",
    "plr.csv": "0,0\n40,0.01\n80,0.5\n",
    "satellite.tle": (
        "ISS (ZARYA)\n"
        "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927\n"
        "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537\n"
    ),
}


_ASKED = {"attenuations": "loss.csv", "name,lat": "places.csv", "time_s,lat": "track.csv", "packet loss": "plr.csv"}
#: What is drawn anew, by the key in a scenario.
PARTS = (
    *("path", "path.jitter", "path.handover", "path.source_handover", "path.constellation", "path.hops"),
    *("path.at_handover", "channel", "last_hop.delay", "last_hop.rate", "last_hop.scheduler", "last_hop.harq"),
    *("last_hop.queue", "last_hop.reordering", "last_hop.estimate", "last_hop.feedback", "access", "access.method"),
    *("access.frame", "access.dedicated", "access.random", "flows.traffic", "flows.transport", "flows.pep"),
    *("flows.transport.congestion", "flows.direction", "flows.start_spread", "flows.weight", "record"),
)


@cache
def _bases() -> list[dict[str, Any]]:
    names = ("lab-fixed", "leo-tcp", "voip", "tcp-users", "geo-dvbrcs2", "dvbrcs2-web", "dvbrcs2-transfer")
    return [tomllib.loads(_content.scenario(name).read_text(encoding="utf-8")) for name in names]


def _definition(schema: dict[str, Any]) -> str:
    """The name of the definition that a property has."""
    references = [schema, *schema.get("anyOf", ()), *schema.get("allOf", ())]
    return str(next(one["$ref"] for one in references if "$ref" in one)).rpartition("/")[2]


def _kind(schema: dict[str, Any]) -> object:
    return schema.get("properties", {}).get("kind", {}).get("const")


def write_files(folder: Path) -> None:
    """Put the files that worlds name into a folder."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


class Worlds:
    """Draws scenarios; the same random numbers give the same ones."""

    def __init__(self, random: Random) -> None:
        self._random = random
        schema = to.schema()
        self._definitions: dict[str, Any] = schema["$defs"]
        self._root: dict[str, Any] = schema
        #: The kinds that were drawn: key of the registry and name.
        self.kinds: set[tuple[str, str]] = set()

    def draw(self) -> dict[str, Any]:
        """A scenario as a table: one that comes with the package, with some parts drawn anew. Many are accepted."""
        draw = self._random
        world = copy.deepcopy(draw.choice(_bases()))
        world |= {"duration": draw.choice(_SPANS), "seed": draw.randrange(2**31)}
        for path in draw.sample(PARTS, draw.randint(1, 3)):
            self._part(world, path)
        for flow in world["flows"]:
            flow["count"] = min(flow.get("count", 1), _MOST_COUNT)
            flow.pop("first_user", None)
        return world

    def _part(self, world: dict[str, Any], path: str) -> None:
        """Draw the value of a dotted key; what is not a table on the way is left as it is."""
        table: Any = world
        schema: dict[str, Any] = self._root
        *above, name = path.split(".")
        for key in above:
            if key == "flows":
                table, schema = self._random.choice(world["flows"]), self._definitions["FlowConfig"]
                continue
            if not isinstance(table.get(key), dict):
                return
            table, schema = table[key], self._definitions[_definition(schema["properties"][key])]
            if "oneOf" in schema:
                kind = table.get("kind")
                schema = next((one for one in schema["oneOf"] if _kind(one) == kind), {})
        if name not in schema.get("properties", {}):
            return
        value = self._value(schema["properties"][name], name, 1)
        if value is not None:
            table[name] = value
        if name == "traffic":
            datagrams = isinstance(value, dict) and value.get("kind") in _BY_DATAGRAMS
            table["transport"] = "udp" if datagrams else "tcp"

    def _value(self, schema: dict[str, Any], name: str, depth: int) -> Any:
        if depth and self._random.random() < _EDGE:
            return self._random.choice(_EDGES)
        if "$ref" in schema:
            of = schema["$ref"].rpartition("/")[2]
            return self._value({**self._definitions[of], "_of": of}, name, depth + 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if branches := schema.get("oneOf") or schema.get("anyOf"):
            return self._value(self._branch(branches, depth), name, depth + 1)
        if "allOf" in schema:
            return self._value(schema["allOf"][0], name, depth + 1)
        if schema.get("_of") == "Probability":
            return f"{self._random.choice([0, 0.1, 1, 10, 50])} %"
        # What has no type is a parameter of another program: a number.
        kinds = schema.get("type", "number")
        kind = self._random.choice([one for one in [kinds] if isinstance(kinds, str)] or [*kinds])
        return getattr(self, f"_{kind}")(schema, name, depth)

    def _branch(self, branches: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        """One of them; deep down not one with many parts."""
        simple = [one for one in branches if one.get("type") != "null" and "properties" not in one]
        if depth > _DEPTH and simple:
            return self._random.choice(simple)
        return self._random.choice([one for one in branches if one.get("type") != "null"] or branches)

    def _null(self, _schema: dict[str, Any], _name: str, _depth: int) -> None:
        return None

    def _boolean(self, _schema: dict[str, Any], _name: str, _depth: int) -> bool:
        return self._random.random() < 0.5

    def _integer(self, schema: dict[str, Any], name: str, _depth: int) -> int:
        low = int(schema.get("minimum", 0))
        high = min(int(schema.get("maximum", low + 20)), low + (_MOST_COUNT if "count" in name else 100))
        return self._random.randint(low, max(low, high))

    def _number(self, schema: dict[str, Any], _name: str, _depth: int) -> float:
        low, high = float(schema.get("minimum", 0.0)), float(schema.get("maximum", 10.0))
        return round(self._random.uniform(low, min(high, low + 10)), 3)

    def _array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        least = int(schema.get("minItems", 0))
        count = self._random.randint(least, min(int(schema.get("maxItems", least + 2)), least + 3))
        items = schema.get("items", {"type": "number"})
        return [self._value(items, name, depth + 1) for _ in range(count)]

    def _object(self, schema: dict[str, Any], name: str, depth: int) -> dict[str, Any]:
        table = {}
        required = set(schema.get("required", ()))
        optional = _OPTIONAL if depth < _DEPTH else 0.0
        for key, inner in schema.get("properties", {}).items():
            # Parameters of another program take the place of most others, and a class must be one of a list.
            rare = key.endswith("_") or key == "class"
            if key in required or self._random.random() < (optional / 20 if rare else optional):
                value = self._value(inner, key, depth + 1)
                if value is not None:
                    table[key] = value
        if "kind" in table and isinstance(table["kind"], str):
            self.kinds.add((name, table["kind"]))
        return table

    def _string(self, schema: dict[str, Any], name: str, _depth: int) -> str:
        if name in ("file", "pairs", "plr"):
            # Mostly what the description asks for.
            asked = next((file for word, file in _ASKED.items() if word in schema.get("description", "")), "delay.csv")
            return asked if self._random.random() < 0.8 else self._random.choice(sorted(FILES))
        if name == "name" and "units" not in schema.get("description", ""):
            return self._random.choice(["", "a", "longest", "ä"])
        units = re.search(r"units: ([^;\n]+)", schema.get("description", ""))
        if not units:
            return str(self._random.choice(schema.get("examples", ["a", "leo-66"])))
        return self._quantity(schema, name, [unit.strip() for unit in units[1].split(",")])

    def _quantity(self, schema: dict[str, Any], name: str, units: list[str]) -> str:
        """Something around the example, which keeps most of them within bounds."""
        example = str(self._random.choice(schema.get("examples") or [f"1 {units[0]}"]))
        number, _, unit = example.partition(" ")
        if unit == "deg":
            return f"{self._random.uniform(-80, 80) if 'tude' in name else self._random.uniform(5, 60):.2f} deg"
        if name in ("duration", "rate"):
            return self._random.choice(_SPANS if name == "duration" else _RATES)
        scale = self._random.choice([0.1, 0.5, 1, 1, 1, 2, 10])
        try:
            value = float(number) * scale
        except ValueError:
            return example
        # Flows every few nanoseconds would be millions, which fill the memory as their scenario asks.
        if name == "interval" or self._random.random() < 0.9:
            return f"{value:.6g} {unit}"
        return f"{value:.6g} {self._random.choice(units)}"
