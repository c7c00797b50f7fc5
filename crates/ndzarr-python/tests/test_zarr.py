"""The codec pipeline for zarr-python."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ndzarr

from test_processes import HOLDER

zarr = pytest.importorskip("zarr")

PIPELINE = "ndzarr.zarr.NdzarrCodecPipeline"


@pytest.fixture(autouse=True)
def pipeline() -> Iterator[None]:
    with zarr.config.set({"codec_pipeline.path": PIPELINE}), warnings.catch_warnings():
        # A write that falls back to zarr-python's own is one without locks.
        warnings.filterwarnings("error", message=".*takes no locks.*")
        yield


def made(folder: str, x: np.ndarray[Any, Any], **options: Any) -> Any:
    z = zarr.create_array(f"{folder}/z", shape=x.shape, dtype=x.dtype, **options)
    assert type(z.async_array.codec_pipeline).__name__ == "NdzarrCodecPipeline"
    z[...] = x
    return z


KEYS: list[Any] = [
    ...,
    (3, 4),
    (slice(2, 17), slice(None)),
    (slice(None, None, 3), 5),
    (slice(1, 19, 7), slice(2, 15, 4)),
    (slice(5, 5), slice(None)),
    (-1, slice(-3, None)),
]


@pytest.mark.parametrize("options", [{"zarr_format": 2}, {}, {"shards": (10, 8)}, {"zarr_format": 2, "order": "F"}], ids=str)
@pytest.mark.parametrize("dtype", ["i4", ">f8", "?", "c8", "S3", "U2", "M8[s]"])
def test_regions_are_those_of_numpy(folder: str, options: Any, dtype: str) -> None:
    numbers = np.arange(20 * 16).reshape(20, 16)
    x = (numbers % 2 == 0) if dtype == "?" else numbers.astype(dtype)
    z = made(folder, x, chunks=(5, 4), **options)
    for key in KEYS:
        np.testing.assert_array_equal(z[key], x[key])
    value = x[::-1, ::-1].copy()
    for key in KEYS:
        z[key] = value[key]
        x[key] = value[key]
    np.testing.assert_array_equal(z[...], x)
    np.testing.assert_array_equal(ndzarr.open(f"{folder}/z")[...], x)
    z[2:7] = x[0, 0]
    x[2:7] = x[0, 0]
    np.testing.assert_array_equal(z[...], x)


@pytest.mark.parametrize("options", [{}, {"shards": (10, 8)}], ids=str)
def test_index_arrays(folder: str, options: Any) -> None:
    x = np.arange(20 * 16).reshape(20, 16)
    z = made(folder, x, chunks=(5, 4), **options)
    rows, columns = [17, 3, 3, 0], np.array([True, False] * 8)
    np.testing.assert_array_equal(z.oindex[rows, columns], x[np.ix_(rows, np.nonzero(columns)[0])])
    np.testing.assert_array_equal(z.oindex[rows, 2:9], x[rows, 2:9])
    np.testing.assert_array_equal(z.oindex[4, columns], x[4, columns])
    np.testing.assert_array_equal(z.vindex[rows, [1, 15, 8, 0]], x[rows, [1, 15, 8, 0]])
    np.testing.assert_array_equal(z.vindex[[[17, 3], [3, 0]], [[1], [2]]], x[[[17, 3], [3, 0]], [[1], [2]]])
    mask = x % 7 == 0
    np.testing.assert_array_equal(z.vindex[mask], x[mask])
    np.testing.assert_array_equal(z.blocks[1, 0], x[10:20, 0:8] if options else x[5:10, 0:4])
    z.oindex[[9, 2], columns] = -1
    x[np.ix_([9, 2], np.nonzero(columns)[0])] = -1
    z.oindex[4, [1, 12]] = [5, 6]
    x[4, [1, 12]] = [5, 6]
    z.vindex[[0, 19, 7], [15, 0, 7]] = [7, 8, 9]
    x[[0, 19, 7], [15, 0, 7]] = [7, 8, 9]
    z.vindex[mask] = 0
    x[mask] = 0
    np.testing.assert_array_equal(z[...], x)


def test_text(folder: str) -> None:
    z = zarr.create_array(f"{folder}/z", shape=(7,), chunks=(3,), dtype=str)
    texts = ["", "Ada", "Åse", "日本", "e", "f", "g"]
    z[...] = np.array(texts, object)
    assert list(z[...]) == texts
    z.oindex[[5, 1]] = np.array(["x", "y"], object)
    assert list(z[1:6]) == ["y", "Åse", "日本", "e", "x"]
    z[2:4] = "one"
    assert ndzarr.open(f"{folder}/z")[...].tolist() == ["", "y", "one", "one", "e", "x", "g"]


def test_arrays_without_axes(folder: str) -> None:
    for format in (2, 3):
        z = zarr.create_array(f"{folder}/{format}", shape=(), dtype="i4", zarr_format=format)
        z[...] = 5
        assert z[()] == 5
        assert ndzarr.open(f"{folder}/{format}")[()] == 5


def test_py20_wrapped_stores_keep_their_own(folder: str) -> None:
    from zarr.storage import LocalStore, LoggingStore, MemoryStore

    class Mine(LocalStore):
        pass

    for store in (LoggingStore(LocalStore(folder)), Mine(folder), MemoryStore()):
        z = zarr.create_array(store, name="z", shape=(4,), dtype="i4", overwrite=True)
        assert type(z.async_array.codec_pipeline).__name__ != "NdzarrCodecPipeline"
        z[...] = 3
        assert z[...].tolist() == [3] * 4


def test_py21_a_resized_array(folder: str) -> None:
    x = np.arange(20 * 16).reshape(20, 16)
    z = made(folder, x, chunks=(8, 8))
    z.resize((30, 16))
    z[20:30] = 7
    assert z[25, 3] == 7
    z.resize((10, 16))
    z.resize((20, 16))
    np.testing.assert_array_equal(z[:10], x[:10])
    z[12] = 5
    assert z[12, 0] == 5
    z.append(np.full((3, 16), 9))
    assert z.shape == (23, 16)
    assert z[22, 15] == 9
    z.attrs["a"] = 1
    z[0] = 0
    assert z[0].sum() == 0


def test_py21_what_others_append_to_a_chunk_stays(folder: str) -> None:
    z = made(folder, np.arange(6), chunks=(8,))
    z[0:6] = 1
    other = ndzarr.open_array(f"{folder}/z")
    other.append([7, 7])
    # The handle of zarr-python sees six elements, which is all of the chunk to it.
    z[0:6] = 2
    other.refresh()
    assert other[...].tolist() == [2] * 6 + [7, 7]


def test_py21_two_formats_in_one_folder(folder: str) -> None:
    a = zarr.create_array(f"{folder}/z", shape=(4,), chunks=(2,), dtype="i4", zarr_format=2)
    a[...] = 1
    ndzarr.convert(f"{folder}/z", "zarr3")
    for format in (2, 3):
        z = zarr.open_array(f"{folder}/z", zarr_format=format)
        z[0] = format
        assert z[...].tolist() == [format, 1, 1, 1]


def test_py23_missing_chunks_and_empty_ones(folder: str) -> None:
    z = zarr.create_array(f"{folder}/z", shape=(4,), chunks=(2,), dtype="i4", fill_value=7)
    z[0] = 1
    assert z[...].tolist() == [1, 7, 7, 7]
    z[0] = 7
    assert ndzarr.open_array(f"{folder}/z").stored_chunks() == {}
    kept = zarr.create_array(f"{folder}/k", shape=(4,), chunks=(2,), dtype="i4", fill_value=7, config={"write_empty_chunks": True})
    kept[...] = 7
    assert len(ndzarr.open_array(f"{folder}/k").stored_chunks()) == 2
    none = zarr.create_array(f"{folder}/n", shape=(4,), chunks=(2,), dtype="i4", fill_value=None, zarr_format=2)
    assert none[...].tolist() == [0] * 4
    none[1] = 3
    assert none[...].tolist() == [0, 3, 0, 0]


def test_py23_missing_chunks_that_are_errors(folder: str) -> None:
    z = zarr.create_array(f"{folder}/z", shape=(4,), chunks=(2,), dtype="i4")
    z[0] = 1
    try:
        config = zarr.config.set({"array.read_missing_chunks": False})
    except Exception:
        pytest.skip("this zarr-python has no such option")
    with config:
        z = zarr.open_array(f"{folder}/z")
        assert z[:2].tolist() == [1, 0]
        if hasattr(zarr.errors, "ChunkNotFoundError"):
            with pytest.raises(zarr.errors.ChunkNotFoundError):
                z[...]


def write(path: str, index: int) -> None:
    with zarr.config.set({"codec_pipeline.path": PIPELINE}):
        z = zarr.open_array(path)
        for at in range(index, 60, 3):
            z.oindex[[at, at + 60]] = [at + 1, at + 61]
            z.vindex[[at + 120]] = at + 121
            z[at + 180] = at + 181


@pytest.mark.parametrize("options", [{"chunks": (240,)}, {"chunks": (20,), "shards": (240,)}, {"chunks": (240,), "zarr_format": 2}], ids=str)
def test_py24_processes_that_share_chunks_lose_nothing(folder: str, options: Any) -> None:
    zarr.create_array(f"{folder}/z", shape=(240,), dtype="i4", **options)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write, args=(f"{folder}/z", i)) for i in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    assert zarr.open_array(f"{folder}/z")[...].tolist() == list(range(1, 241))


def test_py25_a_read_does_not_stop_other_arrays(folder: str) -> None:
    x = np.random.default_rng(0).random((64, 256, 64))
    z = made(folder, x, chunks=(16, 64, 64))
    errors: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(5):
                np.testing.assert_array_equal(z[...], x)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert errors == []


def test_py25_calls_for_two_arrays_are_under_way_at_once(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [zarr.create_array(f"{folder}/{name}", shape=(8,), chunks=(4,), dtype="i4") for name in "ab"]
    # A call goes on when one of the other array has begun as well.
    both = threading.Barrier(2)

    def meet(own: Any) -> Any:
        def call(array: ndzarr.Array, *args: Any) -> Any:
            both.wait(30)
            return own(array, *args)

        return call

    for name in ("_read", "_write"):
        monkeypatch.setattr(ndzarr.Array, name, meet(getattr(ndzarr.Array, name)))
    found: list[list[int]] = []

    def work(z: Any) -> None:
        z[...] = 5
        found.append(z[...].tolist())

    threads = [threading.Thread(target=work, args=(z,)) for z in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert found == [[5] * 8] * 2
    assert not both.broken


def test_py25_a_write_that_waits_does_not_stop_other_arrays(folder: str) -> None:
    z = made(folder, np.arange(8), chunks=(8,))
    other = zarr.create_array(f"{folder}/other", shape=(8,), dtype="i4")
    holder = held(folder, "c/0")
    waiting = threading.Thread(target=z.__setitem__, args=(slice(0, 2), 9))
    found: list[list[int]] = []

    def work() -> None:
        other[1:3] = 7
        found.append(other[...].tolist())

    thread = threading.Thread(target=work)
    try:
        waiting.start()
        thread.start()
        thread.join(30)
        assert found == [[0, 7, 7, 0, 0, 0, 0, 0]]
        assert waiting.is_alive()
    finally:
        let_go(holder)
    for ends in (waiting, thread):
        ends.join(30)
        assert not ends.is_alive()
    assert z[...].tolist() == [9, 9, *range(2, 8)]


def test_an_empty_selection_writes_nothing(folder: str, written: set[str]) -> None:
    z = made(folder, np.arange(6, dtype="i4").reshape(3, 2), chunks=(2, 2))
    written.clear()
    for key in (slice(4, -1), slice(0, 0), slice(3, None), slice(2, 1), (slice(None), slice(2, 2))):
        # No warning of a write without locks, which is an error here.
        z[key] = np.zeros(np.zeros((3, 2))[key].shape, "i4")
        z[key] = 7
    z.oindex[np.array([], int), :] = 7
    z.oindex[np.zeros(3, bool), 0] = 7
    z.vindex[np.array([], int), np.array([], int)] = np.zeros(0, "i4")
    assert written == set()
    np.testing.assert_array_equal(z[...], np.arange(6).reshape(3, 2))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nothing_warns(folder: str, zarr_format: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        z = zarr.create_array(f"{folder}/z", shape=4, chunks=2, dtype="i4", zarr_format=zarr_format)
        z[:] = 1
        z[1:3] = [5, 6]
        assert z[:].tolist() == [1, 5, 6, 1]


def test_an_earlier_zarr_python_is_an_error(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from zarr.abc.codec import CodecPipeline

    from ndzarr.zarr import NdzarrCodecPipeline

    # zarr-python 3.0 makes pipelines from codecs only: they do not know which files to lock.
    monkeypatch.delattr(CodecPipeline, "from_array_metadata_and_store")
    monkeypatch.delattr(NdzarrCodecPipeline, "from_array_metadata_and_store")
    with pytest.raises(ImportError, match="zarr-python 3.1 or later"):
        NdzarrCodecPipeline.from_codecs([])


def test_arrays_are_pickled(folder: str) -> None:
    z = made(folder, np.arange(20), chunks=(3,))
    again = pickle.loads(pickle.dumps(z))
    assert again[...].tolist() == list(range(20))
    again[3] = 7
    assert z[3] == 7


def test_unknown_codecs_are_written_by_zarr_python_with_a_warning(folder: str) -> None:
    from dataclasses import dataclass

    from zarr.abc.codec import BytesBytesCodec
    from zarr.registry import register_codec

    @dataclass(frozen=True)
    class Reverse(BytesBytesCodec):
        is_fixed_size = True

        @classmethod
        def from_dict(cls, data: Any) -> Any:
            return cls()

        def to_dict(self) -> Any:
            return {"name": "reverse", "configuration": {}}

        async def _decode_single(self, chunk: Any, spec: Any) -> Any:
            return type(chunk).from_bytes(chunk.to_bytes()[::-1])

        async def _encode_single(self, chunk: Any, spec: Any) -> Any:
            return type(chunk).from_bytes(chunk.to_bytes()[::-1])

        def compute_encoded_size(self, n: int, spec: Any) -> int:
            return n

    register_codec("reverse", Reverse)
    z = zarr.create_array(f"{folder}/z", shape=(4,), dtype="i4", compressors=[Reverse()])
    with pytest.warns(UserWarning, match="takes no locks"), warnings.catch_warnings():
        warnings.simplefilter("always")
        z[...] = [1, 2, 3, 4]
    assert z[...].tolist() == [1, 2, 3, 4]


def test_an_array_that_is_read_only(folder: str) -> None:
    made(folder, np.arange(6).reshape(2, 3), chunks=(2, 2))
    z = zarr.open_array(f"{folder}/z", mode="r")
    for key in (np.s_[0, 0], ..., np.s_[0]):
        with pytest.raises(ValueError, match="read-only"):
            z[key] = 99
    assert z[...].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_values_of_another_shape_are_refused(folder: str) -> None:
    x = np.arange(24).reshape(4, 6)
    z = made(folder, x, chunks=(2, 2))
    with pytest.raises(ValueError):
        z.oindex[[0, 1], [0, 1, 2]] = np.arange(6).reshape(3, 2)
    with pytest.raises(ValueError):
        z[...] = x.reshape(6, 4)
    np.testing.assert_array_equal(z[...], x)
    z[1:2, 0:3] = np.array([7, 8, 9])
    z.oindex[2, [0, 1]] = np.array([5, 6])
    assert z[1, :3].tolist() == [7, 8, 9] and z[2, :2].tolist() == [5, 6]


def test_values_from_a_file(folder: str) -> None:
    x = np.arange(24, dtype="i4").reshape(4, 6)
    x.tofile(f"{folder}/x")
    mapped: Any = np.memmap(f"{folder}/x", "i4", "r", shape=(4, 6))
    z = made(folder, np.zeros((4, 6), "i4"), chunks=(3, 3))
    z[...] = mapped
    z[1:3] = mapped[1:3]
    np.testing.assert_array_equal(z[...], x)
    out: Any = np.memmap(f"{folder}/out", "i4", "w+", shape=(4, 6))
    z.get_basic_selection(..., out=zarr.core.buffer.cpu.NDBuffer(out))
    np.testing.assert_array_equal(out, x)


def held(folder: str, key: str) -> subprocess.Popen[str]:
    """A process that holds the lock of a chunk until its input ends."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, f"{folder}/z/{key}.__lock"], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def let_go(holder: subprocess.Popen[str]) -> None:
    assert holder.stdin is not None
    holder.stdin.close()
    assert holder.wait(30) == 0


def test_a_cancelled_task_writes_nothing_later(folder: str) -> None:
    z = made(folder, np.arange(8), chunks=(8,))
    holder = held(folder, "c/0")

    async def write() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(z.async_array.setitem(slice(0, 2), np.array([98, 99])), 0.5)

    asyncio.run(write())
    # The thread of the call has ended with the loop.
    let_go(holder)
    assert z[...].tolist() == list(range(8))
    z[0] = 5
    assert z[0] == 5


def test_failures_of_the_store_are_those_of_the_write(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ndzarr import zarr as module

    z = made(folder, np.arange(8), chunks=(8,))

    def fails(*_: Any, **__: Any) -> Any:
        raise ndzarr.MetadataError("broken")

    monkeypatch.setattr(module, "open_array", fails)
    again = zarr.open_array(f"{folder}/z")
    with pytest.raises(ValueError, match="broken"):
        again[0] = 5
    assert z[0] == 0
