"""Cases written by tensorstore: Zarr v2, Zarr v3 and N5 arrays."""

from importlib.metadata import version

import ml_dtypes
import numpy as np
import tensorstore as ts
from fixture import agree, begin, ramp, run

WRITER = {"writer": "tensorstore", "version": version("tensorstore")}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
CONTEXT = ts.Context({"data_copy_concurrency": {"limit": 1}, "file_io_concurrency": {"limit": 1}})


def features_of(name):
    """What a reader of the case needs beyond the common types and codecs."""
    needs = {"bfloat16": "dtype-bfloat16", "float8": "dtype-float8"}
    needs |= {"dtype-int4": "dtype-sub-byte", "dtype-int2": "dtype-sub-byte"}
    return [feature for part, feature in needs.items() if part in name]


def write(c, driver, values, metadata, *, region=..., fill=0, expected_fill=None, chunk, shard=None, names=None, attributes=None, store_all=False):
    """Creates the array, writes `values` into `region`, reads it back and finishes the case."""
    spec = {
        "driver": driver,
        "kvstore": {"driver": "file", "path": c.store + "/" + c.fields["node"]},
        "metadata": metadata,
        "create": True,
        "store_data_equal_to_fill_value": store_all,
    }
    array = ts.open(spec, context=CONTEXT).result()
    if region is not ...:
        full = np.full(values.shape, np.array(fill, values.dtype))
        full[region] = values[region]
        values = full
    if values.size:
        array[region].write(values[region]).result()
    reopened = {k: spec[k] for k in ("driver", "kvstore")}
    agree(ts.open(reopened).result().read().result(), values, c.name)
    c.array(
        values,
        chunk_shape=chunk,
        shard_shape=shard,
        fill_value=fill if expected_fill is None else expected_fill,
        dimension_names=names,
        attributes=attributes or metadata.get("attributes"),
    )


def zarr2():
    def make(name, values, chunks, traps=(), fill=0, json_fill=None, region=..., note="", **members):
        if c := begin(f"zarr2/ts-{name}", **WRITER, format="zarr2", traps=traps, note=note, features=features_of(name)):
            dtype = values.dtype.str if values.dtype.kind != "V" else values.dtype.name
            metadata = {
                "shape": list(values.shape),
                "chunks": list(chunks),
                "dtype": members.pop("dtype", dtype),
                "compressor": None,
                "fill_value": fill if json_fill is None else json_fill,
                **members,
            }
            write(c, "zarr", values, metadata, fill=fill, chunk=chunks, region=region)

    for code in ["|b1", "|i1", "<i2", ">i4", "<i8", "|u1", ">u2", "<u4", ">u8", "<f2", ">f4", "<f8"]:
        tag = code.replace("<", "le-").replace(">", "be-").replace("|", "")
        make(f"dtype-{tag}", ramp((5, 3), code), (2, 2), fill=1 if code != "|b1" else True, region=np.s_[:4])
    make("dtype-le-c8", ramp((5, 3), "<c8"), (2, 2), json_fill=[0.0, 0.0])
    make("dtype-bfloat16", np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16),
         (2, 2), traps=["V2-053"], note="not a v2 dtype; tensorstore writes it all the same", fill=0.0)  # fmt: skip
    make("order-f", ramp((3, 5, 4), "<u2"), (2, 3, 2), traps=["V2-T03"], order="F")
    make("separator-slash", ramp((3, 5), "<u2"), (2, 2), traps=["V2-T06"], dimension_separator="/")
    make("shape-0d", np.array(5, "<i4"), (), traps=["V2-T01"])
    make("shape-zero-length", np.zeros((0, 3), "<i4"), (2, 2), traps=["V2-T10"])
    make("fill-nan", np.ones((4,), "<f4"), (2,), fill=np.nan, json_fill="NaN", region=np.s_[:2], traps=["V2-T11"])
    smooth = (np.arange(40 * 25).reshape(40, 25) // 7).astype("<i4")
    codecs = [
        ("zlib", {"id": "zlib", "level": 1}),
        ("gzip", {"id": "gzip", "level": 1}),
        ("bz2", {"id": "bz2", "level": 1}),
        ("zstd", {"id": "zstd", "level": 1}),
    ]
    codecs += [
        (f"blosc-{n}-{s}", {"id": "blosc", "cname": n, "clevel": 5, "shuffle": s, "blocksize": 0})
        for n in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
        for s in [0, 1, 2]
    ]
    # The only peer at hand whose blosc was built with snappy.
    codecs += [("blosc-snappy-1", {"id": "blosc", "cname": "snappy", "clevel": 5, "shuffle": 1, "blocksize": 0})]
    for tag, codec in codecs:
        make(f"compressor-{tag}", smooth, (20, 25), compressor=codec)


def zarr3():
    def make(name, values, chunks, codecs, *, shard=None, traps=(), note="", fill=0, json_fill=None, keys=None, region=..., data_type=None, store_all=False, **members):
        if c := begin(f"zarr3/ts-{name}", **WRITER, format="zarr3", traps=traps, note=note, features=features_of(name)):
            metadata = {
                "shape": list(values.shape),
                "data_type": data_type or values.dtype.name,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shard or chunks)}},
                "chunk_key_encoding": keys or {"name": "default"},
                "fill_value": fill if json_fill is None else json_fill,
                "codecs": codecs,
                **members,
            }
            names = members.get("dimension_names")
            write(c, "zarr3", values, metadata, fill=fill, chunk=chunks, shard=shard, region=region, names=names, store_all=store_all)

    for code in ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
        for codec, tag in [(LITTLE, "le"), (BIG, "be")]:
            fill = True if code == "bool" else 1
            make(f"dtype-{code}-{tag}", ramp((5, 3), code), (2, 2), [codec], fill=fill, region=np.s_[:4])
    for code in ["c8", "c16"]:
        for codec, tag in [(LITTLE, "le"), (BIG, "be")]:
            make(f"dtype-{code}-{tag}", ramp((5, 3), code), (2, 2), [codec], json_fill=[0.0, 0.0])
    for name in ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz"]:
        values = np.array([0, 1, -2.5, 0.125, 7, 96], dtype=getattr(ml_dtypes, name)).reshape(2, 3)
        for codec, tag in [(LITTLE, "le"), (BIG, "be")] if name == "bfloat16" else [(LITTLE, "le")]:
            make(f"dtype-{name}-{tag}", values, (2, 2), [codec], fill=0.0)
    # tensorstore 0.1.86 knows no uint4 and uint2.
    for name, items in [("int4", [-8, 7, -1, 0, 3, 5]), ("int2", [-2, 1, -1, 0, 1, 0])]:
        values = np.array(items, dtype=getattr(ml_dtypes, name))
        make(f"dtype-{name}", values, (4,), [{"name": "bytes"}], traps=["V3-T56"])
    for order, tag in [((2, 0, 1), "201"), ((1, 2, 0), "120"), ((2, 1, 0), "210"), ((1, 0, 2), "102")]:
        chain = [{"name": "transpose", "configuration": {"order": list(order)}}, LITTLE]
        make(f"transpose-{tag}", ramp((3, 5, 7), "u2"), (2, 3, 4), chain)
    smooth = (np.arange(40 * 25).reshape(40, 25) // 7).astype("i4")
    codecs = [("gzip", {"name": "gzip", "configuration": {"level": 1}})]
    codecs += [("zstd", {"name": "zstd", "configuration": {"level": 1}}), ("crc32c", {"name": "crc32c"})]
    codecs += [
        (f"blosc-{n}-{s}", {"name": "blosc", "configuration": {"cname": n, "clevel": 5, "shuffle": s, "typesize": 4, "blocksize": 0}})
        for n in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
        for s in ["noshuffle", "shuffle", "bitshuffle"]
    ]
    for tag, codec in codecs:
        make(f"compressor-{tag}", smooth, (20, 25), [LITTLE, codec])

    def shard(inner, codecs=(LITTLE,), index=(LITTLE, {"name": "crc32c"}), location="end"):
        configuration = {
            "chunk_shape": list(inner),
            "codecs": list(codecs),
            "index_codecs": list(index),
            "index_location": location,
        }
        return {"name": "sharding_indexed", "configuration": configuration}

    zstd = {"name": "zstd", "configuration": {"level": 1}}
    values = ramp((8, 6), "u2")
    for tag, codec in [
        ("end", shard((2, 3))),
        ("start", shard((2, 3), location="start")),
        ("index-big", shard((2, 3), index=(BIG, {"name": "crc32c"}))),
        ("index-no-crc", shard((2, 3), index=(LITTLE,))),
        ("inner-big", shard((2, 3), codecs=(BIG,))),
        ("inner-zstd", shard((2, 3), codecs=(LITTLE, zstd))),
        ("inner-transpose", shard((2, 3), codecs=({"name": "transpose", "configuration": {"order": [1, 0]}}, LITTLE))),
    ]:
        make(f"shard-{tag}", values, (2, 3), [codec], shard=(4, 6))
        make(f"shard-{tag}-missing", values, (2, 3), [codec], shard=(4, 6), fill=7, region=np.s_[1:3, 2:4])
    make("shard-edges", ramp((7, 9), "i4"), (2, 3), [shard((2, 3), codecs=(LITTLE, zstd))], shard=(4, 6), fill=-1)
    make("shard-nested", ramp((9, 8), "u2"), (2, 2), [shard((4, 4), codecs=(shard((2, 2), codecs=(LITTLE, zstd)),))],
         shard=(8, 8), region=np.s_[:5], traps=["V3-T28"], note="chunk_shape is that of the innermost chunks")  # fmt: skip
    inner = shard((2, 2), codecs=(shard((1, 2), location="start"),), location="start")
    make("shard-nested-three", ramp((8, 8), "u2"), (1, 2), [shard((4, 4), codecs=(inner,))], shard=(8, 8), traps=["V3-T28"])
    for order, inner_t in [((2, 0, 1), (1, 2, 3)), ((1, 2, 0), (3, 1, 2)), ((2, 0, 1), (1, 2, 2)), ((1, 2, 0), (2, 1, 2))]:
        tag = "".join(map(str, order)) + "-" + "x".join(map(str, inner_t))
        chunk = tuple(inner_t[order.index(d)] for d in range(3))
        chain = [{"name": "transpose", "configuration": {"order": list(order)}}, shard(inner_t)]
        make(f"shard-transpose-before-{tag}", ramp((4, 6, 4), "u2"), chunk, chain, shard=(4, 6, 2), traps=["V3-T19"])
    for name in ["default", "v2"]:
        for sep, tag in [("/", "slash"), (".", "dot")]:
            keys = {"name": name, "configuration": {"separator": sep}}
            make(f"keys-{name}-{tag}", ramp((5, 3), "u1"), (2, 2), [{"name": "bytes"}], keys=keys, traps=["V3-T14"])
            make(f"keys-{name}-{tag}-0d", np.array(1.5), (), [LITTLE], keys=keys, traps=["V3-T13"])
    make("shape-zero-length", np.zeros((0, 3), "i4"), (2, 2), [LITTLE], traps=["V3-T17"])
    make("dimension-names", ramp((2, 2), "u1"), (2, 2), [LITTLE], dimension_names=["x", None], attributes={"ü": [1, None]})
    for tag, code, fill, json_fill in [
        ("nan", "f4", np.nan, "NaN"),
        ("inf", "f8", np.inf, "Infinity"),
        ("negative-zero", "f4", -0.0, -0.0),
        ("u8-max", "u8", 2**64 - 1, 2**64 - 1),
    ]:
        make(f"fill-{tag}", np.ones((4, 3), code), (2, 2), [LITTLE], fill=fill, json_fill=json_fill, region=np.s_[:2])
    make("all-fill-stored", np.full((4,), 7, "u1"), (2,), [LITTLE], fill=7, store_all=True)


def n5():
    def make(name, values, blocks, compression=None, *, region=..., note="", **members):
        if c := begin(f"n5/ts-{name}", **WRITER, format="n5", node="a", note=note, features=features_of(name)):
            metadata = {
                "dimensions": list(values.shape),
                "blockSize": list(blocks),
                "dataType": values.dtype.name,
                "compression": compression or {"type": "raw"},
                **members,
            }
            write(c, "n5", values, metadata, chunk=blocks, region=region, names=members.get("axes"), attributes=members)

    for code in ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]:
        make(f"dtype-{code}", ramp((5, 3), code), (2, 2), note="tensorstore pads blocks at the edge")
    smooth = (np.arange(40 * 25).reshape(40, 25) // 7).astype("i4")
    codecs = [
        ("gzip", {"type": "gzip", "level": 1, "useZlib": False}),
        ("zlib", {"type": "gzip", "level": 1, "useZlib": True}),
        ("bzip2", {"type": "bzip2", "blockSize": 1}),
        ("xz", {"type": "xz", "preset": 1}),
        ("zstd", {"type": "zstd", "level": 1}),
    ]
    codecs += [
        (f"blosc-{n}-{s}", {"type": "blosc", "cname": n, "clevel": 5, "shuffle": s, "blocksize": 0})
        for n in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
        for s in [0, 1, 2]
    ]
    codecs += [("blosc-snappy-1", {"type": "blosc", "cname": "snappy", "clevel": 5, "shuffle": 1, "blocksize": 0})]
    for tag, codec in codecs:
        make(f"compressor-{tag}", smooth, (20, 15), codec)
    make("rank0", np.array(42, "i2"), ())
    make("3d", ramp((5, 4, 3), "u2"), (2, 3, 2))
    make("missing-blocks", ramp((5, 4), "u2"), (2, 3), region=np.s_[2:4, 1:3])
    make("axes", ramp((5, 4), "u2"), (2, 3), axes=["x", "y"], units=["nm", ""], resolution=[4.0, 1.0], other={"k": [1, None]})


if __name__ == "__main__":
    run(zarr2, zarr3, n5)
