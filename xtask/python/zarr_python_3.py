"""Cases written by zarr-python 3: Zarr v3 stores and Zarr v2 stores."""

import gzip
import types
import warnings

import numcodecs
import numpy as np
import zarr
from fixture import agree, begin, ramp, run
from numcodecs import blosc
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

gzip.time = types.SimpleNamespace(time=lambda: 0)
blosc.use_threads = False
# One chunk after the other, so that shards come out the same in every run.
zarr.config.set({"async.concurrency": 1, "threading.max_workers": 1})
warnings.simplefilter("ignore")

WRITER = {"writer": "zarr-python", "version": zarr.__version__}
LITTLE, BIG = BytesCodec(endian="little"), BytesCodec(endian="big")


def v3(name, **fields):
    return begin(f"zarr3/zp3-{name}", **WRITER, format="zarr3", **fields)


def v2(name, **fields):
    return begin(f"zarr2/zp3-{name}", **WRITER, format="zarr2", **fields)


def write(
    case,
    values,
    chunks,
    codecs=None,
    *,
    path=None,
    fill=0,
    expected_fill=None,
    inner=None,
    region=...,
    reads=True,
    data_type=None,
    expected=None,
    empty_chunks=False,
    dtype=None,
    **options,
):
    """Creates the array, writes `values` into `region`, reads it back and finishes the case.

    `inner` = inner chunk shape of a sharded array, whose `chunks` are then the shards. Elements outside `region` are
    the fill value.
    """
    if codecs is not None:
        options["codecs"] = codecs
    array = zarr.create(
        values.shape,
        store=case.store,
        path=path,
        chunks=chunks,
        dtype=values.dtype if dtype is None else dtype,
        fill_value=fill,
        config={"write_empty_chunks": empty_chunks},
        **options,
    )
    if region is not ...:
        full = np.full_like(values, fill)
        full[region] = values[region]
        values = full
    if values.size:
        array[region] = values[region]
    expected = values if expected is None else expected
    if reads:
        back = zarr.open_array(case.store, path=path, mode="r")[...]
        if expected.dtype.kind in "OT":
            assert np.asarray(back).tolist() == expected.tolist(), case.name
        else:
            agree(back, expected, case.name)
    case.array(
        expected,
        chunk_shape=chunks if inner is None else inner,
        shard_shape=None if inner is None else chunks,
        data_type=data_type,
        fill_value=fill if expected_fill is None else expected_fill,
        dimension_names=options.get("dimension_names"),
        attributes=options.get("attributes"),
    )


def v3_dtypes():
    for code in ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]:
        for codec, tag in [(LITTLE, "le"), (BIG, "be")]:
            if c := v3(f"dtype-{code}-{tag}", traps=["V3-T06"] if code in ("u1", "b1") else []):
                write(c, ramp((5, 3), code), (2, 2), [codec], fill=1, region=np.s_[:4])
    if c := v3("dtype-string", traps=["V3-T43"], features=["dtype-vlen"]):
        values = np.array(["a", "", "bé", "日本", "x" * 40], dtype=object)
        write(c, values, (3,), fill="", dtype="string", data_type="string", region=...)
    if c := v3("dtype-bytes", features=["dtype-vlen"]):
        values = np.array([b"", b"\0\xff", b"abc"], dtype=object)
        write(c, values, (2,), fill=b"", dtype="variable_length_bytes", data_type="bytes", expected_fill="")
    for code in ["<U3", ">U3"]:
        if c := v3(f"dtype-utf32-{'le' if code[0] == '<' else 'be'}", traps=["V3-T47"], features=["dtype-fixed-string"]):
            values = np.array(["", "a", "é", "日本語", "𝄞x"], dtype=code)
            write(c, values, (2,), [LITTLE if code[0] == "<" else BIG], fill="ü")
    if c := v3("dtype-null-terminated-bytes", features=["dtype-fixed-string"]):
        write(c, np.array([b"", b"a", b"bcd"], dtype="S3"), (2,), fill=b"q", expected_fill=b"q\0\0")
    if c := v3("dtype-raw-bytes", features=["dtype-raw-bytes"], note="zarr-python's own raw_bytes type, not r24", traps=["V3-T67"]):
        write(c, ramp((5,), "V3"), (2,), fill=np.void(b"\1\2\3"), expected_fill=b"\1\2\3")
    for unit, tag in [("M8[ns]", "datetime-ns"), ("M8[25s]", "datetime-25s"), ("m8[us]", "timedelta-us"), ("m8[D]", "timedelta-d")]:
        if c := v3(f"dtype-{tag}", traps=["V3-T46"], features=["dtype-datetime"]):
            fill = np.array("NaT", dtype=unit)[()]
            write(c, ramp((5,), unit), (2,), [LITTLE], fill=fill)
    mixed = np.dtype([("a", "<i2"), ("b", "u1"), ("c", "<f4")])
    if c := v3("dtype-structured", traps=["V3-T45"], features=["dtype-struct"], note="the legacy type structured"):
        values = np.array([(1, 2, 3.0), (-4, 5, np.inf), (7, 8, -0.0)], dtype=mixed)
        fill = np.zeros((), mixed)[()]
        write(c, values, (2,), [LITTLE], fill=fill, expected_fill={"a": 0, "b": 0, "c": 0.0})


def v3_transpose():
    cases = [
        ("2d", (4, 5), (2, 3), (1, 0)),
        ("2d-one-chunk", (2, 3), (2, 3), (1, 0)),
        ("3d-cycle-201", (2, 3, 4), (2, 3, 4), (2, 0, 1)),
        ("3d-cycle-120", (2, 3, 4), (2, 3, 4), (1, 2, 0)),
        ("3d-cycle-201-edges", (3, 5, 7), (2, 3, 4), (2, 0, 1)),
        ("3d-cycle-120-edges", (3, 5, 7), (2, 3, 4), (1, 2, 0)),
        ("3d-reversal", (3, 5, 7), (2, 3, 4), (2, 1, 0)),
        ("3d-swap-102", (3, 5, 7), (2, 3, 4), (1, 0, 2)),
        ("3d-identity", (3, 5, 7), (2, 3, 4), (0, 1, 2)),
        ("4d-cycle", (3, 2, 4, 3), (2, 2, 3, 2), (3, 0, 1, 2)),
    ]
    for tag, shape, chunks, order in cases:
        if c := v3(f"transpose-{tag}"):
            write(c, ramp(shape, "u2"), chunks, [TransposeCodec(order=order), LITTLE])
    if c := v3("transpose-twice", note="two cycles in a row compose to the third"):
        write(c, ramp((3, 5, 7), "u1"), (2, 3, 4), [TransposeCodec(order=(2, 0, 1)), TransposeCodec(order=(2, 0, 1)), LITTLE])
    if c := v3("transpose-big-endian-zstd"):
        write(c, ramp((3, 5, 7), "u4"), (2, 3, 4), [TransposeCodec(order=(1, 2, 0)), BIG, ZstdCodec(level=1)])


def v3_compressors():
    smooth = (np.arange(40 * 25).reshape(40, 25) // 7).astype("i4")
    for level in [0, 1, 5, 9]:
        if c := v3(f"gzip-{level}", traps=["V3-T42"]):
            write(c, smooth, (20, 25), [LITTLE, GzipCodec(level=level)])
    for level in [-5, 0, 3, 19]:
        for checksum in [False, True]:
            if c := v3(f"zstd-{level}{'-checksum' if checksum else ''}", traps=["V3-T41"]):
                write(c, smooth, (20, 25), [LITTLE, ZstdCodec(level=level, checksum=checksum)])
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"]:
            if c := v3(f"blosc-{cname}-{shuffle}", traps=["V3-T40"]):
                codec = BloscCodec(cname=cname, clevel=5, shuffle=shuffle, typesize=4, blocksize=0)
                write(c, smooth, (20, 25), [LITTLE, codec])
    for tag, code, size in [("u1", "u1", 1), ("f8", "f8", 8), ("c16", "c16", 16), ("typesize-3-on-i4", "i4", 3)]:
        if c := v3(f"blosc-{tag}"):
            values = (np.arange(500) // 5).astype(code)
            codec = BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle", typesize=size, blocksize=0)
            write(c, values, (500,), [LITTLE, codec])
    if c := v3("blosc-blocks"):
        values = (np.arange(5000) // 3).astype("i4")
        write(c, values, (5000,), [LITTLE, BloscCodec(cname="zstd", clevel=5, shuffle="shuffle", typesize=4, blocksize=4096)])
    if c := v3("blosc-memcpy"):
        write(c, ramp((3, 3), "u4"), (2, 2), [LITTLE, BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=4)])
    if c := v3("crc32c", traps=["V3-T42"]):
        write(c, ramp((5, 3), "u2"), (2, 2), [LITTLE, Crc32cCodec()])
    if c := v3("zstd-crc32c"):
        write(c, ramp((5, 3), "u2"), (2, 2), [LITTLE, ZstdCodec(level=1), Crc32cCodec()])
    if c := v3("crc32c-gzip-crc32c"):
        write(c, ramp((5, 3), "u2"), (2, 2), [LITTLE, Crc32cCodec(), GzipCodec(level=1), Crc32cCodec()])


def v3_numcodecs():
    from zarr.codecs import numcodecs as nc

    smooth = (np.arange(40 * 25).reshape(40, 25) // 7).astype("i4")
    bytes_codecs = [
        ("zlib", nc.Zlib(level=1)),
        ("gzip", nc.GZip(level=1)),
        ("lz4", nc.LZ4(acceleration=1)),
        ("bz2", nc.BZ2(level=1)),
        ("lzma", nc.LZMA(preset=1)),
        ("lzma-raw", nc.LZMA(format=3, filters=[{"id": 33, "preset": 1}])),
        ("zstd", nc.Zstd(level=1)),
        ("blosc", nc.Blosc(cname="lz4", clevel=5, shuffle=1)),
        ("shuffle", nc.Shuffle(elementsize=4)),
        ("crc32", nc.CRC32()),
        ("crc32-end", nc.CRC32(location="end")),
        ("crc32c", nc.CRC32C()),
        ("adler32", nc.Adler32()),
        ("fletcher32", nc.Fletcher32()),
        ("jenkins", nc.JenkinsLookup3(initval=1)),
    ]
    for tag, codec in bytes_codecs:
        if c := v3(f"numcodecs-{tag}", features=["numcodecs"]):
            write(c, smooth, (20, 25), [LITTLE, codec])
    if c := v3("numcodecs-shuffle-default", features=["numcodecs"], traps=["V3-T63"]):
        write(c, ramp((6,), "f8"), (6,), [LITTLE, nc.Shuffle(elementsize=8)])
    array_codecs = [
        ("delta", nc.Delta(dtype="<i4"), smooth[:4]),
        ("delta-astype", nc.Delta(dtype="<i4", astype="<i2"), smooth[:4]),
        ("fixedscaleoffset", nc.FixedScaleOffset(offset=10, scale=2, dtype="<f8", astype="|u1"), np.array([10.0, 11.5, 20.0])),
        ("quantize", nc.Quantize(digits=1, dtype="<f8"), np.array([0.125, 1.25, -2.6875])),
        ("bitround", nc.BitRound(keepbits=3), np.array([0.1015625, 1.25, 120.0], "f4")),
        ("astype", nc.AsType(encode_dtype="<i2", decode_dtype="<i4"), np.array([1, -1, 32767], "i4")),
        ("packbits", nc.PackBits(), np.array([1, 0, 1, 0, 0, 0, 0, 0, 1], "?")),
    ]
    for tag, codec, values in array_codecs:
        traps = ["V3-T29", "V3-T67"] if tag == "packbits" else []
        if c := v3(f"numcodecs-{tag}", features=["numcodecs"], traps=traps):
            write(c, values, values.shape, [codec, LITTLE])


def v3_sharding():
    def shard(inner, codecs=(LITTLE,), index=(LITTLE, Crc32cCodec()), location="end"):
        return ShardingCodec(chunk_shape=inner, codecs=codecs, index_codecs=index, index_location=location)

    values = ramp((8, 6), "u2")
    variants = [
        ("end", {}),
        ("start", {"location": "start"}),
        ("index-big", {"index": (BIG, Crc32cCodec())}),
        ("index-no-crc", {"index": (LITTLE,)}),
        ("index-big-no-crc-start", {"index": (BIG,), "location": "start"}),
        ("index-two-crc", {"index": (LITTLE, Crc32cCodec(), Crc32cCodec())}),
        ("inner-big", {"codecs": (BIG,)}),
        ("inner-gzip", {"codecs": (LITTLE, GzipCodec(level=1))}),
        ("inner-zstd", {"codecs": (LITTLE, ZstdCodec(level=1))}),
        ("inner-zstd-crc32c", {"codecs": (LITTLE, ZstdCodec(level=1), Crc32cCodec())}),
        ("inner-blosc", {"codecs": (LITTLE, BloscCodec(cname="zstd", clevel=5, shuffle="shuffle", typesize=2))}),
        ("inner-transpose", {"codecs": (TransposeCodec(order=(1, 0)), LITTLE)}),
    ]
    for tag, options in variants:
        traps = {"start": ["V3-T21"], "index-big-no-crc-start": ["V3-T22"], "index-no-crc": ["V3-T22"]}.get(tag, [])
        if c := v3(f"shard-{tag}", traps=traps):
            write(c, values, (4, 6), [shard((2, 3), **options)], inner=(2, 3))
        if c := v3(f"shard-{tag}-missing", traps=["V3-T20"], note="inner chunks and a whole shard are missing"):
            sparse = np.full((8, 6), 7, "u2")
            sparse[0, 0], sparse[3, 4], sparse[2, 1] = 1, 2, 3
            write(c, sparse, (4, 6), [shard((2, 3), **options)], inner=(2, 3), fill=7)
    if c := v3("shard-edges", note="shards reach over both edges"):
        write(c, ramp((7, 9), "i4"), (4, 6), [shard((2, 3))], inner=(2, 3), fill=-1)
    if c := v3("shard-edges-start"):
        write(c, ramp((7, 9), "i4"), (4, 6), [shard((2, 3), location="start")], inner=(2, 3), fill=-1)
    if c := v3("shard-edges-3d"):
        write(c, ramp((5, 7, 3), "i2"), (4, 4, 4), [shard((2, 1, 4), codecs=(LITTLE, ZstdCodec(level=1)))], inner=(2, 1, 4))
    if c := v3("shard-all-missing", traps=["V3-T25"]):
        write(c, np.full((4, 4), 7, "u2"), (4, 4), [shard((2, 2))], inner=(2, 2), fill=7)
    if c := v3("shard-empty-chunks-written", traps=["V3-T25"]):
        write(c, np.full((4, 4), 7, "u2"), (4, 4), [shard((2, 2))], inner=(2, 2), fill=7, empty_chunks=True)
    if c := v3("shard-one-inner-chunk"):
        write(c, ramp((4, 4), "u1"), (2, 2), [shard((2, 2))], inner=(2, 2), fill=7)
    if c := v3("shard-bool"):
        write(c, ramp((4, 4), "?"), (4, 4), [shard((2, 2))], inner=(2, 2), fill=True)
    if c := v3("shard-complex"):
        write(c, ramp((4, 4), "c8"), (4, 4), [shard((2, 2))], inner=(2, 2), fill=complex(1, 2))
    if c := v3("shard-nan-fill"):
        sparse = np.full((4, 4), np.nan, "f4")
        sparse[1, 1] = 2
        write(c, sparse, (4, 4), [shard((2, 2))], inner=(2, 2), fill=np.nan)
    # The inner chunks of a transposed shard cut the transposed array; expected.json gives them in array order.
    if c := v3("shard-transpose-before-2d", traps=["V3-T19"]):
        chain = [TransposeCodec(order=(1, 0)), shard((2, 2))]
        write(c, np.arange(1, 9, dtype="u1").reshape(4, 2), (4, 2), chain, inner=(2, 2), reads=True)
    for order in [(2, 0, 1), (1, 2, 0)]:
        tag = "".join(map(str, order))
        # zarr-python 3 wants the inner chunk to divide the shard both before and after the transpose.
        shape, inner_t = (4, 6, 2), {(2, 0, 1): (1, 2, 2), (1, 2, 0): (2, 1, 2)}[order]
        if c := v3(f"shard-transpose-before-{tag}", note="written by zarr-python 3; non-cubic 3-cycle before sharding"):
            inner = tuple(inner_t[order.index(d)] for d in range(3))
            chain = [TransposeCodec(order=order), shard(inner_t)]
            write(c, ramp((4, 6, 4), "u2"), shape, chain, inner=inner)
        if c := v3(f"shard-transpose-inside-{tag}"):
            chain = [shard((2, 3, 1), codecs=(TransposeCodec(order=order), LITTLE))]
            write(c, ramp((4, 6, 4), "u2"), shape, chain, inner=(2, 3, 1))
    if c := v3("shard-nested", traps=["V3-T28"], note="chunk_shape is that of the innermost chunks"):
        chain = [shard((4, 4), codecs=[shard((2, 2), codecs=(LITTLE, ZstdCodec(level=1)))])]
        write(c, ramp((9, 8), "u2"), (8, 8), chain, inner=(2, 2), region=np.s_[:5])
    if c := v3("shard-nested-start-end", traps=["V3-T28"], note="outer index at the start, inner one at the end"):
        chain = [shard((4, 4), codecs=[shard((2, 2))], location="start")]
        write(c, ramp((9, 8), "u2"), (8, 8), chain, inner=(2, 2))
    if c := v3("shard-outer-crc32c", traps=["V3-T27"]):
        write(c, values, (4, 6), [shard((2, 3)), Crc32cCodec()], inner=(2, 3))
    if c := v3("shard-outer-gzip", traps=["V3-T27"]):
        write(c, values, (4, 6), [shard((2, 3)), GzipCodec(level=1)], inner=(2, 3))
    if c := v3("shard-string", features=["dtype-vlen"]):
        texts = np.array(["a", "", "bé", "日本", "x", "yz", "", ""], dtype=object)
        codec = shard((2,), codecs=[{"name": "vlen-utf8"}])
        write(c, texts, (4,), [codec], inner=(2,), dtype="string", data_type="string", fill="")
    if c := v3("shard-numcodecs-inner", features=["numcodecs"]):
        from zarr.codecs import numcodecs as nc

        write(c, values, (4, 6), [shard((2, 3), codecs=(LITTLE, nc.Zlib(level=1)))], inner=(2, 3))


def v3_shapes():
    for name, sep, tag in [("default", "/", "slash"), ("default", ".", "dot"), ("v2", "/", "slash"), ("v2", ".", "dot")]:
        if c := v3(f"keys-{name}-{tag}", traps=["V3-T14"]):
            write(c, ramp((5, 3), "u1"), (2, 2), [LITTLE], chunk_key_encoding=(name, sep))
        if c := v3(f"keys-{name}-{tag}-0d", traps=["V3-T13"]):
            write(c, np.array(1.5, "f8"), (), [LITTLE], chunk_key_encoding=(name, sep))
    if c := v3("shape-zero-length", traps=["V3-T17"]):
        write(c, np.zeros((0,), "i4"), (1,), [LITTLE])
    if c := v3("shape-zero-length-2d", traps=["V3-T17"]):
        write(c, np.zeros((0, 2), "i4"), (1, 2), [LITTLE], dimension_names=["x", None])
    for tag, shape, chunks in [("1d", (7,), (3,)), ("3d", (3, 5, 4), (2, 2, 3)), ("5d", (2, 2, 3, 2, 3), (1, 2, 2, 1, 2))]:
        if c := v3(f"edges-{tag}", traps=["V3-T15"]):
            write(c, ramp(shape, "i2"), chunks, [LITTLE], fill=9)
    if c := v3("edges-many-chunks"):
        write(c, ramp((23,), "u1"), (2,), [LITTLE], fill=9)
    if c := v3("dimension-names", traps=["V3-T54"]):
        write(c, ramp((2, 2, 2), "u1"), (2, 2, 1), [LITTLE], dimension_names=["x", None, ""], attributes={"ü": [1, None, {"a": 2.5}]})
    if c := v3("attributes-nan", note="the document holds bare NaN tokens"):
        write(c, ramp((2,), "u1"), (2,), [LITTLE], attributes={"nan": float("nan"), "l": [float("inf")], "i": 2**53 + 1})
    if c := v3("node-in-group", node="outer/inner/data"):
        write(c, ramp((3, 4), "u4"), (2, 2), [LITTLE], path="outer/inner/data")
    if c := v3("default-pipeline", note="what create_array writes when nothing is asked for"):
        values = ramp((5, 6), "f8")
        z = zarr.create_array(c.store, shape=values.shape, chunks=(2, 4), dtype="f8")
        z[...] = values
        agree(z[...], values, c.name)
        c.array(values, chunk_shape=(2, 4), fill_value=0.0)
    if c := v3("default-pipeline-sharded"):
        values = ramp((5, 6), "f8")
        z = zarr.create_array(c.store, shape=values.shape, chunks=(2, 3), shards=(4, 6), dtype="f8")
        z[...] = values
        agree(z[...], values, c.name)
        c.array(values, chunk_shape=(2, 3), shard_shape=(4, 6), fill_value=0.0)


def v3_fills():
    options = [
        ("nan", "f4", np.nan),
        ("inf", "f8", np.inf),
        ("neg-inf", "f2", -np.inf),
        ("negative-zero", "f4", -0.0),
        ("f4-tenth", "f4", np.float32(0.1)),
        ("u8-max", "u8", 2**64 - 1),
        ("i8-min", "i8", -(2**63)),
        ("bool", "?", True),
        ("complex", "c8", complex(1.5, np.inf)),
        ("complex-nan", "c16", complex(np.nan, -0.0)),
    ]
    for tag, code, fill in options:
        if c := v3(f"fill-{tag}", traps=["V3-T11"] if "zero" in tag else [], note="two of four chunks are missing"):
            fill = np.array(fill, code)[()]
            write(c, np.ones((4, 3), code), (2, 2), [LITTLE], fill=fill, region=np.s_[:2])
    if c := v3("negative-zero-chunk", traps=["V3-T11"], note="a chunk of +0.0 beside a fill value of -0.0"):
        values = np.array([0.0, 0.0, -0.0, -0.0], "f4")
        write(c, values, (2,), [LITTLE], fill=np.float32(-0.0), empty_chunks=True)


def v3_hierarchies():
    def build(c):
        root = zarr.create_group(c.store, attributes={"title": "wörld", "n": [1, None]})
        root.create_array("a", shape=(4,), chunks=(2,), dtype="i4")[...] = np.arange(4)
        b = root.create_group("b", attributes={"unit": "µm"})
        b.create_array("x", shape=(2, 2), chunks=(1, 2), dtype="f4")
        root.create_group("b/deeper/still", attributes={"depth": 3})
        root.create_group("empty")

    nodes = {"": "group", "a": "array", "b": "group", "b/x": "array", "b/deeper": "group", "b/deeper/still": "group", "empty": "group"}
    attributes = {"": {"title": "wörld", "n": [1, None]}, "b": {"unit": "µm"}, "b/deeper/still": {"depth": 3}, "b/deeper": {}}
    if c := v3("hierarchy-nested", kind="hierarchy"):
        build(c)
        c.hierarchy(nodes, attributes)
    if c := v3("hierarchy-consolidated", kind="hierarchy", traps=["V3-T51"]):
        build(c)
        zarr.consolidate_metadata(c.store)
        c.hierarchy(nodes, attributes)
    if c := v3("hierarchy-nan-attribute", kind="hierarchy"):
        zarr.create_group(c.store, attributes={"a": float("nan")})
        c.hierarchy({"": "group"}, {"": {"a": float("nan")}})
    if c := v2("hierarchy-nested", kind="hierarchy"):
        root = zarr.create_group(c.store, attributes={"title": "wörld"}, zarr_format=2)
        root.create_array("a", shape=(4,), chunks=(2,), dtype="i4")[...] = np.arange(4)
        root.create_group("b/c")
        c.hierarchy({"": "group", "a": "array", "b": "group", "b/c": "group"}, {"": {"title": "wörld"}, "b": {}})
    if c := v2("hierarchy-consolidated", kind="hierarchy", traps=["V2-T43"]):
        root = zarr.create_group(c.store, attributes={"title": "wörld"}, zarr_format=2)
        root.create_array("a", shape=(4,), chunks=(2,), dtype="i4")[...] = np.arange(4)
        root.create_group("b/c")
        zarr.consolidate_metadata(c.store)
        c.hierarchy({"": "group", "a": "array", "b": "group", "b/c": "group"}, {"": {"title": "wörld"}, "b": {}})


def v2_arrays():
    def v2write(c, values, chunks, **options):
        write(c, values, chunks, zarr_format=2, **{"compressor": None, **options})

    for code in ["b1", "i1", "u1", "<i2", ">i2", "<i4", ">i8", "<u2", ">u4", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16"]:
        tag = code.replace("<", "le-").replace(">", "be-")
        if c := v2(f"dtype-{tag}"):
            v2write(c, ramp((5, 3), code), (2, 2), fill=1, region=np.s_[:4])
    smooth = (np.arange(40 * 25).reshape(40, 25) // 7).astype("i4")
    for tag, codec in [
        ("zlib", numcodecs.Zlib(1)),
        ("gzip", numcodecs.GZip(1)),
        ("bz2", numcodecs.BZ2(1)),
        ("lzma", numcodecs.LZMA()),
        ("lz4", numcodecs.LZ4()),
        ("zstd", numcodecs.Zstd(3)),
        ("blosc", numcodecs.Blosc("zstd", 5, 2)),
    ]:
        if c := v2(f"compressor-{tag}", traps=["V2-T07"]):
            v2write(c, smooth, (20, 25), compressor=codec)
    if c := v2("order-f"):
        v2write(c, ramp((5, 3), "u2"), (2, 2), order="F")
    if c := v2("separator-slash", traps=["V2-T06"]):
        v2write(c, ramp((5, 3), "u2"), (2, 2), dimension_separator="/", attributes={"ü": 1})
    if c := v2("shape-0d", traps=["V2-T01"]):
        v2write(c, np.array(5, "i4"), ())
    if c := v2("filter-delta", traps=["V2-T04"]):
        v2write(c, ramp((5, 3), "<i4"), (2, 2), filters=[numcodecs.Delta("<i4")])
    if c := v2("object-vlen-utf8", features=["dtype-vlen"], traps=["V2-T26"]):
        values = np.array(["a", "", "bé"], dtype=object)
        v2write(c, values, (2,), dtype="string", data_type="string", fill="")
    if c := v2("default-pipeline"):
        values = ramp((5, 6), "f8")
        z = zarr.create_array(c.store, shape=values.shape, chunks=(2, 4), dtype="f8", zarr_format=2)
        z[...] = values
        agree(z[...], values, c.name)
        c.array(values, chunk_shape=(2, 4), fill_value=0.0)
    for tag, code, fill in [("nan", "<f4", np.nan), ("neg-inf", ">f8", -np.inf), ("negative-zero", "<f4", -0.0)]:
        if c := v2(f"fill-{tag}", traps=["V2-T11"]):
            v2write(c, np.ones((4, 3), code), (2, 2), fill=np.array(fill, code)[()], region=np.s_[:2])


if __name__ == "__main__":
    run(
        v3_dtypes,
        v3_transpose,
        v3_compressors,
        v3_numcodecs,
        v3_sharding,
        v3_shapes,
        v3_fills,
        v3_hierarchies,
        v2_arrays,
    )
