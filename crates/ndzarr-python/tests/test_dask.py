"""Dask: arrays are sources and targets, and their tasks may share chunks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ndzarr

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize(
    ("format", "shards"), [("zarr3", None), ("zarr3", 64), ("zarr2", None), ("n5", None)], ids=["chunks", "shards", "v2", "n5"]
)
def test_py16_tasks_that_share_chunks_need_no_lock(folder: str, format: Any, shards: int | None) -> None:
    x = np.arange(128 * 128, dtype="i4").reshape(128, 128)
    a = ndzarr.create(f"{folder}/r/a", shape=x.shape, dtype="i4", chunks=64 if shards is None else 16, shards=shards, format=format)
    tasks = da.from_array(x, chunks=(13, 17))
    da.store(tasks, a, lock=False, scheduler="threads", num_workers=8)
    np.testing.assert_array_equal(a[...], x)
    a[...] = 0
    da.store(tasks, a, lock=False, scheduler="processes", num_workers=3)
    np.testing.assert_array_equal(a[...], x)


def test_sources_are_lazy_and_small(stored: ndzarr.Array, cube: Any) -> None:
    lazy = da.from_array(stored)
    assert len(pickle.dumps(lazy.dask)) < 4000
    np.testing.assert_array_equal(lazy[2:9, ::-2, [1, 5]].compute(), cube[2:9, ::-2, [1, 5]])
    np.testing.assert_array_equal((lazy.mean(axis=0) + 1).compute(), cube.mean(axis=0) + 1)


def test_chunks_of_dask_follow_shards(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=(128, 128), dtype="i4", chunks=(8, 8), shards=(64, 32))
    lazy = da.from_array(a, chunks="auto")
    assert all(n % 64 == 0 or n == 128 for n in lazy.chunks[0])


def test_py15_tokens_change_with_the_array(folder: str) -> None:
    from dask.base import tokenize

    a = ndzarr.create(f"{folder}/a", shape=4, dtype="i4")
    b = ndzarr.open_array(f"{folder}/a")
    assert tokenize(a) == tokenize(b)
    a.resize(6)
    assert tokenize(a) != tokenize(b)
    b.refresh()
    assert tokenize(a) == tokenize(b)
    assert tokenize(a) != tokenize(ndzarr.create(f"{folder}/b", shape=6, dtype="i4"))
