"""What STYLE.md promises and is not yet so: the counts may only fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import ratchet
from circles import circles, rust

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ratchet.COUNTS)
def test_what_breaks_a_promise_may_only_become_less(name: str) -> None:
    places, most = ratchet.COUNTS[name](), ratchet.kept()[name]

    assert len(places) <= most, "\n".join([f"{name}: {len(places)} now, at most {most}:", *places])
    assert len(places) == most, f"{name}: {len(places)} now, {most} in ratchet.toml: tests/ratchet.py --write lowers it"


def test_every_count_has_its_number() -> None:
    assert ratchet.kept().keys() == ratchet.COUNTS.keys()


def test_circles_are_found_however_long() -> None:
    assert circles({"a": "b", "b": "c", "c": "ad", "d": "", "e": "a"}) == [["a", "b", "c"]]
    assert circles({"a": "b", "b": "c", "c": ""}) == []


def test_names_are_followed_to_the_file_that_defines_them(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\npub use a::Made;\npub struct Own;\n",
        "a.rs": "/// Not crate::b::Thing.\npub struct Made;\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n",
        "b.rs": 'use crate::{Made, b::inner::Deep as Name};\nmod inner;\nfn f() -> &str { "crate::Own" }\n',
        "b/inner.rs": "pub struct Deep;\nfn g(_: super::super::Own) {}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    assert rust(tmp_path) == {
        "crate": {"crate::a"},
        "crate::a": set(),
        "crate::b": {"crate::a", "crate::b::inner"},
        "crate::b::inner": {"crate"},
    }
