"""The core in WebAssembly: the same digests as natively."""

from __future__ import annotations

import wasm


def test_every_scenario_has_the_digest_of_the_native_core() -> None:
    done = wasm.in_node(wasm.core(), wasm.scenarios())
    found = {name: (one["digest"], one["events"], one["series"]) for name, one in done.items()}

    assert found == wasm.natively()
    assert len(found) >= 9
