"""`make package`: a wheel and a source distribution are built, installed into empty environments outside of the
repository, and the commands of README.md are run there.

The wheel of the source distribution is compiled in a folder of its own; cargo's target folder is shared, so that only
the project's own crates are compiled again.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UV = Path(sys.executable).with_name("uv")
_OUT = ROOT / "results/package"


def main() -> int:
    """Build, install, run."""
    wheel, sdist = build(ROOT, _OUT, "--wheel"), build(ROOT, _OUT, "--sdist")
    with tempfile.TemporaryDirectory(prefix="transorbit-package-") as name:
        folder = Path(name)
        from_source = build(unpacked(sdist, folder), folder / "dist", "--wheel")
        for each in (wheel, from_source):
            environment = folder / f"env-{each.parent.name}"
            install(each, environment)
            run_readme(environment, folder / f"work-{each.parent.name}")
            print(f"{each.name}: installed, and the commands of README.md ran")
    return 0


def build(source: Path, out: Path, what: str) -> Path:
    """The distribution of a source folder."""
    before = {**os.environ, "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    subprocess.run(
        [UV, "build", what, "--quiet", "--out-dir", out, "--python", sys.executable, source], check=True, env=before
    )
    suffix = "*.whl" if what == "--wheel" else "*.tar.gz"
    return max(out.glob(suffix), key=lambda file: file.stat().st_mtime)


def unpacked(sdist: Path, folder: Path) -> Path:
    """The folder of a source distribution."""
    shutil.unpack_archive(sdist, folder / "source", filter="data")
    return next((folder / "source").iterdir())


def install(wheel: Path, environment: Path) -> None:
    """A new environment with the wheel, and nothing of this repository."""
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    python = environment / "bin/python"
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, wheel], check=True)


def readme() -> tuple[list[list[str]], str]:
    """The commands of README.md, and its Python."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("transorbit ")]
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return commands, code


def run_readme(environment: Path, folder: Path) -> None:
    """Each command and the Python of README.md, in an empty folder."""
    folder.mkdir()
    commands, code = readme()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for command in (*commands, ["python", "-c", code]):
        done = subprocess.run(
            [environment / "bin" / command[0], *command[1:]],
            cwd=folder, env=clean, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{shlex.join(command)}: {done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
