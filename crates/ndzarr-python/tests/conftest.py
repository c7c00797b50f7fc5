"""Folders and arrays of the tests."""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndzarr

if os.environ.get("NDZARR_ALL_PACKAGES"):
    # `cargo xtask python` has installed all packages: without one of them tests fail.
    pytest.importorskip = importlib.import_module

# The background jobs of a shell ignore it, and so would the tests of Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.fixture
def cube() -> np.ndarray[Any, Any]:
    return np.arange(16 * 12 * 10, dtype="f4").reshape(16, 12, 10)


@pytest.fixture
def stored(folder: str, cube: np.ndarray[Any, Any]) -> ndzarr.Array:
    a = ndzarr.create(f"{folder}/cube", shape=cube.shape, dtype="f4", chunks=(4, 5, 3), codecs=["zstd:1"])
    a[...] = cube
    return a


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The places of the arrays that ndzarr writes to during a test."""
    places: set[str] = set()
    own = ndzarr.Array._write

    def write(a: ndzarr.Array, *args: Any) -> None:
        places.add(a._where.place)
        own(a, *args)

    monkeypatch.setattr(ndzarr.Array, "_write", write)
    return places
