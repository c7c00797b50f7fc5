"""Has a program write the arrays of client_arrays.py, for ndzarr to read: `cargo xtask conformance --clients`.

Usage: client_writes.py FOLDER CLIENT TARGET. Of each case whose type, codec and layout the program has, it writes an array
with the elements that FOLDER has of it, into TARGET/<name of the case>. Prints a line for each: client, version, array,
"wrote" or "refuses", and where the array is in its store, or why not. Exits with 3 if the program is not installed.

The interpreter is that of the environment `clients` or Debian's, as for client_reads.py.
"""

import json
import sys
import warnings
from pathlib import Path

from client_reads import expected

# The codecs and fill values of cases of these names; cases of types are not compressed.
CODECS = {
    "zlib": "zlib", "gzip": "gzip", "bz2": "bz2", "zstd": "zstd", "lz4": "lz4", "lzma": "lzma", "blosc lz4": "blosc",
    "filter shuffle, zlib": "shuffle",
}
FILLS = {"missing chunks": -9, "missing chunks, NaN": float("nan")}


class Case:
    """An array that is to be written."""

    def __init__(self, folder, case):
        self.name = case["name"]
        self.format = case["format"]
        self.chunks = case["chunks"]
        self.what = self.name.partition(" ")[2]
        self.codec = CODECS.get(self.what)
        self.fill = FILLS.get(self.what)
        self.values = expected(folder, case)

    @property
    def dtype(self):
        return self.values.dtype


class Gdal:
    """Writes in the classic way, as bands, or arrays of any number of dimensions."""

    compressors = {
        "zlib": "ZLIB", "gzip": "GZIP", "zstd": "ZSTD", "lz4": "LZ4", "lzma": "LZMA", "blosc": "BLOSC",
    }

    def options(self, case):
        """Options of the driver for an array, or None if it has no such one."""
        found = [f"BLOCKSIZE={','.join(map(str, case.chunks))}"]
        if case.codec is not None:
            if case.codec not in self.compressors:
                return None
            found.append(f"COMPRESS={self.compressors[case.codec]}")
        if case.what == "order F":
            found.append("CHUNK_MEMORY_LAYOUT=F")
        elif case.what == "separator slash":
            found.append("DIM_SEPARATOR=/")
        elif case.codec is None and case.fill is None and case.what not in (case.dtype.name, "3-d"):
            return None
        return found


class GdalArrays(Gdal):
    def __init__(self):
        from osgeo import gdal, gdal_array

        gdal.UseExceptions()
        self.gdal = gdal
        self.types = gdal_array
        self.version = gdal.__version__

    def write(self, store, case):
        options = self.options(case)
        if options is None:
            return None
        if case.dtype.kind == "b":
            raise TypeError("invalid dtype: it has no bool, and would write uint8")
        named = f"FORMAT={'ZARR_V2' if case.format == 'zarr2' else 'ZARR_V3'}"
        opened = self.gdal.GetDriverByName("Zarr").CreateMultiDimensional(str(store), [], [named])
        group = opened.GetRootGroup()
        names = "zyx"[-case.values.ndim :]
        dimensions = [group.CreateDimension(name, None, None, n) for name, n in zip(names, case.values.shape)]
        number = self.types.NumericTypeCodeToGDALTypeCode(case.dtype.type)
        kind = self.gdal.ExtendedDataType.Create(number)
        array = group.CreateMDArray("data", dimensions, kind, options)
        if case.fill is not None:
            array.SetNoDataValueDouble(case.fill)
        array.WriteArray(case.values)
        return "data"


class Rasterio(Gdal):
    def __init__(self):
        import rasterio

        self.rasterio = rasterio
        self.version = f"{rasterio.__version__} with GDAL {rasterio.__gdal_version__}"

    def write(self, store, case):
        options = self.options(case)
        if options is None or case.values.ndim != 2:
            return None
        height, width = case.values.shape
        more = dict(option.split("=") for option in options)
        with self.rasterio.open(
            store, "w", driver="Zarr", height=height, width=width, count=1, dtype=case.dtype.name, nodata=case.fill,
            FORMAT="ZARR_V2" if case.format == "zarr2" else "ZARR_V3", **more,
        ) as opened:
            opened.write(case.values, 1)
        # The array has the name of its file.
        return store.name


class NetCdf:
    compressors = {"zlib": "zlib", "bz2": "bzip2", "zstd": "zstd", "blosc": "blosc_lz4"}

    def __init__(self):
        import netCDF4

        self.netcdf = netCDF4
        self.version = f"{netCDF4.__version__} with netCDF-C {netCDF4.__netcdf4libversion__}"

    def write(self, store, case):
        options = {}
        if case.codec in self.compressors:
            options["compression"] = self.compressors[case.codec]
        elif case.what == "filter shuffle, zlib":
            options.update(compression="zlib", shuffle=True)
        elif case.what == "big endian":
            options["endian"] = "big"
        elif case.fill is not None:
            options["fill_value"] = case.fill
        elif case.what not in (case.dtype.name, "3-d"):
            return None
        if case.format != "zarr2":
            return None
        options.setdefault("shuffle", False)
        with self.netcdf.Dataset(f"file://{store}#mode=zarr,file", "w") as opened:
            names = "zyx"[-case.values.ndim :]
            for name, n in zip(names, case.values.shape):
                opened.createDimension(name, n)
            variable = opened.createVariable("data", case.dtype, tuple(names), chunksizes=case.chunks, **options)
            variable.set_auto_maskandscale(False)
            variable[...] = case.values
        return "data"


def has_codec(array):
    """True if the document of an array names a codec other than the one that makes bytes."""
    if (array / ".zarray").exists():
        document = json.loads((array / ".zarray").read_text())
        return bool(document["compressor"] or document["filters"])
    codecs = json.loads((array / "zarr.json").read_text()).get("codecs", [])
    return any(codec["name"] != "bytes" for codec in codecs)


CLIENTS = {"rasterio": Rasterio, "GDAL": GdalArrays, "netCDF4": NetCdf, "netCDF4 of Debian": NetCdf}


def main():
    folder = Path(sys.argv[1]).resolve()
    name = sys.argv[2]
    target = Path(sys.argv[3]).resolve()
    cases = json.loads((folder / "cases.json").read_text())
    try:
        client = CLIENTS[name]()
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    target.mkdir(parents=True)
    for case in cases:
        if "chunks" not in case or case["format"] not in ("zarr2", "zarr3"):
            continue
        store = target / case["store"]
        asked = Case(folder, case)
        try:
            node = client.write(store, asked)
            if node is None:
                continue
            # One without filters writes all the same.
            if asked.codec is not None and not has_codec(store / node):
                raise RuntimeError("it wrote no codec")
            outcome = "wrote", node
        except Exception as error:
            outcome = "refuses", f"{type(error).__name__}: {error}".splitlines()[0]
        print(json.dumps([name, client.version, case["name"], *outcome]), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
