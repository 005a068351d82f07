"""How wheels and source distributions are built: by maturin; a wheel also gets the scenarios and the papers' items.

They lie at the root of the repository, where people look for them, and below `transorbit/content` in an installed
package: `transorbit._content` finds them in both places, and git has them once. The page, where `make page` has built
it, becomes `transorbit/page`: a wheel without it is whole but for `transorbit view`.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import sys
import zipfile
from pathlib import Path

import maturin
from maturin import (  # noqa: F401 - what a build frontend asks for
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[1]
CONTENT = ("scenarios", "papers")
_WITHIN = "transorbit/content"
PAGE = ROOT / "web/dist"
# The earliest that an archive can say: the same files give the same bytes.
_WHEN = (1980, 1, 1, 0, 0, 0)


def build_wheel(
    wheel_directory: str, config_settings: dict[str, object] | None = None, metadata_directory: str | None = None
) -> str:
    """A wheel with the content; on Linux for any distribution whose C library is new enough, if the compiler can."""
    settings = dict(config_settings or {})
    if sys.platform == "linux" and not {"build-args", "maturin.build-args"} & settings.keys():
        try:
            asked = {**settings, "build-args": "--compatibility pypi"}
            name = maturin.build_wheel(wheel_directory, asked, metadata_directory)
        except SystemExit:
            print("not for every distribution: a wheel for this machine's alone follows", file=sys.stderr)
            name = maturin.build_wheel(wheel_directory, settings, metadata_directory)
    else:
        name = maturin.build_wheel(wheel_directory, settings, metadata_directory)
    add_content(Path(wheel_directory) / name)
    return name


def content() -> list[Path]:
    """The files that an installed package has beside its code, in the order of their names."""
    files = (file for folder in CONTENT for file in (ROOT / folder).rglob("*") if file.is_file())
    return sorted(file for file in files if "__pycache__" not in file.parts)


def page() -> list[Path]:
    """The files of the built page; none where it is not built."""
    if not (PAGE / "index.html").is_file():
        print("the page is not built (`make page`): the wheel has no `transorbit view`", file=sys.stderr)
        return []
    return sorted(file for file in PAGE.rglob("*") if file.is_file())


def add_content(wheel: Path) -> None:
    """Put the content into a wheel, and into its record."""
    fresh = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as new:
        record = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(io.StringIO(old.read(record).decode())))
        for entry in old.infolist():
            if entry.filename != record:
                new.writestr(entry, old.read(entry))
        added = [(f"{_WITHIN}/{file.relative_to(ROOT).as_posix()}", file) for file in content()]
        added += [(f"transorbit/page/{file.relative_to(PAGE).as_posix()}", file) for file in page()]
        for name, file in added:
            data = file.read_bytes()
            new.writestr(_entry(name), data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.insert(-1, [name, f"sha256={digest}", str(len(data))])
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        new.writestr(_entry(record), text.getvalue())
    fresh.replace(wheel)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry
