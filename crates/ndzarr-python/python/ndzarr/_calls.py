"""What a calling thread does while a call runs: it listens for Ctrl-C and reports progress."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

from ._ndzarr import Stop

__all__ = ["Progress", "Stop", "Watch", "config", "quiet", "watch", "watched"]

Progress = Callable[[int, int], object] | bool | None
"""`True` for a bar of tqdm, or a function that takes the number of chunks done and that of all chunks."""

Watch = tuple[bool, Callable[[int, int], object] | None, Stop | None]
"""Whether a call listens for Ctrl-C, its progress, and what stops it from another thread."""

#: Calls that move fewer bytes of a local disk do not listen for Ctrl-C, which costs a thread for each.
_SHORT = 4 << 20

quiet: Watch = (False, None, None)


class _Config:
    """Settings of this process; see `config`."""

    __slots__ = ("_threads",)

    def __init__(self) -> None:
        self._threads: int | None = None

    @property
    def threads(self) -> int | None:
        """How many threads a call of an array or group uses that was opened without `threads`.

        `None` means one for each processor. The environment variable `NDZARR_THREADS` gives the first value.
        """
        if self._threads is None and (given := os.environ.get("NDZARR_THREADS")):
            return int(given)
        return self._threads

    @threads.setter
    def threads(self, threads: int | None) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"a call needs at least 1 thread, not {threads}")
        self._threads = threads


config = _Config()
"""Settings of this process: `ndzarr.config.threads = 1`."""


def watch(n_bytes: int | None = None) -> Watch:
    """For a call that moves this number of bytes; `None` for one that may wait for a lock or a network."""
    if n_bytes is not None and n_bytes < _SHORT:
        return quiet
    return (_hears(), None, None)


def _hears() -> bool:
    """Whether Ctrl-C matters: to the main thread, until the interpreter ends. Finalisers run after that,
    when no other thread may have anything to do with Python."""
    return threading.current_thread() is threading.main_thread() and not sys.is_finalizing()


def watched(progress: Progress, what: str) -> AbstractContextManager[Watch]:
    """For a call with a progress. There is none at the end of the interpreter."""
    signals = _hears()
    if progress is None or progress is False or sys.is_finalizing():
        return nullcontext((signals, None, None))
    if progress is True:
        return _Bar(signals, what)
    return nullcontext((signals, progress, None))


class _Bar:
    """A bar of tqdm, in a terminal or a notebook."""

    def __init__(self, signals: bool, what: str) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            text = "progress=True shows a bar of tqdm, which is not installed; a function needs no package"
            raise ModuleNotFoundError(text, name="tqdm") from None
        self.bar: Any = tqdm(desc=what, unit="chunk")
        self.signals = signals

    def __enter__(self) -> Watch:
        return (self.signals, self.report, None)

    def __exit__(self, *_: object) -> Literal[False]:
        self.bar.close()
        return False

    def report(self, done: int, total: int) -> None:
        self.bar.total = total
        self.bar.update(done - self.bar.n)
