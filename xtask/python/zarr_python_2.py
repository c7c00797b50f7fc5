"""Cases written by zarr-python 2: Zarr v2 stores and N5 stores."""

import gzip
import json
import types
import warnings

from fixture import agree, begin, ramp, run  # isort: skip (it comes before numcodecs)

import numcodecs
import numpy as np
import zarr
import zfpy
from numcodecs import blosc

# The time in a gzip header is the only thing that differs from run to run.
gzip.time = types.SimpleNamespace(time=lambda: 0)
blosc.use_threads = False
warnings.simplefilter("ignore")

WRITER = {"writer": "zarr-python", "version": zarr.__version__}


def v2(name, **fields):
    return begin(f"zarr2/zp2-{name}", **WRITER, format="zarr2", **fields)


def write(case, values, chunks, *, path=None, attributes=None, expected=None, data_type=None, fill=None, region=..., reads=True, **options):
    """Creates the array, writes `values` into `region`, reads it back and finishes the case."""
    separator = options.get("dimension_separator")
    store = zarr.DirectoryStore(case.store, dimension_separator=separator)
    options.setdefault("compressor", None)
    options.setdefault("fill_value", 0)
    dtype = options.pop("dtype", None)
    array = zarr.create(
        shape=values.shape, chunks=chunks, dtype=values.dtype if dtype is None else dtype, store=store, path=path, **options
    )
    if values.size:
        array[region] = values[region]
    if attributes:
        array.attrs.put(attributes)
    expected = values if expected is None else expected
    back = zarr.open_array(store, path=path, mode="r")[...] if reads else expected
    if expected.dtype.kind == "O":
        assert back.tolist() == expected.tolist(), case.name
    else:
        agree(back, expected, case.name)
    fill = options["fill_value"] if fill is None else fill
    case.array(expected, chunk_shape=array.chunks, data_type=data_type, fill_value=fill, attributes=attributes)


def dtypes():
    for code in ["|b1", "|i1", "|u1", "|V3"]:
        if c := v2(f"dtype-{code[1:].lower()}", traps=["V2-T05"]):
            fill = b"\1\2\3" if code == "|V3" else 1
            values = ramp((5, 3), code)
            store_fill = np.void(fill) if code == "|V3" else fill
            write_partly(c, values, (2, 2), store_fill, fill)
    for kind in ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]:
        for order, tag in [("<", "le"), (">", "be")]:
            if c := v2(f"dtype-{kind}-{tag}"):
                write(c, ramp((5, 3), order + kind), (2, 2), fill_value=7)
    for code in ["<M8[ns]", ">M8[25s]", "<m8[us]", ">m8[D]"]:
        tag = code.replace("<", "le-").replace(">", "be-").replace("[", "-").replace("]", "").lower()
        if c := v2(f"dtype-{tag}", traps=["V2-T48"], features=["dtype-datetime"]):
            fill = np.array(5, "i8").astype(code)[()]
            write(c, ramp((7,), code), (3,), fill_value=fill)
    for code, tag in [("|S3", "s3"), ("<U3", "u3-le"), (">U3", "u3-be")]:
        if c := v2(f"dtype-{tag}", traps=["V2-T16"] if tag == "s3" else ["V2-T17"], features=["dtype-fixed-string"]):
            texts = ["", "a", "bc", "def", "x", "yz"] if tag == "s3" else ["", "a", "é", "日本語", "𝄞x", "yz"]
            values = np.array(texts, dtype=code).reshape(2, 3)
            write(c, values, (2, 2), fill_value=b"q" if tag == "s3" else "ü", fill=b"q\0\0" if tag == "s3" else None)


def write_partly(case, values, chunks, store_fill, fill):
    """Leaves the last chunk row unwritten, so that the fill value shows."""
    expected = values.copy()
    expected[4:] = store_fill
    write(case, values, chunks, fill_value=store_fill, fill=fill, expected=expected, region=np.s_[:4])


def structs():
    mixed = np.dtype([("a", "<i2"), ("b", "|S2"), ("c", ">f4", (2,))])
    if c := v2("dtype-struct-mixed-endian", traps=["V2-T18"], features=["dtype-struct"], note="the field c is a subarray of 2"):
        values = np.zeros(3, mixed)
        values[0] = (1, b"x", (1.5, 2.5))
        values[1] = (2, b"\x63\x04"[:1], (3.0, 4.0))
        values[2] = (-3, b"yz", (np.inf, -0.0))
        fill = {"a": 0, "b": "AAA=", "c": [0.0, 0.0]}
        write(c, values, (2,), fill_value=np.zeros((), mixed)[()], fill=fill)
    nested = np.dtype([("foo", "<f4"), ("bar", [("baz", "<f4"), ("qux", ">i4")])])
    if c := v2("dtype-struct-nested", traps=["V2-T20"], features=["dtype-struct"]):
        values = np.array([(1.0, (2.0, 3)), (4.0, (5.0, -6)), (7.0, (8.0, 9))], dtype=nested)
        fill = {"foo": 0.0, "bar": {"baz": 0.0, "qux": 0}}
        write(c, values, (2,), fill_value=np.zeros((), nested)[()], fill=fill)


def orders():
    for shape, chunks in [((2, 3), (2, 3)), ((4, 5), (2, 3)), ((2, 3, 4), (2, 2, 3))]:
        for code, tag in [("<u2", "le"), (">u2", "be")]:
            if c := v2(f"order-f-{'x'.join(map(str, shape))}-{tag}", traps=["V2-T03"]):
                write(c, np.arange(np.prod(shape)).reshape(shape).astype(code), chunks, order="F")


def compressors():
    noise = ramp((40, 25), "<i4")
    smooth = (np.arange(40 * 25).reshape(40, 25) // 7).astype("<i4")
    plain = [
        ("zlib-1", numcodecs.Zlib(1)),
        ("zlib-9", numcodecs.Zlib(9)),
        ("zlib-0", numcodecs.Zlib(0)),
        ("gzip-1", numcodecs.GZip(1)),
        ("gzip-9", numcodecs.GZip(9)),
        ("bz2-1", numcodecs.BZ2(1)),
        ("bz2-9", numcodecs.BZ2(9)),
        ("lzma-default", numcodecs.LZMA()),
        ("lzma-preset-0-crc32", numcodecs.LZMA(preset=0, check=1)),
        ("lzma-no-check", numcodecs.LZMA(check=0)),
        ("lzma-sha256", numcodecs.LZMA(check=10)),
        ("lzma-alone", numcodecs.LZMA(format=2)),
        ("lzma-raw", numcodecs.LZMA(format=3, filters=[{"id": 33, "preset": 1}])),
        ("lzma-raw-delta", numcodecs.LZMA(format=3, filters=[{"id": 3, "dist": 4}, {"id": 33, "preset": 1}])),
        ("lzma-raw-lzma1", numcodecs.LZMA(format=3, filters=[{"id": 0x4000000000000001, "preset": 1}])),
        ("lzma-xz-delta", numcodecs.LZMA(filters=[{"id": 3, "dist": 4}, {"id": 33, "preset": 1}])),
        ("lz4", numcodecs.LZ4()),
        ("lz4-acceleration-10", numcodecs.LZ4(10)),
        ("zstd-0", numcodecs.Zstd()),
        ("zstd-19", numcodecs.Zstd(19)),
        ("zstd-negative", numcodecs.Zstd(-5)),
        ("zstd-checksum", numcodecs.Zstd(3, checksum=True)),
    ]
    for tag, codec in plain:
        traps = ["V2-T33"] if "alone" in tag or "raw" in tag else ["V2-T32"] if tag.startswith("zstd") else []
        if c := v2(f"compressor-{tag}", traps=traps):
            # numcodecs writes .xz with filters, but refuses to read it (V2-170: the stream names its own chain).
            write(c, smooth, (20, 25), compressor=codec, reads=tag != "lzma-xz-delta")
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
        for shuffle, tag in [(0, "noshuffle"), (1, "shuffle"), (2, "bitshuffle"), (-1, "autoshuffle")]:
            if c := v2(f"blosc-{cname}-{tag}", traps=["V2-T28"] if shuffle == -1 else []):
                write(c, smooth, (20, 25), compressor=numcodecs.Blosc(cname=cname, clevel=5, shuffle=shuffle))
    # Item sizes that take other paths in blosc: split, unsplit, odd, larger than 255.
    for code, tag in [("|u1", "u1"), ("<f8", "f8"), ("<c16", "c16"), ("|V3", "v3"), ("|V17", "v17"), ("|V300", "v300")]:
        for shuffle in [1, 2]:
            features = []
            if c := v2(f"blosc-itemsize-{tag}-{shuffle}", traps=["V2-T55"] if tag == "v300" else [], features=features):
                n = 20 if tag == "v300" else 501
                raw = bytes((i // 11) % 251 for i in range(n * np.dtype(code).itemsize))
                values = np.frombuffer(raw, code) if code[1] != "f" and code[1] != "c" else (np.arange(n) / 8).astype(code)
                fill = bytes(np.dtype(code).itemsize) if code[1] == "V" else 0
                store_fill = np.void(fill) if code[1] == "V" else 0
                write(c, values, (n,), compressor=numcodecs.Blosc("lz4", 5, shuffle), fill_value=store_fill, fill=fill)
    if c := v2("blosc-memcpy", traps=["V2-T49"], note="blosc stores small incompressible chunks as they are"):
        write(c, ramp((4, 4), "<i4"), (2, 2), compressor=numcodecs.Blosc())
    if c := v2("blosc-clevel-0"):
        write(c, smooth, (20, 25), compressor=numcodecs.Blosc("zstd", 0, 1))
    for cname in ["blosclz", "lz4", "zstd"]:
        for shuffle in [1, 2]:
            if c := v2(f"blosc-blocks-{cname}-{shuffle}", note="several blocks with a short last one; blocks split by cname"):
                data = (np.arange(5000) // 3).astype("<i4").reshape(50, 100)
                write(c, data, (50, 100), compressor=numcodecs.Blosc(cname, 5, shuffle, blocksize=4096))
    if c := v2("blosc-blocks-odd", note="blocksize is no multiple of 8 items: bit shuffle is skipped in the last block"):
        data = (np.arange(3001) // 3).astype("<i2")
        write(c, data, (3001,), compressor=numcodecs.Blosc("lz4", 9, 2, blocksize=1000))
    if c := v2("blosc-all-zero", traps=["V2-T49"]):
        write(c, np.zeros(100, "<i4"), (100,), compressor=numcodecs.Blosc("lz4", 5, 1), fill_value=1)
    if c := v2("compressor-lz4-incompressible"):
        write(c, noise, (20, 25), compressor=numcodecs.LZ4())
    if c := v2("compressor-zstd-incompressible"):
        write(c, noise, (20, 25), compressor=numcodecs.Zstd(1))


def large():
    """Streams of several blocks: beyond 128 KiB for zstd, 100 kB for bz2 at level 1, 64 KiB for lz4."""
    k = np.arange(140_000)
    values = (k * k // 7 % 251 + k // 9000).astype("|u1")
    halves = values[:70_000]
    for tag, codec, data in [
        ("zstd", numcodecs.Zstd(3, checksum=True), values),
        ("bz2", numcodecs.BZ2(1), values),
        ("lz4", numcodecs.LZ4(), halves),
        ("gzip", numcodecs.GZip(6), halves),
        ("blosc-lz4", numcodecs.Blosc("lz4", 5, 1, blocksize=16384), halves.view("<u4")),
        ("blosc-zstd-bit", numcodecs.Blosc("zstd", 5, 2, blocksize=16384), halves.view("<u2")),
    ]:
        if c := v2(f"large-{tag}", note="a stream of several blocks"):
            write(c, data, data.shape, compressor=codec)


def array_compressors():
    """Compressors that see the elements and not only bytes."""
    for code in ["u2", "u4", "u8", "i2", "i4", "i8", "f2", "f4", "f8"]:
        if c := v2(f"pcodec-{code}", features=["pcodec"], traps=["V2-113"]):
            write(c, (np.arange(300) % 97).astype("<" + code), (200,), compressor=numcodecs.PCodec())
    if c := v2("pcodec-noise", features=["pcodec"], traps=["V2-113"]):
        write(c, ramp((300,), "<i8"), (200,), compressor=numcodecs.PCodec(level=2))
    for code in ["i4", "i8", "f4", "f8"]:
        for tag, options in [("accuracy", {"mode": 4, "tolerance": 0}), ("rate", {"mode": 2, "rate": 40}), ("precision", {"mode": 3, "precision": 64})]:
            if code[0] == "i" and tag == "accuracy":
                continue
            if c := v2(f"zfpy-{code}-{tag}", features=["zfpy"], traps=["V2-112"]):
                # The transform drops low bits of integers, whatever the rate.
                values = (np.arange(40).reshape(5, 8) * 1024).astype("<" + code)
                write(c, values, (5, 8), compressor=numcodecs.zfpy.ZFPY(**options))
    for shape in [(30,), (4, 5, 6), (3, 4, 2, 5)]:
        if c := v2(f"zfpy-{len(shape)}d", features=["zfpy"], traps=["V2-112"]):
            values = np.arange(np.prod(shape)).reshape(shape).astype("<f8")
            write(c, values, shape, compressor=numcodecs.zfpy.ZFPY(mode=3, precision=64))
    if c := v2("zfpy-reversible", features=["zfpy"], traps=["V2-T52"], note="chunk replaced by a reversible zfp stream"):
        values = (np.arange(40).reshape(5, 8) / 7).astype("<f8")
        write(c, values, (5, 8), compressor=numcodecs.zfpy.ZFPY(mode=3, precision=64), reads=False)
        c.put("0.0", zfpy.compress_numpy(values, write_header=True))
        agree(zarr.open_array(zarr.DirectoryStore(c.store), mode="r")[...], values, c.name)


def filters():
    u2 = np.array([[10, 12, 9], [300, 301, 65535]], "<u2")
    if c := v2("filter-delta-c"):
        write(c, u2, (2, 3), filters=[numcodecs.Delta("<u2")])
    if c := v2("filter-delta-f", traps=["V2-T04"], note="differences run down the first axis"):
        write(c, np.arange(6).reshape(2, 3).astype("<u2"), (2, 3), order="F", filters=[numcodecs.Delta("<u2")])
    if c := v2("filter-delta-f-edges", traps=["V2-T04"]):
        write(c, ramp((5, 7), ">i4"), (2, 3), order="F", filters=[numcodecs.Delta(">i4")], compressor=numcodecs.Zlib(1))
    if c := v2("filter-delta-astype", traps=["V2-T34"]):
        write(c, np.array([10, 12, 9], "<u2"), (3,), filters=[numcodecs.Delta("<u2", "|i1")])
    if c := v2("filter-delta-float-narrow"):
        write(c, np.array([1.5, 2.25, 0.0, 100.0], "<f8"), (4,), filters=[numcodecs.Delta("<f8", "<f4")])
    if c := v2("filter-fixedscaleoffset"):
        values = np.array([1000.0, 1000.5, 1001.0, 1012.5, 1025.0], "<f8")
        write(c, values, (5,), filters=[numcodecs.FixedScaleOffset(offset=1000, scale=2, dtype="<f8", astype="|u1")])
    if c := v2("filter-fixedscaleoffset-int", traps=["V2-T51"]):
        write(c, np.array([1, 5], "|u1"), (2,), filters=[numcodecs.FixedScaleOffset(offset=3, scale=1, dtype="|u1")])
    if c := v2("filter-quantize"):
        write(c, np.array([0.125, 1.25, -2.6875], "<f8"), (3,), filters=[numcodecs.Quantize(1, "<f8", "<f4")])
    for n, tag in [(3, "3"), (8, "8"), (9, "9")]:
        if c := v2(f"filter-packbits-{tag}", traps=["V2-T27"]):
            write(c, np.array([1, 0, 1, 0, 0, 0, 0, 0, 1][:n], "?"), (n,), filters=[numcodecs.PackBits()])
    if c := v2("filter-astype"):
        write(c, np.array([1, -1, 127, -128], "<i4"), (4,), filters=[numcodecs.AsType("|i1", "<i4")])
    for es in [1, 2, 4, 8]:
        if c := v2(f"filter-shuffle-{es}", traps=["V2-T36"]):
            write(c, ramp((8,), "<u4"), (8,), filters=[numcodecs.Shuffle(es)], compressor=numcodecs.Zlib(1))
    if c := v2("filter-bitround"):
        write(c, np.array([0.1015625, 1.25, 120.0, np.inf, np.nan], "<f4"), (5,), filters=[numcodecs.BitRound(3)])
    from numcodecs.checksum32 import CRC32, CRC32C, Adler32, JenkinsLookup3

    checks = [
        ("crc32-start", CRC32()),
        ("crc32-end", CRC32(location="end")),
        ("crc32c-end", CRC32C()),
        ("crc32c-start", CRC32C(location="start")),
        ("adler32-start", Adler32()),
        ("adler32-end", Adler32(location="end")),
        ("fletcher32", numcodecs.Fletcher32()),
        ("jenkins", JenkinsLookup3()),
        ("jenkins-initval", JenkinsLookup3(initval=1)),
    ]
    for tag, codec in checks:
        if c := v2(f"filter-{tag}", traps=["V2-T37"] if "crc32" in tag else ["V2-T38"] if "jenk" in tag or "flet" in tag else []):
            write(c, ramp((7, 3), "<u2"), (3, 3), filters=[codec], compressor=numcodecs.Zlib(1))
    if c := v2("filter-fletcher32-odd-length"):
        write(c, ramp((5,), "|u1"), (5,), filters=[numcodecs.Fletcher32()])
    if c := v2("filter-fletcher32-long", note="more than 360 words, so the sums are folded in between"):
        write(c, ramp((1001,), "|u1"), (1001,), filters=[numcodecs.Fletcher32()])
    if c := v2("filter-base64"):
        write(c, ramp((5,), "|u1"), (5,), filters=[numcodecs.Base64()])
    if c := v2("filter-chain", note="delta, then shuffle, then zlib as a filter, then bz2 as compressor"):
        chain = [numcodecs.Delta("<i4", "<i2"), numcodecs.Shuffle(2), numcodecs.Zlib(1)]
        write(c, np.arange(24, dtype="<i4").reshape(4, 6) * 3, (4, 4), filters=chain, compressor=numcodecs.BZ2(1))


def write_json(c, values, chunks, codec):
    """Any values that JSON has; the expected elements are their texts."""
    store = zarr.DirectoryStore(c.store)
    z = zarr.create(values.shape, chunks=chunks, dtype=object, store=store, filters=[codec], fill_value="", compressor=None)
    z[...] = values
    assert z[...].tolist() == values.tolist(), c.name
    texts = [json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values.ravel()]
    c.array(np.array(texts, dtype=object).reshape(values.shape), chunk_shape=chunks, data_type="json", fill_value="")


def objects():
    texts = np.array(["a", "", "bé", "日本", "x" * 40], dtype=object)
    string, binary = "string", "bytes"
    for compressor, tag in [(None, "raw"), (numcodecs.Zstd(1), "zstd")]:
        if c := v2(f"object-vlen-utf8-{tag}", traps=["V2-T23"], features=["dtype-vlen"]):
            write(
                c, texts, (3,), dtype=object, filters=[numcodecs.VLenUTF8()], compressor=compressor, fill_value="", data_type=string
            )
    if c := v2("object-vlen-utf8-f", traps=["V2-T24"], features=["dtype-vlen"]):
        values = np.array([["a", "b"], ["c", "d"]], dtype=object)
        write(c, values, (2, 2), dtype=object, order="F", filters=[numcodecs.VLenUTF8()], fill_value="", data_type=string)
    if c := v2("object-vlen-utf8-missing", traps=["V2-T23"], features=["dtype-vlen"], note='fill 0 means ""'):
        store = zarr.DirectoryStore(c.store)
        z = zarr.create((4,), chunks=(2,), dtype=object, store=store, object_codec=numcodecs.VLenUTF8(), compressor=None)
        z[:2] = np.array(["p", "q"], dtype=object)
        c.array(np.array(["p", "q", "", ""], dtype=object), chunk_shape=(2,), data_type=string, fill_value="")
    if c := v2("object-vlen-bytes", features=["dtype-vlen"]):
        values = np.array([b"", b"\0\xff", b"abc"], dtype=object)
        write(
            c, values, (2,), dtype=object, filters=[numcodecs.VLenBytes()], fill_value=None, data_type=binary
        )
    if c := v2("object-vlen-array", features=["dtype-vlen", "vlen-array"], note="elements are given as the bytes of their i2 items"):
        store = zarr.DirectoryStore(c.store)
        z = zarr.create((3,), chunks=(3,), dtype=object, store=store, object_codec=numcodecs.VLenArray("<i2"), compressor=None)
        z[0], z[1], z[2] = np.array([1, 2], "<i2"), np.array([], "<i2"), np.array([-1], "<i2")
        values = np.array([b"\1\0\2\0", b"", b"\xff\xff"], dtype=object)
        c.array(values, chunk_shape=(3,), data_type={"name": "vlen-array", "configuration": {"data_type": "int16"}}, fill_value=[])
    for codec, tag in [(numcodecs.JSON(), "json2"), (numcodecs.MsgPack(), "msgpack2")]:
        if c := v2(f"object-{tag}", traps=["V2-T57"], features=["dtype-vlen", tag], note="all elements are texts"):
            values = np.array([["a", "é", ""], ["b", "cc", "d"]], dtype=object)
            write_json(c, values, (2, 2), codec)
        if c := v2(f"object-{tag}-values", traps=["V2-T57"], features=["dtype-vlen", tag]):
            values = np.empty((2, 2), dtype=object)
            values[0, 0], values[0, 1] = None, {"x": [1, -2.5, True], "é": {}}
            values[1, 0], values[1, 1] = 2**40, -300
            write_json(c, values, (2, 1), codec)
    if c := v2("object-categorize", features=["dtype-vlen", "categorize"]):
        values = np.array(["bb", "a", "bb", ""], dtype=object)
        write(
            c, values, (4,), dtype=object, filters=[numcodecs.Categorize(["a", "bb"], dtype=object)], fill_value="", data_type=string
        )
    if c := v2("object-categorize-filters", features=["dtype-vlen", "categorize"], note="codes of two bytes through delta; fill null, one chunk missing"):
        values = np.array([["a", "bb", "日本"], ["", "bb", "a"], ["a", "a", "bb"]], dtype=object)
        filters = [numcodecs.Categorize(["a", "bb", "日本"], dtype=object, astype=">u2"), numcodecs.Delta(">u2")]
        expected = values.copy()
        expected[2:, :] = ""
        store = zarr.DirectoryStore(c.store)
        z = zarr.create((3, 3), chunks=(2, 2), dtype=object, store=store, order="F", filters=filters, fill_value=None, compressor=numcodecs.Zlib(1))
        z[:2] = values[:2]
        assert z[:2].tolist() == values[:2].tolist(), c.name
        c.array(expected, chunk_shape=(2, 2), data_type=string, fill_value=None)
    if c := v2("categorize-fixed", features=["dtype-fixed-string", "categorize"]):
        values = np.array(["bb", "a", "bb"], dtype="<U2")
        write(c, values, (3,), filters=[numcodecs.Categorize(["a", "bb"], dtype="<U2")], fill_value="")


def shapes():
    if c := v2("shape-0d", traps=["V2-T01"]):
        write(c, np.array(5, "<i4"), ())
    if c := v2("shape-0d-compressed", traps=["V2-T01"]):
        write(c, np.array(1.5, ">f8"), (), compressor=numcodecs.Blosc())
    if c := v2("shape-zero-length", traps=["V2-T10"]):
        # zarr-python 2 writes a chunk length of 0 and then divides by it when it reads.
        write(c, np.zeros((0,), "<i4"), (0,), reads=False)
    if c := v2("shape-zero-length-2d", traps=["V2-T10"]):
        write(c, np.zeros((3, 0), "<i4"), (2, 1))
    for tag, shape, chunks in [
        ("1d", (7,), (3,)),
        ("2d", (5, 7), (2, 3)),
        ("3d", (3, 5, 4), (2, 2, 3)),
        ("4d", (3, 2, 3, 2), (2, 2, 2, 1)),
        ("5d", (2, 2, 3, 2, 3), (1, 2, 2, 1, 2)),
        ("chunk-larger", (3, 2), (5, 4)),
    ]:
        if c := v2(f"edges-{tag}", traps=["V2-T05"]):
            write(c, ramp(shape, "<i2"), chunks, fill_value=9)
    if c := v2("edges-many-chunks", note="chunk indices with two digits"):
        write(c, ramp((23,), "|u1"), (2,), fill_value=9)
    for sep, tag in [(".", "dot"), ("/", "slash")]:
        if c := v2(f"separator-{tag}", traps=["V2-T06"]):
            write(c, ramp((3, 3), "|u1"), (2, 2), dimension_separator=sep)
    if c := v2("subarray-dtype", note="zarr-python adds the dimension of a subarray dtype to the shape"):
        store = zarr.DirectoryStore(c.store)
        z = zarr.create((4,), chunks=(3,), dtype=np.dtype(("<i2", (2,))), store=store, compressor=None)
        values = ramp((4, 2), "<i2")
        z[...] = values
        agree(z[...], values, c.name)
        c.array(values, chunk_shape=z.chunks, fill_value=0)


def fills():
    options = [
        ("null-f8", "<f8", None, 0.0),
        ("nan", "<f4", np.nan, np.nan),
        ("inf", "<f4", np.inf, np.inf),
        ("neg-inf", ">f8", -np.inf, -np.inf),
        ("f4-tenth", "<f4", 0.1, np.float32(0.1)),
        ("f2-tenth", "<f2", 0.1, np.float16(0.1)),
        ("u8-max", "<u8", 2**64 - 1, 2**64 - 1),
        ("i8-min", "<i8", -(2**63), -(2**63)),
        ("bool", "|b1", True, True),
        ("complex", "<c8", complex(1.5, np.inf), complex(1.5, np.inf)),
        ("null-u2", "<u2", None, 0),
        ("null-bool", "|b1", None, False),
    ]
    for tag, code, fill, value in options:
        traps = ["V2-T12"] if fill is None else ["V2-T46"] if "-m" in tag else ["V2-T11"]
        if c := v2(f"fill-{tag}", traps=traps, note="two of four chunks are missing"):
            store = zarr.DirectoryStore(c.store)
            z = zarr.create((4, 3), chunks=(2, 2), dtype=code, store=store, fill_value=fill, compressor=None)
            values = np.full((4, 3), value, dtype=code)
            part = np.ones((2, 3), dtype=code)
            values[:2] = part
            z[:2] = part
            # zarr-python 2 reads [1.5, "Infinity"] as NaN + inf i, as it computes 1.5 + 1i * inf.
            if fill is not None and tag != "complex":
                agree(z[...], values, c.name)
            expected_fill = None if fill is None else values[3, 2]
            c.array(values, chunk_shape=(2, 2), fill_value=expected_fill)
    if c := v2("fill-null-datetime", traps=["V2-T12"], features=["dtype-datetime"]):
        store = zarr.DirectoryStore(c.store)
        z = zarr.create((4,), chunks=(2,), dtype="<M8[s]", store=store, fill_value=None, compressor=None)
        z[:2] = np.array([1, 2], "M8[s]")
        values = np.array([1, 2, -(2**63), -(2**63)], "i8").view("<M8[s]")
        c.array(values, chunk_shape=(2,), fill_value=None)
    if c := v2("fill-nat", features=["dtype-datetime"]):
        store = zarr.DirectoryStore(c.store)
        z = zarr.create((4,), chunks=(2,), dtype="<M8[s]", store=store, fill_value=np.datetime64("NaT", "s"), compressor=None)
        z[:2] = np.array([1, 2], "M8[s]")
        values = np.array([1, 2, -(2**63), -(2**63)], "i8").view("<M8[s]")
        agree(z[...], values, c.name)
        c.array(values, chunk_shape=(2,), fill_value=np.datetime64("NaT", "s"))
    if c := v2("fill-struct", features=["dtype-struct"], traps=["V2-T18"]):
        dtype = np.dtype([("a", "<i2"), ("b", ">f4")])
        store = zarr.DirectoryStore(c.store)
        fill = np.array((1, 2.0), dtype)[()]
        z = zarr.create((4,), chunks=(2,), dtype=dtype, store=store, fill_value=fill, compressor=None)
        values = np.array([(5, 6.0), (7, 8.0), (1, 2.0), (1, 2.0)], dtype)
        z[:2] = values[:2]
        agree(z[...], values, c.name)
        c.array(values, chunk_shape=(2,), fill_value={"a": 1, "b": 2.0})
    if c := v2("all-missing", note="no chunk at all"):
        zarr.create((5, 4), chunks=(2, 3), dtype="<i4", store=zarr.DirectoryStore(c.store), fill_value=-7)
        c.array(np.full((5, 4), -7, "<i4"), chunk_shape=(2, 3), fill_value=-7)
    if c := v2("write-empty-chunks-off", traps=["V2-T14"]):
        store = zarr.DirectoryStore(c.store)
        z = zarr.create((6,), chunks=(2,), dtype="<f4", store=store, fill_value=0, write_empty_chunks=False, compressor=None)
        values = np.array([0, 0, 1, 0, -0.0, -0.0], "<f4")
        z[...] = values
        # zarr-python compares -0.0 equal to 0.0 and drops the last chunk.
        values[4:] = 0
        agree(z[...], values, c.name)
        c.array(values, chunk_shape=(2,), fill_value=0)


def hierarchies():
    if c := v2("hierarchy-nested", kind="hierarchy", traps=["V2-T41"]):
        root = zarr.open_group(zarr.DirectoryStore(c.store), mode="w")
        root.attrs.put({"title": "wörld", "n": 3, "nested": {"a": [1, 2.5, None, True]}})
        root.create_dataset("a", data=np.arange(4, dtype="<i4"), chunks=(2,), compressor=None)
        b = root.create_group("b")
        b.attrs["unit"] = "µm"
        b.create_dataset("x", shape=(2, 2), chunks=(1, 2), dtype="<f4", compressor=None)
        b.create_group("deeper/still").attrs["depth"] = 3
        root.create_group("empty")
        root.create_dataset("grüße", data=np.zeros(1, "|u1"), chunks=(1,), compressor=None)
        c.hierarchy(
            {
                "": "group",
                "a": "array",
                "b": "group",
                "b/x": "array",
                "b/deeper": "group",
                "b/deeper/still": "group",
                "empty": "group",
                "grüße": "array",
            },
            {
                "": {"title": "wörld", "n": 3, "nested": {"a": [1, 2.5, None, True]}},
                "b": {"unit": "µm"},
                "b/deeper/still": {"depth": 3},
                "a": {},
            },
        )
    if c := v2("hierarchy-nan-attribute", kind="hierarchy", traps=["V2-T39"], note="the document holds bare NaN tokens"):
        root = zarr.open_group(zarr.DirectoryStore(c.store), mode="w")
        attributes = {"a": float("nan"), "b": [float("inf"), {"c": -float("inf")}]}
        root.attrs.put(attributes)
        c.hierarchy({"": "group"}, {"": attributes})
    if c := v2("hierarchy-consolidated", kind="hierarchy", traps=["V2-T42"]):
        store = zarr.DirectoryStore(c.store)
        root = zarr.open_group(store, mode="w")
        root.create_dataset("x", data=np.arange(3, dtype="<i2"), chunks=(2,), compressor=None)
        root.create_group("g").create_dataset("y", data=np.arange(2, dtype="|u1"), chunks=(2,), compressor=None)
        root.attrs["k"] = "v"
        zarr.consolidate_metadata(store)
        c.hierarchy({"": "group", "x": "array", "g": "group", "g/y": "array"}, {"": {"k": "v"}, "g": {}})
    if c := v2("node-in-group", node="outer/inner/data"):
        write(c, ramp((3, 4), "<u4"), (2, 2), path="outer/inner/data", attributes={"x": [1, None], "日本": "ok"})
    if c := v2("node-in-group-slash", node="g/a", traps=["V2-T06"]):
        write(c, ramp((3, 4), "<u4"), (2, 2), path="g/a", dimension_separator="/")
    if c := v2("attributes", traps=["V2-T39"]):
        write(c, ramp((3,), "<u4"), (2,), attributes={"f": 1.5, "i": 2**60, "nan": float("nan"), "t": "tab\t\u2028", "filters": []})


def n5(name, **fields):
    return begin(f"n5/zp2-{name}", **WRITER, format="n5", **fields)


def n5_datasets():
    from zarr.n5 import N5FSStore, N5Store

    def dataset(c, values, chunks, store=N5Store, path="a", attributes=None, **options):
        options.setdefault("compressor", None)
        store = store(c.store)
        if path:
            root = zarr.group(store)
            z = root.create_dataset(path, shape=values.shape, chunks=chunks, dtype=values.dtype, **options)
        else:
            z = zarr.create(values.shape, chunks=chunks, dtype=values.dtype, store=store, **options)
        z[...] = values
        if attributes:
            z.attrs.put(attributes)
        agree(z[...], values, c.name)
        c.array(values.T, chunk_shape=chunks[::-1], fill_value=0, attributes=attributes)

    for code in ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]:
        if c := n5(f"dtype-{code}", node="a"):
            dataset(c, ramp((5, 3), code), (2, 2))
    smooth = (np.arange(40 * 25).reshape(40, 25) // 7).astype("i4")
    codecs = [
        ("zlib", numcodecs.Zlib(1)),
        ("gzip", numcodecs.GZip(1)),
        ("bz2", numcodecs.BZ2(1)),
        ("xz", numcodecs.LZMA(preset=6)),
        ("lz4", numcodecs.LZ4()),
        ("zstd", numcodecs.Zstd(3)),
    ]
    codecs += [(f"blosc-{n}-{s}", numcodecs.Blosc(n, 5, s)) for n in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] for s in [0, 1, 2]]
    for tag, codec in codecs:
        if c := n5(f"compressor-{tag}", node="a"):
            dataset(c, smooth, (20, 15), compressor=codec)
    if c := n5("3d-padded-edges", node="a"):
        dataset(c, ramp((5, 4, 3), "u2"), (2, 3, 2))
    if c := n5("1d", node="a"):
        dataset(c, ramp((7,), "f8"), (3,), attributes={"k": [1, 2]})
    if c := n5("root-array"):
        dataset(c, ramp((5, 3), "u2"), (2, 2), path="")
    if c := n5("fsstore", node="g/a"):
        dataset(c, ramp((5, 3), "u2"), (2, 2), store=N5FSStore, path="g/a")
    if c := n5("missing-blocks", node="a"):
        root = zarr.group(N5Store(c.store))
        z = root.create_dataset("a", shape=(4, 6), chunks=(2, 3), dtype="i2", compressor=None)
        z[:2, :3] = 5
        values = np.zeros((4, 6), "i2")
        values[:2, :3] = 5
        agree(z[...], values, c.name)
        c.array(values.T, chunk_shape=(3, 2), fill_value=0)
    if c := n5("hierarchy", kind="hierarchy"):
        root = zarr.group(N5Store(c.store))
        root.attrs.put({"q": None, "t": "ü"})
        root.create_dataset("a", data=np.arange(4, dtype="u2").reshape(2, 2), chunks=(2, 2), compressor=None)
        root.create_group("g/h").attrs["d"] = [1, 2]
        nodes = {"": "group", "a": "array", "g": "group", "g/h": "group"}
        c.hierarchy(nodes, {"": {"q": None, "t": "ü"}, "g/h": {"d": [1, 2]}, "a": {}})


def filters_everywhere():
    """Each filter over several types, byte orders and memory orders, with chunks that reach over the edges, and in 0-d."""
    layouts = [((5, 7), (2, 3), "C"), ((5, 7), (2, 3), "F"), ((), (), "C")]
    makers = [
        ("delta", ["<i2", ">u4", "<i8"], lambda d: [numcodecs.Delta(d)]),
        ("fixedscaleoffset", ["<i2", ">i4"], lambda d: [numcodecs.FixedScaleOffset(offset=1, scale=1, dtype=d)]),
        ("quantize", ["<f4", ">f8"], lambda d: [numcodecs.Quantize(1, d)]),
        ("astype", ["<i2", ">f4"], lambda d: [numcodecs.AsType(d[:-1] + "8", d)]),
        ("bitround", ["<f4", "<f8"], lambda d: [numcodecs.BitRound(10)]),
        ("packbits", ["|b1"], lambda d: [numcodecs.PackBits()]),
        ("shuffle", ["<u2", ">f8"], lambda d: [numcodecs.Shuffle(int(d[-1]))]),
        ("crc32", ["<u2", "|i1"], lambda d: [numcodecs.CRC32()]),
        ("adler32", ["<u2", "|i1"], lambda d: [numcodecs.Adler32()]),
        ("fletcher32", ["<u2", "|i1"], lambda d: [numcodecs.Fletcher32()]),
        ("jenkins", ["<u2", "|i1"], lambda d: [numcodecs.JenkinsLookup3(7)]),
        ("base64", ["<u2", "|i1"], lambda d: [numcodecs.Base64()]),
    ]
    for name, codes, make in makers:
        for code in codes:
            for shape, chunks, order in layouts:
                place = "0d" if shape == () else order.lower()
                # numcodecs does not read these back itself: it computes with a NumPy scalar, which has the machine's byte
                # order; bitround leaves order C.
                if place == "0d" and code[0] == ">" or place == "f" and name == "bitround":
                    continue
                endian = {">": "be", "<": "le", "|": "b"}[code[0]]
                if c := v2(f"filters-{name}-{endian}-{code[1:]}-{place}", traps=["V2-T04"] if name == "delta" and order == "F" else []):
                    write(c, ramp(shape, code), chunks, order=order, filters=make(code))


if __name__ == "__main__":
    run(dtypes, structs, orders, compressors, large, array_compressors, filters, filters_everywhere, objects, shapes, fills, hierarchies, n5_datasets)
