"""Cases written by z5 (z5py): N5, Zarr v2 and Zarr v3."""

import os

import numpy as np
import z5py
from fixture import agree, begin, ramp, run

WRITER = {"writer": "z5", "version": z5py.__version__}


def write(c, values, chunks, *, attributes=None, region=..., fill=0, shards=None, **options):
    """Creates the dataset `a`, writes `values` into `region`, reads it back and finishes the case."""
    # z5py takes the format from the suffix of the container, which gets its place afterwards.
    n5 = c.fields["format"] == "n5"
    container = c.store + (".n5" if n5 else ".zarr")
    options_v3 = {"zarr_format": 3} if c.fields["format"] == "zarr3" else {}
    with z5py.File(container, mode="w", **options_v3) as f:
        extra = {"shards": shards} if shards else {}
        ds = f.create_dataset("a", shape=values.shape, dtype=values.dtype, chunks=chunks, fillvalue=fill, **extra, **options)
        if region is not ...:
            full = np.full_like(values, fill)
            full[region] = values[region]
            values = full
        ds[region] = values[region]
        for key, value in (attributes or {}).items():
            ds.attrs[key] = value
    with z5py.File(container, mode="r") as f:
        agree(f["a"][...], values, c.name)
    os.rename(container, c.store)
    if n5:
        c.array(values.T, chunk_shape=chunks[::-1], fill_value=0, attributes=attributes)
    else:
        c.array(values, chunk_shape=chunks, shard_shape=shards, fill_value=fill, attributes=attributes)


SMOOTH = (np.arange(40 * 25).reshape(40, 25) // 7).astype("i4")
TYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]


def n5():
    def make(name, values, chunks, note="", traps=(), **options):
        if c := begin(f"n5/z5-{name}", **WRITER, format="n5", node="a", note=note, traps=traps):
            write(c, values, chunks, **options)

    for code in TYPES:
        make(f"dtype-{code}", ramp((5, 3), code), (2, 2), compression="raw", note="z5 truncates blocks at the edge")
    for compression in ["gzip", "bzip2", "xz", "lz4", "zstd"]:
        make(f"compressor-{compression}", SMOOTH, (20, 15), compression=compression)
    for codec in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
        for shuffle in [0, 1, 2]:
            make(f"compressor-blosc-{codec}-{shuffle}", SMOOTH, (20, 15), compression="blosc", codec=codec, shuffle=shuffle)
    make("lz4-incompressible", ramp((8, 5), "u4"), (4, 5), compression="lz4")
    make("3d", ramp((5, 4, 3), "u2"), (2, 3, 2), compression="raw")
    make("1d", ramp((8,), "f8"), (3,), compression="gzip", attributes={"t": "ü", "l": [1, 2]})
    make("missing-blocks", ramp((6, 8), "i2"), (2, 3), compression="raw", region=np.s_[2:4, 3:6])
    if c := begin("n5/z5-hierarchy", **WRITER, format="n5", kind="hierarchy", note="groups without attributes.json; .keep is there because git keeps no empty folder"):
        with z5py.File(c.store, mode="w", use_zarr_format=False) as f:
            f.create_group("g").create_group("h").attrs["d"] = [1, 2]
            f.create_group("g/empty")
            f.create_dataset("g/a", data=np.ones((3, 4), "u1"), chunks=(2, 2), compression="raw")
            f.attrs["t"] = "ü"
        # git keeps no empty folder, so the group needs a file that is neither document nor block.
        c.put("g/empty/.keep", b"")
        nodes = {"": "group", "g": "group", "g/h": "group", "g/empty": "group", "g/a": "array"}
        c.hierarchy(nodes, {"": {"t": "ü"}, "g/h": {"d": [1, 2]}, "g/empty": {}})


def zarr2():
    def make(name, values, chunks, note="", **options):
        if c := begin(f"zarr2/z5-{name}", **WRITER, format="zarr2", node="a", note=note):
            write(c, values, chunks, **options)

    for code in TYPES:
        make(f"dtype-{code}", ramp((5, 3), code), (2, 2), compression="raw", fill=3, region=np.s_[:4])
    for compression in ["zlib", "gzip", "bzip2", "zstd"]:
        make(f"compressor-{compression}", SMOOTH, (20, 15), compression=compression)
    for codec in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
        for shuffle in [0, 1, 2]:
            make(f"compressor-blosc-{codec}-{shuffle}", SMOOTH, (20, 15), compression="blosc", codec=codec, shuffle=shuffle)
    make("3d", ramp((5, 4, 3), "u2"), (2, 3, 2), compression="raw", attributes={"t": "ü", "l": [1, 2]})


def zarr3():
    def make(name, values, chunks, note="", **options):
        if c := begin(f"zarr3/z5-{name}", **WRITER, format="zarr3", node="a", note=note):
            write(c, values, chunks, **options)

    for code in TYPES:
        make(f"dtype-{code}", ramp((5, 3), code), (2, 2), compression="raw", fill=3, region=np.s_[:4])
    for compression in ["gzip", "zstd", "blosc"]:
        make(f"compressor-{compression}", SMOOTH, (20, 15), compression=compression)
    make("shard", ramp((7, 9), "u2"), (2, 3), shards=(4, 6), compression="raw")
    make("shard-zstd", ramp((7, 9), "u2"), (2, 3), shards=(4, 6), compression="zstd", region=np.s_[:4, :3])


if __name__ == "__main__":
    run(n5, zarr2, zarr3)
