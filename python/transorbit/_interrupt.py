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
def between_steps() -> Iterator[Callable[[], None]]:
    """Have Ctrl-C end the work between two steps: gives what is to be called there, which raises KeyboardInterrupt.

    A step calls the user's own code, which cannot be left half way: its state would not be that of the run.
    """
    interrupted = threading.Event()

    def check() -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt

    with first_calls(interrupted.set):
        yield check
        check()
