"""`make audit`: the lock files are held against the advisories. What cannot be asked from here is told, and passes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
UV = Path(sys.executable).with_name("uv")
_PIP_AUDIT = "pip-audit@2.10.1"


def main() -> int:
    """Ask for both; 1 if something is found."""
    return max(rust(), python())


def rust() -> int:
    """`cargo deny`: advisories, licences, sources."""
    if shutil.which("cargo-deny") is None:
        return _skipped("cargo-deny is not installed (cargo install cargo-deny): Cargo.lock was not checked")
    checks: tuple[str, ...] = ()
    if subprocess.run(["cargo", "deny", "fetch", "db"], cwd=ROOT, check=False, capture_output=True).returncode:
        _skipped("RustSec's database is out of reach: Cargo.lock was checked for licences and sources alone")
        checks = ("licenses", "bans", "sources")
    return int(bool(subprocess.run(["cargo", "deny", "--locked", "check", *checks], cwd=ROOT, check=False).returncode))


def python() -> int:
    """`pip-audit`: each package of `uv.lock`."""
    folder = ROOT / ".cache"
    folder.mkdir(exist_ok=True)
    export = (UV, "export", "--frozen", "--all-groups", "--all-extras", "--no-emit-project", "--quiet")
    locked = subprocess.run([*export, "--format", "requirements-txt"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    (folder / "audit.txt").write_bytes(locked.stdout)
    asked = ("--requirement", folder / "audit.txt", "--require-hashes", "--disable-pip", "--format", "json")
    done = subprocess.run(
        [UV, "tool", "run", _PIP_AUDIT, *asked],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return _skipped(f"pip-audit has no answer, so uv.lock was not checked: {last[:200]}")
    return judged(packages)


def judged(packages: list[dict[str, Any]]) -> int:
    """1 if an advisory concerns a package, or if some packages and not all could not be asked for."""
    unknown = [each["name"] for each in packages if "skip_reason" in each]
    if packages and len(unknown) == len(packages):
        return _skipped("PyPI's advisories are out of reach: uv.lock was not checked")
    found = [(each["name"], each["version"], known["id"]) for each in packages for known in each.get("vulns", ())]
    for name, version, advisory in found:
        print(f"make audit: {name} {version}: {advisory}", file=sys.stderr)
    for name in unknown:
        print(f"make audit: {name}: is not known to PyPI", file=sys.stderr)
    print(f"uv.lock: {len(packages)} packages, {len(found)} advisories")
    return int(bool(found or unknown))


def _skipped(why: str) -> int:
    print(f"make audit: skipped: {why}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
