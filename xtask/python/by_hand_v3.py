"""Zarr v3 cases made by hand: literal bytes from the checklist, good ones and ones that have to fail."""

import gzip
import json
import struct

import numcodecs
import numpy as np
from fixture import HAND, Raw, begin, ramp, run

WRITER = {"writer": HAND, "version": "1", "format": "zarr3"}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
BYTES = {"name": "bytes"}
CRC = {"name": "crc32c"}
NONE = "ffffffffffffffff"


def zarray(shape, chunk, dtype, codecs, fill=0, **members):
    """A complete document; a member given as ... is left out."""
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": fill,
        "codecs": codecs,
        **members,
    }
    return {k: v for k, v in document.items() if v is not ...}


def shard(inner, codecs=(BYTES,), index=(LITTLE, CRC), location=None):
    configuration = {"chunk_shape": inner, "codecs": list(codecs), "index_codecs": list(index)}
    if location:
        configuration["index_location"] = location
    return {"name": "sharding_indexed", "configuration": configuration}


def store(c, document, chunks, prefix=""):
    c.put(prefix + "zarr.json", document)
    for key, content in chunks.items():
        (c.put_hex if isinstance(content, str) else c.put)(prefix + key, content)


def good(name, values, document, chunks, *, traps=(), note="", features=(), fill_value=0, chunk_shape=None, **expected):
    if c := begin(f"zarr3/hand-{name}", **WRITER, traps=traps, note=note, features=features):
        store(c, document, chunks)
        if chunk_shape is None:
            chunk_shape = document["chunk_grid"]["configuration"]["chunk_shape"]
        c.array(values, chunk_shape=chunk_shape, fill_value=fill_value, **expected)


def bad(name, fails, why, document, chunks=None, traps=()):
    if c := begin(f"bad/v3-{name}", **WRITER, kind="error", traps=traps):
        store(c, document, chunks or {})
        c.error(fails, why)


def documents():
    u2 = np.array([1, 2, 7, 7], "u2")
    base = zarray([4], [2], "uint16", [LITTLE], 7)
    chunk = {"c/0": "01000200"}

    def minimal(name, document, chunks=chunk, traps=(), note="", **expected):
        good(name, u2, document, chunks, traps=traps, note=note, fill_value=7, **expected)

    minimal("minimal", base, traps=["V3-T01"])
    minimal("extra-not-understood", {**base, "foo": {"must_understand": False, "x": 1}}, traps=["V3-T03"])
    for tag, dtype in [("object", {"name": "uint16"}), ("object-configured", {"name": "uint16", "configuration": {}})]:
        minimal(f"data-type-{tag}", {**base, "data_type": dtype}, traps=["V3-T04"])
    minimal("attributes-null", {**base, "attributes": None}, note="lenient", traps=["V3-018"])
    minimal("dimension-names-null", {**base, "dimension_names": None}, note="lenient", traps=["V3-020"])
    minimal("transformers-empty", {**base, "storage_transformers": []}, traps=["V3-T55"])
    minimal("endian-codec", {**base, "codecs": [{"name": "endian", "configuration": {"endian": "big"}}]}, {"c/0": "00010002"}, traps=["V3-T06"])
    minimal("must-understand-known", {**base, "codecs": [{**LITTLE, "must_understand": False}]}, traps=["V3-055"])
    minimal("fill-integral-float", {**base, "fill_value": 7.0}, traps=["V3-T09"], note="lenient")
    minimal("beside-v2", base, {**chunk, ".zarray": b"{}"}, traps=["V3-T53"], note="zarr.json wins over .zarray, with a warning")
    shorthand = zarray([4], [2], "uint8", ["bytes"], 7, chunk_key_encoding="default")
    good("shorthand", np.array([1, 2, 7, 7], "u1"), shorthand, {"c/0": "0102"}, traps=["V3-T04"], fill_value=7)
    good("bytes-big-u1", np.array([1, 2], "u1"), zarray([2], [2], "uint8", [BIG]), {"c/0": "0102"}, traps=["V3-T06"])
    good("r16", np.frombuffer(bytes.fromhex("0a0b0102"), "V2"), zarray([2], [1], "r16", [BYTES], [1, 2]), {"c/0": "0a0b"}, traps=["V3-T12"], fill_value=b"\1\2")
    good("r40", np.frombuffer(bytes(range(10)), "V5"), zarray([2], [2], "r40", [BYTES], [0] * 5), {"c/0": bytes(range(10))}, traps=["V3-T67"], fill_value=bytes(5))
    good("r40-big", np.frombuffer(bytes(range(10)), "V5"), zarray([2], [2], "r40", [BIG], [0] * 5), {"c/0": bytes(range(10))}, traps=["V3-120"], fill_value=bytes(5))
    plain = {"name": "raw_bytes", "configuration": {"length_bytes": 6}}
    good("raw-bytes", np.frombuffer(bytes(range(12)), "V6"), zarray([2], [2], plain, [BYTES], "AAAAAAAA"), {"c/0": bytes(range(12))}, traps=["V3-T67"], fill_value=bytes(6), features=["dtype-raw-bytes"])
    text = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 9}}
    good("null-terminated-bytes", np.array([b"ab", b""], "S9"), zarray([2], [1], text, [BYTES], ""), {"c/0": b"ab" + bytes(7)}, traps=["V3-T67"], fill_value=bytes(9), features=["dtype-fixed-string"])
    good("scalar-default", np.array(1.5), zarray([], [], "float64", [LITTLE], 0.0), {"c": "000000000000f83f"}, traps=["V3-T13"])
    good("scalar-v2", np.array(1.5), zarray([], [], "float64", [LITTLE], 0.0, chunk_key_encoding={"name": "v2"}), {"0": "000000000000f83f"}, traps=["V3-T13"])
    good("keys-dot", ramp((1, 2), "u1"), zarray([1, 2], [1, 1], "uint8", [BYTES], chunk_key_encoding={"name": "default", "configuration": {"separator": "."}}),
         {"c.0.0": ramp((1, 2), "u1")[0, :1].tobytes(), "c.0.1": ramp((1, 2), "u1")[0, 1:].tobytes()}, traps=["V3-T14"])  # fmt: skip
    good("zero-chunk", np.zeros((0,), "u1"), zarray([0], [0], "uint8", [BYTES]), {}, traps=["V3-T17"], note="lenient")
    good("edge", np.array([1, 2, 3], "u1"), zarray([3], [2], "uint8", [BYTES], 9), {"c/0": "0102", "c/1": "0309"}, fill_value=9, traps=["V3-091"])
    nan = zarray([3], [2], "float32", [LITTLE], "0x7fc00001")
    good("fill-hex-f4", np.array([0x3F800000, 0x7FC00001, 0x7FC00001], "u4").view("f4"), nan, {"c/0": "0000803f0100c07f"}, traps=["V3-T07"], fill_value="0x7fc00001")
    good("fill-hex-f2", np.array([0x7E00] * 2, "u2").view("f2"), zarray([2], [2], "float16", [LITTLE], "0x7e00"), {}, traps=["V3-T08"], fill_value="NaN")
    good("fill-hex-upper", np.array([0x3C00] * 2, "u2").view("f2"), zarray([2], [2], "float16", [LITTLE], "0x3C00"), {}, traps=["V3-073"], fill_value=1.0)
    good("fill-hex-f8", np.array([0x7FF8000000000001], "u8").view("f8"), zarray([1], [1], "float64", [BIG], "0x7ff8000000000001"), {}, traps=["V3-T07"], fill_value="0x7ff8000000000001")
    pair = np.array([complex(np.nan, 1)], "c8")
    good("fill-complex-hex", pair, zarray([1], [1], "complex64", [LITTLE], ["NaN", "0x3f800000"]), {}, traps=["V3-T08"], fill_value=complex(np.nan, 1))
    good("fill-overflow", np.array([np.inf], "f4"), zarray([1], [1], "float32", [LITTLE], 1e39), {}, traps=["V3-T10"], fill_value=np.inf)
    good("fill-plus-infinity", np.array([np.inf], "f4"), zarray([1], [1], "float32", [LITTLE], "+Infinity"), {}, traps=["V3-063"], fill_value=np.inf, note="lenient")
    good("fill-negative-zero", np.array([-0.0], "f4"), zarray([1], [1], "float32", [LITTLE], -0.0), {}, traps=["V3-T11"], fill_value=-0.0)
    good("fill-u8-max", np.array([2**64 - 1], "u8"), zarray([1], [1], "uint64", [LITTLE], 2**64 - 1), {}, traps=["V3-T09"], fill_value=2**64 - 1)
    good("fill-nat", np.full(2, -(2**63), "i8").view("M8[s]"), zarray([2], [2], {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}, [LITTLE], "NaT"), {}, traps=["V3-T46"], fill_value=-(2**63), features=["dtype-datetime"])
    good("utf32", np.array(["Hi"], "<U3"), zarray([1], [1], {"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}, [LITTLE], ""), {"c/0": "480000006900000000000000"}, traps=["V3-083"], fill_value="", features=["dtype-fixed-string"])
    string = zarray([3], [3], "string", [{"name": "vlen-utf8"}], "")
    good("vlen-utf8", np.array(["a", "", "bé"], object), string, {"c/0": "03000000 01000000 61 00000000 03000000 62c3a9"}, traps=["V3-136"], fill_value="", features=["dtype-vlen"], data_type="string")
    good("vlen-bytes-fill-list", np.array([b"a", b"\1\2"], object), zarray([2], [1], "bytes", [{"name": "vlen-bytes"}], [1, 2]), {"c/0": "01000000 01000000 61"}, traps=["V3-082"], fill_value="AQI=", features=["dtype-vlen"], data_type="bytes")
    fields = [{"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "uint8"}]
    dtype = np.dtype([("a", "<i2"), ("b", "u1")])
    for codec, tag, data in [(LITTLE, "le", "010002030004"), (BIG, "be", "000102000304")]:
        document = zarray([3], [2], {"name": "struct", "configuration": {"fields": fields}}, [codec], {"a": -1, "b": 9})
        values = np.array([(1, 2), (3, 4), (-1, 9)], dtype)
        good(f"struct-{tag}", values, document, {"c/0": data}, traps=["V3-T44"], fill_value={"a": -1, "b": 9}, features=["dtype-struct"])
    legacy = {"name": "structured", "configuration": {"fields": [["x", "float32"], ["y", "float32"]]}}
    xy = np.array([(1, 2), (0, 0)], [("x", "<f4"), ("y", "<f4")])
    good("structured-legacy", xy, zarray([2], [1], legacy, [BYTES], "AAAAAAAAAAA="), {"c/0": "0000803f00000040"}, traps=["V3-T45"], fill_value={"x": 0.0, "y": 0.0}, features=["dtype-struct"])
    for name, codes, data, items in [("int4", "f17f", None, [1, -1]), ("uint2", "fd02", None, [1, 2]), ("int2", "fe01", None, [-2, 1]), ("uint4", "f10f", None, [1, 15])]:
        good(f"{name}-upper-bits", Raw((2,), np.array(items, "i1").tobytes()), zarray([2], [2], name, [BYTES]), {"c/0": codes}, traps=["V3-T56"], data_type=name, features=["dtype-sub-byte"])
    bf16 = struct.pack("<3H", 0x3F80, 0xC020, 0x7FC0)
    good("bfloat16-fill-nan", Raw((3,), bf16), zarray([3], [2], "bfloat16", [BIG], "NaN"), {"c/0": "3f80c020"}, traps=["V3-077"], data_type="bfloat16", fill_value="NaN", features=["dtype-bfloat16"])


def codecs():
    u2 = np.arange(6, dtype="u2").reshape(2, 3)

    def transpose(*order):
        return {"name": "transpose", "configuration": {"order": list(order)}}

    good("transpose-10", u2, zarray([2, 3], [2, 3], "uint16", [transpose(1, 0), LITTLE]), {"c/0/0": "000003000100040002000500"}, traps=["V3-121"])
    good("transpose-f-alias", u2, zarray([2, 3], [2, 3], "uint16", [{"name": "transpose", "configuration": {"order": "F"}}, LITTLE]), {"c/0/0": "000003000100040002000500"}, traps=["V3-T18"])
    cube = np.arange(24, dtype="u1").reshape(2, 3, 4)
    good("transpose-201", cube, zarray([2, 3, 4], [2, 3, 4], "uint8", [transpose(2, 0, 1), BYTES]), {"c/0/0/0": "0004080c10140105090d111502060a0e121603070b0f1317"}, traps=["V3-121"])
    good("transpose-0d", np.array(7, "u1"), zarray([], [], "uint8", [transpose(), BYTES]), {"c": "07"}, traps=["V3-121"])
    good("crc32c", np.array([1, 2], "u1"), zarray([2], [2], "uint8", [BYTES, CRC]), {"c/0": "0102529ff803"}, traps=["V3-124"])
    blosc = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}}
    good("blosc", np.array([1, 2], "u4"), zarray([2], [2], "uint32", [LITTLE, blosc]), {"c/0": "020133040800000008000000180000000100000002000000"}, traps=["V3-123"])
    no_size = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "blocksize": 0}}
    good("blosc-no-typesize", np.array([1, 2], "u4"), zarray([2], [2], "uint32", [LITTLE, no_size]), {"c/0": "020133040800000008000000180000000100000002000000"}, traps=["V3-T40"])
    zstd = {"name": "zstd", "configuration": {"level": 3}}
    raw = np.arange(8, dtype="u1").tobytes()
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + struct.pack("<I", (8 << 3) | 1)[:3] + raw
    good("zstd-no-content-size", np.arange(8, dtype="u1"), zarray([8], [8], "uint8", [BYTES, zstd]), {"c/0": frame}, traps=["V3-T41"])
    two = numcodecs.Zstd(1).encode(raw[:3]) + numcodecs.Zstd(1).encode(raw[3:])
    good("zstd-two-frames", np.arange(8, dtype="u1"), zarray([8], [8], "uint8", [BYTES, zstd]), {"c/0": two}, traps=["V3-125"])
    members = gzip.compress(raw[:3], mtime=0) + gzip.compress(raw[3:], mtime=0)
    good("gzip-two-members", np.arange(8, dtype="u1"), zarray([8], [8], "uint8", [BYTES, {"name": "gzip", "configuration": {"level": 1}}]), {"c/0": members}, traps=["V3-122"])

    def packbits(**configuration):
        return {"name": "packbits", "configuration": configuration} if configuration else {"name": "packbits"}

    bits = [
        ("bool-3", "bool", [1, 0, 1], {}, "05"),
        ("bool-3-first", "bool", [1, 0, 1], {"padding_encoding": "first_byte"}, "0505"),
        ("bool-9", "bool", [1, 0, 1, 0, 0, 0, 0, 0, 1], {}, "0501"),
        ("uint4", "uint4", [1, 2, 3], {}, "2103"),
        ("uint4-first", "uint4", [1, 2, 3], {"padding_encoding": "first_byte"}, "042103"),
        ("uint4-last", "uint4", [1, 2, 3], {"padding_encoding": "last_byte"}, "210304"),
        ("int4", "int4", [-8, 7, -1], {}, "780f"),
        ("int2", "int2", [-1, 1, -2, 0], {}, "27"),
    ]
    for tag, name, items, configuration, data in bits:
        values = Raw((len(items),), np.array(items, "i1").tobytes())
        good(f"packbits-{tag}", values, zarray([len(items)], [len(items)], name, [packbits(**configuration)], False if name == "bool" else 0), {"c/0": data}, traps=["V3-T29", "V3-T30"], data_type=name, features=["packbits"] if name == "bool" else ["packbits", "dtype-sub-byte"])
    for name, value in [("int16", -0x550), ("uint16", 0x0AB0)]:
        good(f"packbits-{name}-range", np.array([value], name), zarray([1], [1], name, [packbits(first_bit=4, last_bit=11)]), {"c/0": "ab"}, traps=["V3-T31"], features=["packbits"])
    numcodecs_bits = {"name": "numcodecs.packbits", "configuration": {}}
    good("numcodecs-packbits", np.array([1, 0, 1, 0, 0, 0, 0, 0, 1], "?"), zarray([9], [9], "bool", [numcodecs_bits, BYTES], False), {"c/0": "07a080"}, traps=["V3-T29", "V3-T67"], features=["numcodecs"])
    shuffle = np.array([1.5, -2.0], "<f8")
    shuffled = np.frombuffer(shuffle.tobytes(), "u1").reshape(2, 8).T.tobytes()
    good("numcodecs-shuffle-default", shuffle, zarray([2], [2], "float64", [LITTLE, {"name": "numcodecs.shuffle"}], 0.0), {"c/0": shuffled}, traps=["V3-T63"], features=["numcodecs"])

    def cast(**configuration):
        return {"name": "cast_value", "configuration": configuration}

    good("scale-offset-cast", np.array([0, 2540, np.nan, 90.0]),
         zarray([4], [4], "float64", [{"name": "scale_offset", "configuration": {"offset": -10, "scale": 0.1}},
                cast(data_type="uint8", scalar_map={"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}), BYTES], "NaN"),
         {"c/0": "01ff000a"}, traps=["V3-T36"], fill_value=np.nan, features=["cast_value", "scale_offset"])  # fmt: skip
    good("cast-f8-i1", np.array([0.0, 2.0, -2.0, 0.0]), zarray([4], [4], "float64", [cast(data_type="int8"), BYTES], 0.0), {"c/0": "0002fe00"}, traps=["V3-T32"], fill_value=0.0, features=["cast_value"])
    good("cast-f8-f4", np.array([np.inf, -0.0]), zarray([2], [2], "float64", [cast(data_type="float32", out_of_range="clamp"), LITTLE], 0.0), {"c/0": "0000807f00000080"}, traps=["V3-T34"], fill_value=0.0, features=["cast_value"])
    good("scale-offset-identity", np.array([1, 2], "i2"), zarray([2], [2], "int16", [{"name": "scale_offset"}, LITTLE]), {"c/0": "01000200"}, traps=["V3-T38"], features=["scale_offset"])
    reshape = {"name": "reshape", "configuration": {"shape": [[0, 1], -1]}}
    good("reshape", cube, zarray([2, 3, 4], [2, 3, 4], "uint8", [reshape, transpose(1, 0), BYTES]), {"c/0/0/0": cube.reshape(6, 4).T.tobytes()}, traps=["V3-T58"], features=["reshape"])
    bitround = {"name": "bitround", "configuration": {"keepbits": 3}}
    good("bitround", np.array([0.1015625, 120.0], "f4"), zarray([2], [2], "float32", [bitround, LITTLE], 0.0), {"c/0": "0000d03d0000f042"}, traps=["V3-140"], fill_value=0.0, features=["bitround"])


def grids():
    def rectilinear(*specs):
        return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": list(specs)}}

    u1 = np.arange(10, dtype="u1")

    def make(name, n, spec, chunks, chunk_shape, traps=("V3-T39",), note=""):
        values = u1[:n]
        note = note or "chunk_shape in expected.json is the first chunk's"
        good(f"rectilinear-{name}", values, zarray([n], None, "uint8", [BYTES], 0, chunk_grid=rectilinear(spec)), chunks, traps=traps, note=note, features=["rectilinear"], chunk_shape=chunk_shape)

    make("pairs", 6, [[1, 3], 3], {"c/0": "00", "c/1": "01", "c/2": "02", "c/3": "030405"}, [1])
    make("overhang", 6, [4, 4, 4], {"c/0": "00010203", "c/1": "0405ffff", "c/2": "eeeeeeee"}, [4])
    make("integer", 10, 3, {"c/0": "000102", "c/1": "030405", "c/2": "060708", "c/3": "09ffff"}, [3])
    make("huge-count", 5, [[2, 1000000000000]], {"c/0": "0001", "c/1": "0203", "c/2": "04ff"}, [2], traps=("V3-T62",))
    values = np.arange(20, dtype="u1").reshape(4, 5)
    document = zarray([4, 5], None, "uint8", [BYTES], 0, chunk_grid=rectilinear([1, 3], 2))
    chunks = {}
    padded = np.zeros((4, 6), "u1")
    padded[:, :5] = values
    for i, rows in enumerate([slice(0, 1), slice(1, 4)]):
        for j in range(3):
            chunks[f"c/{i}/{j}"] = padded[rows, 2 * j : 2 * j + 2].tobytes()
    good("rectilinear-2d", values, document, chunks, traps=["V3-T39"], features=["rectilinear"], chunk_shape=[1, 2])


def shards():
    u1 = np.array([1, 2, 3, 4], "u1")

    def one(name, values, chain, inner, data, traps, fill=0, chunk=None, **options):
        shape = list(values.shape)
        document = zarray(shape, shape, values.dtype.name, chain, fill)
        chunks = {} if data is None else {"/".join(["c"] + ["0"] * len(shape)): data}
        good(f"shard-{name}", values, document, chunks, traps=traps, fill_value=fill, chunk_shape=inner, shard_shape=shape, **options)

    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    one("transpose", np.arange(1, 9, dtype="u1").reshape(4, 2), [transpose, shard([2, 2])], [2, 2],
        "01030204 05070608 0000000000000000 0400000000000000 0400000000000000 0400000000000000 f6ff6f8f", ["V3-T19"])  # fmt: skip
    block = np.zeros((4, 4), "u1")
    block[:2, :2] = [[1, 2], [3, 4]]
    one("one-block", block, [shard([2, 2])], [2, 2], "01020304 0000000000000000 0400000000000000" + NONE * 6 + "667adc7a", ["V3-T20"])
    one("start", np.array([1, 2, 0, 0], "u1"), [shard([2], location="start")], [2], "2400000000000000 0200000000000000" + NONE * 2 + "2609790d 0102", ["V3-T21"])
    one("index-big", np.array([0, 0, 1, 2], "u1"), [shard([2], index=(BIG,))], [2], "0102" + NONE * 2 + "0000000000000000 0000000000000002", ["V3-T22"])
    one("gaps", u1, [shard([2])], [2], "aa0304bbcc0102dd 0500000000000000 0200000000000000 0100000000000000 0200000000000000 10a1ab50", ["V3-T23"])
    one("all-empty", np.full(4, 7, "u1"), [shard([2], index=(LITTLE,))], [2], NONE * 4, ["V3-T25"], fill=7)
    one("missing", np.full(4, 7, "u1"), [shard([2])], [2], None, ["V3-T25"], fill=7)
    one("shared-range", np.array([1, 2, 1, 2], "u1"), [shard([2], index=(LITTLE,))], [2], "0102" + "0000000000000000 0200000000000000" * 2, ["V3-131"], note="both inner chunks share their bytes")
    one("start-gap", u1, [shard([2], index=(LITTLE,), location="start")], [2], "2300000000000000 0200000000000000 2000000000000000 0200000000000000 0304ee0102", ["V3-131"])
    one("no-index-codecs", u1, [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2], "codecs": [BYTES], "index_codecs": [LITTLE], "index_location": "end"}}], [2],
        "01020304 0000000000000000 0200000000000000 0200000000000000 0200000000000000", ["V3-129"])  # fmt: skip
    # Transposes that are 3-cycles, before shards whose inner chunks divide the shard only after the transpose.
    for order, inner_t in [((2, 0, 1), (1, 2, 3)), ((1, 2, 0), (3, 1, 2)), ((2, 0, 1), (2, 4, 2)), ((1, 2, 0), (2, 2, 4))]:
        values = ramp((4, 6, 2), "u2")
        turned = values.transpose(order)
        counts = [n // m for n, m in zip(turned.shape, inner_t)]
        data, index = b"", b""
        for g in np.ndindex(*counts):
            part = turned[tuple(slice(i * m, (i + 1) * m) for i, m in zip(g, inner_t))]
            payload = np.ascontiguousarray(part, "<u2").tobytes()
            index += struct.pack("<2Q", len(data), len(payload))
            data += payload
        chain = [{"name": "transpose", "configuration": {"order": list(order)}}, shard(list(inner_t), codecs=(LITTLE,), index=(LITTLE,))]
        inner = [inner_t[order.index(d)] for d in range(3)]
        tag = "".join(map(str, order)) + "-" + "x".join(map(str, inner_t))
        one(f"transpose-{tag}", values, chain, inner, data + index, ["V3-127"], note="chunk_shape is given in array order")


def hierarchies():
    group = {"zarr_format": 3, "node_type": "group"}
    array = zarray([1], [1], "uint8", [BYTES])
    if c := begin("zarr3/hand-no-implicit-groups", **WRITER, kind="hierarchy", traps=["V3-T49"]):
        c.put("zarr.json", group)
        c.put("a/b/zarr.json", array)
        c.hierarchy({"": "group"})
    if c := begin("zarr3/hand-reserved-names", **WRITER, kind="hierarchy", traps=["V3-T48"]):
        c.put("zarr.json", group)
        c.put("__x/zarr.json", group)
        c.put("_x/zarr.json", group)
        c.put(".a/zarr.json", group)
        c.put("a..b/zarr.json", array)
        c.put("ü/zarr.json", array)
        c.hierarchy({"": "group", "_x": "group", ".a": "group", "a..b": "array", "ü": "array"})
    for tag, consolidated in [("null", None), ("other-kind", {"kind": "other", "must_understand": False})]:
        if c := begin(f"zarr3/hand-consolidated-{tag}", **WRITER, kind="hierarchy", traps=["V3-T50"]):
            c.put("zarr.json", {**group, "consolidated_metadata": consolidated})
            c.put("a/zarr.json", array)
            c.hierarchy({"": "group", "a": "array"})
    if c := begin("zarr3/hand-consolidated-stale", **WRITER, kind="hierarchy", traps=["V3-T51", "V3-T61"], note="without consolidated metadata; with it there is a only"):
        inline = {"kind": "inline", "must_understand": False, "metadata": {"a": array}}
        c.put("zarr.json", {**group, "consolidated_metadata": inline})
        c.put("a/zarr.json", array)
        c.put("b/zarr.json", array)
        c.hierarchy({"": "group", "a": "array", "b": "array"})
    if c := begin("zarr3/hand-below-array", **WRITER, kind="hierarchy", traps=["V3-172"], note="nothing below an array is a node"):
        c.put("zarr.json", group)
        c.put("a/zarr.json", array)
        c.put("a/b/zarr.json", array)
        c.hierarchy({"": "group", "a": "array"})
    if c := begin("zarr3/hand-orphan", **{**WRITER}, traps=["V3-178"], node="x/y", note="no document in the ancestors"):
        store(c, zarray([2], [2], "uint8", [BYTES]), {"c/0": "0102"}, "x/y/")
        c.array(np.array([1, 2], "u1"), chunk_shape=[2], fill_value=0)


def bad_documents():
    base = zarray([4], [2], "uint16", [LITTLE], 7)
    u1 = zarray([4], [2], "uint8", [BYTES], 7)

    def but(**members):
        return {k: v for k, v in {**base, **members}.items() if v is not ...}

    bad("format-text", "open", 'zarr_format is "3"', but(zarr_format="3"), traps=["V3-T02"])
    bad("format-float", "open", "zarr_format is 3.0", but(zarr_format=3.0), traps=["V3-T02"])
    bad("format-4", "open", "zarr_format is 4", but(zarr_format=4), traps=["V3-T02"])
    for member in ["node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"]:
        bad(f"no-{member.replace('_', '-')}", "open", f"{member} is missing", but(**{member: ...}), traps=["V3-T02"])
    bad("node-type", "open", "node_type is neither array nor group", but(node_type="Array"), traps=["V3-003"])
    bad("fill-null", "open", "fill_value is null", but(fill_value=None), traps=["V3-T02"])
    bad("codecs-empty", "open", "codecs is empty", but(codecs=[]), traps=["V3-T02", "V3-024"])
    for tag, value in [("number", 1), ("null", None), ("text", {"must_understand": "false"}), ("true", {"must_understand": True}), ("object", {})]:
        bad(f"extra-{tag}", "open", "an unknown member that has to be understood", but(foo=value), traps=["V3-T03"])
    gz, tr = {"name": "gzip", "configuration": {"level": 1}}, {"name": "transpose", "configuration": {"order": [0]}}
    for tag, chain in [("gzip-bytes", [gz, LITTLE]), ("bytes-bytes", [LITTLE, LITTLE]), ("bytes-transpose", [LITTLE, tr]), ("gzip", [gz])]:
        bad(f"chain-{tag}", "open", f"the codec chain {tag}", but(codecs=chain), traps=["V3-T05"])
    bad("bytes-no-endian", "open", "bytes without endian for uint16", but(codecs=[BYTES]), traps=["V3-T06"])
    bad("bytes-endian-middle", "open", "endian is middle", but(codecs=[{"name": "bytes", "configuration": {"endian": "middle"}}]))
    bad("codec-unknown", "open", "an unknown codec", but(codecs=[LITTLE, {"name": "nope"}]), traps=["V3-054"])
    bad("codec-extra-member", "open", "an unknown member of a codec", but(codecs=[{**LITTLE, "foo": 1}]), traps=["V3-051"])
    bad("codec-configuration-null", "open", "configuration is null", but(codecs=[{"name": "bytes", "configuration": None}]), traps=["V3-051"])
    bad("codec-unknown-key", "open", "an unknown configuration key", but(codecs=[{"name": "bytes", "configuration": {"endian": "little", "x": 1}}]), traps=["V3-057"])
    bad("data-type-unknown", "open", "an unknown data type", but(data_type="float7"))
    bad("data-type-r12", "open", "r12 is no multiple of 8", {**u1, "data_type": "r12", "fill_value": [0]}, traps=["V3-T12"])
    for tag, dtype, value in [
        ("f4-short", "float32", "0x7fc0"), ("f4-zero", "float32", "0x0"), ("f4-long", "float32", "0x7ff8000000000000"),
        ("f4-no-prefix", "float32", "7fc00000"), ("f4-nan", "float32", "nan"), ("f4-inf", "float32", "inf"), ("f4-text", "float32", "1.5"),
        ("c8-number", "complex64", 1), ("c8-one", "complex64", [1]), ("u2-negative", "uint16", -1), ("u2-large", "uint16", 65536),
        ("u2-fraction", "uint16", 7.5), ("u2-text", "uint16", "7"), ("u2-true", "uint16", True), ("r16-short", "r16", [1]),
        ("r16-bits", "r16", [1, 2] * 8),
    ]:  # fmt: skip
        traps = ["V3-T07"] if dtype == "float32" else ["V3-T08"] if dtype == "complex64" else ["V3-T12"] if dtype == "r16" else ["V3-T09"]
        bad(f"fill-{tag}", "open", f"fill_value {value!r} for {dtype}", but(data_type=dtype, fill_value=value), traps=traps)
    bad("fill-bool-2", "open", "fill_value 2 for bool", {**u1, "data_type": "bool", "fill_value": 2}, traps=["V3-T09"])
    grid = {"name": "regular", "configuration": {"chunk_shape": [0]}}
    bad("zero-chunk", "open", "a chunk length of 0 for 4 elements", but(chunk_grid=grid), traps=["V3-T17"])
    bad("grid-rank", "open", "the grid has another rank", but(chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2, 2]}}), traps=["V3-T17"])
    bad("grid-unknown", "open", "an unknown chunk grid", but(chunk_grid={"name": "hexagonal", "must_understand": False}), traps=["V3-054"])
    bad("chunk-overflow", "open", "the chunk's byte length overflows", zarray([4, 4], [2**40, 2**40], "uint16", [LITTLE]), traps=["V3-118"])
    for tag, order in [("rank", [1, 0]), ("duplicate", [0, 0, 1]), ("range", [1, 2, 3])]:
        document = zarray([2, 2, 2], [2, 2, 2], "uint8", [{"name": "transpose", "configuration": {"order": order}}, BYTES])
        bad(f"transpose-{tag}", "open", f"transpose order {order} of rank 3", document, traps=["V3-T18"])
    bad("separator", "open", "separator is a colon", but(chunk_key_encoding={"name": "default", "configuration": {"separator": ":"}}), traps=["V3-102"])
    bad("dimension-names", "open", "one name for two dimensions", {**zarray([2, 2], [2, 2], "uint8", [BYTES]), "dimension_names": ["x"]}, traps=["V3-T54"])
    bad("transformer", "open", "a storage transformer", but(storage_transformers=[{"name": "x"}]), traps=["V3-T55"])
    blosc = {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}
    for tag, members in [("shuffle-number", {"shuffle": 1}), ("no-typesize", {"typesize": ...}), ("clevel-10", {"clevel": 10}), ("cname", {"cname": "nope"})]:
        configuration = {k: v for k, v in {**blosc, **members}.items() if v is not ...}
        bad(f"blosc-{tag}", "open", f"blosc configuration: {tag}", but(codecs=[LITTLE, {"name": "blosc", "configuration": configuration}]), traps=["V3-T40"])
    for tag, name, configuration, trap in [("zstd-23", "zstd", {"level": 23}, 41), ("zstd-checksum", "zstd", {"level": 3, "checksum": "true"}, 41), ("zstd-no-level", "zstd", {}, 41), ("gzip-10", "gzip", {"level": 10}, 42), ("gzip-no-level", "gzip", {}, 42), ("crc32c-key", "crc32c", {"x": 1}, 42)]:
        bad(tag, "open", f"configuration {configuration} of {name}", but(codecs=[LITTLE, {"name": name, "configuration": configuration}]), traps=[f"V3-T{trap}"])
    bad("shard-inner", "open", "inner chunks of 2 in a shard of 3", zarray([3], [3], "uint8", [shard([2])]), traps=["V3-T26"])
    bad("shard-inner-rank", "open", "the inner chunk has another rank", zarray([4], [4], "uint8", [shard([2, 2])]), traps=["V3-127"])
    bad("shard-inner-zero", "open", "inner chunks of 0", zarray([4], [4], "uint8", [shard([0])]), traps=["V3-127"])
    bad("shard-index-zstd", "open", "a compressed shard index", zarray([4], [4], "uint8", [shard([2], index=(LITTLE, {"name": "zstd", "configuration": {"level": 1}}))]), traps=["V3-T26"])
    bad("shard-location", "open", "index_location middle", zarray([4], [4], "uint8", [shard([2], location="middle")]))
    utf32 = {"name": "fixed_length_utf32", "configuration": {"length_bytes": 10}}
    bad("utf32-10", "open", "10 bytes are no code points", but(data_type=utf32, fill_value=""), traps=["V3-T47"])
    bad("utf32-fill", "open", "a fill of 4 code points for 3", but(data_type={"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}, fill_value="abcd"), traps=["V3-T47"])
    bad("utf32-no-endian", "open", "bytes without endian for UTF-32", but(data_type={"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}, fill_value="", codecs=[BYTES]), traps=["V3-T67"])
    for tag, configuration in [("no-scale", {"unit": "s"}), ("scale-0", {"unit": "s", "scale_factor": 0}), ("unit", {"unit": "x", "scale_factor": 1})]:
        bad(f"datetime-{tag}", "open", f"datetime64 with {configuration}", but(data_type={"name": "numpy.datetime64", "configuration": configuration}, fill_value=0), traps=["V3-T46"])
    fields = [{"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "uint8"}]
    struct_of = {"name": "struct", "configuration": {"fields": fields}}
    bad("struct-fill", "open", "the fill lacks the field b", but(data_type=struct_of, fill_value={"a": 1}), traps=["V3-T44"])
    bad("struct-duplicate", "open", "two fields are called a", but(data_type={"name": "struct", "configuration": {"fields": [fields[0], fields[0]]}}, fill_value={"a": 1}), traps=["V3-T44"])

    def chain(dtype, fill, *codecs):
        return zarray([2], [2], dtype, list(codecs), fill)

    def cast(**configuration):
        return {"name": "cast_value", "configuration": configuration}

    def scale(**configuration):
        return {"name": "scale_offset", "configuration": configuration}

    bad("cast-fill-nan", "open", "the fill NaN cannot be cast to int8", chain("float32", "NaN", cast(data_type="int8"), BYTES), traps=["V3-T35"])
    bad("cast-key", "open", "an unknown configuration key", chain("float32", 0.0, cast(data_type="int8", foo=1), BYTES), traps=["V3-T35"])
    bad("cast-wrap-float", "open", "wrap towards a float", chain("float64", 0.0, cast(data_type="float32", out_of_range="wrap"), LITTLE), traps=["V3-T34"])
    bad("cast-bool", "open", "cast_value of bool", chain("bool", False, cast(data_type="uint8"), BYTES), traps=["V3-141"])
    bad("cast-no-endian", "open", "bytes without endian behind a cast to int16", chain("uint8", 0, cast(data_type="int16"), BYTES), traps=["V3-T67"])
    bad("complex-no-endian", "open", "bytes without endian for complex64", chain("complex64", [0.0, 0.0], BYTES), traps=["V3-T67"])
    bad("scale-fill", "open", "the fill 0 minus 1000 is no uint16", chain("uint16", 0, scale(offset=1000), cast(data_type="uint8"), BYTES), traps=["V3-T37"])
    bad("scale-key", "open", "an unknown configuration key", chain("uint16", 0, scale(foo=1), LITTLE), traps=["V3-T63"])
    bad("scale-fraction", "open", "a scale of 0.1 for int16", chain("int16", 0, scale(scale=0.1), LITTLE), traps=["V3-147"])
    bad("scale-zero", "open", "a scale of 0", chain("int16", 0, scale(scale=0), LITTLE), traps=["V3-147"])

    def grid_of(**configuration):
        return zarray([7], None, "uint8", [BYTES], chunk_grid={"name": "rectilinear", "configuration": configuration})

    bad("rectilinear-sum", "open", "edges of 6 for 7 elements", grid_of(kind="inline", chunk_shapes=[[[1, 3], 3]]), traps=["V3-T39"])
    bad("rectilinear-no-kind", "open", "kind is missing", grid_of(chunk_shapes=[[4, 4]]), traps=["V3-T39"])
    bad("rectilinear-zero", "open", "an edge of 0", grid_of(kind="inline", chunk_shapes=[[0, 7]]), traps=["V3-094"])
    for tag, shape in [("two-unknown", [-1, -1]), ("repeated", [[1], [0]]), ("product", [5])]:
        bad(f"reshape-{tag}", "open", f"reshape to {shape} of [2, 3]", zarray([2, 3], [2, 3], "uint8", [{"name": "reshape", "configuration": {"shape": shape}}, BYTES]), traps=["V3-T58"])
    bad("not-json", "open", "not JSON", "{", traps=["V3-009"])
    bad("empty", "open", "an empty document", b"", traps=["V3-009"])
    bad("not-utf8", "open", "not UTF-8", b'{"zarr_format":3,"x":"\xff"}', traps=["V3-009"])
    bad("list", "open", "a list", "[]", traps=["V3-009"])
    bad("text-after", "open", "text after the JSON value", json.dumps(base) + " x", traps=["V3-008"])
    bad("deep", "open", "attributes nested 5,000 levels deep", json.dumps(but(attributes="D")).replace('"D"', '{"a":' + "[" * 5000 + "]" * 5000 + "}"), traps=["V3-008"])
    inner = "BYTES"
    text = json.dumps(zarray([1], [1], "uint8", [inner])).replace('"BYTES"', (json.dumps(shard([1], codecs=["X"])).split('"X"')[0]) * 400 + json.dumps(BYTES) + (json.dumps(shard([1], codecs=["X"])).split('"X"')[1]) * 400)
    bad("shard-deep", "open", "sharding nested 400 levels deep", text, traps=["V3-008"])


def bad_chunks():
    def one(name, why, data, document, traps=(), key="c/0"):
        bad(f"chunk-{name}", "read", why, document, {key: data}, traps)

    u1 = zarray([2], [2], "uint8", [BYTES])
    one("short", "1 byte for a chunk of 2", "03", u1, ["V3-T15"])
    one("long", "3 bytes for a chunk of 2", "030405", u1, ["V3-114"])
    one("empty", "a chunk of 0 bytes", b"", u1, ["V3-T16"])
    one("bool-2", "a bool byte of 2", "0102", zarray([2], [2], "bool", [BYTES], False), ["V3-T56"])
    one("crc32c-short", "3 bytes hold no checksum", "010203", zarray([2], [2], "uint8", [BYTES, CRC]), ["V3-T42"])
    one("crc32c-wrong", "the checksum is wrong", "0102529ff804", zarray([2], [2], "uint8", [BYTES, CRC]), ["V3-124"])
    string = zarray([2], [2], "string", [{"name": "vlen-utf8"}], "")
    one("vlen-count", "3 texts for 2 elements", "03000000 01000000 61 01000000 62 01000000 63", string, ["V3-T43"])
    one("vlen-length", "a length past the end", "02000000 01000000 61 ff000000 62", string, ["V3-T43"])
    one("vlen-utf8", "invalid UTF-8", "02000000 01000000 ff 01000000 62", string, ["V3-T43"])
    one("vlen-hostile", "4294967295 texts", "ffffffff 01000000 61", string, ["V3-T43"])
    one("utf32-surrogate", "a surrogate", "00d80000", zarray([1], [1], {"name": "fixed_length_utf32", "configuration": {"length_bytes": 4}}, [LITTLE], ""), ["V3-T47"])
    one("gzip-garbage", "no gzip stream", "deadbeef", zarray([2], [2], "uint8", [BYTES, {"name": "gzip", "configuration": {"level": 1}}]))
    one("gzip-bomb", "the stream expands to 1 MiB", gzip.compress(bytes(1 << 20), mtime=0), zarray([2], [2], "uint8", [BYTES, {"name": "gzip", "configuration": {"level": 1}}]), ["V3-117"])
    one("zstd-bomb", "the frame expands to 1 MiB", numcodecs.Zstd(1).encode(bytes(1 << 20)), zarray([2], [2], "uint8", [BYTES, {"name": "zstd", "configuration": {"level": 1}}]), ["V3-117"])
    one("scale-remainder", "1 is no multiple of 3", "0100", zarray([1], [1], "int16", [{"name": "scale_offset", "configuration": {"scale": 3}}, LITTLE]), ["V3-T38"])
    plain = zarray([4], [4], "uint8", [shard([2], index=(LITTLE,))])
    crc = zarray([4], [4], "uint8", [shard([2])])
    ok = "0000000000000000 0200000000000000"
    one("shard-offset-only", "an offset of 2^64-1 with a length of 0", "0102" + NONE + "0000000000000000" + ok, plain, ["V3-T24"])
    one("shard-length-only", "an offset of 0 with a length of 2^64-1", "0102" + "0000000000000000" + NONE + ok, plain, ["V3-T24"])
    one("shard-offset-outside", "an inner chunk behind the end", "0102" + "e803000000000000 0200000000000000" + ok, plain, ["V3-T24"])
    one("shard-overflow", "offset and length overflow", "0102" + "feffffffffffffff 0400000000000000" + ok, plain, ["V3-T24"])
    one("shard-length-huge", "a length of 2^45", "0102" + "0000000000000000 0000000000200000" + ok, plain, ["V3-T24"])
    one("shard-crc", "the index checksum is wrong", "aa0304bbcc0102dd 0500000000000000 0200000000000000 0100000000000000 0200000000000000 11a1ab50", crc, ["V3-T24"])
    one("shard-short", "2 bytes hold no index", "0102", crc, ["V3-T24"])
    one("shard-empty", "an empty shard", b"", crc, ["V3-T16"])
    one("shard-inner-short", "an inner chunk of 1 byte", "0102" + "0000000000000000 0100000000000000" + ok, plain, ["V3-114"])
    one("shard-many", "an index of 2^50 entries over a few bytes", "01020304", zarray([2**50], [2**50], "uint8", [shard([1])]), ["V3-T66"])


if __name__ == "__main__":
    run(documents, codecs, grids, shards, hierarchies, bad_documents, bad_chunks)
