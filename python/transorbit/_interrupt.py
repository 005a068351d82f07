"""Ctrl-C that waits until something is whole."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def first_calls(then: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C call `then` and nothing else; a second one ends at once.

    Only the main thread has Ctrl-C; where it is ignored or another program's business, it stays so.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield
        return

    def first(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        then()

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ending(wake: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C call `wake`: whoever waits raises KeyboardInterrupt then. A second one ends at once.

    Where nobody waits any more, leaving the block raises it.
    """
    came = threading.Event()

    def then() -> None:
        came.set()
        wake()

    with first_calls(then):
        yield
    if came.is_set():
        raise KeyboardInterrupt


# The Ctrl-C that waits in each thread.
_waiting = threading.local()


@contextmanager
def held() -> Iterator[threading.Event]:
    """Have the first Ctrl-C wait until this is left: gives what it sets. A second one ends at once.

    One that is entered within another waits with it.
    """
    if (outer := getattr(_waiting, "came", None)) is not None:
        yield outer
        return
    came = threading.Event()
    with first_calls(came.set):
        _waiting.came = came
        try:
            yield came
        finally:
            _waiting.came = None


@contextmanager
def between_steps() -> Iterator[Callable[[], None]]:
    """Have Ctrl-C end the work between two steps: gives what is to be called there, which raises KeyboardInterrupt.

    A step calls the user's own code, which cannot be left half way: its state would not be that of the run.
    """
    with held() as interrupted:

        def check() -> None:
            if interrupted.is_set():
                raise KeyboardInterrupt

        yield check
        check()
