"""The core in WebAssembly: the same digests as natively."""

from __future__ import annotations

import base64
import json
import re
import subprocess

import transorbit as to
import wasm
from conftest import ROOT

# What the test has time and a page has memory for.
DURATIONS = {"bottleneck-100": "3 s", "dvbrcs2-web": "3 s", "tcp-users": "3 s", "voip": "3 s", "geo-dvbrcs2": "15 s"}
DELAYS = b"time_s,one_way_delay_s\n0,0.02\n3,0.05\n9,0.03\n"


def scenarios() -> dict[str, tuple[str, dict[str, bytes]]]:
    """Every scenario of the project, shortened; and one that names a file."""
    found = {}
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        if path.name.endswith(".sweep.toml"):
            continue
        text = path.read_text()
        duration = DURATIONS.get(path.stem, "2 s" if path.stem == "million-flows" else "20 s")
        text, times = re.subn(r'^duration( *)= ".*?"', rf'duration\1= "{duration}"', text, count=1, flags=re.MULTILINE)
        assert times == 1, path.name
        if path.stem == "million-flows":
            text = re.sub(r"^(count +=) (\d+)000\b", r"\1 \2", text, flags=re.MULTILINE)
        found[path.stem] = (text, {})
    lab, _ = found["lab-fixed"]
    traced, times = re.subn(r'kind  = "fixed"\ndelay = .*', 'kind = "trace"\nfile = "delays.csv"', lab, count=1)
    assert times == 1
    return {**found, "file": (traced, {"delays.csv": DELAYS})}


def test_every_scenario_has_the_digest_of_the_native_core() -> None:
    node, core = wasm.node(), wasm.core()
    asked = [
        {"name": name, "toml": text, "files": {file: base64.b64encode(data).decode() for file, data in files.items()}}
        for name, (text, files) in scenarios().items()
    ]
    program = [node, ROOT / "web/tests/digests.mjs", core]
    done = subprocess.run(program, input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {name: (one["digest"], one["events"], one["series"]) for name, one in json.loads(done.stdout).items()}

    natively = {}
    for name, (text, files) in scenarios().items():
        result = to.Scenario.from_toml(text, files=files).run()
        natively[name] = (result.summary["digest"], result.summary["events"], result.series.height)
    assert found == natively
    assert len(found) >= 9
