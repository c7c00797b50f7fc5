"""Opening, creating, groups, attributes, errors, copies."""

from __future__ import annotations

import http.server
import json
import os
import pickle
import socket
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndzarr
from ndzarr._node import Where
from ndzarr._places import absolute, below, variables

FORMATS = ["zarr2", "zarr3", "n5", "zarr3-draft-a", "zarr3-draft-b"]


@pytest.mark.parametrize("format", FORMATS)
def test_groups_and_arrays_of_every_format(folder: str, format: Any) -> None:
    root = ndzarr.create_group(f"{folder}/r", format=format, attributes={"site": "north"})
    a = root.create_array("a", shape=(4, 6), dtype="u2", chunks=(2, 3))
    a[...] = 7
    b = root.create_group("g", attributes={"depth": 1}).create_array("b", shape=3, dtype="f8")
    assert (a.format, b.format, root.format) == (format, format, format)
    root = ndzarr.open_group(f"{folder}/r")
    assert list(root) == ["a", "g"]
    assert (len(root), "a" in root, "g/b" in root, "x" in root, 3 in root) == (2, True, True, False, False)
    assert root["g/b"] == root["g"]["b"]
    assert root.members(recursive=True) == {"a": "array", "g": "group", "g/b": "array"}
    assert [name for name, _ in root.arrays()] == ["a"]
    assert [name for name, _ in root.groups()] == ["g"]
    assert root["a"][3, 5] == 7
    assert root.attrs["site"] == "north"
    assert root.group("g").attrs.asdict() == {"depth": 1}
    with pytest.raises(KeyError):
        root["x"]
    with pytest.raises(FileNotFoundError):
        root["x"]
    with pytest.raises(TypeError, match="group, not an array"):
        root.array("g")
    del root["a"]
    assert list(root) == ["g"]
    with pytest.raises(KeyError):
        del root["a"]
    assert "g/b" in root.tree()


@pytest.mark.parametrize("format", FORMATS)
def test_arrays_with_their_groups(folder: str, format: Any) -> None:
    with pytest.raises(TypeError):
        ndzarr.create(f"{folder}/r", "g/a", shape=4, dtype="u1", format=format, attributes={"a": object()})
    assert not os.path.exists(f"{folder}/r")
    a = ndzarr.create(f"{folder}/r", "g/a", shape=4, dtype="u1", format=format)
    a[...] = 7
    ndzarr.create(f"{folder}/r", path="b", shape=4, dtype="u1", format=format)
    assert ndzarr.open_group(f"{folder}/r").members(recursive=True) == {"b": "array", "g": "group", "g/a": "array"}
    again = pickle.loads(pickle.dumps(a))
    assert (again == a, a.path, again.format, again[3]) == (True, "g/a", format, 7)
    with pytest.raises(FileExistsError):
        ndzarr.create(f"{folder}/r", "g/a", shape=4, dtype="u1", format=format)
    other: Any = "zarr2" if format != "zarr2" else "zarr3"
    with pytest.raises(ValueError, match=f"{format}.*{other}"):
        ndzarr.create(f"{folder}/r", "c", shape=4, dtype="u1", format=other)
    with pytest.raises(TypeError):
        ndzarr.create(f"{folder}/r/g/a", "c", shape=4, dtype="u1", format=format)


def test_attributes(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=4, dtype="f4", attributes={"units": "K", "n": np.float32(0.5)})
    other = ndzarr.open_array(f"{folder}/a")
    a.attrs["list"] = np.arange(3)
    other.attrs.update(nan=float("nan"), big=2**60)
    a.refresh()
    assert a.attrs == {"units": "K", "n": 0.5, "list": [0, 1, 2], "nan": "NaN", "big": 2**60}
    del a.attrs["list"]
    with pytest.raises(KeyError):
        del a.attrs["list"]
    assert sorted(a.attrs) == ["big", "n", "nan", "units"]
    a.attrs.put({"only": None})
    assert dict(ndzarr.open_array(f"{folder}/a").attrs) == {"only": None}
    a.attrs.clear()
    assert len(a.attrs) == 0
    with pytest.raises(TypeError):
        a.attrs["x"] = object()


def test_errors_are_pythons_own(folder: str) -> None:
    with pytest.raises(FileNotFoundError) as found:
        ndzarr.open(f"{folder}/nothing")
    assert isinstance(found.value, ndzarr.NdzarrError) and found.value.kind == "NotFound"
    ndzarr.create(f"{folder}/a", shape=4, dtype="u1", chunks=2, codecs=["zstd"])
    with pytest.raises(FileExistsError):
        ndzarr.create(f"{folder}/a", shape=4, dtype="u1")
    ndzarr.create(f"{folder}/a", shape=4, dtype="u1", chunks=2, codecs=["zstd"], overwrite=True)
    with pytest.raises(ndzarr.NodeKindError):
        ndzarr.open_group(f"{folder}/a")
    with pytest.raises(ValueError, match="format"):
        ndzarr.open(f"{folder}/a", format="zarr9")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n5_axes"):
        ndzarr.open(f"{folder}/a", n5_axes="other")  # type: ignore[arg-type]
    a = ndzarr.open_array(f"{folder}/a")
    a[...] = [1, 2, 3, 4]
    Path(f"{folder}/a/c/1").write_bytes(b"not zstd")
    with pytest.raises(OSError) as corrupt:
        a[...]
    assert isinstance(corrupt.value, ndzarr.CorruptError)
    assert (corrupt.value.key, corrupt.value.chunk) == ("c/1", (1,))
    assert a[:2].tolist() == [1, 2]
    document = Path(f"{folder}/a/zarr.json")
    document.write_text(document.read_text().replace('"zstd"', '"unheard-of"'))
    with pytest.raises(NotImplementedError, match="unheard-of"):
        ndzarr.open(f"{folder}/a")
    document.write_text("{")
    with pytest.raises(ValueError):
        ndzarr.open(f"{folder}/a")
    for name in ndzarr.__all__:
        error = getattr(ndzarr, name)
        if isinstance(error, type) and issubclass(error, Exception) and error is not ndzarr.NdzarrError:
            assert len(error.__mro__) > 4, f"{name} is also an exception of Python"


@pytest.mark.parametrize("order", ["native", "reversed"])
def test_py22_axes_of_n5(folder: str, order: Any) -> None:
    # As z5py writes an array of shape (2, 3, 4): the document has the reverse.
    os.makedirs(f"{folder}/c.n5/d/0/0")
    Path(f"{folder}/c.n5/attributes.json").write_text('{"n5": "2.0.0"}')
    document = {"dimensions": [4, 3, 2], "blockSize": [4, 3, 2], "dataType": "uint8", "compression": {"type": "raw"}}
    Path(f"{folder}/c.n5/d/attributes.json").write_text(json.dumps(document))
    header = bytes([0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2])
    Path(f"{folder}/c.n5/d/0/0/0").write_bytes(header + bytes(range(24)))
    zyx = np.arange(24, dtype="u1").reshape(2, 3, 4)
    a = ndzarr.open_array(f"{folder}/c.n5/d", n5_axes=order)
    np.testing.assert_array_equal(a[...], zyx if order == "reversed" else zyx.T)
    assert f"n5_axes='{order}'" in repr(a)
    assert order in a._repr_html_()
    assert order in repr(ndzarr.open(f"{folder}/c.n5", n5_axes=order))
    b = ndzarr.create(f"{folder}/c.n5/e", shape=a.shape, dtype="u1", format="n5", n5_axes=order)
    assert json.loads(Path(f"{folder}/c.n5/e/attributes.json").read_text())["dimensions"] == [4, 3, 2]
    assert b.shape == a.shape


def test_py22_z5py_shows_the_reverse(folder: str) -> None:
    z5py = pytest.importorskip("z5py")
    zyx = np.arange(5 * 4 * 3, dtype="u2").reshape(5, 4, 3)
    with z5py.File(f"{folder}/c.n5", mode="w", use_zarr_format=False) as file:
        file.create_dataset("d", data=zyx, chunks=(2, 3, 1), compression="gzip")
    native = ndzarr.open_array(f"{folder}/c.n5/d")
    turned = ndzarr.open_array(f"{folder}/c.n5/d", n5_axes="reversed")
    assert (native.shape, native.chunks) == ((3, 4, 5), (1, 3, 2))
    assert (turned.shape, turned.chunks) == ((5, 4, 3), (2, 3, 1))
    np.testing.assert_array_equal(native[...], zyx.T)
    np.testing.assert_array_equal(turned[...], zyx)
    native[2, 0, 4] = 999
    turned[1, :, 2] = 7
    with z5py.File(f"{folder}/c.n5", mode="r") as file:
        found = file["d"][...]
    zyx[4, 0, 2] = 999
    zyx[1, :, 2] = 7
    np.testing.assert_array_equal(found, zyx)


@pytest.mark.parametrize("format", ["zarr2", "zarr3"])
def test_py31_members_come_from_consolidated_metadata(folder: str, format: Any) -> None:
    group = ndzarr.create_group(f"{folder}/g", format=format)
    for name in "ab":
        group.create_array(name, shape=1, dtype="i4")
    group.consolidate()
    # Another tool makes an array that the document does not list: a list of the folder would find it.
    ndzarr.create(f"{folder}/elsewhere", shape=1, dtype="i4", format=format)
    os.rename(f"{folder}/elsewhere", f"{folder}/g/c")
    assert list(ndzarr.open_group(f"{folder}/g")) == ["a", "b"]
    document = Path(f"{folder}/g/zarr.json" if format == "zarr3" else f"{folder}/g/.zmetadata")
    if format == "zarr2":
        document.unlink()
    else:
        text = json.loads(document.read_text())
        del text["consolidated_metadata"]
        document.write_text(json.dumps(text))
    assert list(ndzarr.open_group(f"{folder}/g")) == ["a", "b", "c"]


@pytest.mark.parametrize("format", ["zarr2", "zarr3"])
def test_arrays_that_consolidated_metadata_lack_are_verified(folder: str, format: Any) -> None:
    group = ndzarr.create_group(f"{folder}/g", format=format)
    group.create_array("a", shape=1, dtype="i4")[:] = 1
    group.consolidate()
    other = ndzarr.create(f"{folder}/elsewhere", shape=1, dtype="i4", codecs=["zstd"], format=format)
    other[:] = 1
    chunk = Path(f"{folder}/elsewhere", "0" if format == "zarr2" else "c/0")
    chunk.write_bytes(b"no frame of zstd")
    os.rename(f"{folder}/elsewhere", f"{folder}/g/c")
    for place in (f"{folder}/g", ndzarr.open_group(f"{folder}/g")):
        assert [item["array"] for item in ndzarr.verify(place)] == ["c"]


def test_representations(stored: ndzarr.Array, folder: str) -> None:
    assert repr(stored) == (
        f"<ndzarr.Array '{folder}/cube' zarr3 shape=(16, 12, 10) dtype=float32 chunks=(4, 5, 3)>"
    )
    text = stored._repr_html_()
    assert "<table>" in text and "zstd" in text and "7.5 KiB" in text
    named = ndzarr.create(f"{folder}/<b>", shape=(2, 3), dtype="u1", dimension_names=["y", "<x>"])
    assert "&lt;b&gt;" in named._repr_html_() and "&lt;x&gt;: 3" in named._repr_html_()
    group = ndzarr.create_group(f"{folder}/<g>")
    group.create_array("<a>", shape=1, dtype="u1")
    assert "&lt;g&gt;" in group._repr_html_() and "&lt;a&gt;" in group._repr_html_()


def test_stored_chunks(stored: ndzarr.Array, folder: str) -> None:
    assert stored.nchunks == stored.nchunks_initialized == 4 * 3 * 4
    assert stored.nbytes_stored == sum(path.stat().st_size for path in Path(folder, "cube", "c").rglob("*") if path.is_file())
    empty = ndzarr.create(f"{folder}/e", shape=(1 << 40,), dtype="u1", chunks=1)
    empty[5] = 1
    assert empty.stored_chunks() == {(5,): 1}
    empty[5] = 0
    assert empty.nchunks_initialized == 0
    kept = ndzarr.open_array(f"{folder}/e", store_fill_chunks=True)
    kept[5] = 0
    assert kept.nchunks_initialized == 1


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


LITTLE, BIG = codec("bytes", endian="little"), codec("bytes", endian="big")
BLOSC = codec("blosc", cname="zlib", clevel=3, shuffle="noshuffle", typesize=4, blocksize=0)


@pytest.mark.parametrize("dtype", ["<i4", ">i4"])
@pytest.mark.parametrize(
    ("codecs", "stored"),
    [
        ("zstd", ["bytes", codec("zstd", level=3, checksum=False)]),
        (["zstd:-5", "crc32c"], ["bytes", codec("zstd", level=-5, checksum=False), {"name": "crc32c"}]),
        (["blosc:zlib:3:noshuffle"], ["bytes", BLOSC]),
        ([codec("transpose", order=[1, 0]), "gzip:1"], [codec("transpose", order=[1, 0]), "bytes", codec("gzip", level=1)]),
        ([codec("zstd", level=1, checksum=True)], ["bytes", codec("zstd", level=1, checksum=True)]),
        ([BIG, codec("zstd", level=1, checksum=True)], [BIG, codec("zstd", level=1, checksum=True)]),
        ([LITTLE], [LITTLE]),
        (["none"], ["bytes"]),
    ],
    ids=str,
)
def test_codecs_of_zarr3(folder: str, codecs: Any, stored: list[Any], dtype: str) -> None:
    x = np.arange(48, dtype="i4").reshape(6, 8)
    a = ndzarr.create(f"{folder}/a", shape=x.shape, dtype=np.dtype(dtype), chunks=(3, 3), codecs=codecs)
    a[...] = x
    np.testing.assert_array_equal(ndzarr.open(f"{folder}/a")[...], x)
    found = json.loads(Path(f"{folder}/a/zarr.json").read_text())["codecs"]
    # Codecs in JSON that include "bytes" decide the byte order.
    expected = [(BIG if dtype == ">i4" else LITTLE) if item == "bytes" else item for item in stored]
    assert found == expected


def test_big_endian_with_codecs_in_json_of_other_formats(folder: str) -> None:
    uri = "https://purl.org/zarr/spec/codec"
    lists: dict[Any, list[Any]] = {
        "zarr2": [{"id": "zlib", "level": 1}],
        "n5": [{"type": "gzip", "level": 1}],
        "zarr3-draft-b": [{"id": "zlib", "level": 1}],
        "zarr3-draft-a": [
            {"type": f"{uri}/endian/1.0", "configuration": {"endian": "big"}},
            {"type": f"{uri}/gzip/1.0", "configuration": {"level": 1}},
        ],
    }
    for format, codecs in lists.items():
        a = ndzarr.create(f"{folder}/{format}/a", shape=3, dtype=np.dtype(">i4"), codecs=codecs, format=format)
        a[...] = [1, 2, 3]
        assert ndzarr.open_array(f"{folder}/{format}/a")[...].tolist() == [1, 2, 3]
    assert json.loads(Path(f"{folder}/zarr2/a/.zarray").read_text())["dtype"] == ">i4"


def test_codecs_of_other_libraries(folder: str) -> None:
    numcodecs = pytest.importorskip("numcodecs")
    a = ndzarr.create(f"{folder}/a", shape=9, dtype="i4", format="zarr2", codecs=[numcodecs.Delta("i4"), numcodecs.Zlib(2)])
    a[...] = range(9)
    assert a[...].tolist() == list(range(9))
    document = json.loads(Path(f"{folder}/a/.zarray").read_text())
    assert (document["compressor"]["id"], document["filters"][0]["id"]) == ("zlib", "delta")
    zarr = pytest.importorskip("zarr")
    b = ndzarr.create(f"{folder}/b", shape=9, dtype="i4", codecs=[zarr.codecs.ZstdCodec(level=5)])
    b[...] = range(9)
    assert zarr.open_array(f"{folder}/b", mode="r")[...].tolist() == list(range(9))


@pytest.mark.parametrize("codecs", ["zstd:x", "zstd:1:2", "unheard-of", "blosc:no", "lz4:3", [object()], ["bz2:99999999999"]])
def test_codecs_that_do_not_exist(folder: str, codecs: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        ndzarr.create(f"{folder}/a", shape=9, dtype="i4", codecs=codecs)
    assert not os.path.exists(f"{folder}/a")


def test_resize_append_and_refresh(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=(2, 3), dtype="i4", chunks=(2, 2), fill_value=9)
    other = ndzarr.open_array(f"{folder}/a")
    assert a.append([[1, 2, 3]]) == (3, 3)
    assert a.append(np.ones((3, 1)), axis=-1) == (3, 4)
    with pytest.raises(ValueError, match="axes"):
        a.append([1, 2, 3, 4])
    with pytest.raises(IndexError):
        a.append([[1, 2, 3, 4]], axis=2)
    with pytest.raises((IndexError, ValueError)):
        a.append([[1, 2, 3]])
    other.refresh()
    assert other[...].tolist() == [[9, 9, 9, 1], [9, 9, 9, 1], [1, 2, 3, 1]]
    a.resize(1, 2)
    a.resize((4, 2))
    assert a[...].tolist() == [[9, 9]] * 4
    with pytest.raises(ValueError):
        a.resize(3)


def test_copies(folder: str, stored: ndzarr.Array, cube: Any) -> None:
    told: list[tuple[int, int]] = []
    report = ndzarr.copy(
        stored,
        f"{folder}/b",
        chunks=(2, 12, 10),
        shards=(8, 12, 10),
        codecs=["gzip:1"],
        dtype="f8",
        scale=2,
        offset=1,
        memory="64MiB",
        progress=lambda done, total: told.append((done, total)),
    )
    assert [item["level"] for item in report] == ["reencoded"]
    assert told[-1][0] == told[-1][1]
    b = ndzarr.open_array(f"{folder}/b")
    assert (b.chunks, b.shards, b.dtype) == ((2, 12, 10), (8, 12, 10), np.dtype("f8"))
    np.testing.assert_array_equal(b[...], cube.astype("f8") * 2 + 1)
    with pytest.raises(FileExistsError):
        ndzarr.copy(stored, f"{folder}/b")
    assert ndzarr.copy(stored, f"{folder}/b", overwrite=True)[0]["level"] == "rekeyed"
    ndzarr.copy(stored, f"{folder}/c.n5/s0", format="n5", n5_axes="reversed", codecs="gzip")
    np.testing.assert_array_equal(ndzarr.open(f"{folder}/c.n5/s0", n5_axes="reversed")[...], cube)
    np.testing.assert_array_equal(ndzarr.open(f"{folder}/c.n5/s0")[...], cube.T)
    for memory, n in ((100, 100), ("0.1K", 100), ("512KiB", 524288), ("512 kB", 512000)):
        with pytest.raises(MemoryError, match=f"{n} bytes"):
            ndzarr.copy(stored, f"{folder}/d", chunks=(16, 12, 10), memory=memory)
    for wrong in ("1.2.3", "5 apples", "-1"):
        with pytest.raises(ValueError, match="number of bytes"):
            ndzarr.copy(stored, f"{folder}/e", memory=wrong)


@pytest.mark.parametrize(
    "select",
    [
        np.s_[2:5],
        np.s_[..., ::3],
        np.s_[-3:, 1:11:4, ::-2],
        np.s_[:, 20:, :],
        (slice(None), slice(3, 9)),
    ],
    ids=str,
)
@pytest.mark.parametrize("axes", ["native", "reversed"])
def test_copies_a_part(folder: str, stored: ndzarr.Array, cube: Any, select: Any, axes: Any) -> None:
    n5 = f"{folder}/a.n5/s0"
    ndzarr.copy(stored, n5, format="n5", n5_axes=axes)
    expected = cube[select]
    for source in (stored, f"{folder}/cube"):
        ndzarr.copy(source, f"{folder}/part", select=select, chunks=(3, 5, 4), overwrite=True)
        np.testing.assert_array_equal(ndzarr.open_array(f"{folder}/part")[...], expected)
    ndzarr.copy(n5, f"{folder}/part", select=select, format="zarr3", overwrite=True, source_n5_axes=axes)
    np.testing.assert_array_equal(ndzarr.open_array(f"{folder}/part")[...], expected)


def test_a_part_that_cannot_be_copied(folder: str, stored: ndzarr.Array) -> None:
    for wrong in (0, np.s_[:, 0], np.s_[:, None]):
        with pytest.raises(ValueError, match="range of length 1"):
            ndzarr.copy(stored, f"{folder}/b", select=wrong)
    with pytest.raises(IndexError, match="too many"):
        ndzarr.copy(stored, f"{folder}/b", select=np.s_[:, :, :, :])
    with pytest.raises(IndexError, match="not by"):
        ndzarr.copy(stored, f"{folder}/b", select=[0, 1])
    group = ndzarr.create_group(f"{folder}/g")
    for source in (group, f"{folder}/g"):
        with pytest.raises(TypeError, match="is a group"):
            ndzarr.copy(source, f"{folder}/b", select=np.s_[:])
    assert not os.path.exists(f"{folder}/b")


@pytest.mark.parametrize(
    ("codecs", "stored"),
    [
        (codec("zstd", level=7, checksum=False), [codec("zstd", level=7, checksum=False)]),
        ([{"id": "zstd", "level": -2}, "crc32c"], [codec("zstd", level=-2, checksum=False), {"name": "crc32c"}]),
        ({"type": "gzip", "level": 2, "useZlib": False}, [codec("gzip", level=2)]),
        ({"id": "blosc", "cname": "zlib", "clevel": 3, "shuffle": 0, "blocksize": 0}, [BLOSC]),
        (BLOSC, [BLOSC]),
        ("none", []),
    ],
    ids=str,
)
def test_codecs_of_a_copy(folder: str, stored: Any, codecs: Any) -> None:
    a = ndzarr.create(f"{folder}/a", shape=9, dtype="i4")
    a[...] = range(9)
    ndzarr.copy(a, f"{folder}/b", codecs=codecs)
    assert json.loads(Path(f"{folder}/b/zarr.json").read_text())["codecs"] == [LITTLE, *stored]
    assert ndzarr.open_array(f"{folder}/b")[...].tolist() == list(range(9))


@pytest.mark.parametrize("codecs", [codec("zstd", level=1, checksum=True), codec("transpose", order=[0]), codec("unheard-of"), LITTLE], ids=str)
def test_codecs_that_a_copy_cannot_have(folder: str, codecs: Any) -> None:
    a = ndzarr.create(f"{folder}/a", shape=9, dtype="i4")
    with pytest.raises(ValueError, match="codec"):
        ndzarr.copy(a, f"{folder}/b", codecs=codecs)
    assert not os.path.exists(f"{folder}/b")


def test_options_of_a_place_are_not_for_what_is_open(folder: str, stored: ndzarr.Array) -> None:
    for call in (
        lambda: ndzarr.copy(stored, f"{folder}/b", source_storage_options={"key": "x"}),
        lambda: ndzarr.copy(stored, f"{folder}/b", source_n5_axes="reversed"),
        lambda: ndzarr.verify(stored, storage_options={"key": "x"}),
        lambda: ndzarr.convert(stored, storage_options={"key": "x"}),
    ):
        with pytest.raises(ValueError, match="is open"):
            call()
    assert not os.path.exists(f"{folder}/b")


def test_convert_in_place(folder: str) -> None:
    root = ndzarr.create_group(f"{folder}/r", format="zarr2")
    a = root.create_array("a", shape=4, dtype="i4", codecs=["zstd"])
    a[...] = range(4)
    assert [item["level"] for item in ndzarr.convert(f"{folder}/r")] == ["metadata", "metadata"]
    found = ndzarr.open_array(f"{folder}/r/a", format="zarr3")
    assert (found.format, found[...].tolist()) == ("zarr3", [0, 1, 2, 3])


def test_verify(folder: str) -> None:
    root = ndzarr.create_group(f"{folder}/r")
    for name, shards in (("a", None), ("b", 64)):
        a = root.create_array(name, shape=256, dtype="i4", chunks=16, shards=shards, codecs=["zstd", "crc32c"])
        a[...] = range(256)
    assert ndzarr.verify(f"{folder}/r") == []
    Path(f"{folder}/r/a/c/3").write_bytes(b"x")
    shard = Path(f"{folder}/r/b/c/1")
    damaged = bytearray(shard.read_bytes())
    damaged[3] ^= 255
    shard.write_bytes(damaged)
    found = ndzarr.verify(f"{folder}/r")
    assert [(item["array"], item["key"], item["chunk"], item["inner_chunk"]) for item in found] == [
        ("a", "a/c/3", (3,), []),
        ("b", "b/c/1", (1,), [[0]]),
    ]
    assert [item["codec"] for item in found] == ["crc32c", "crc32c"]


def test_archives_and_urls(folder: str) -> None:
    zarr = pytest.importorskip("zarr")
    store = zarr.storage.ZipStore(f"{folder}/a.zip", mode="w")
    zarr.create_array(store, name="g/a", data=np.arange(6))
    store.close()
    root = ndzarr.open_group(f"{folder}/a.zip")
    assert root["g"]["a"][...].tolist() == list(range(6))
    assert ndzarr.open(f"{folder}/a.zip|zip:g/a").shape == (6,)
    assert pickle.loads(pickle.dumps(root["g"]["a"])).shape == (6,)
    assert ndzarr.open(f"file://{folder}/a.zip|zip:g")["a"].shape == (6,)


@pytest.mark.parametrize(
    ("place", "path", "expected"),
    [
        ("/a/b", "c/d", "/a/b/c/d"),
        ("/a.zip", "c", "/a.zip|zip:c"),
        ("/a.zip|zip:", "c", "/a.zip|zip:c"),
        ("/a.zip|zip:b", "c", "/a.zip|zip:b/c"),
        ("s3://b/a", "c d%", "s3://b/a/c%20d%25"),
        ("https://h/a?sig=1/2", "c", "https://h/a/c?sig=1/2"),
        ("https://h/a.zip?sig=1", "c", "https://h/a.zip?sig=1|zip:c"),
        ("/a%b", "c%", "/a%b/c%"),
        ("/a", "", "/a"),
        ("/a", "/b//c/", "/a/b/c"),
        ("s3://b/a", "/c", "s3://b/a/c"),
    ],
)
def test_places_below_others(place: str, path: str, expected: str) -> None:
    assert below(place, path) == expected


def test_places_become_absolute(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.chdir(folder)
    assert absolute("a/../b") == f"{folder}/b"
    assert absolute("a.zip|zip:b") == f"{folder}/a.zip|zip:b"
    assert absolute(Path("a")) == f"{folder}/a"
    for url in ("s3://b/a", "memory://b/a", "file:///a", "zip::s3://b/a.zip"):
        assert absolute(url) == url


def test_storage_options_have_the_names_of_s3fs_and_obstore() -> None:
    expected = {
        "AWS_ACCESS_KEY_ID": "i",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_SESSION_TOKEN": "t",
        "AWS_ENDPOINT_URL": "http://e",
        "AWS_REGION": "r",
    }
    s3fs = {"key": "i", "secret": "s", "token": "t", "client_kwargs": {"endpoint_url": "http://e", "region_name": "r"}}
    obstore = {"access_key_id": "i", "secret_access_key": "s", "session_token": "t", "endpoint": "http://e", "region": "r"}
    upper = {"AWS_ACCESS_KEY_ID": "i", "aws_secret_access_key": "s", "aws_session_token": "t", "aws_endpoint": "http://e", "aws_region": "r"}
    for options in (s3fs, obstore, upper):
        assert variables("s3://b/a", options) == expected
    assert variables("s3://b/a", {"anon": True}) == {"AWS_SKIP_SIGNATURE": "true"}
    assert variables("gs://b/a", {"token": "f.json"}) == {"GOOGLE_APPLICATION_CREDENTIALS": "f.json"}
    assert variables("gs://b/a", {"token": "anon"}) == {"GOOGLE_SKIP_SIGNATURE": "true"}
    assert variables("gs://b/a", {"token": {"a": 1}}) == {"GOOGLE_SERVICE_ACCOUNT_KEY": '{"a": 1}'}
    for usual in ("google_default", "cloud", None):
        assert variables("gs://b/a", {"token": usual}) == {}
    with pytest.raises(ValueError, match="browser"):
        variables("gs://b/a", {"token": "browser"})
    assert variables("az://b/a", {"account_name": "a", "account_key": "k"}) == {
        "AZURE_STORAGE_ACCOUNT_NAME": "a",
        "AZURE_STORAGE_ACCOUNT_KEY": "k",
    }
    assert variables("s3://b/a", None) is None
    with pytest.raises(ValueError, match="unknown storage option 'sekret'"):
        variables("s3://b/a", {"sekret": "x"})


def test_a_folder_has_a_durability(tmp_path: Path) -> None:
    for place in (str(tmp_path / "a"), (tmp_path / "a").as_uri()):
        assert variables(place, {"durability": "none"}) == {"NDZARR_DURABILITY": "none"}
        a = ndzarr.create(place, shape=3, dtype="u1", overwrite=True, storage_options={"durability": "full"})
        a[:] = 5
        assert pickle.loads(pickle.dumps(a))[...].tolist() == [5, 5, 5]
        with pytest.raises(ValueError, match="NDZARR_DURABILITY is none, documents, data or full"):
            ndzarr.open(place, storage_options={"durability": "Full"})
    for place in ("s3://b/a", "memory://durability/a"):
        with pytest.raises(ValueError, match="unknown storage option 'durability'"):
            variables(place, {"durability": "none"})


def test_limits_and_payers_have_the_names_of_botocore_and_obstore(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(variable, raising=False)
    botocore = {
        "requester_pays": True,
        "use_ssl": False,
        "client_kwargs": {"endpoint_url": "http://e"},
        "config_kwargs": {
            "connect_timeout": 2,
            "read_timeout": 3,
            "retries": {"max_attempts": 4},
            "s3": {"addressing_style": "path"},
        },
    }
    expected = {
        "AWS_REQUEST_PAYER": "true",
        "AWS_ENDPOINT_URL": "http://e",
        "NDZARR_CONNECT_TIMEOUT": "2",
        "NDZARR_READ_TIMEOUT": "3",
        "NDZARR_ATTEMPTS": "5",
    }
    assert variables("s3://b/a", botocore) == expected
    obstore = {
        "client_options": {"timeout": "30s", "connect_timeout": timedelta(seconds=2), "allow_http": True},
        "retry_config": {"max_retries": 0, "retry_timeout": timedelta(minutes=1)},
    }
    for place in ("s3://b/a", "gs://b/a", "az://b/a", "https://h/a"):
        assert variables(place, obstore) == {
            "NDZARR_READ_TIMEOUT": "30.0",
            "NDZARR_CONNECT_TIMEOUT": "2.0",
            "NDZARR_ATTEMPTS": "1",
            "NDZARR_RETRY_FOR": "60.0",
        }
        assert variables(place, {"missing_if_denied": True}) == {"NDZARR_MISSING_IF_DENIED": "true"}
    assert variables("gs://b/a", {"requester_pays": "mine"}) == {"GOOGLE_CLOUD_QUOTA_PROJECT": "mine"}
    assert variables("s3://b/a", {"virtual_hosted_style_request": False}) == {}
    bearer = {"NDZARR_HTTP_HEADERS": "Authorization: Bearer tok"}
    for options in (
        {"headers": {"Authorization": "Bearer tok"}},
        {"client_kwargs": {"headers": {"Authorization": "Bearer tok"}}},
        {"token": "tok"},
    ):
        assert variables("https://h/a", options) == bearer
    for wrong in ({"headers": "a: b"}, {"headers": {"a": "b\nc: d"}}):
        with pytest.raises(ValueError, match="header"):
            variables("https://h/a", wrong)
    for wrong in (
        {"use_ssl": True, "endpoint_url": "http://e"},
        {"allow_http": False, "endpoint_url": "http://e"},
        {"use_ssl": False},
        {"config_kwargs": {"s3": {"addressing_style": "virtual"}}},
    ):
        with pytest.raises(ValueError):
            variables("s3://b/a", wrong)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://e")
    assert variables("s3://b/a", {"use_ssl": False}) == {}
    with pytest.raises(ValueError, match="use_ssl=True contradicts the endpoint http://e"):
        variables("s3://b/a", {"use_ssl": True})
    assert variables("s3://b/a", {"use_ssl": True, "endpoint_url": "https://f"}) == {"AWS_ENDPOINT_URL": "https://f"}
    for name, value in {"timeout": 0, "retry_for": "soon", "attempts": -1}.items():
        with pytest.raises(OSError, match="NDZARR_"):
            ndzarr.open("https://127.0.0.1:1/a", storage_options={name: value})


def test_a_silent_server_is_waited_for_as_long_as_the_options_say() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"http://127.0.0.1:{silent.getsockname()[1]}/a.zarr"
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            ndzarr.open(place, storage_options={"timeout": 0.5, "attempts": 2})
    # Two attempts in one round.
    assert time.monotonic() - start < 10


def test_credentials_that_are_not_there_are_denied(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, f"{folder}/none")
    with pytest.raises(PermissionError, match="nobody"):
        ndzarr.open("s3://bucket/a", storage_options={"profile": "nobody", "region": "us-east-1"})


@pytest.mark.parametrize("format", ["zarr2", "zarr3", "n5"])
def test_files_of_others_stay_when_a_node_goes(folder: str, format: Any) -> None:
    group = ndzarr.create_group(f"{folder}/g", format=format)
    group.create_array("a", shape=4, dtype="u1")[...] = 1
    notes = Path(f"{folder}/g/a/stations.csv")
    notes.write_text("mine")

    def delete() -> None:
        del group["a"]

    for call in (
        delete,
        lambda: group.erase("a"),
        lambda: group.create_array("a", shape=4, dtype="u1", overwrite=True),
        lambda: ndzarr.create(f"{folder}/g/a", shape=4, dtype="u1", format=format, overwrite=True),
        lambda: ndzarr.create_group(f"{folder}/g", format=format, overwrite=True),
    ):
        with pytest.raises(ndzarr.AlreadyExistsError, match=r"stations\.csv.*`force`"):
            call()
    assert notes.read_text() == "mine"
    assert group.array("a")[...].tolist() == [1, 1, 1, 1]
    again = ndzarr.create(f"{folder}/g/a", shape=3, dtype="u1", format=format, overwrite=True, force=True)
    assert again.shape == (3,)
    assert not notes.exists()
    notes.write_text("mine")
    group.erase("a", force=True)
    assert list(group) == []
    assert not notes.exists()
    with pytest.raises(KeyError):
        group.erase("a", force=True)


def test_attributes_that_are_no_json_leave_no_group(folder: str) -> None:
    group = ndzarr.create_group(f"{folder}/g")
    for wrong in ({"a": object()}, {"a": 2**64}):
        with pytest.raises((TypeError, ValueError)):
            group.create_group("b", attributes=wrong)
    assert list(group) == []


def test_numbers_of_attributes_come_back_as_they_were(folder: str) -> None:
    numbers = np.random.default_rng(0).integers(0, 2**64, 4000, dtype="u8").view("f8")
    floats = [number for number in numbers.tolist() if np.isfinite(number)]
    integers = [-(2**63), 2**63, 2**64 - 1]
    ndzarr.create_group(f"{folder}/g", attributes={"floats": floats, "integers": integers})
    found = ndzarr.open(f"{folder}/g").attrs
    assert found["floats"] == floats
    assert found["integers"] == integers
    for longer in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="64 bits"):
            found["long"] = [longer]
    assert "long" not in found


def test_only_nodes_are_overwritten(folder: str) -> None:
    home = Path(folder) / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("years")
    a = ndzarr.create("memory://only-nodes/a", shape=4, dtype="u1")
    for call in (
        lambda: ndzarr.create(home, shape=4, dtype="u1", overwrite=True),
        lambda: ndzarr.create_group(home, overwrite=True),
        lambda: ndzarr.copy(a, home, overwrite=True),
    ):
        with pytest.raises(FileExistsError, match="thesis.tex"):
            call()
    assert (home / "thesis.tex").read_text() == "years"


def test_a_copy_keeps_the_axes_of_its_source(folder: str) -> None:
    v = ndzarr.create(f"{folder}/v.n5/s0", shape=(30, 20, 10), dtype="u2", format="n5")
    a = ndzarr.open(f"{folder}/v.n5/s0", n5_axes="reversed")
    assert a.shape == (10, 20, 30)
    report = ndzarr.copy(a, f"{folder}/w.n5/s0")
    assert report[0]["level"] == "rekeyed"
    for axes in ("native", "reversed"):
        shapes = {ndzarr.open(f"{folder}/{name}.n5/s0", n5_axes=axes).shape for name in "vw"}
        assert len(shapes) == 1
    assert ndzarr.open(f"{folder}/w.n5/s0").shape == v.shape


def test_what_is_given_stands_instead_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str | None]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers["x-amz-security-token"]))
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, value in {
            "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
            "AWS_SESSION_TOKEN": "of-another-account",
            "AWS_SKIP_SIGNATURE": "true",
            "NO_PROXY": "*",
        }.items():
            monkeypatch.setenv(name, value)
        options = {
            "endpoint_url": f"http://127.0.0.1:{server.server_address[1]}",
            "key": "id",
            "secret": "x",
            "region": "us-east-1",
        }
        with pytest.raises(FileNotFoundError):
            ndzarr.open("s3://bucket/a.zarr", storage_options=options)
        server.shutdown()
    assert seen and {token for _, token in seen} == {None}


def test_arguments_of_another_kind(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=(10, 10), dtype="f4")
    group = ndzarr.create_group(f"{folder}/g")
    calls: list[tuple[Any, Any, str]] = [
        (ValueError, lambda: ndzarr.create(f"{folder}/b", shape=(-3,), dtype="f4"), "-3"),
        (ValueError, lambda: ndzarr.create(f"{folder}/b", shape=2**64, dtype="f4"), "2\\*\\*64"),
        (ValueError, lambda: ndzarr.create(f"{folder}/b", shape=3, chunks=-1, dtype="f4"), "-1"),
        (ValueError, lambda: a.resize((-1, 3)), "-1"),
        (ValueError, lambda: a.resize(3), "1 axes for an array of 2"),
        (ValueError, lambda: a.append(np.ones((3, 4))), "shape|axis|length"),
        (ValueError, lambda: a.append(np.ones(3)), "axes"),
        (TypeError, lambda: ndzarr.create(f"{folder}/b", shape=3, dtype="f4", format=3), "format"),
        (TypeError, lambda: ndzarr.open(f"{folder}/a", format=3), "format"),
        (TypeError, lambda: ndzarr.open(f"{folder}/a", n5_axes=None), "n5_axes"),
        (TypeError, lambda: ndzarr.create(f"{folder}/b", shape=3, dtype="f4", order=1), "order"),
        (TypeError, lambda: ndzarr.create(f"{folder}/b", shape=3, dtype="f4", dimension_names=[None]), "dimension_names"),
        (TypeError, lambda: group.create_array("q", shpae=3, dtype="f4"), r"create_array\(\) got .*shpae"),
        (TypeError, lambda: group.create_array("q", data=np.ones(3)), r"create_array\(\) got .*data"),
        (TypeError, lambda: group.create_array("q", shape=3), r"create_array\(\) missing .*dtype"),
        (TypeError, lambda: group.__setitem__("x", 1), "item assignment"),
        (TypeError, lambda: ndzarr.copy(a, f"{folder}/b", scale="2"), "scale"),
    ]
    for cls, call, text in calls:
        with pytest.raises(cls, match=text) as error:
            call()
        assert not isinstance(error.value, (IndexError, OverflowError)) and "extract" not in str(error.value)
        assert "::" not in str(error.value) and "Opening" not in str(error.value)
    assert list(group) == [] and not os.path.exists(f"{folder}/b")


def test_a_slash_in_front_is_the_same_name(folder: str) -> None:
    group = ndzarr.create_group(f"{folder}/g")
    made = group.create_array("/lead", shape=3, dtype="i4")
    assert made == group["lead"] == group["/lead/"] and hash(made) == hash(group["lead"])
    assert repr(made) == repr(group["lead"])


def test_paths_that_are_bytes_or_no_text(folder: str) -> None:
    for path in (os.fsencode(f"{folder}/bytes"), Path(folder) / "path", os.fsdecode(os.fsencode(folder) + b"/\xff\xfe")):
        a = ndzarr.create(path, shape=3, dtype="i4")
        a[...] = [1, 2, 3]
        assert ndzarr.open_array(path)[1] == 2
        assert pickle.loads(pickle.dumps(a))[2] == 3
        assert os.path.exists(os.path.join(os.fsdecode(path), "zarr.json"))
    odd = os.fsencode(folder) + b"/\xff"
    ndzarr.create_group(odd).create_array("a", shape=3, dtype="i4")
    assert list(ndzarr.open_group(odd)) == ["a"]
    assert ndzarr.copy(os.fsencode(folder) + b"/bytes", odd + b"/b")[0]["kind"] == "array"
    repr(ndzarr.open_group(odd)).encode()
    ndzarr.open_group(odd)._repr_html_().encode()


def test_secrets_of_urls_are_not_shown() -> None:
    where = Where("https://me:PASSWORD@h/a.zarr?X-Sig=SECRET|zip:", storage_options={"secret": "SECRET"})
    assert where.shown == "https://h/a.zarr?…|zip:"
    assert "SECRET" not in repr(where) and "PASSWORD" not in repr(where)
    assert Where("zip::https://me:PASSWORD@h/a.zip?X-Sig=SECRET").shown == "zip::https://h/a.zip?…"
    # A folder is not a URL.
    assert Where("/a?b@c/d").shown == "/a?b@c/d"
    assert "SECRET" not in f"{where.shown} {where.storage_options!r:.0}"
    assert "storage_options" not in repr(where)


def test_chunks_under_another_separator(tmp_path: Path) -> None:
    document = {
        "zarr_format": 2, "shape": [4, 4], "chunks": [2, 2], "dtype": "|u1", "compressor": None,
        "fill_value": 0, "order": "C", "filters": None,
    }
    for i in range(2):
        (tmp_path / "a" / str(i)).mkdir(parents=True)
        for j in range(2):
            (tmp_path / "a" / str(i) / str(j)).write_bytes(bytes([1, 2, 3, 4]))
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "a" / ".zarray").write_text(json.dumps(document))
    place = str(tmp_path / "a")
    a = ndzarr.open_array(place)
    for call in (lambda: a[...], lambda: a.stored_chunks(), lambda: ndzarr.copy(a, str(tmp_path / "b"))):
        with pytest.raises(ndzarr.MetadataError, match="separator '/'"):
            call()
    with pytest.raises(ndzarr.MetadataError, match="separator '/'"):
        a[...] = 1
    assert not (tmp_path / "a" / "0.0").exists()
    opened = [
        ndzarr.open(place, separator="/"),
        ndzarr.open_array(place, separator="/"),
        ndzarr.open_group(str(tmp_path), separator="/")["a"],
    ]
    for a in opened:
        assert pickle.loads(pickle.dumps(a))[3].tolist() == [3, 4, 3, 4]
    with pytest.raises(ValueError, match="separator is '/' or '.'"):
        ndzarr.open(place, separator="-")  # type: ignore[arg-type]
