"""Data types: everything that NumPy has, ml_dtypes, text and structures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndzarr

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
OTHERS = ["S5", "U4", "V3", "M8[ns]", "M8[10us]", "m8[s]", "M8[D]", [("a", "i2"), ("b", "f8", (2,)), ("c", [("d", "S3")])]]


def values(dtype: Any) -> np.ndarray[Any, Any]:
    dtype = np.dtype(dtype)
    random = np.random.default_rng(1)
    if dtype.kind == "b":
        return random.random((5, 7)) < 0.5
    if dtype.kind == "S":
        return np.array([f"t{i}".encode() for i in range(35)], dtype).reshape(5, 7)
    if dtype.kind == "U":
        return np.array([f"ü{i}" for i in range(35)], dtype).reshape(5, 7)
    return np.frombuffer(random.integers(0, 64, 35 * dtype.itemsize, np.uint8).tobytes(), dtype).reshape(5, 7)


@pytest.mark.parametrize("format", ["zarr2", "zarr3"])
@pytest.mark.parametrize("dtype", NUMBERS + OTHERS, ids=str)
def test_elements_come_back_bit_by_bit(folder: str, dtype: Any, format: Any) -> None:
    if format == "zarr3" and isinstance(dtype, list):
        dtype = [field for field in dtype if field[0] != "b"]  # Zarr v3 has no sub-arrays.
    x = values(dtype)
    a = ndzarr.create(f"{folder}/a", shape=x.shape, dtype=x.dtype, chunks=(2, 3), format=format, codecs=["gzip:1"])
    assert a.dtype == x.dtype
    a[...] = x
    for found, expected in (
        (a[...], x),
        (a[1:4, ::-2], x[1:4, ::-2]),
        (a.oindex[[4, 0], 1:5], x[[4, 0], 1:5]),
        (a.vindex[[0, 4], [6, 1]], x[[0, 4], [6, 1]]),
    ):
        assert found.tobytes() == expected.tobytes()
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    out = np.zeros((10, 7), x.dtype)
    a.read(..., out=out[::2])
    assert out[::2].tobytes() == x.tobytes()
    a[1] = x[0]
    a[2, 2:4] = x[0, 0]
    assert a[1].tobytes() == x[0].tobytes()
    assert a[2, 3].tobytes() == x[0, 0].tobytes()
    a.append(x)
    assert a.shape == (10, 7)
    assert a[5:].tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_big_endian_is_only_how_it_is_stored(folder: str, dtype: str) -> None:
    x = values(dtype)
    a = ndzarr.create(f"{folder}/a", shape=x.shape, dtype=np.dtype(dtype).newbyteorder(">"), format="zarr2")
    a[...] = x
    assert a.dtype.isnative
    assert Path(f"{folder}/a/0.0").read_bytes() == x.astype(np.dtype(dtype).newbyteorder(">")).tobytes()
    np.testing.assert_array_equal(ndzarr.open(f"{folder}/a")[...], x)


def test_bytes_that_are_no_bool(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=3, dtype="?")
    odd = np.array([0, 1, 2], np.uint8).view(bool)
    with pytest.raises(ValueError, match="bool"):
        a[...] = odd


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint2", "float4_e2m1fn"])
def test_types_of_ml_dtypes(folder: str, name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = np.array([0, 1, 0, 1, 1, 0]).reshape(2, 3).astype(dtype)
    a = ndzarr.create(f"{folder}/a", shape=x.shape, dtype=dtype, chunks=(1, 2), fill_value=1)
    assert a.dtype == dtype
    assert a.fill_value == dtype.type(1)
    assert a[...].astype("f4").tolist() == [[1, 1, 1], [1, 1, 1]]
    a[...] = x
    assert a[...].tobytes() == x.tobytes()
    b = ndzarr.create(f"{folder}/b", shape=2, dtype=name)
    b[...] = 1
    assert b.dtype == dtype
    assert b[...].astype("f4").tolist() == [1, 1]


TEXTS = ["", "Ada", "Åse", "日本", "tab\t", "x" * 1000]


@pytest.mark.parametrize("format", ["zarr2", "zarr3", "n5"])
def test_py27_text_of_any_length(folder: str, format: Any) -> None:
    a = ndzarr.create(f"{folder}/r/a", shape=6, dtype=str, chunks=2, format=format)
    assert a[...].tolist() == [""] * 6
    a[...] = TEXTS
    assert a[...].tolist() == TEXTS
    assert a[4] == TEXTS[4]
    assert a[::-2].tolist() == TEXTS[::-2]
    assert a.oindex[[5, 0]].tolist() == [TEXTS[5], TEXTS[0]]
    if hasattr(np.dtypes, "StringDType"):
        assert a.dtype == np.dtypes.StringDType()
        a[...] = np.array(TEXTS[::-1], np.dtypes.StringDType())
    else:
        assert a.dtype == object
        a[...] = np.array(TEXTS[::-1], object)
    assert a[...].tolist() == TEXTS[::-1]
    a[0:2] = "one"
    assert a[:3].tolist() == ["one", "one", TEXTS[3]]
    a.append(["end"])
    assert a[6] == "end"
    for wrong in (None, 3, b"bytes", float("nan")):
        with pytest.raises(TypeError, match="text"):
            a[0] = wrong


def test_py27_missing_text_cannot_be_written(folder: str) -> None:
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy 1 has no missing text")
    a = ndzarr.create(f"{folder}/a", shape=2, dtype=str)
    missing = np.array(["a", None], np.dtypes.StringDType(na_object=None))
    with pytest.raises(TypeError, match="text"):
        a[...] = missing


def test_bytes_of_any_length(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=3, dtype=bytes, chunks=2)
    a[...] = np.array([b"", b"\xff\0", b"xyz"], object)
    assert a[...].tolist() == [b"", b"\xff\0", b"xyz"]
    a[1] = b"one"
    assert a[1] == b"one"
    with pytest.raises(TypeError, match="bytes"):
        a[1] = "text"


def test_json_values(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=3, dtype="json", format="zarr2")
    a[0] = {"a": [1, None]}
    a[1] = "text"
    assert a[...].tolist() == [{"a": [1, None]}, "text", None]
    a[0:2] = [{"b": 1}, [2, {"c": 3}]]
    a.append([{"d": 5e-324, "e": 2**64 - 1, "f": 0.1}])
    assert a[...].tolist() == [{"b": 1}, [2, {"c": 3}], None, {"d": 5e-324, "e": 2**64 - 1, "f": 0.1}]
    for wrong in (2**64, float("nan")):
        with pytest.raises(ValueError):
            a.append([[wrong]])
        with pytest.raises(ValueError):
            a[0] = {"a": wrong}
    assert a.shape == (4,)


@pytest.mark.parametrize("dtype", ["M8[10us]", "M8", "m8", "m8[25s]"])
def test_py28_dates_of_any_unit(folder: str, dtype: str) -> None:
    x = np.array([1, 2, "NaT"], dtype) if dtype.startswith("m") else np.array([1, 2, -(2**63)], "i8").view(dtype)
    a = ndzarr.create(f"{folder}/a", shape=3, dtype=dtype, fill_value=np.array("NaT", dtype))
    assert a.dtype == np.dtype(dtype)
    assert np.isnat(a.fill_value)
    assert np.isnat(a[...]).all()
    a[...] = x
    assert a[...].tobytes() == x.tobytes()
    a[0:2] = np.array("NaT", dtype)
    assert np.isnat(a[...]).all()


def test_aligned_structures_are_packed(folder: str) -> None:
    dtype = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    x = np.array([(1, 2.5), (3, 4.5)], dtype)
    a = ndzarr.create(f"{folder}/a", shape=2, dtype=dtype, fill_value=(7, 7.5))
    assert a.dtype.itemsize == 9
    assert a[0].item() == (7, 7.5)
    a[...] = x
    assert a[...].tolist() == x.tolist()
    assert a["b"].tolist() == [2.5, 4.5]
    assert a[1, "a"] == 3
    with pytest.raises(NotImplementedError):
        a["a"] = 0


def test_fill_values(folder: str) -> None:
    for dtype, value in (("f4", np.nan), ("i8", -(2**63)), ("c8", 1 + 2j), ("S3", b"ab"), ("?", True), ("U2", "ü")):
        a = ndzarr.create(f"{folder}/{dtype}", shape=2, dtype=dtype, fill_value=value)
        b = ndzarr.open(f"{folder}/{dtype}")
        np.testing.assert_array_equal(b.fill_value, np.array(value, a.dtype))
        np.testing.assert_array_equal(b[...], np.full(2, value, a.dtype))
    none = ndzarr.create(f"{folder}/none", shape=2, dtype="f4", format="zarr2", fill_value=None)
    assert none.fill_value is None


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i4", 1.5),
        ("u1", np.int64(300)),
        ("?", 2),
        ("f4", 1e300),
        ("U3", "abcdef"),
        ("S3", b"abcdef"),
        ("V3", b"abcdef"),
        ("M8[D]", np.datetime64("2001-01-01T12")),
        ([("a", "u1"), ("b", "f8")], (7.5, 7.5)),
    ],
    ids=str,
)
def test_fill_values_that_the_type_does_not_have(folder: str, dtype: Any, value: Any) -> None:
    with pytest.raises(ndzarr.ArgumentError, match="the fill value .* it would become"):
        ndzarr.create(f"{folder}/a", shape=2, dtype=dtype, format="zarr2", fill_value=value)
    assert not Path(f"{folder}/a").exists()


def test_fill_values_of_floats_are_rounded(folder: str) -> None:
    for dtype, value in (("f4", 0.1), ("f8", 2**53 + 1), ("f4", np.inf), ("M8[s]", np.datetime64("2001-01-01"))):
        a = ndzarr.create(f"{folder}/{dtype}-{value}", shape=2, dtype=dtype, format="zarr2", fill_value=value)
        np.testing.assert_array_equal(a.fill_value, np.array(value, dtype))


def test_masks_are_not_forgotten(folder: str) -> None:
    with pytest.raises(TypeError, match="mask"):
        ndzarr.create(f"{folder}/a", shape=2, dtype="i4", fill_value=np.ma.masked)
    a = ndzarr.create(f"{folder}/a", shape=2, dtype="i4")
    with pytest.raises(TypeError, match="mask"):
        a.append(np.ma.masked_equal([1, 2], 1))
    assert a.shape == (2,)


def test_a_type_that_no_format_has(folder: str) -> None:
    with pytest.raises(NotImplementedError, match="float128|longdouble"):
        ndzarr.create(f"{folder}/a", shape=2, dtype=np.longdouble)


def test_bytes_keep_their_nuls(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=5, dtype=bytes)
    a[0] = b"z\0\0"
    a[1:3] = [b"\0", b"a\0"]
    a[3:5] = [bytearray(b"b\0"), memoryview(b"\0\0")]
    a.append([b"c\0", b""])
    assert a[...].tolist() == [b"z\0\0", b"\0", b"a\0", b"b\0", b"\0\0", b"c\0", b""]


def test_a_type_without_a_dtype_replaces_nothing(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    group = ndzarr.create_group(f"{folder}/g")
    a = group.create_array("a", shape=3, dtype="i4")
    a[...] = [1, 2, 3]
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(NotImplementedError, match="ml_dtypes"):
        ndzarr.create(f"{folder}/g/a", shape=3, dtype="bfloat16", overwrite=True)
    with pytest.raises(NotImplementedError, match="ml_dtypes"):
        group.create_array("a", shape=3, dtype="bfloat16", overwrite=True)
    with pytest.raises(NotImplementedError, match="ml_dtypes"):
        group.create_array("b", shape=3, dtype="bfloat16")
    assert list(group) == ["a"]
    assert group.array("a")[...].tolist() == [1, 2, 3]


def test_more_axes_than_the_wheel_has_views_of(folder: str) -> None:
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("NumPy 1 has 32 axes")
    whole = (1,) * 33
    a = ndzarr.create(f"{folder}/a", shape=whole, dtype="i4")
    for call in (
        lambda: a[...],
        lambda: a.write(..., np.ones(whole, "i4")),
        lambda: a.append(np.ones(whole, "i4")),
        lambda: a[np.ones(whole, bool)],
    ):
        with pytest.raises(NotImplementedError, match="33 axes"):
            call()
    a[(0,) * 33] = 5
    assert a[(0,) * 32].tolist() == [5]
