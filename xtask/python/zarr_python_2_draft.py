"""Cases of the 2022 draft of Zarr v3, dialect B, written by the experimental mode of zarr-python 2."""

import gzip
import os
import sys
import types
import warnings

os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
os.environ["ZARR_V3_SHARDING"] = "1"

from fixture import agree, begin, ramp, run  # noqa: E402  isort: skip (it comes before numcodecs)

import numcodecs  # noqa: E402
import numpy as np  # noqa: E402
import zarr  # noqa: E402
from numcodecs import blosc  # noqa: E402
from zarr._storage.v3_storage_transformers import ShardingStorageTransformer  # noqa: E402

# zarr-python looks for a transformer of its own tests, which would need pytest.
sys.modules["zarr.tests.test_storage_v3"] = types.SimpleNamespace(
    DummyStorageTransfomer=types.SimpleNamespace(extension_uri="none", valid_types=[])
)
gzip.time = types.SimpleNamespace(time=lambda: 0)
blosc.use_threads = False
warnings.simplefilter("ignore")

WRITER = {"writer": "zarr-python", "version": zarr.__version__}


def case(name, **fields):
    fields.setdefault("node", "a")
    return begin(f"draft/zp2-{name}", **WRITER, format="zarr3-draft-b", **fields)


def write(c, values, chunks, *, fill=0, expected_fill=None, data_type=None, attributes=None, region=..., sharding=None, **options):
    """Creates the array at the case's node, writes `values` into `region`, reads it back and finishes the case."""
    store = zarr.DirectoryStoreV3(c.store)
    options.setdefault("compressor", None)
    path = c.fields["node"] or "/"
    if sharding:
        options["storage_transformers"] = [ShardingStorageTransformer("indexed", chunks_per_shard=sharding)]
    dtype = options.pop("dtype", values.dtype)
    z = zarr.create(
        values.shape, chunks=chunks, dtype=dtype, store=store, path=path, zarr_version=3, fill_value=fill, **options
    )
    if region is not ...:
        full = np.full_like(values, fill)
        full[region] = values[region]
        values = full
    if values.size:
        z[region] = values[region]
    if attributes:
        z.attrs.update(attributes)
    back = zarr.open_array(store, path=path, mode="r", zarr_version=3)[...]
    if values.dtype.kind == "O":
        assert back.tolist() == values.tolist(), c.name
    else:
        agree(back, values, c.name)
    fill = fill if expected_fill is None else expected_fill
    c.array(values, chunk_shape=z.chunks, data_type=data_type, fill_value=fill, attributes=attributes, shard_shape=None if not sharding else [n * k for n, k in zip(chunks, sharding)])


def dtypes():
    for code in ["|b1", "|i1", "|u1"]:
        if c := case(f"dtype-{code[1:]}"):
            write(c, ramp((5, 3), code), (2, 2), fill=1, region=np.s_[:4])
    for kind in ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]:
        for order, tag in [("<", "le"), (">", "be")]:
            if c := case(f"dtype-{kind}-{tag}", traps=["D3-T37"] if kind[0] == "c" else ["D3-T12"] if kind[1] == "8" else []):
                write(c, ramp((5, 3), order + kind), (2, 2), fill=1, region=np.s_[:4])
    if c := case("dtype-v3", note='written as the structured type [["", "|V3"]]', traps=["D3-068"]):
        write(c, ramp((5,), "V3"), (2,), fill=np.void(b"\1\2\3"), expected_fill=b"\1\2\3")
    if c := case("dtype-s3", features=["dtype-fixed-string"]):
        write(c, np.array([b"", b"a", b"bcd"], "S3"), (2,), fill=b"q", expected_fill=b"q\0\0")
    if c := case("dtype-u3", features=["dtype-fixed-string"]):
        write(c, np.array(["", "é", "日本語"], "<U3"), (2,), fill="ü")
    for unit, tag in [("<M8[ns]", "datetime-le"), (">M8[s]", "datetime-be")]:
        if c := case(f"dtype-{tag}", features=["dtype-datetime"]):
            write(c, ramp((5,), unit), (2,), fill=np.array(5, "i8").astype(unit)[()])
    if c := case("dtype-struct", features=["dtype-struct"], traps=["D3-T36"]):
        dtype = np.dtype([("a", "<i2"), ("b", ">f4")])
        values = np.array([(1, 2.0), (3, -0.0), (5, np.inf)], dtype)
        write(c, values, (2,), fill=np.zeros((), dtype)[()], expected_fill={"a": 0, "b": 0.0})
    if c := case("object-vlen-utf8", features=["dtype-vlen"], traps=["D3-T35"]):
        values = np.array(["a", "bb", "", "é"], dtype=object)
        write(c, values, (3,), dtype=object, filters=[numcodecs.VLenUTF8()], fill="", data_type="string")


def codecs():
    smooth = (np.arange(40 * 25).reshape(40, 25) // 7).astype("<i4")
    options = [
        ("gzip", numcodecs.GZip(1)),
        ("zlib", numcodecs.Zlib(1)),
        ("bz2", numcodecs.BZ2(1)),
        ("lz4", numcodecs.LZ4()),
        ("lzma", numcodecs.LZMA()),
        ("zstd", numcodecs.Zstd(3)),
        ("zstd-checksum", numcodecs.Zstd(3, checksum=True)),
        ("default", "default"),
    ]
    options += [(f"blosc-{n}-{s}", numcodecs.Blosc(n, 5, s)) for n in ["blosclz", "lz4", "zlib", "zstd"] for s in [0, 1, 2]]
    for tag, codec in options:
        if c := case(f"compressor-{tag}"):
            write(c, smooth, (20, 25), compressor=codec)
    if c := case("filter-delta", traps=["D3-T03"]):
        write(c, ramp((4,), ">u2"), (2,), order="F", filters=[numcodecs.Delta(">u2")], dimension_separator=".", fill=5)
    if c := case("filter-delta-attributes", traps=["D3-T34"], note="the filters stand among the user attributes"):
        write(c, ramp((4, 3), "<i4"), (2, 2), filters=[numcodecs.Delta("<i4")], attributes={"w": 1, "t": "ü"})
    if c := case("filter-chain"):
        chain = [numcodecs.Delta("<i4"), numcodecs.Shuffle(4)]
        write(c, ramp((4, 3), "<i4"), (2, 2), order="F", filters=chain, compressor=numcodecs.Zlib(1))


def layouts():
    if c := case("order-f", traps=["D3-T18"]):
        write(c, np.arange(6, dtype="<u2").reshape(2, 3), (2, 3), order="F")
    if c := case("order-f-edges", traps=["D3-T18"]):
        write(c, ramp((3, 5, 4), ">u2"), (2, 3, 2), order="F")
    if c := case("shape-0d", traps=["D3-T09"]):
        write(c, np.array(1.5, "<f8"), ())
    if c := case("shape-zero-length"):
        write(c, np.zeros((0, 3), "<i4"), (1, 3))
    if c := case("edges", traps=["D3-T40"]):
        write(c, np.array([1, 2, 3], "u1"), (2,), fill=9)
    if c := case("edges-3d"):
        write(c, ramp((3, 5, 4), "<u2"), (2, 2, 3), fill=9)
    for sep, tag in [("/", "slash"), (".", "dot")]:
        if c := case(f"separator-{tag}", traps=["D3-T11"]):
            write(c, ramp((3, 3), "u1"), (2, 2), dimension_separator=sep)
    if c := case("node-deep", node="g/h/a", traps=["D3-T26"]):
        write(c, ramp((3, 3), "u1"), (2, 2), attributes={"k": [1, None]})
    if c := case("node-root", node="", traps=["D3-T07"]):
        write(c, ramp((3, 3), "u1"), (2, 2))
    if c := case("node-named-root", node="root", traps=["D3-T05"]):
        write(c, ramp((3, 3), "u1"), (2, 2))
    for tag, code, fill in [
        ("nan", "<f4", np.nan),
        ("neg-inf", "<f8", -np.inf),
        ("u8-max", "<u8", 2**64 - 1),
    ]:
        if c := case(f"fill-{tag}"):
            write(c, np.ones((4, 3), code), (2, 2), fill=np.array(fill, code)[()], region=np.s_[:2])
    if c := case("fill-null", traps=["D3-T13"]):
        store = zarr.DirectoryStoreV3(c.store)
        z = zarr.create((4,), chunks=(2,), dtype="<u2", store=store, path="a", zarr_version=3, fill_value=None, compressor=None)
        z[:2] = 1
        c.array(np.array([1, 1, 0, 0], "<u2"), chunk_shape=(2,), fill_value=None)


def sharding():
    if c := case("shard-1d", traps=["D3-T19", "D3-T21"]):
        write(c, np.array([1, 2, 3, 4, 9, 9], "u1"), (2,), sharding=(2,))
    if c := case("shard-2d", traps=["D3-T23"]):
        write(c, ramp((6, 6), "<u2"), (2, 2), sharding=(2, 2), fill=7)
    if c := case("shard-2d-dot", traps=["D3-T23"]):
        write(c, ramp((6, 6), "<u2"), (2, 2), sharding=(2, 3), fill=7, dimension_separator=".")
    if c := case("shard-missing", traps=["D3-T24"]):
        write(c, ramp((8, 8), "<u2"), (2, 2), sharding=(2, 2), fill=7, region=np.s_[2:4, 2:4], write_empty_chunks=False)
    if c := case("shard-gzip"):
        write(c, ramp((6, 6), "<u2"), (2, 2), sharding=(2, 2), compressor=numcodecs.GZip(1))
    if c := case("shard-f-filter"):
        write(c, ramp((6, 5), ">i4"), (2, 2), sharding=(3, 2), order="F", filters=[numcodecs.Delta(">i4")], compressor=numcodecs.Zlib(1))


def hierarchies():
    if c := case("hierarchy-explicit", kind="hierarchy", node=""):
        store = zarr.DirectoryStoreV3(c.store)
        root = zarr.open_group(store, mode="w", zarr_version=3)
        root.attrs["t"] = "ü"
        root.create_group("g").attrs["n"] = 1
        root.create_dataset("g/a", data=np.arange(3, dtype="<i2"), chunks=(2,), compressor=None)
        root.create_dataset("x", data=np.arange(3, dtype="<i2"), chunks=(2,), compressor=None)
        c.hierarchy({"": "group", "g": "group", "g/a": "array", "x": "array"}, {"": {"t": "ü"}, "g": {"n": 1}, "x": {}})
    if c := case("hierarchy-consolidated", kind="hierarchy", node="", traps=["D3-123"], note="consolidated shows as an ordinary group"):
        store = zarr.DirectoryStoreV3(c.store)
        root = zarr.open_group(store, mode="w", zarr_version=3)
        root.create_dataset("g/a", data=np.arange(3, dtype="<i2"), chunks=(2,), compressor=None)
        zarr.consolidate_metadata(store, path="consolidated")
        c.hierarchy({"": "group", "consolidated": "group", "g": "group", "g/a": "array"})
    if c := case("hierarchy-implicit", kind="hierarchy", node="", traps=["D3-T26", "D3-T27"], note="documents of the groups removed by hand"):
        store = zarr.DirectoryStoreV3(c.store)
        for path in ["a/b/c", "a/x", "foo/bar"]:
            zarr.create((3,), chunks=(2,), dtype="<i2", store=store, path=path, zarr_version=3, compressor=None)
        for key in c.files():
            if key.endswith("group.json") and not key.endswith("foo.group.json"):
                os.remove(os.path.join(c.store, key))
        if not any(key.endswith("foo.group.json") for key in c.files()):
            c.put("meta/root/foo.group.json", {"attributes": {"k": 1}})
        nodes = {"": "group", "a": "group", "a/b": "group", "a/b/c": "array", "a/x": "array", "foo": "group", "foo/bar": "array"}
        c.hierarchy(nodes, {"": {}, "a": {}})


if __name__ == "__main__":
    run(dtypes, codecs, layouts, sharding, hierarchies)
