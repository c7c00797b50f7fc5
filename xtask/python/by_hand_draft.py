"""Cases of the 2022 draft of Zarr v3 made by hand: dialect A, which no program wrote, and odd stores of dialect B."""

import json
import struct

import numpy as np
from fixture import HAND, begin, run

WRITER = {"writer": HAND, "version": "1"}
CODEC = "https://purl.org/zarr/spec/codecs/"
ENTRY_A = {
    "zarr_format": "https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
    "extensions": [],
}
ENTRY_B = {
    "zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_encoding": "https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_key_suffix": ".json",
    "extensions": [],
}
BIG = {"type": CODEC + "endian/1.0", "configuration": {"endian": "big"}}
SHARDING = "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0"
NONE = "ffffffffffffffff"


def array_a(shape, chunk, dtype, fill=0, **members):
    """An array document of dialect A; a member given as ... is left out."""
    document = {
        "shape": shape,
        "data_type": dtype,
        "chunk_grid": {"type": "regular", "chunk_shape": chunk, "separator": members.pop("separator", "/")},
        "chunk_memory_layout": "C",
        "codecs": [],
        "fill_value": fill,
        "extensions": [],
        "attributes": {},
        **members,
    }
    return {k: v for k, v in document.items() if v is not ...}


def array_b(shape, chunk, dtype, fill=0, **members):
    """An array document of dialect B."""
    return array_a(shape, chunk, dtype, fill, **{"codecs": ..., **members})


def case(dialect, name, node, keys, *, entry=None, family="draft", **fields):
    """Begins a case and stores the entry point and `keys`: documents, hexadecimal digits or bytes."""
    c = begin(f"{family}/hand-{dialect}-{name}" if family == "draft" else f"bad/draft-{dialect}-{name}", **WRITER, format=f"zarr3-draft-{dialect}", node=node, **fields)
    if c:
        if entry is not False:
            c.put("zarr.json", entry or (ENTRY_A if dialect == "a" else ENTRY_B))
        for key, content in keys.items():
            (c.put_hex if isinstance(content, str) else c.put)(key, content)
    return c


def good(dialect, name, values, document, chunks, *, node="a", fill_value=0, entry=None, traps=(), note="", features=(), key=None, extra=None, **expected):
    """An array at `node` with its chunks given by identifier."""
    base = "root" if dialect == "b" else ""
    prefix = "/".join(p for p in [base, node] if p)
    if key is None:
        key = "meta/" + (prefix + ".array.json" if prefix else "array.json")
    keys = {key: document, **{"/".join(p for p in ["data", prefix, k] if p): v for k, v in chunks.items()}, **(extra or {})}
    if c := case(dialect, name, node, keys, entry=entry, traps=traps, note=note, features=features):
        shape = document["chunk_grid"]["chunk_shape"]
        sharded = document.get("storage_transformers")
        if sharded:
            per_shard = sharded[0]["configuration"]["chunks_per_shard"]
            expected["shard_shape"] = [n * k for n, k in zip(shape, per_shard)]
        user = {k: v for k, v in document.get("attributes", {}).items() if not (k == "filters" and isinstance(v, list))}
        c.array(values, chunk_shape=shape, fill_value=fill_value, attributes=user, **expected)


def dialect_a():
    def a(name, *args, **options):
        good("a", name, *args, **options)

    u2 = np.array([1, 2, 7, 7], "u2")
    doc = array_a([4], [2], "uint16", 7, codecs=[BIG])
    a("minimal", u2, doc, {"c0": "00010002"}, node="foo/baz", fill_value=7, traps=["D3-T01"])
    swapped = np.array([256, 512, 7, 7], "u2")
    a("no-endian", swapped, array_a([4], [2], "uint16", 7), {"c0": "00010002"}, node="foo/baz", fill_value=7, traps=["D3-T01"])
    a("no-codecs", swapped, array_a([4], [2], "uint16", 7, codecs=...), {"c0": "00010002"}, fill_value=7, traps=["D3-T16"])
    a("little", np.array([1, 2, 7, 7], "u2"), array_a([4], [2], "uint16", 7, codecs=[{"type": CODEC + "endian/1.0", "configuration": {"endian": "little"}}]), {"c0": "01000200"}, fill_value=7, traps=["D3-086"])
    member = "1f8b080000000000040363606460020007d488ce04000000"
    for tag, uri in [("codecs", CODEC + "gzip/1.0"), ("codec", "https://purl.org/zarr/spec/codec/gzip")]:
        gz = {"type": uri, "configuration": {"level": 1}}
        a(f"gzip-{tag}", u2, array_a([4], [2], "uint16", 7, codecs=[BIG, gz]), {"c0": member}, fill_value=7, traps=["D3-T02"])
    blosc = {"type": CODEC + "blosc/1.0", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}}
    a("blosc", np.array([1, 2], "u4"), array_a([2], [2], "uint32", codecs=[blosc]), {"c0": "020133040800000008000000180000000100000002000000"}, traps=["D3-T17"])
    order = np.arange(6, dtype="u2").reshape(2, 3)
    a("order-f", order, array_a([2, 3], [2, 3], "uint16", chunk_memory_layout="F"), {"c0/0": "000003000100040002000500"}, traps=["D3-T18"])
    a("order-f-big", order, array_a([2, 3], [2, 3], "uint16", chunk_memory_layout="F", codecs=[BIG]), {"c0/0": "000000030001000400020005"}, traps=["D3-T18"])
    a("array-named-root", np.array([1, 2], "u1"), array_a([2], [2], "uint8"), {"c0": "0102"}, node="root", traps=["D3-T05"])
    a("group-named-root", np.array([1, 2], "u1"), array_a([2], [2], "uint8"), {"c0": "0102"}, node="root/a", traps=["D3-T06"])
    a("array-named-array", np.array([1, 2], "u1"), array_a([2], [2], "uint8"), {"c0": "0102"}, node="array", traps=["D3-T07"])
    a("root-array", np.array([1, 2], "u1"), array_a([2], [2], "uint8"), {"c0": "0102"}, node="", traps=["D3-T07"])
    a("0d", np.array(1.5), array_a([], [], "float64", 0.0), {"c": "000000000000f83f"}, traps=["D3-T09"], fill_value=0.0)
    a("final-style-key", np.array([9, 9], "u1"), array_a([2], [2], "uint8", 9), {"c/0": "0102"}, fill_value=9, traps=["D3-T10"], note="c/0 is no chunk of a draft array")
    a("separator-dot", np.array([[1, 2]], "u1"), array_a([1, 2], [1, 1], "uint8", separator="."), {"c0.0": "01", "c0.1": "02"}, traps=["D3-T11"])
    grid = {"type": "regular", "chunk_shape": [1, 1]}
    a("separator-absent", np.array([[1, 2]], "u1"), array_a([1, 2], [1, 1], "uint8", chunk_grid=grid), {"c0/0": "01", "c0/1": "02"}, traps=["D3-043"], note="lenient")
    a("int64", np.array([-2], "i8"), array_a([1], [1], "int64"), {"c0": "feffffffffffffff"}, traps=["D3-T12"])
    a("uint64", np.array([2**64 - 1], "u8"), array_a([1], [1], "uint64"), {"c0": NONE}, traps=["D3-T12"])
    a("numpy-little", np.array([1.5]), array_a([1], [1], "<f8", 0.0), {"c0": "000000000000f83f"}, traps=["D3-T12"], fill_value=0.0)
    a("numpy-big", np.array([1.5]), array_a([1], [1], ">f8", 0.0), {"c0": "3ff8000000000000"}, traps=["D3-T12"], fill_value=0.0)
    a("edge", np.array([1, 2, 3], "u1"), array_a([3], [2], "uint8", 9), {"c0": "0102", "c1": "0309"}, fill_value=9, traps=["D3-T40"])
    a("fill-hex", np.array([0x7FC00001], "u4").view("f4"), array_a([1], [1], "float32", "0x7fc00001"), {}, fill_value="0x7fc00001", traps=["D3-T14"])
    a("fill-binary", np.array([1.0], "f2"), array_a([1], [1], "float16", "0b0011110000000000"), {}, fill_value=1.0, traps=["D3-T14"])
    for tag in ["+Infinity", "Infinity"]:
        a(f"fill-{'plus-' if tag[0] == '+' else ''}infinity", np.array([np.inf], "f4"), array_a([1], [1], "float32", tag), {}, fill_value=np.inf, traps=["D3-T14"])
    a("fill-complex", np.array([complex(1, -np.inf)], "c8"), array_a([1], [1], "complex64", [1.0, "-Infinity"]), {}, fill_value=complex(1, -np.inf), traps=["D3-073"])
    a("r24", np.frombuffer(b"\1\2\3\4\5\6", "V3"), array_a([2], [1], "r24", "0x040506"), {"c0": "010203"}, fill_value=b"\4\5\6", traps=["D3-073"])
    a("bool", np.array([True, False]), array_a([2], [2], "bool", True), {"c0": "0100"}, fill_value=True)
    a("attributes", np.array([1, 2], "u1"), array_a([2], [2], "uint8", attributes={"t": "ü", "filters": "none"}), {"c0": "0102"})
    datetime = {"extension": "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0", "type": "<M8[ns]"}
    a("datetime-fill-null", np.full(2, -(2**63), "i8").view("<M8[ns]"), array_a([2], [2], datetime, None), {}, fill_value=-(2**63), traps=["D3-T13"], features=["dtype-datetime"])
    later = {**ENTRY_A, "zarr_format": "https://purl.org/zarr/spec/core/3.1", "extra": 1}
    a("core-3-1", np.array([1, 2], "u1"), array_a([2], [2], "uint8"), {"c0": "0102"}, entry=later, traps=["D3-T04"])
    http = {**ENTRY_A, "zarr_format": "http://purl.org/zarr/spec/core/3.0"}
    a("http", np.array([1, 2], "u1"), array_a([2], [2], "uint8"), {"c0": "0102"}, entry=http, traps=["D3-003"])
    suffix = {**ENTRY_A, "metadata_encoding": {"type": "json", "metadata_key_suffix": ".jsn"}}
    a("suffix", np.array([1, 2], "u1"), array_a([2], [2], "uint8"), {"c0": "0102"}, entry=suffix, key="meta/a.array.jsn", traps=["D3-T31"])
    optional = {**ENTRY_A, "extensions": [{"extension": "http://x/y", "must_understand": False}]}
    a("extension-optional", np.array([1, 2], "u1"), array_a([2], [2], "uint8"), {"c0": "0102"}, entry=optional, traps=["D3-T32"])
    transformer = {"extension": SHARDING, "type": "indexed", "configuration": {"chunks_per_shard": [2]}}
    pair = "0200000000000000"
    c0 = "03040102" + pair + pair + "00" * 8 + pair
    c1 = "0909" + "00" * 8 + pair + NONE + NONE
    values = np.array([1, 2, 3, 4, 9, 9], "u1")
    a("shard", values, array_a([6], [2], "uint8", storage_transformers=[transformer]), {"c0": c0, "c1": c1}, node="sh", traps=["D3-T19", "D3-T20"])
    example = {**transformer, "extension": "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0"}
    a("shard-example-uri", values, array_a([6], [2], "uint8", storage_transformers=[example]), {"c0": c0, "c1": c1}, node="sh", traps=["D3-101"])
    a("shard-edge", np.full((3, 3), 1, "u1"), array_a([3, 3], [1, 1], "uint8", storage_transformers=[{**transformer, "configuration": {"chunks_per_shard": [2, 2]}}]),
      {f"c{i}/{j}": shard_of(2 if i == 0 else 1, 2 if j == 0 else 1) for i in range(2) for j in range(2)}, traps=["D3-T23"])  # fmt: skip
    a("transformers-empty", np.array([1, 2], "u1"), array_a([2], [2], "uint8", storage_transformers=[]), {"c0": "0102"}, traps=["D3-T39"])
    group = {"attributes": {"k": 1}}
    array = array_a([1], [1], "uint8")
    if c := case("a", "children", "", {"meta/group.json": group, "meta/x.array.json": array, "meta/y/z.group.json": {"attributes": {}}}, kind="hierarchy", traps=["D3-T08"]):
        c.hierarchy({"": "group", "x": "array", "y": "group", "y/z": "group"}, {"": {"k": 1}, "y": {}})
    if c := case("a", "implicit", "", {"meta/a/b/c.array.json": array}, kind="hierarchy", traps=["D3-T26"]):
        c.hierarchy({"": "group", "a": "group", "a/b": "group", "a/b/c": "array"})
    if c := case("a", "explicit-and-prefix", "", {"meta/foo.group.json": group, "meta/foo/bar.array.json": array, "meta/foobar.array.json": array}, kind="hierarchy", traps=["D3-T27", "D3-T29"]):
        c.hierarchy({"": "group", "foo": "group", "foo/bar": "array", "foobar": "array"}, {"foo": {"k": 1}})
    if c := case("a", "empty", "", {}, kind="hierarchy", traps=["D3-115"]):
        c.hierarchy({"": "group"})
    if c := case("a", "names", "", {f"meta/{n}.array.json": array for n in ["__x", "a..b", "-", "A", "b.c_d"]}, kind="hierarchy", traps=["D3-T30"]):
        c.hierarchy({"": "group", **{n: "array" for n in ["__x", "a..b", "-", "A", "b.c_d"]}})


def shard_of(n, m):
    """A draft shard of 2 x 2 one-byte chunks, of which the first n x m are present and hold 1."""
    data, index = b"", b""
    for i in range(2):
        for j in range(2):
            if i < n and j < m:
                index += struct.pack("<2Q", len(data), 1)
                data += b"\1"
            else:
                index += b"\xff" * 16
    return (data + index).hex()


def dialect_b():
    def b(name, *args, **options):
        good("b", name, *args, **options)

    filters = {"filters": [{"astype": ">u2", "dtype": ">u2", "id": "delta"}]}
    b("delta", np.array([1, 2, 5, 5], "u2"), array_b([4], [2], ">u2", 5, attributes=filters, chunk_memory_layout="F", separator="."), {"c0": "00010001"}, node="b", fill_value=5, traps=["D3-T03"])
    b("filters-text", np.array([1, 2], "u1"), array_b([2], [2], "u1", attributes={"filters": "none"}), {"c0": "0102"}, traps=["D3-T34"])
    b("0d-zarrita", np.array(1.5), array_b([], [], "<f8", 0.0), {"c": "000000000000f83f"}, fill_value=0.0, traps=["D3-T09"], note="zarrita's chunk key of a 0-d array")
    b("0d", np.array(1.5), array_b([], [], "<f8", 0.0), {"c0": "000000000000f83f"}, fill_value=0.0, traps=["D3-T09"])
    b("separator-leftover", np.array([[1, 2]], "u1"), array_b([1, 2], [1, 1], "u1", dimension_separator="."), {"c0/0": "01", "c0/1": "02"}, traps=["D3-T11"])
    b("unknown-members", np.array([1, 2], "u1"), array_b([2], [2], "u1", dimension_names=["x"], foo=1), {"c0": "0102"}, traps=["D3-T15"])
    b("compressor-null", np.array([1, 2], "u1"), array_b([2], [2], "u1", compressor=None), {"c0": "0102"}, traps=["D3-052"])
    b("fill-null", np.array([0, 0], "u2"), array_b([2], [2], "<u2", None), {}, fill_value=None, traps=["D3-T13"])
    extension = [{"extension": "http://x/y", "must_understand": False}]
    b("extension-optional", np.array([1, 2], "u1"), array_b([2], [2], "u1", extensions=extension), {"c0": "0102"}, traps=["D3-T41"])
    for tag in ["|u1", "uint8"]:
        b(f"lenient-{tag.strip('|')}", np.array([1, 2], "u1"), array_b([2], [2], tag), {"c0": "0102"}, traps=["D3-066"])
    complex_type = {"extension": "any text", "fallback": None, "type": "<c8"}
    b("complex", np.array([complex(1, np.inf)], "c8"), array_b([1], [1], complex_type, [1.0, "Infinity"]), {}, fill_value=complex(1, np.inf), traps=["D3-T37"])
    struct_type = {"extension": "TODO: structured array protocol URL", "fallback": None, "type": [["a", "<i2"], ["b", ">f4"]]}
    dtype = np.dtype([("a", "<i2"), ("b", ">f4")])
    b("struct", np.array([(1, 2.0), (0, 0.0)], dtype), array_b([2], [1], struct_type, None), {"c0": "010040000000"}, fill_value=None, traps=["D3-T36"], features=["dtype-struct"])
    object_type = {"extension": "TODO: object array protocol URL", "fallback": None, "type": "|O"}
    vlen = {"filters": [{"id": "vlen-utf8"}]}
    b("vlen-utf8", np.array(["a", "bb", "", "", "", ""], object), array_b([6], [3], object_type, 0, attributes=vlen), {"c0": "03000000 01000000 61 02000000 6262 00000000"}, fill_value="", traps=["D3-T35"], features=["dtype-vlen"], data_type="string")
    v3 = {"extension": "TODO: structured array protocol URL", "fallback": None, "type": [["", "|V3"]]}
    b("v3", np.frombuffer(bytes(range(6)), "V3"), array_b([2], [2], v3, "AAAA"), {"c0": bytes(range(6))}, fill_value=bytes(3), traps=["D3-068"])
    suffix = {**ENTRY_B, "metadata_key_suffix": ".jsn"}
    b("suffix", np.array([1, 2], "u1"), array_b([2], [2], "u1"), {"c0": "0102"}, entry=suffix, key="meta/root/x.array.jsn", node="x", traps=["D3-T31"])
    # GDAL escapes the slashes, writes extensions into group documents and null as fill value.
    gdal = array_b([2], [2], "<u2", None, compressor={"codec": "https://purl.org/zarr/spec/codec/gzip/1.0", "configuration": {"level": 6}})

    def escaped(document):
        return json.dumps(document).replace("/", "\\/").encode()

    member = "1f8b080000000000040363606460020007d488ce04000000"
    keys = {"meta/root.group.json": escaped({"attributes": {}, "extensions": []}), "meta/root/a.array.json": escaped(gdal), "data/root/a/c0": member}
    if c := case("b", "gdal", "a", keys, entry=escaped(ENTRY_B), traps=["D3-018", "D3-T42"], note="documents as GDAL 3.5 writes them"):
        c.array(np.array([256, 512], "u2"), chunk_shape=[2], fill_value=None)
    keys = {"meta/root.group.json": {"attributes": None, "extensions": []}, "meta/root/a.group.json": {"attributes": {}, "extensions": []}, "meta/roots.array.json": array_b([1], [1], "u1")}
    if c := case("b", "zarrita-groups", "", keys, kind="hierarchy", traps=["D3-111", "D3-117"]):
        c.hierarchy({"": "group", "a": "group"}, {"": {}, "a": {}})
    keys = {"meta/root/a/b/c.array.json": array_b([1], [1], "u1"), "meta/root/.zmetadata": {"zarr_consolidated_format": 1, "metadata": {}}}
    if c := case("b", "implicit", "", keys, kind="hierarchy", traps=["D3-T26", "D3-123"]):
        c.hierarchy({"": "group", "a": "group", "a/b": "group", "a/b/c": "array"})


def bad():
    def one(dialect, name, fails, why, document, chunks=None, traps=(), entry=None, base="meta"):
        prefix = "meta/root/" if dialect == "b" else "meta/"
        data = "data/root/a/" if dialect == "b" else "data/a/"
        keys = {prefix + "a.array.json": document, **{data + k: v for k, v in (chunks or {}).items()}}
        if c := case(dialect, name, "a", keys, entry=entry, family="bad", kind="error", traps=traps):
            c.error(fails, why)

    a, b = array_a([2], [2], "uint8"), array_b([2], [2], "u1")
    u2 = array_a([4], [2], "uint16", 7)

    def but(document, **members):
        return {k: v for k, v in {**document, **members}.items() if v is not ...}

    for tag, entry, why in [
        ("format-3-text", {"zarr_format": "3"}, 'zarr_format is "3"'),
        ("core-4", but(ENTRY_A, zarr_format="https://purl.org/zarr/spec/core/4.0"), "core version 4.0"),
        ("core-text", but(ENTRY_A, zarr_format="https://purl.org/zarr/spec/core/x"), "core version x"),
        ("core-extra", but(ENTRY_A, extra=1), "an unknown member beside core 3.0"),
        ("uri", but(ENTRY_A, zarr_format="https://example.com/zarr"), "an unknown format URI"),
        ("no-extensions", but(ENTRY_A, extensions=...), "extensions is missing"),
        ("no-encoding", but(ENTRY_A, metadata_encoding=...), "metadata_encoding is missing"),
        ("mixture", but(ENTRY_A, metadata_key_suffix=".json"), "members of both dialects"),
        ("must-understand", but(ENTRY_A, extensions=[{"extension": "http://x/y", "must_understand": True}]), "an extension that has to be understood"),
        ("no-must-understand", but(ENTRY_A, extensions=[{"extension": "http://x/y"}]), "must_understand is missing"),
        ("encoding-cbor", but(ENTRY_A, metadata_encoding={"extension": "http://x", "type": "cbor", "metadata_key_suffix": ".cbor"}), "unsupported metadata encoding"),
    ]:
        traps = ["D3-T33"] if "cbor" in tag else ["D3-T32"] if "understand" in tag else ["D3-T04"]
        one("a", tag, "open", why, a, {"c0": "0102"}, traps, entry)
    one("b", "encoding-cbor", "open", "unsupported metadata encoding", b, {"c0": "0102"}, ["D3-T41"], but(ENTRY_B, metadata_encoding="https://example.com/cbor"))
    gz = {"type": CODEC + "gzip/1.0", "configuration": {"level": 1}}
    for tag, why, document, trap in [
        ("gzip-endian", "endian after gzip", but(u2, codecs=[gz, BIG]), 2),
        ("gzip-no-level", "gzip without level", but(u2, codecs=[{"type": CODEC + "gzip/1.0", "configuration": {}}]), 2),
        ("gzip-level-10", "gzip level 10", but(u2, codecs=[{"type": CODEC + "gzip/1.0", "configuration": {"level": 10}}]), 2),
        ("codec-version", "major version 2 of a codec", but(u2, codecs=[{"type": CODEC + "gzip/2.0", "configuration": {"level": 1}}]), 2),
        ("codec-unknown", "an unknown codec URI", but(u2, codecs=[{"type": "https://example.com/x", "configuration": {}}]), 15),
        ("codec-name", "a codec in the final form", but(u2, codecs=[{"name": "gzip", "configuration": {"level": 1}}]), 15),
        ("codec-string", "a codec as text", but(u2, codecs=["gzip"]), 15),
        ("dimension-names", "an unknown member", but(u2, dimension_names=["x"]), 15),
        ("compressor", "an unknown member", but(u2, compressor=None), 16),
        ("float8", "data type float8", but(u2, data_type="float8"), 12),
        ("fill-null", "fill_value null", but(u2, fill_value=None), 13),
        ("fill-hex-short", "7 digits", but(u2, data_type="float32", fill_value="0x7fc0001"), 14),
        ("fill-binary-short", "3 binary digits", but(u2, data_type="float16", fill_value="0b111"), 14),
        ("fill-large", "65536 for uint16", but(u2, fill_value=65536), 14),
        ("fill-fraction", "1.0 for uint16", but(u2, fill_value=1.0), 14),
        ("blosc-shuffle-text", "blosc shuffle as text", but(u2, codecs=[{"type": CODEC + "blosc/1.0", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}}]), 17),
        ("transformer", "an unknown storage transformer", but(u2, storage_transformers=[{"extension": "http://x/y", "type": "x"}]), 39),
        ("no-shape", "shape is missing", but(u2, shape=...), 15),
        ("no-fill", "fill_value is missing", but(u2, fill_value=...), 15),
        ("grid-extension", "an unknown chunk grid", but(u2, chunk_grid={"extension": "http://x/y"}), 15),
        ("layout", "layout A", but(u2, chunk_memory_layout="A"), 15),
        ("zero-chunk", "a chunk length of 0", but(u2, chunk_grid={"type": "regular", "chunk_shape": [0], "separator": "/"}), 15),
        ("rank", "the grid has another rank", but(u2, chunk_grid={"type": "regular", "chunk_shape": [2, 2], "separator": "/"}), 15),
    ]:  # fmt: skip
        one("a", tag, "open", why, document, {"c0": "00010002"}, [f"D3-T{trap:02}"])
    for tag, why, document, trap in [
        ("extension", "an extension that has to be understood", but(b, extensions=[{"extension": "http://x/y", "must_understand": True}]), "T41"),
        ("brotli", "an unknown codec URI", but(b, compressor={"codec": "https://purl.org/zarr/spec/codec/brotli/1.0", "configuration": {}}), "T42"),
        ("both-chains", "compressor and codecs", but(b, compressor={"codec": "https://purl.org/zarr/spec/codec/gzip/1.0", "configuration": {"level": 1}}, codecs=[]), "052"),
        ("no-shape", "shape is missing", but(b, shape=...), "054"),
        ("no-grid", "chunk_grid is missing", but(b, chunk_grid=...), "054"),
        ("no-layout", "chunk_memory_layout is missing", but(b, chunk_memory_layout=...), "054"),
        ("layout", "layout A", but(b, chunk_memory_layout="A"), "054"),
        ("transformer", "an unknown storage transformer", but(b, storage_transformers=[{"extension": "http://x/y", "type": "x"}]), "T39"),
        ("zero-chunk", "a chunk length of 0", but(b, chunk_grid={"type": "regular", "chunk_shape": [0], "separator": "/"}), "054"),
    ]:
        one("b", tag, "open", why, document, {"c0": "0102"}, [f"D3-{trap}"])
    one("b", "chunk-short", "read", "1 byte for a chunk of 2", b, {"c0": "01"}, ["D3-T38"])
    one("b", "chunk-empty", "read", "a chunk of 0 bytes", b, {"c0": b""}, ["D3-T38"])
    one("a", "chunk-short", "read", "1 byte for a chunk of 2", a, {"c0": "01"}, ["D3-T40"])
    transformer = {"extension": SHARDING, "type": "indexed", "configuration": {"chunks_per_shard": [2]}}
    sharded = array_a([4], [2], "uint8", storage_transformers=[transformer])
    pair, zero = "0200000000000000", "0000000000000000"
    one("a", "shard-short", "read", "20 bytes hold no index of 32", sharded, {"c0": "00" * 20}, ["D3-T22"])
    one("a", "shard-offset", "read", "an offset of 2^64-2", sharded, {"c0": "01020304" + "feffffffffffffff" + pair + pair + pair}, ["D3-T22"])
    one("a", "shard-one-sided", "read", "an offset of 2^64-1 with a length", sharded, {"c0": "01020304" + NONE + pair + pair + pair}, ["D3-T22"])
    one("a", "shard-into-index", "read", "the chunk reaches into the index", sharded, {"c0": "0909" + zero + pair + pair + pair}, ["D3-T43"])
    per_shard = {**transformer, "configuration": {"chunks_per_shard": [2, 2]}}
    one("a", "shard-rank", "open", "chunks_per_shard has another rank", but(sharded, storage_transformers=[per_shard]), traps=["D3-102"])
    if c := case("a", "no-entry", "a", {"meta/a.array.json": a, "data/a/c0": "0102"}, entry=False, family="bad", kind="error", traps=["D3-007"]):
        c.error("open", "without zarr.json there is no hierarchy")


if __name__ == "__main__":
    run(dialect_a, dialect_b, bad)
