"""Zarr v2 cases made by hand: literal bytes from the checklist, good ones and ones that have to fail."""

import bz2
import gzip
import json
import lzma
import struct
import zlib

from fixture import HAND, Raw, begin, ramp, run  # isort: skip (it comes before numcodecs)

import numcodecs
import numpy as np

WRITER = {"writer": HAND, "version": "1", "format": "zarr2"}


FILTER_ITEMS = {
    "delta": "V2-114",
    "fixedscaleoffset": "V2-T35",
    "quantize": "V2-116",
    "packbits": "V2-T27",
    "astype": "V2-118",
    "shuffle": "V2-T36",
    "bitround": "V2-121",
    "crc32": "V2-122",
    "adler32": "V2-122",
    "crc32c": "V2-123",
    "fletcher32": "V2-124",
    "jenkins_lookup3": "V2-125",
    "base64": "V2-127",
}


def zarray(shape, chunks, dtype, **members):
    """A complete document; a member given as ... is left out."""
    document = {
        "zarr_format": 2,
        "shape": shape,
        "chunks": chunks,
        "dtype": dtype,
        "compressor": None,
        "fill_value": 0,
        "order": "C",
        "filters": None,
        **members,
    }
    return {k: v for k, v in document.items() if v is not ...}


def fill(c, document, blocks, prefix="", name=".zarray"):
    """Stores the document and the chunks: hexadecimal digits or bytes."""
    c.put(prefix + name, document)
    for key, content in blocks.items():
        (c.put_hex if isinstance(content, str) else c.put)(prefix + key, content)


def good(name, values, document, blocks, *, traps=(), note="", features=(), fill_value=0, prefix="", **expected):
    if c := begin(f"zarr2/hand-{name}", **WRITER, traps=traps, note=note, features=features, node=prefix.rstrip("/")):
        fill(c, document, blocks, prefix)
        c.array(values, chunk_shape=json.loads(json.dumps(document))["chunks"], fill_value=fill_value, **expected)


def bad(name, fails, why, document, blocks=None, traps=(), node=""):
    if c := begin(f"bad/v2-{name}", **WRITER, kind="error", traps=traps, node=node):
        fill(c, document, blocks or {}, node + "/" if node else "")
        c.error(fails, why)


def documents():
    u1 = np.array([1, 2, 3], "u1")
    edge = {"0": "0102", "1": "0309"}
    base = zarray([3], [2], "|u1", fill_value=9)
    good("0d", np.array(5, "<i4"), zarray([], [], "<i4"), {"0": "05000000"}, traps=["V2-T01"])
    good("edge", u1, base, edge, traps=["V2-T05"], fill_value=9)
    good("edge-garbage", u1, base, {"0": "0102", "1": "03ff"}, traps=["V2-T05"], fill_value=9)
    for tag, filters in [("empty", []), ("missing", ...)]:
        good(f"filters-{tag}", u1, {k: v for k, v in {**base, "filters": filters}.items() if v is not ...}, edge, traps=["V2-T07"], fill_value=9)
    good("compressor-missing", u1, {k: v for k, v in base.items() if k != "compressor"}, edge, traps=["V2-T07"], fill_value=9)
    good("unknown-members", u1, {**base, "node_type": "array", "attributes": {}, "x": [1]}, edge, traps=["V2-T08"], fill_value=9)
    if c := begin("zarr2/hand-byte-order-mark", **WRITER, traps=["V2-014"], note="a UTF-8 byte order mark before the JSON"):
        fill(c, b"\xef\xbb\xbf" + json.dumps(base).encode(), edge)
        c.array(u1, chunk_shape=[2], fill_value=9)
    good("zero-chunk", np.zeros(0, "u1"), zarray([0], [0], "|u1"), {}, traps=["V2-T10"])
    order = [[0, 1, 2], [3, 4, 5]]
    good("order-f-le", np.array(order, "<u2"), zarray([2, 3], [2, 3], "<u2", order="F"), {"0.0": "000003000100040002000500"}, traps=["V2-T03"])
    good("order-f-be", np.array(order, ">u2"), zarray([2, 3], [2, 3], ">u2", order="F"), {"0.0": "000000030001000400020005"}, traps=["V2-T03"])
    delta = zarray([2, 3], [2, 3], "<u2", order="F", filters=[{"id": "delta", "dtype": "<u2"}])
    good("delta-f", np.array(order, "<u2"), delta, {"0.0": "00000300feff0300feff0300"}, traps=["V2-T04"])
    good("separator-slash", ramp((3, 3), "u1"), zarray([3, 3], [3, 2], "|u1", dimension_separator="/"),
         {"0/0": ramp((3, 3), "u1")[:, :2].tobytes(), "0/1": b"".join(bytes([v, 0]) for v in ramp((3, 3), "u1")[:, 2])}, traps=["V2-T06"])  # fmt: skip
    for code in ["<u1", ">i1"]:
        tag = code.replace("<", "le-").replace(">", "be-")
        good(f"byte-order-{tag}", np.array([1, 2], code), zarray([2], [2], code), {"0": "0102"}, traps=["V2-042"])
    good("byte-order-be-s1", np.array([b"a", b""], "S1"), zarray([2], [2], ">S1", fill_value=""), {"0": "6100"}, traps=["V2-055"],
         fill_value=b"\0", features=["dtype-fixed-string"])  # fmt: skip
    for tag, given, value in [("nan", "NaN", np.nan), ("inf", "Infinity", np.inf), ("neg-inf", "-Infinity", -np.inf)]:
        good(f"fill-{tag}", np.full(2, value, "f4"), zarray([2], [2], "<f4", fill_value=given), {}, traps=["V2-T11"], fill_value=value)
    good("fill-nan-token", np.full(2, np.nan, "f4"), zarray([2], [2], "<f4", fill_value=float("nan")), {}, traps=["V2-T11"], fill_value=np.nan, note="a bare NaN token")
    good("fill-negative-zero", np.full(2, -0.0, "f4"), zarray([2], [2], "<f4", fill_value=-0.0), {}, traps=["V2-T14"], fill_value=-0.0)
    good("fill-integral-float", np.full(2, 7, "<u2"), zarray([2], [2], "<u2", fill_value=7.0), {}, fill_value=7, traps=["V2-062"])
    good("fill-decimal-string", np.full(2, 7, "<u2"), zarray([2], [2], "<u2", fill_value="7"), {}, fill_value=7, traps=["V2-062"], note="lenient")
    good("fill-u8-max", np.full(2, 2**64 - 1, "<u8"), zarray([2], [2], "<u8", fill_value=2**64 - 1), {}, traps=["V2-T46"], fill_value=2**64 - 1)
    good("fill-null-f8", np.zeros(2, "f8"), zarray([2], [2], "<f8", fill_value=None), {}, traps=["V2-T12"], fill_value=None)
    good("fill-null-datetime", np.full(2, -(2**63), "i8").view("<M8[s]"), zarray([2], [2], "<M8[s]", fill_value=None), {}, traps=["V2-T12"], fill_value=None, features=["dtype-datetime"])
    good("fill-s3-short", np.full(2, b"ab", "S3"), zarray([2], [2], "|S3", fill_value="YWI="), {}, traps=["V2-T16"], fill_value=b"ab\0", features=["dtype-fixed-string"])
    good("fill-s3-empty", np.full(2, b"", "S3"), zarray([2], [2], "|S3", fill_value=""), {}, traps=["V2-T16"], fill_value=b"\0\0\0", features=["dtype-fixed-string"])
    good("u2-le", np.array(["x", "ab"], "<U2"), zarray([2], [2], "<U2", fill_value="é"), {"0": "78000000 00000000 61000000 62000000"}, traps=["V2-T17"], fill_value="é", features=["dtype-fixed-string"])
    good("u2-be", np.array(["x"], ">U2"), zarray([1], [1], ">U2", fill_value=""), {"0": "0000007800000000"}, traps=["V2-T17"], fill_value="", features=["dtype-fixed-string"])
    good("datetime-mu", np.array([1, 2], "<M8[us]"), zarray([2], [2], "<M8[μs]"), {"0": "01000000000000000200000000000000"}, traps=["V2-T48"], features=["dtype-datetime"])
    mixed = [["a", "<i2"], ["b", "|S2"], ["c", ">f4", [2]]]
    dtype = np.dtype([("a", "<i2"), ("b", "|S2"), ("c", ">f4", (2,))])
    values = np.array([(1, b"\0"[:0], (1.0, 2.0)), (2, b"c\4"[:2], (3.0, 4.0)), (1, b"x", (1.5, 2.5))], dtype)
    values["b"] = [b"ac"[:0], b"c", b"x"]
    values = values[[2]]
    good("struct-mixed-fill", values, zarray([1], [2], mixed, fill_value="AQB4AD/AAABAIAAA"), {}, traps=["V2-T18"], features=["dtype-struct"],
         fill_value={"a": 1, "b": "eAA=", "c": [1.5, 2.5]})  # fmt: skip
    records = np.zeros(2, dtype)
    records[0] = (1, b"ac", (1.0, 2.0))
    records[1] = (2, b"\0c", (3.0, 4.0))
    good("struct-mixed", records, zarray([2], [2], mixed, fill_value="AAAAAAAAAAAAAAAA"), {"0": "010061633f80000040000000 020000634040000040800000"},
         traps=["V2-T18"], features=["dtype-struct"], fill_value={"a": 0, "b": "AAA=", "c": [0.0, 0.0]})  # fmt: skip
    padding = [["a", "|u1"], ["", "|V3"], ["b", "<u4"]]
    fields = [{"name": "a", "data_type": "uint8"}, {"name": "", "data_type": "r24"}, {"name": "b", "data_type": "uint32"}]
    data = bytes.fromhex("01aabbcc04030201 02ddeeff08070605")
    good("struct-padding", Raw((2,), data), zarray([2], [2], padding, fill_value="AAAAAAAAAAA="), {"0": data}, traps=["V2-T19"], features=["dtype-struct"],
         fill_value={"a": 0, "b": 0}, data_type={"name": "struct", "configuration": {"fields": fields}},
         note="the field without a name is padding; expected.bin keeps its bytes")  # fmt: skip
    nested = [["foo", "<f4"], ["bar", [["baz", "<f4"], ["qux", "<i4"]]]]
    nested_dtype = np.dtype([("foo", "<f4"), ("bar", [("baz", "<f4"), ("qux", "<i4")])])
    good("struct-nested-fill", np.zeros(2, nested_dtype), zarray([2], [2], nested, fill_value="AAAAAAAAAAAAAAAA"), {}, traps=["V2-T20"], features=["dtype-struct"],
         fill_value={"foo": 0.0, "bar": {"baz": 0.0, "qux": 0}})  # fmt: skip
    good("vlen-utf8-f", np.array([["a", "b"], ["c", "d"]], object), zarray([2, 2], [2, 2], "|O", order="F", filters=[{"id": "vlen-utf8"}], fill_value=""),
         {"0.0": "04000000 01000000 61 01000000 63 01000000 62 01000000 64"}, traps=["V2-T24"], features=["dtype-vlen"], fill_value="", data_type="string")  # fmt: skip
    good("vlen-utf8-fill-0", np.array(["", ""], object), zarray([2], [2], "|O", filters=[{"id": "vlen-utf8"}]), {}, traps=["V2-T23"], features=["dtype-vlen"], fill_value="", data_type="string")
    good("vlen-utf8-compressor", np.array(["a", "bé"], object), zarray([2], [2], "|O", compressor={"id": "vlen-utf8"}, fill_value=""),
         {"0": "02000000 01000000 61 03000000 62c3a9"}, traps=["V2-T26"], features=["dtype-vlen"], fill_value="", data_type="string")  # fmt: skip
    json2 = json.dumps([["a", "b", "c"], ["d", "e", "f"], "|O", [2, 3]]).encode()
    good("json2-f", np.array([['"a"', '"b"', '"c"'], ['"d"', '"e"', '"f"']], object), zarray([2, 3], [2, 3], "|O", order="F", filters=[{"id": "json2"}], fill_value=""),
         {"0.0": json2}, traps=["V2-T57"], features=["dtype-vlen", "json2"], fill_value="", data_type="json")  # fmt: skip
    good("subnormal-f16", np.array([6e-8, 65504], "<f2"), zarray([2], [2], "<f2"), {"0": np.array([6e-8, 65504], "<f2").tobytes()}, fill_value=0.0)
    good("nan-payload", np.array([0x7FC00001, 0xFF800001], "<u4").view("<f4"), zarray([2], [2], "<f4"), {"0": "0100c07f 010080ff"}, fill_value=0.0)
    if c := begin("zarr2/hand-array-and-group", **WRITER, traps=["V2-137"], node="a", note="both documents: the array wins"):
        fill(c, base, edge, "a/")
        c.put("a/.zgroup", {"zarr_format": 2})
        c.put(".zgroup", {"zarr_format": 2})
        c.array(u1, chunk_shape=[2], fill_value=9)
    if c := begin("zarr2/hand-no-groups", **WRITER, traps=["V2-T40"], node="foo", note="no .zgroup anywhere"):
        fill(c, base, edge, "foo/")
        c.array(u1, chunk_shape=[2], fill_value=9)
    if c := begin("zarr2/hand-consolidated-only", **WRITER, traps=["V2-T54"], node="foo/bar", note="the only metadata is .zmetadata", features=["consolidated"]):
        for key, content in edge.items():
            c.put_hex("foo/bar/" + key, content)
        documents = {".zgroup": {"zarr_format": 2}, "foo/.zgroup": {"zarr_format": 2}, "foo/bar/.zarray": base}
        c.put(".zmetadata", {"zarr_consolidated_format": 1, "metadata": documents})
        c.array(u1, chunk_shape=[2], fill_value=9)
    if c := begin("zarr2/hand-dimension-names", **WRITER, traps=["V2-146"], note="xarray's _ARRAY_DIMENSIONS"):
        fill(c, base, edge)
        c.put(".zattrs", {"_ARRAY_DIMENSIONS": ["x"], "k": 1})
        c.array(u1, chunk_shape=[2], fill_value=9, dimension_names=["x"], attributes={"_ARRAY_DIMENSIONS": ["x"], "k": 1})


def hierarchies():
    if c := begin("zarr2/hand-netcdf", **WRITER, node="v", note="members and attributes as NCZarr adds them"):
        c.put(".zgroup", {"zarr_format": 2})
        c.put(".zattrs", {"_nczarr_group": {"dimensions": {"x": 2}, "arrays": ["v"], "groups": []}})
        document = zarray([2], [2], "<u4", filters=[{"id": "shuffle", "elementsize": 0}], compressor={"id": "zlib", "level": "1"})
        fill(c, document, {"0": zlib.compress(bytes.fromhex("0408030702060105"))}, "v/")
        attributes = {"_ARRAY_DIMENSIONS": ["x"], "_nczarr_array": {"dimension_references": ["/x"], "storage": "chunked"}}
        c.put("v/.zattrs", attributes)
        values = np.array([0x01020304, 0x05060708], "<u4")
        c.array(values, chunk_shape=[2], fill_value=0, dimension_names=["x"], attributes=attributes)
    group = {"zarr_format": 2}
    if c := begin("zarr2/hand-members", **WRITER, kind="hierarchy", traps=["V2-T41"], note="c has no .zgroup, so it is no member"):
        c.put(".zgroup", group)
        c.put("a/.zarray", zarray([1], [1], "|u1"))
        c.put("b/.zgroup", group)
        c.put("c/d/.zarray", zarray([1], [1], "|u1"))
        c.put("a/0.0.1234.partial", b"")
        c.put(".DS_Store", b"\0")
        c.hierarchy({"": "group", "a": "array", "b": "group"})
    if c := begin("zarr2/hand-consolidated-stale", **WRITER, kind="hierarchy", traps=["V2-T42"], note="without consolidated metadata; with it there is a only"):
        c.put(".zgroup", group)
        c.put("a/.zarray", zarray([1], [1], "|u1"))
        c.put("b/.zarray", zarray([1], [1], "|u1"))
        c.put(".zmetadata", {"zarr_consolidated_format": 1, "metadata": {".zgroup": group, "a/.zarray": zarray([1], [1], "|u1")}})
        c.hierarchy({"": "group", "a": "array", "b": "array"})
    if c := begin("zarr2/hand-consolidated-format-2", **WRITER, kind="hierarchy", traps=["V2-T44"], note="an unknown consolidated format is ignored"):
        c.put(".zgroup", group)
        c.put("a/.zarray", zarray([1], [1], "|u1"))
        c.put(".zmetadata", {"zarr_consolidated_format": 2, "metadata": {}})
        c.hierarchy({"": "group", "a": "array"})


def streams():
    """Streams that a decoder has to read although no writer makes them in the common way."""
    values = (np.arange(64) // 5).astype("<u2")
    raw = values.tobytes()
    first, second = raw[:50], raw[50:]
    zstd = numcodecs.Zstd(3)
    # A frame without content size: a frame header with the single-segment flag clear, then one raw block.
    window = b"\x28\xb5\x2f\xfd\x00\x58"
    block = struct.pack("<I", (len(raw) << 3) | 1)[:3]
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1}]
    options = [
        ("zstd-two-frames", {"id": "zstd", "level": 1}, zstd.encode(first) + zstd.encode(second), ["V2-T30"]),
        ("zstd-no-content-size", {"id": "zstd", "level": 1}, window + block + raw, ["V2-T30"]),
        ("zstd-skippable-frame", {"id": "zstd", "level": 1}, bytes.fromhex("502a4d1803000000616263") + zstd.encode(raw), ["V2-T30"]),
        ("zstd-level-string", {"id": "zstd", "level": "1"}, zstd.encode(raw), ["V2-T32", "V2-T56"]),
        ("gzip-two-members", {"id": "gzip", "level": 1}, gzip.compress(first, mtime=0) + gzip.compress(second, mtime=0), ["V2-T30"]),
        ("gzip-empty-member", {"id": "gzip", "level": 1}, gzip.compress(b"", mtime=0) + gzip.compress(raw, mtime=0), ["V2-T30"]),
        ("gzip-named", {"id": "gzip", "level": 1}, b"\x1f\x8b\x08\x08\0\0\0\0\0\x03name\0" + gzip.compress(raw, mtime=0)[10:], ["V2-T30"]),
        ("bz2-two-streams", {"id": "bz2", "level": 1}, bz2.compress(first, 1) + bz2.compress(second, 9), ["V2-T30"]),
        ("zlib-trailing-bytes", {"id": "zlib", "level": 1}, zlib.compress(raw, 1) + b"tail", ["V2-T30"]),
        ("xz-two-streams", {"id": "lzma", "format": 1}, lzma.compress(first) + lzma.compress(second), ["V2-171"]),
        ("lzma-gdal", {"id": "lzma", "preset": 6, "delta": 1}, lzma.compress(raw), ["V2-171"]),
        ("lzma-auto-alone", {"id": "lzma", "format": 0}, lzma.compress(raw, format=lzma.FORMAT_ALONE), ["V2-103"]),
        ("lzma-raw", {"id": "lzma", "format": 3, "filters": filters}, lzma.compress(raw, format=lzma.FORMAT_RAW, filters=filters), ["V2-T33"]),
        ("lz4-literals", {"id": "lz4", "acceleration": 1}, struct.pack("<I", 128) + b"\xf0\x71" + raw, ["V2-104"]),
        ("blosc-other-cname", {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}, numcodecs.Blosc("zstd", 5, 2).encode(values), ["V2-T28"]),
        ("blosc-shuffle-string", {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": "BIT"}, numcodecs.Blosc("lz4", 5, 2).encode(values), ["V2-T56"]),
        ("zlib-no-level", {"id": "zlib"}, zlib.compress(raw), ["V2-097"]),
        ("extra-member", {"id": "zlib", "level": 1, "typesize": 2}, zlib.compress(raw), ["V2-096"]),
    ]  # fmt: skip
    for tag, compressor, data, traps in options:
        good(f"stream-{tag}", values, zarray([64], [64], "<u2", compressor=compressor), {"0": data}, traps=traps)
    good("stream-lzma-alone-unknown-size", values, zarray([64], [64], "<u2", compressor={"id": "lzma", "format": 2}),
         {"0": lzma.compress(raw, format=lzma.FORMAT_ALONE)}, traps=["V2-T33"], note="the header says size unknown")  # fmt: skip
    vectors = [
        ("zlib", "|u1", {"id": "zlib", "level": 1}, "78014b4c4c4c040003ce0185"),
        ("zstd", "|u1", {"id": "zstd", "level": 1}, "28b52ffd200421000061616161"),
        ("zstd-checksum", "|u1", {"id": "zstd", "level": 1, "checksum": True}, "28b52ffd24042100006161616132bf84bf"),
        ("lzma-raw", "|u1", {"id": "lzma", "format": 3, "filters": [{"id": 33, "preset": 1}]}, "0100036161616100"),
        ("lzma-raw-lzma1", "|u1", {"id": "lzma", "format": 3, "filters": [{"id": 4611686018427387905, "preset": 1}]}, "0030e8bdffffffffe0000000"),
    ]
    for tag, code, compressor, data in vectors:
        good(f"vector-{tag}", np.frombuffer(b"aaaa", "u1"), zarray([4], [4], code, compressor=compressor), {"0": data}, traps=[{"zlib": "V2-101", "zstd": "V2-105", "lzma": "V2-103"}[tag.split("-")[0]]])
    good("vector-lzma-raw-delta", np.array([1, 2, 3, 4], "<i2"), zarray([4], [4], "<i2", compressor={"id": "lzma", "format": 3, "filters": [{"id": 3, "dist": 2}, {"id": 33, "preset": 1}]}), {"0": "010007010001000100010000"}, traps=["V2-170"])
    good("vector-lz4", np.frombuffer(b"a" * 24, "u1"), zarray([24], [24], "|u1", compressor={"id": "lz4"}), {"0": "180000001e610100506161616161"}, traps=["V2-104"])
    blosc = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}
    good("vector-blosc-memcpy", np.arange(4, dtype="<i4"), zarray([4], [4], "<i4", compressor=blosc), {"0": "0201330410000000100000002000000000000000010000000200000003000000"}, traps=["V2-T49"])
    good("vector-blosc-zeros", np.zeros(100, "<i4"), zarray([100], [100], "<i4", compressor=blosc, fill_value=1), {"0": "02013104900100009001000024000000140000000c0000001f000100ff78500000000000"}, traps=["V2-T49"], fill_value=1)
    filters = [
        ("delta-u1", "|u1", [5, 3, 255, 0], {"id": "delta", "dtype": "|u1"}, "05fefc01"),
        ("delta-f8-f4", "<f8", [1.5, 2.25, 0], {"id": "delta", "dtype": "<f8", "astype": "<f4"}, "0000c03f0000403f000010c0"),
        ("delta-narrow", "<u2", [10, 12, 9], {"id": "delta", "dtype": "<u2", "astype": "|i1"}, "0a02fd"),
        ("delta-wrapped", "<u2", [1, 45], {"id": "delta", "dtype": "<u2", "astype": "|i1"}, "012c"),
        ("delta-modular", "<u2", [1, 0], {"id": "delta", "dtype": "<u2"}, "0100ffff"),
        ("fixedscaleoffset-truncates", "|i1", [1, 1, -1], {"id": "fixedscaleoffset", "dtype": "|i1", "offset": 0, "scale": 3}, "0405fc"),
        ("fixedscaleoffset-wraps", "|u1", [1, 5], {"id": "fixedscaleoffset", "dtype": "|u1", "offset": 3, "scale": 1}, "fe02"),
        ("quantize", "<f8", [0.125, 1.25, -2.6875], {"id": "quantize", "digits": 1, "dtype": "<f8", "astype": "<f4"}, "0000003e0000a03f00002cc0"),
        ("packbits-3", "|b1", [1, 0, 1], {"id": "packbits"}, "05a0"),
        ("packbits-8", "|b1", [1, 0, 0, 0, 0, 0, 0, 0], {"id": "packbits"}, "0080"),
        ("packbits-9", "|b1", [1, 0, 1, 0, 0, 0, 0, 0, 1], {"id": "packbits"}, "07a080"),
        ("astype", "<f8", [1.0, -1.0], {"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<f8"}, "0100ffff"),
        ("shuffle", "<u4", [0x01020304, 0x05060708], {"id": "shuffle", "elementsize": 4}, "0408030702060105"),
        ("shuffle-0", "<u4", [0x01020304, 0x05060708], {"id": "shuffle", "elementsize": 0}, "0408030702060105"),
        ("bitround", "<f4", [0.1015625, 1.25, 120.0, np.inf, np.nan], {"id": "bitround", "keepbits": 3}, "0000d03d0000a03f0000f0420000807f0000c07f"),
        ("base64", "|u1", [255, 238, 0], {"id": "base64"}, b"/+4A"),
        ("fletcher32", "|u1", list(b"abcde"), {"id": "fletcher32"}, b"abcde" + bytes.fromhex("c729f04f")),
        ("jenkins", "|u1", list(b"Four score and seven years ago"), {"id": "jenkins_lookup3", "initval": 1}, b"Four score and seven years ago" + bytes.fromhex("618162cd")),
    ]  # fmt: skip
    for digest, name in [("2639f4cb", "crc32"), ("de011e09", "adler32")]:
        filters.append((name, "|u1", list(b"123456789"), {"id": name}, bytes.fromhex(digest) + b"123456789"))
    filters.append(("crc32c", "|u1", list(b"123456789"), {"id": "crc32c"}, b"123456789" + bytes.fromhex("839206e3")))
    for tag, code, items, codec, data in filters:
        values = np.array(items).astype(code)
        good(f"filter-{tag}", values, zarray([len(items)], [len(items)], code, filters=[codec]), {"0": data}, traps=[FILTER_ITEMS[codec["id"]]])
    good("filter-categorize", np.array(["bb", "a", ""], "<U2"), zarray([3], [3], "<U2", fill_value="", filters=[{"id": "categorize", "labels": ["a", "bb"], "dtype": "<U2", "astype": "|u1"}]), {"0": "020100"}, fill_value="", features=["dtype-fixed-string", "categorize"])


def bad_documents():
    base = zarray([3], [2], "|u1", fill_value=9)

    def but(**members):
        return {k: v for k, v in {**base, **members}.items() if v is not ...}

    bad("format-text", "open", 'zarr_format is "2"', but(zarr_format="2"), traps=["V2-T09"])
    bad("format-float", "open", "zarr_format is 2.0", but(zarr_format=2.0), traps=["V2-T09"])
    bad("format-3", "open", "zarr_format is 3", but(zarr_format=3), traps=["V2-T09"])
    bad("no-order", "open", "order is missing", but(order=...), traps=["V2-T07"])
    bad("no-fill", "open", "fill_value is missing", but(fill_value=...), traps=["V2-T07"])
    bad("no-shape", "open", "shape is missing", but(shape=...))
    bad("no-dtype", "open", "dtype is missing", but(dtype=...))
    bad("order-a", "open", "order is A", but(order="A"))
    bad("separator", "open", "dimension_separator is a colon", but(dimension_separator=":"))
    bad("rank", "open", "chunks and shape differ in rank", but(shape=[4], chunks=[2, 2]), traps=["V2-T10"])
    bad("zero-chunk", "open", "a chunk length of 0 for 4 elements", but(shape=[4], chunks=[0]), traps=["V2-T10"])
    bad("negative-shape", "open", "a negative length", but(shape=[-3]))
    bad("chunk-overflow", "open", "the chunk's byte length overflows", but(shape=[4, 4], chunks=[2**40, 2**40]))
    for tag, code in [("no-byte-order", "f8"), ("long-double", "<f16"), ("unknown-kind", "<x4"), ("datetime-no-unit", "<M8"), ("datetime-micro-sign", "<M8[µs]"), ("datetime-zero", "<M8[0s]"), ("bar-u2", "|u2")]:
        traps = ["V2-T48"] if "datetime" in tag else []
        bad(f"dtype-{tag}", "open", f"dtype {code}", but(dtype=code, fill_value=0), traps=traps)
    bad("object-no-codec", "open", "object dtype without object codec", but(dtype="|O", fill_value=""), traps=["V2-T22"])
    for tag, code, value in [("hex", "<f4", "0x7fc00000"), ("nan-lower", "<f4", "nan"), ("u1-256", "|u1", 256), ("u1-negative", "|u1", -1), ("s3-long", "|S3", "YWJjZA=="), ("bool-text", "|b1", "true"), ("u2-long", "<U2", "abc"), ("v3-short", "|V3", "AQI="), ("complex-short", "<c8", [1.0])]:
        traps = ["V2-T11"] if code == "<f4" else ["V2-T16"] if code == "|S3" else ["V2-T46"] if code == "|u1" else []
        bad(f"fill-{tag}", "open", f"fill_value {value!r} for {code}", but(dtype=code, fill_value=value), traps=traps)
    bad("fill-struct-length", "open", "the fill has 3 of 4 bytes", but(dtype=[["a", "<i2"], ["b", "<i2"]], fill_value="AAAA"), traps=["V2-T21"])
    bad("struct-duplicate", "open", "two fields are called a", but(dtype=[["a", "<i2"], ["a", "<i2"]], fill_value="AAAAAA=="))
    bad("struct-empty", "open", "a structured dtype without fields", but(dtype=[], fill_value=""))
    bad("dtype-deep", "open", "a dtype nested 2,000 levels deep", json.dumps(but(dtype="D")).replace('"D"', '[["a", ' * 2000 + '"<i2"' + "]]" * 2000), traps=["V2-012"])
    bad("not-json", "open", "not JSON", "{", traps=["V2-010"])
    bad("not-object", "open", "a JSON list", "[]", traps=["V2-010"])
    bad("text-after", "open", "text after the JSON value", json.dumps(base) + " x", traps=["V2-014"])
    bad("empty-document", "open", "an empty document", b"", traps=["V2-010"])
    bad("fixedscaleoffset-offset", "open", "an integer offset that does not fit the dtype", but(filters=[{"id": "fixedscaleoffset", "dtype": "|u1", "offset": 300, "scale": 1}]), traps=["V2-T51"])
    for name, why, document in [("group-format-3", "zarr_format is 3", {"zarr_format": 3}), ("group-not-json", "not JSON", "x"), ("group-format-text", 'zarr_format is "2"', {"zarr_format": "2"})]:
        if c := begin(f"bad/v2-{name}", **WRITER, kind="error", traps=["V2-T59"]):
            c.put(".zgroup", document)
            c.error("open", why)
    if c := begin("bad/v2-attributes-deep", **WRITER, kind="error", traps=["V2-T59"]):
        fill(c, base, {"0": "0102", "1": "0309"})
        c.put(".zattrs", '{"a":' + "[" * 5000 + "]" * 5000 + "}")
        c.error("open", "attributes nested 5,000 levels deep")
    if c := begin("bad/v2-attributes-list", **WRITER, kind="error"):
        fill(c, base, {"0": "0102", "1": "0309"})
        c.put(".zattrs", "[1]")
        c.error("open", "attributes are no object")


def bad_chunks():
    def one(name, why, data, traps=(), shape=(24,), dtype="|u1", **members):
        bad(f"chunk-{name}", "read", why, zarray(list(shape), list(shape), dtype, **members), {".".join("0" for _ in shape): data}, traps)

    one("short", "1 byte for a chunk of 2", "03", ["V2-T05"], (2,))
    one("long", "3 bytes for a chunk of 2", "030405", ["V2-T05"], (2,))
    one("empty", "a chunk of 0 bytes", b"", (), (2,))
    one("bool-2", "a bool byte of 2", "0102", ["V2-T47"], (2,), "|b1", fill_value=False)
    one("codec-unknown", "an unknown codec", "0102", ["V2-095"], (2,), compressor={"id": "brotli"})
    one("filter-unknown", "an unknown filter", "0102", ["V2-095"], (2,), filters=[{"id": "nope"}])
    lz4 = {"id": "lz4", "acceleration": 1}
    one("lz4-prefix", "the prefix says 24, the block has 23", "180000001e6101004061616161", ["V2-T31"], compressor=lz4)
    one("lz4-huge", "the prefix says 4 GiB", "ffffffff1e610100506161616161", ["V2-T31"], compressor=lz4)
    one("lz4-zero", "the prefix says 0", "00000000", ["V2-104"], compressor=lz4)
    blosc = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
    good_blosc = numcodecs.Blosc("lz4", 5, 1).encode(np.zeros(100, "<i4"))
    one("blosc-truncated", "the blosc chunk is cut", good_blosc[:-1], ["V2-T29"], (100,), "<i4", compressor=blosc)
    one("blosc-header", "10 bytes are no blosc header", good_blosc[:10], ["V2-T29"], (100,), "<i4", compressor=blosc)
    one("blosc-nbytes", "blosc announces 2 GiB", good_blosc[:4] + b"\xff\xff\xff\x7f" + good_blosc[8:], ["V2-T29"], (100,), "<i4", compressor=blosc)
    one("blosc-offset", "a block starts outside of the chunk", good_blosc[:16] + b"\xff\xff\0\0" + good_blosc[20:], ["V2-173"], (100,), "<i4", compressor=blosc)
    one("blosc-stream-length", "a stream is longer than the chunk", good_blosc[:20] + b"\xff\0\0\0" + good_blosc[24:], ["V2-173"], (100,), "<i4", compressor=blosc)
    one("blosc-version", "blosc version 5", b"\5" + good_blosc[1:], ["V2-173"], (100,), "<i4", compressor=blosc)
    one("blosc-blocksize-0", "a block size of 0", good_blosc[:8] + bytes(4) + good_blosc[12:], ["V2-173"], (100,), "<i4", compressor=blosc)
    one("blosc-typesize-0", "an item size of 0", good_blosc[:3] + b"\0" + good_blosc[4:], ["V2-173"], (100,), "<i4", compressor=blosc)
    one("blosc-memcpy-short", "a stored chunk lacks its bytes", "0201330410000000100000001800000000000000" + "01000000", ["V2-173"], (4,), "<i4", compressor=blosc)
    for tag, compressor, bomb in [
        ("zlib", {"id": "zlib", "level": 1}, zlib.compress(bytes(1 << 20), 9)),
        ("gzip", {"id": "gzip", "level": 1}, gzip.compress(bytes(1 << 20), mtime=0)),
        ("bz2", {"id": "bz2", "level": 1}, bz2.compress(bytes(1 << 20))),
        ("xz", {"id": "lzma", "format": 1}, lzma.compress(bytes(1 << 20))),
        ("zstd", {"id": "zstd", "level": 1}, numcodecs.Zstd(3).encode(bytes(1 << 20))),
    ]:
        one(f"{tag}-bomb", "the stream expands to 1 MiB", bomb, ["V2-T58"], compressor=compressor)
        small = {"zlib": zlib.compress, "gzip": lambda d: gzip.compress(d, mtime=0), "bz2": bz2.compress, "xz": lzma.compress, "zstd": numcodecs.Zstd(3).encode}[tag](bytes(range(24)))
        one(f"{tag}-truncated", "the stream is cut", bytes(small)[: len(small) // 2], compressor=compressor)
        one(f"{tag}-garbage", "no such stream", b"\xde\xad\xbe\xef" * 6, compressor=compressor)
        one(f"{tag}-short", "the stream has 23 of 24 bytes", {"zlib": zlib.compress, "gzip": lambda d: gzip.compress(d, mtime=0), "bz2": bz2.compress, "xz": lzma.compress, "zstd": numcodecs.Zstd(3).encode}[tag](bytes(23)), compressor=compressor)
    zlib_sum = bytearray(zlib.compress(bytes(range(24))))
    zlib_sum[-1] ^= 1
    one("zlib-checksum", "the adler32 of the stream is wrong", bytes(zlib_sum), compressor={"id": "zlib", "level": 1})
    one("zstd-checksum", "the xxh64 of the frame is wrong", "28b52ffd24042100006161616132bf84be", (), (4,), compressor={"id": "zstd", "level": 1})
    one("lzma-raw-no-filters", "raw lzma without filters", "0100036161616100", ["V2-T33"], (4,), compressor={"id": "lzma", "format": 3})
    vlen = {"dtype": "|O", "fill_value": "", "filters": [{"id": "vlen-utf8"}]}
    one("vlen-count", "3 texts for 2 elements", "03000000 01000000 61 01000000 62 01000000 63", ["V2-T25"], (2,), **vlen)
    one("vlen-length", "a length past the end", "02000000 01000000 61 ff000000 62", ["V2-T25"], (2,), **vlen)
    one("vlen-utf8", "invalid UTF-8", "02000000 01000000 ff 01000000 62", ["V2-T25"], (2,), **vlen)
    one("vlen-hostile", "4294967295 texts", "ffffffff 01000000 61", ["V2-T25"], (2,), **vlen)
    one("utf32-surrogate", "a surrogate", "00d80000", ["V2-046"], (1,), "<U1", fill_value="")
    one("packbits-pad", "9 pad bits", "09a080", ["V2-T27"], (3,), "|b1", fill_value=False, filters=[{"id": "packbits"}])
    one("shuffle-10", "10 bytes in items of 4", "00010203040506070809", ["V2-T36"], (10,), filters=[{"id": "shuffle", "elementsize": 4}])
    one("shuffle-negative", "an item size of -4", "0001020304050607", ["V2-T36"], (8,), filters=[{"id": "shuffle", "elementsize": -4}])
    for name, data in [("crc32", "2639f4ca313233343536373839"), ("adler32", "de011e08313233343536373839"), ("crc32c", "313233343536373839839206e2"), ("fletcher32", "3132333435363738390000ffff")]:
        one(f"{name}-wrong", "the checksum is wrong", data, ["V2-126"], (9,), filters=[{"id": name}])
        one(f"{name}-short", "3 bytes hold no checksum", "313233", ["V2-126"], (9,), filters=[{"id": name}])
    json2 = {"dtype": "|O", "fill_value": "", "filters": [{"id": "json2"}]}
    one("json2-shape", "the payload has another shape", b'["a","b","|O",[1000000000]]', ["V2-T57"], (2,), **json2)
    one("json2-no-list", "the payload is no list", b'{"a":1}', ["V2-T57"], (2,), **json2)
    one("json2-no-shape", "the payload has no shape", b'["a","b"]', ["V2-T57"], (2,), **json2)


if __name__ == "__main__":
    run(documents, hierarchies, streams, bad_documents, bad_chunks)
