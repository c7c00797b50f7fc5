"""Memory of NumPy: who owns it, what it looks like, and what becomes of it."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import ndzarr


def run(code: str, *arguments: str, **options: Any) -> str:
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PEAK = """
import resource, sys
import numpy as np
import ndzarr

a = ndzarr.open(sys.argv[1])
a[0]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = a[...]
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) // 1024, found.nbytes >> 20)
"""


def test_a_shard_that_is_verified_is_not_in_memory_as_a_whole(folder: str) -> None:
    n = 256 << 20
    a = ndzarr.create(f"{folder}/a", shape=n, dtype="u1", chunks=1 << 20, shards=n, codecs=["zstd:1"])
    a[...] = np.tile(np.arange(1 << 16).astype("u1"), n >> 16)
    code = PEAK.replace("found = a[...]", "found = np.empty(0)\nassert a.verify() == []")
    grown, _ = map(int, run(code, f"{folder}/a").split())
    # A batch of 64 MiB, and what decoding takes.
    assert grown <= 64 + 32, f"{grown} MiB"


@pytest.mark.parametrize("dtype", ["f4", "M8[ns]"])
def test_py01_a_large_read_goes_into_the_result_alone(folder: str, dtype: str) -> None:
    n = (256 << 20) // np.dtype(dtype).itemsize
    a = ndzarr.create(f"{folder}/a", shape=n, dtype=dtype, chunks=1 << 17, codecs=["zstd:1"])
    a[: 1 << 17] = np.arange(1 << 17).astype(dtype)
    grown, size = map(int, run(PEAK, f"{folder}/a").split())
    assert size == 256
    assert grown <= 256 + 8, f"{grown} MiB for a result of {size} MiB"


def test_py03_threads_read_into_disjoint_parts_of_one_array(stored: ndzarr.Array, cube: Any) -> None:
    out = np.empty_like(cube)
    errors: list[BaseException] = []

    def read(start: int) -> None:
        try:
            for _ in range(20):
                stored.read(slice(start, start + 4), out=out[start : start + 4])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(start,)) for start in range(0, 16, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    np.testing.assert_array_equal(out, cube)


def test_py03_threads_that_share_all_of_an_array_get_an_error_or_the_elements(stored: ndzarr.Array, cube: Any) -> None:
    out = np.empty_like(cube)
    errors: list[BaseException] = []
    barrier = threading.Barrier(2)

    def read() -> None:
        barrier.wait()
        for _ in range(50):
            try:
                stored.read(..., out=out)
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, TypeError) and "borrowed" in str(error) for error in errors), errors
    np.testing.assert_array_equal(out, cube)


def misaligned(n: int, dtype: str) -> np.ndarray[Any, Any]:
    memory = np.zeros(n * np.dtype(dtype).itemsize + 1, np.uint8)
    found = np.ndarray((n,), dtype, buffer=memory, offset=1)
    assert not found.flags.aligned
    return found


def test_py04_misaligned_memory(stored: ndzarr.Array, cube: Any) -> None:
    out = misaligned(10, "f4")
    assert stored.read((3, 2), out=out) is out
    np.testing.assert_array_equal(out, cube[3, 2])
    out[...] = 5
    stored[3, 2] = out
    np.testing.assert_array_equal(stored[3, 2], np.full(10, 5, "f4"))


def test_py04_strides_of_parts_of_elements(stored: ndzarr.Array, cube: Any) -> None:
    fields = np.zeros(10, [("a", "u1"), ("b", "f4")])
    stored.read((3, 2), out=fields["b"])
    np.testing.assert_array_equal(fields["b"], cube[3, 2])
    stored[4, 2] = fields["b"]
    np.testing.assert_array_equal(stored[4, 2], cube[3, 2])


@pytest.mark.parametrize(
    "frame",
    [
        lambda: np.empty((10, 12, 10), "f4", order="F"),
        lambda: np.empty((20, 24, 20), "f4")[::2, ::2, ::2],
        lambda: np.empty((10, 12, 10), "f4")[::-1, :, ::-1],
        lambda: np.empty((10, 10, 12), "f4").transpose(0, 2, 1),
        lambda: np.empty((10, 12, 10), ">f4"),
    ],
)
def test_py05_out_of_any_strides_and_byte_order(stored: ndzarr.Array, cube: Any, frame: Any) -> None:
    out = frame()
    assert stored.read(slice(3, 13), out=out) is out
    np.testing.assert_array_equal(out, cube[3:13])


def test_py05_out_that_overlaps_itself(stored: ndzarr.Array, cube: Any) -> None:
    memory = np.zeros(10, "f4")
    out = np.lib.stride_tricks.as_strided(memory, (3, 10), (0, 4), writeable=True)
    stored.read((0, slice(0, 3)), out=out)
    assert memory.tolist() in [row.tolist() for row in cube[0, :3]]


def test_py05_out_that_cannot_be_used(stored: ndzarr.Array) -> None:
    frozen = np.empty((12, 10), "f4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        stored.read(0, out=frozen)
    with pytest.raises(TypeError, match="float16.*float32"):
        stored.read(0, out=np.empty((12, 10), "f2"))
    with pytest.raises(TypeError, match="<U32.*float32"):
        stored.read(0, out=np.empty((12, 10), "U32"))
    with pytest.raises(ValueError, match=r"\(12, 11\).*\(12, 10\)"):
        stored.read(0, out=np.empty((12, 11), "f4"))
    with pytest.raises(TypeError, match="mask"):
        stored.read(0, out=np.ma.zeros((12, 10), "f4"))
    with pytest.raises(TypeError, match="list"):
        stored.read(0, out=[])


def test_py05_out_of_points(stored: ndzarr.Array, cube: Any) -> None:
    key = ([[3, 1], [0, 9]], [[1], [2]], 4)
    out = np.zeros((2, 2), "f4")
    told: list[int] = []
    assert stored.read(key, out=out, progress=lambda done, total: told.append(total)) is out
    np.testing.assert_array_equal(out, cube[key])
    # Chunks of (4, 5, 3): one has three of the points.
    assert told[-1] == 2
    for wrong in (np.zeros(4, "f4"), np.zeros((4, 1), "f4")):
        with pytest.raises(ValueError, match=r"selection \(2, 2\)"):
            stored.read(key, out=wrong)
        with pytest.raises(ValueError, match=r"selection \(2, 2\)"):
            stored.get_coordinate_selection(key, out=wrong)
    wider = np.zeros((2, 2))
    np.testing.assert_array_equal(stored.read(key, out=wider), cube[key])
    with pytest.raises(TypeError, match="int64.*float32"):
        stored.read(key, out=np.zeros((2, 2), "i8"))


def test_py05_out_of_a_type_that_holds_every_value(folder: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = ndzarr.create(f"{folder}/a", shape=3, dtype=ml_dtypes.bfloat16)
    a[...] = [1, 2.5, -3]
    out = np.zeros(3, "f4")
    # np.can_cast says so.
    assert a.read(out=out) is out
    assert out.tolist() == [1, 2.5, -3]
    for other in ("f2", "i4", "V2", "U5", object):
        with pytest.raises(TypeError, match="bfloat16"):
            a.read(out=np.zeros(3, other))
    raw = ndzarr.create(f"{folder}/raw", shape=3, dtype="V2")
    with pytest.raises(TypeError, match="float32"):
        raw.read(out=out)


def test_out_takes_whole_elements(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=3, dtype=[("x", "i4"), ("y", "f8")])
    out = np.ones(3, a.dtype)
    for get in (a.get_basic_selection, a.get_orthogonal_selection, a.get_block_selection):
        assert get(slice(0, 1), fields="x").tolist() == [0] * len(get(slice(0, 1)))
        with pytest.raises(NotImplementedError, match="whole elements"):
            get(slice(0, 1), out=out, fields="x")
    with pytest.raises(NotImplementedError, match="whole elements"):
        a.get_coordinate_selection([0, 1, 2], out=out, fields="x")
    with pytest.raises(NotImplementedError, match="whole elements"):
        a.get_mask_selection(np.ones(3, bool), out=out, fields="x")
    assert out.tolist() == [(1, 1.0)] * 3


def test_out_of_a_wider_type(stored: ndzarr.Array, cube: Any) -> None:
    for dtype in ("f8", ">f8", "c16"):
        out = np.zeros((12, 10), dtype)
        assert stored.read(0, out=out) is out
        np.testing.assert_array_equal(out, cube[0])


def test_py05_values_of_any_kind(stored: ndzarr.Array, cube: Any) -> None:
    stored[0] = cube[1].astype(">f4")
    np.testing.assert_array_equal(stored[0], cube[1])
    stored[0] = cube[2].astype("f8")
    np.testing.assert_array_equal(stored[0], cube[2])
    stored[0] = np.asfortranarray(cube[3])
    np.testing.assert_array_equal(stored[0], cube[3])
    stored[0] = np.matrix(cube[4])
    np.testing.assert_array_equal(stored[0], cube[4])
    stored[0, 0, :3] = [1, 2, 3]
    assert stored[0, 0, :3].tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="mask"):
        stored[0] = np.ma.masked_equal(cube[4], 1)


def test_py06_the_error_names_both_types(stored: ndzarr.Array) -> None:
    with pytest.raises(TypeError, match="int16.*float32"):
        stored.read(0, out=np.empty((12, 10), "i2"))


def test_py07_a_structured_array_without_axes(folder: str) -> None:
    dtype = np.dtype([("a", "i4"), ("b", "f8")])
    for format in ("zarr2", "zarr3"):
        a = ndzarr.create(f"{folder}/{format}", shape=(), dtype=dtype, chunks=(), format=format)
        a[()] = (1, 2.5)
        assert a[()] == np.array((1, 2.5), dtype)[()]
        assert a[...].tolist() == (1, 2.5)


@pytest.mark.parametrize("watch", [(False, None, None), (True, None, None)], ids=["here", "in a thread"])
def test_py07_a_panic_is_an_exception(watch: Any) -> None:
    from ndzarr import _ndzarr

    with pytest.raises(Exception, match="a defect of ndzarr.*asked for") as found:
        _ndzarr.panic(watch)
    assert isinstance(found.value, ndzarr.InternalError)


def test_py08_arrays_that_no_memory_holds(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=(1 << 40, 1 << 40), dtype="u1", chunks=(1024, 1024))
    assert a[-3:, -2:].shape == (3, 2)
    a[-1, -1] = 7
    assert a[-1, -2:].tolist() == [0, 7]
    assert a.size == 1 << 80
    with pytest.raises(MemoryError):
        a[...]
    with pytest.raises(MemoryError):
        a[0]
    for wide in (1 << 63, 1 << 70, -(1 << 64)):
        with pytest.raises(IndexError):
            a[wide, 0]
        assert a[wide:, :0].shape == ((1 << 40) if wide < 0 else 0, 0)
