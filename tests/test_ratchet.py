"""What STYLE.md promises and is not yet so: the counts may only fall."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

import ratchet
from circles import circles, methods, rust

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ratchet.COUNTS)
def test_what_breaks_a_promise_may_only_become_less(name: str) -> None:
    places, most = ratchet.COUNTS[name](), ratchet.kept()[name]

    assert len(places) <= most, "\n".join([f"{name}: {len(places)} now, at most {most}:", *places])
    assert len(places) == most, f"{name}: {len(places)} now, {most} in ratchet.toml: tests/ratchet.py --write lowers it"


def test_every_count_has_its_number() -> None:
    assert ratchet.kept().keys() == ratchet.COUNTS.keys()


def test_state_of_a_module_is_found() -> None:
    module = ast.parse(
        "class Kept:\n"
        "    def __init__(self):\n        self.all = {}\n"
        "    def add(self, one):\n        self.all[one] = 1\n"
        "class Value:\n"
        "    def __init__(self):\n        self.one = 1\n"
        "    def more(self):\n        return self.one + 1\n"
        "KEPT = Kept()\n"
        "VALUE = Value()\n"
        "CONTEXT: ContextVar[int] = ContextVar('context')\n"
        "FOUND = {}\n"
        "@cache\ndef read(): ...\n"
        "def near(folder):\n    sys.path.insert(0, folder)\n    linecache.cache[folder] = ()\n    return sys.path[0]\n"
    )
    changing = ratchet.changing_classes(module)

    assert changing == {"Kept"}
    assert set(ratchet.python_state(module, changing)) == {11, 13, 14, 16, 18, 19}


def test_a_static_of_a_thread_is_counted_once() -> None:
    of_thread = "thread_local! {\n    static SHARED: RefCell<u8> = RefCell::new(0);\n}\n"
    code = f"{of_thread}static ALL: OnceLock<u8> = OnceLock::new();\n"

    assert len(ratchet._MUTABLE.findall(code)) == 2


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


def test_methods_of_a_type_are_followed_between_its_files(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\nmod other;\n",
        "a.rs": "pub struct Made;\nimpl Made {\n    fn whole(&self) { self.part() }\n    fn inner(&self) {}\n}\n",
        "b.rs": "impl crate::Trait for Made {\n    fn whole(&self) { self.inner() }\n}\n"
        "impl Made {\n    fn part(&self) { Made::inner(self) }\n    // self.whole()\n}\n",
        "other.rs": "struct Made;\nimpl Made {\n    fn whole(&self) { self.part() }\n}\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    uses = methods(tmp_path)

    assert uses == {"crate::a::Made": {"crate::a": {"crate::b"}, "crate::b": {"crate::a"}}}
    assert circles(uses["crate::a::Made"]) == [["crate::a", "crate::b"]]
