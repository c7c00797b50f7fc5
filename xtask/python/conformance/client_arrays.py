"""Has ndzarr write the arrays that other programs read: `cargo xtask conformance --clients`.

Usage: client_arrays.py FOLDER. The values are formulas of this script. Next to each store is a file of the expected
elements, little-endian and in C order; cases.json describes them.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from fixture import data_type_of, fill_of, packed

PROGRAM = os.environ["NDZARR_CONFORMANCE"]
TYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8"]
N5_TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
SHAPE = (20, 33)
CHUNKS = (8, 10)
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}


def values(dtype, shape=SHAPE):
    """All elements are exact in their type, and neighbours differ."""
    k = np.arange(np.prod(shape)).reshape(shape)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return k % 3 == 0
    if kind == "u":
        return (k * 7 % 251).astype(dtype)
    if kind == "i":
        return (k * 7 % 251 - 125).astype(dtype)
    if kind == "c":
        return (k / 4 - 20 + 1j * (k % 13)).astype(dtype)
    return (k / 4 - 20).astype(dtype)


def with_missing(dtype, fill):
    """The chunks at (0, 1) and in the last row hold nothing but the fill value."""
    array = values(dtype)
    array[:8, 10:20] = fill
    array[16:] = fill
    return array


def slug(name):
    """A name without spaces, which some programs do not accept in a path."""
    return name.replace(",", "").replace(" ", "-")


class Writer:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.cases = []

    def expect(self, name, store, node, array, **fields):
        if array.size == 0:
            raise SystemExit(f"{name} has no elements")
        file = f"{slug(name)}.bin"
        (self.folder / file).write_bytes(packed(array))
        self.cases.append({"name": name, "store": slug(store), "node": node, "expected": file, "dtype": array.dtype.name,
                           "shape": array.shape, **fields})

    def ndzarr(self, *arguments, line=None):
        subprocess.run([PROGRAM, *map(str, arguments)], check=True, input=line, text=True, stdout=subprocess.DEVNULL)

    def write(self, store, node, array, zarr_format, chunks=CHUNKS, dims=None, **options):
        spec = {"format": zarr_format, "shape": array.shape, "chunk_shape": chunks, "data_type": data_type_of(array.dtype), **options}
        if zarr_format == "zarr3":
            spec["dimension_names"] = dims
        elif dims is not None and zarr_format == "zarr2":
            spec["attributes"] = {"_ARRAY_DIMENSIONS": dims, **options.get("attributes", {})}
        (self.folder / "spec.json").write_text(json.dumps(spec))
        (self.folder / "elements").write_bytes(packed(array))
        self.ndzarr("write", self.folder / slug(store), node, "--spec", self.folder / "spec.json", "--in", self.folder / "elements")

    def array(self, zarr_format, what, array, missing=(), **options):
        """A group with one array. `missing` are keys of chunks that must not be there."""
        family = {"zarr2": "v2", "zarr3": "v3", "n5": "n5"}[zarr_format]
        name = f"{family} {what}"
        dims = ["z", "y", "x"][-array.ndim :]
        if "fill_value" in options:
            options["fill_value"] = fill_of(options["fill_value"], data_type_of(array.dtype))
        self.write(name, "data", array, zarr_format, dims=dims, **options)
        for key in missing:
            if (self.folder / slug(name) / "data" / key).exists():
                raise SystemExit(f"{name}: the chunk {key} is there")
        self.expect(name, name, "data", array, format=zarr_format, chunks=options.get("chunks", CHUNKS))


def zarr2(writer):
    for dtype in TYPES:
        writer.array("zarr2", np.dtype(dtype).name, values(dtype), codecs={"compressor": None, "filters": None})
    blosc = {"id": "blosc", "clevel": 5, "blocksize": 0}
    for what, compressor in {
        "zlib": {"id": "zlib", "level": 5}, "gzip": {"id": "gzip", "level": 5}, "bz2": {"id": "bz2", "level": 5},
        "zstd": {"id": "zstd", "level": 3}, "lz4": {"id": "lz4", "acceleration": 1}, "lzma": {"id": "lzma", "preset": 1},
        "blosc lz4": {**blosc, "cname": "lz4", "shuffle": 1}, "blosc zstd, bitshuffle": {**blosc, "cname": "zstd", "shuffle": 2},
    }.items():
        writer.array("zarr2", what, values("i2"), codecs={"compressor": compressor, "filters": None})
    writer.array("zarr2", "filter shuffle, zlib", values("i4"), codecs={
        "compressor": {"id": "zlib", "level": 1}, "filters": [{"id": "shuffle", "elementsize": 4}]})
    none = {"compressor": None, "filters": None}
    writer.array("zarr2", "order F", values("i4"), order="F", codecs=none)
    writer.array("zarr2", "big endian", values("i4"), endian="big", codecs=none)
    writer.array("zarr2", "separator slash", values("i2"), dimension_separator="/", codecs=none)
    writer.array("zarr2", "3-d", values("u2", (8, 20, 33)), chunks=(3, 8, 10), codecs=none)
    writer.array("zarr2", "missing chunks", with_missing("i2", -9), fill_value=-9, codecs=none, missing=["0.1", "2.0", "2.3"])
    writer.array("zarr2", "missing chunks, NaN", with_missing("f4", np.nan), fill_value=np.nan, codecs=none, missing=["0.1", "2.0"])
    writer.array("zarr2", "consolidated", values("i4"), codecs=none)
    writer.ndzarr("consolidate", writer.folder / "v2-consolidated")


def little(*codecs):
    return [{"name": "bytes", "configuration": {"endian": "little"}}, *codecs]


def zarr3(writer):
    for dtype in TYPES:
        writer.array("zarr3", np.dtype(dtype).name, values(dtype), codecs=[])
    blosc = {"clevel": 5, "blocksize": 0, "typesize": 2}
    for what, codec in {
        "gzip": {"name": "gzip", "configuration": {"level": 5}}, "zstd": ZSTD, "crc32c": {"name": "crc32c"},
        "numcodecs.lz4": {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}},
        "numcodecs.zlib": {"name": "numcodecs.zlib", "configuration": {"level": 5}},
        "blosc lz4": {"name": "blosc", "configuration": {**blosc, "cname": "lz4", "shuffle": "shuffle"}},
        "blosc zstd, bitshuffle": {"name": "blosc", "configuration": {**blosc, "cname": "zstd", "shuffle": "bitshuffle"}},
    }.items():
        writer.array("zarr3", what, values("i2"), codecs=[codec])
    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    writer.array("zarr3", "transpose, zstd", values("f4"), codecs=[transpose, *little(ZSTD)])
    writer.array("zarr3", "big endian", values("i4"), endian="big", codecs=[])
    writer.array("zarr3", "keys of v2", values("i2"), codecs=[], chunk_key_encoding={"name": "v2", "configuration": {"separator": "."}})
    writer.array("zarr3", "3-d", values("u2", (8, 20, 33)), chunks=(3, 8, 10), codecs=[])
    shards = {"chunks": (4, 5), "shard_shape": (8, 10)}
    writer.array("zarr3", "shards", values("i2"), **shards, codecs=[])
    writer.array("zarr3", "shards, index at the start", values("i2"), chunks=(8, 10), codecs=[
        {"name": "sharding_indexed", "configuration": {
            "chunk_shape": [4, 5], "codecs": little(), "index_codecs": little({"name": "crc32c"}), "index_location": "start"}}])
    writer.array("zarr3", "shards, zstd, crc32c", values("u2"), **shards, codecs=little(ZSTD, {"name": "crc32c"}))
    # Half of a shard is missing too.
    array = with_missing("f4", -1)
    array[8:12, :10] = -1
    writer.array("zarr3", "shards, missing chunks", array, **shards, fill_value=-1, codecs=little(ZSTD), missing=["c/0/1", "c/2/0"])
    writer.array("zarr3", "shards, 3-d", values("u2", (8, 20, 33)), chunks=(2, 5, 6), shard_shape=(4, 10, 12), codecs=little(ZSTD))
    writer.array("zarr3", "missing chunks", with_missing("i2", -9), fill_value=-9, codecs=[], missing=["c/0/1", "c/2/0", "c/2/3"])
    writer.array("zarr3", "missing chunks, NaN", with_missing("f4", np.nan), fill_value=np.nan, codecs=[], missing=["c/0/1", "c/2/0"])
    writer.array("zarr3", "consolidated", values("i4"), codecs=[])
    writer.ndzarr("consolidate", writer.folder / "v3-consolidated")


def n5(writer):
    # Shapes and values are those of Zarr: z, y, x. The documents of N5 name the axes in the other order.
    for dtype in N5_TYPES:
        writer.array("n5", np.dtype(dtype).name, values(dtype), n5_axes="reversed", codecs={"type": "raw"})
    for what, codec in {
        "gzip": {"type": "gzip", "level": 5}, "bzip2": {"type": "bzip2", "blockSize": 9}, "lz4": {"type": "lz4", "blockSize": 65536},
        "xz": {"type": "xz", "preset": 1}, "zstd": {"type": "zstd", "level": 3},
        "blosc": {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0, "nthreads": 1},
    }.items():
        writer.array("n5", what, values("i2"), n5_axes="reversed", codecs=codec)
    writer.array("n5", "3-d, gzip", values("u2", (8, 20, 33)), chunks=(3, 8, 10), n5_axes="reversed", codecs={"type": "gzip", "level": 5})
    writer.array("n5", "3-d, uint64", values("u8", (8, 20, 33)), chunks=(3, 8, 10), n5_axes="reversed", codecs={"type": "raw"})
    writer.array("n5", "uint64, gzip", values("u8"), n5_axes="reversed", codecs={"type": "gzip", "level": 5})
    writer.array("n5", "missing chunks", with_missing("u2", 0), n5_axes="reversed", codecs={"type": "raw"}, missing=["1/0", "0/2"])


def images(writer):
    """Two levels; of the second, made by stride, the expected values are every other one."""
    shape = (6, 18, 24)
    finest = values("u2", shape)
    for version, zarr_format, shards in [("0.4", "zarr2", None), ("0.5", "zarr3", None), ("0.5", "zarr3", [4, 16, 16])]:
        name = f"OME-Zarr {version}" + (", shards" if shards else "")
        new = {"axes": [{"name": axis, "len": n, "unit": "micrometer"} for axis, n in zip("zyx", shape)],
               "data_type": "uint16", "scale": [2, 0.5, 0.5], "factors": [2, 2, 2], "levels": 2, "method": "stride",
               "chunks": [2, 8, 8], "shards": shards, "values": finest.ravel().tolist()}
        writer.ndzarr("image", writer.folder / slug(name), "--create", zarr_format, line=json.dumps(new) + "\n")
        for level, expected in enumerate([finest, finest[::2, ::2, ::2]]):
            writer.expect(f"{name}, level {level}", name, str(level), expected, format="ome", level=level,
                          scale=[n * 2**level for n in new["scale"]], axes="zyx", unit="micrometer")


def controls(writer):
    """Stores of which a chunk was replaced by another: whoever reads them must see values that differ."""
    for name, node, keys in [("v2 int16", "data", ["1.1", "0.0"]), ("OME-Zarr 0.5, level 0", "0", ["c/1/1/1", "c/0/0/0"])]:
        case = next(case for case in writer.cases if case["name"] == name)
        store = slug(f"{name} control")
        shutil.copytree(writer.folder / case["store"], writer.folder / store)
        to, source = (writer.folder / store / node / key for key in keys)
        to.write_bytes(source.read_bytes())
        control = {**case, "name": f"{name}, a chunk replaced", "store": store}
        # No client writes it.
        control.pop("chunks", None)
        writer.cases.append(control)


def datasets(writer):
    """Temperatures with missing ones, which ndzarr packs, on a grid, at times of a calendar."""
    sizes = {"time": 4, "lat": 5, "lon": 6}
    stored = (np.arange(120).reshape(4, 5, 6) * 5 - 250).astype("i2")
    stored[1, 2, 3] = stored[3, 0] = -999
    unpacked = np.where(stored == -999, np.nan, stored * 0.5 + 280.0)
    times = ["2000-02-28T00:00:00", "2000-02-28T06:00:00", "2000-02-28T12:00:00", "2000-02-29T06:00:00"]
    hours = [0, 6, 12, 30]
    lat = [-20, -10, 0, 10, 20]
    lon = [0, 10, 20, 30, 40, 50]
    variables = {
        "time": ("int32", ["time"], times, {"units": "hours since 2000-02-28 00:00:00", "calendar": "standard"}),
        "lat": ("float32", ["lat"], lat, {"units": "degrees_north", "standard_name": "latitude"}),
        "lon": ("float32", ["lon"], lon, {"units": "degrees_east", "standard_name": "longitude"}),
        "t": ("int16", list(sizes), [None if np.isnan(value) else value for value in unpacked.ravel().tolist()],
              {"units": "K", "scale_factor": 0.5, "add_offset": 280.0, "_FillValue": -999, "long_name": "temperature"}),
    }
    lines = [{"name": name, "data_type": data_type, "dimensions": [(dim, sizes[dim]) for dim in dims], "attributes": attributes,
              "chunks": [(sizes[dim] + 1) // 2 for dim in dims], "values": values}
             for name, (data_type, dims, values, attributes) in variables.items()]
    for family, zarr_format in [("v2", "zarr2"), ("v3", "zarr3")]:
        name = f"CF in {family}"
        folder = writer.folder / slug(name)
        writer.ndzarr("dataset", folder, "--create", zarr_format, line="".join(json.dumps(line) + "\n" for line in lines))
        writer.ndzarr("consolidate", folder)
        writer.expect(f"{name}, times as stored", name, "time", np.array(hours, "i4"), format=zarr_format)
        writer.expect(f"{name}, packed", name, "t", stored, format=zarr_format)
        writer.expect(f"{name}, unpacked", name, "t", unpacked, format="cf", units="K", times=times, lat=lat, lon=lon)


def main():
    writer = Writer(sys.argv[1])
    for write in (zarr2, zarr3, n5, images, datasets, controls):
        write(writer)
    (writer.folder / "cases.json").write_text(json.dumps(writer.cases, indent=1))
    print(f"ndzarr wrote {len(writer.cases)} arrays")


if __name__ == "__main__":
    main()
