"""Has a program read the arrays of client_arrays.py, and compares them element by element.

Usage: client_reads.py FOLDER CLIENT. Prints a line for each array: client, version, array, outcome, detail. The interpreter
is that of the environment `clients` or Debian's, so nothing but NumPy is imported for all. Exits with 3 if the
program is not installed.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np


class Xarray:
    formats = ["zarr2", "zarr3", "n5", "cf"]

    def __init__(self):
        import xarray
        import zarr

        self.xarray = xarray
        self.version = f"{xarray.__version__} with zarr-python {zarr.__version__}"

    def open(self, store, **options):
        # It warns and goes on without consolidated metadata, unless this is set.
        return self.xarray.open_dataset(store, engine="zarr", consolidated=is_consolidated(store), **options)

    def read(self, store, case):
        return self.open(store, mask_and_scale=False, decode_times=False)[case["node"]].values

    def unpacked(self, store, case):
        data = self.open(store)
        variable = data[case["node"]]
        times = [str(time)[:19] for time in data["time"].values]
        return variable.values, {"units": variable.attrs["units"], "times": times, "lat": data["lat"].values, "lon": data["lon"].values}


class Dask:
    formats = ["zarr2", "zarr3", "n5"]

    def __init__(self):
        import dask
        import dask.array
        import zarr

        self.array = dask.array
        self.version = f"{dask.__version__} with zarr-python {zarr.__version__}"

    def read(self, store, case):
        return self.array.from_zarr(str(store), component=case["node"]).compute()


class Rasterio:
    """Reads an array as raster bands, which are two-dimensional: of others, one band after the other."""

    formats = ["zarr2", "zarr3", "n5", "cf"]

    def __init__(self):
        import rasterio

        self.rasterio = rasterio
        self.version = f"{rasterio.__version__} with GDAL {rasterio.__gdal_version__}"

    def bands(self, store, case):
        for plane in np.ndindex(*case["shape"][:-2]):
            with self.rasterio.open(f'ZARR:"{store}":/{case["node"]}' + "".join(f":{i}" for i in plane)) as opened:
                if opened.count != 1:
                    raise ValueError(f"{opened.count} bands")
                yield opened.read(1), opened.scales[0], opened.offsets[0], opened.nodata, opened.units[0]

    def read(self, store, case):
        return np.stack([band for band, *_ in self.bands(store, case)]).reshape(case["shape"])

    def unpacked(self, store, case):
        unpacked = []
        for band, scale, offset, nodata, units in self.bands(store, case):
            unpacked.append(np.where(band == nodata, np.nan, band * scale + offset))
        return np.stack(unpacked).reshape(case["shape"]), {"units": units}


class Gdal:
    formats = ["zarr2", "zarr3", "n5", "cf"]

    def __init__(self):
        from osgeo import gdal

        gdal.UseExceptions()
        self.gdal = gdal
        self.version = gdal.__version__

    def array(self, store, case):
        self.opened = self.gdal.OpenEx(f'ZARR:"{store}"', self.gdal.OF_MULTIDIM_RASTER)
        group = self.opened.GetRootGroup()
        return group, group.OpenMDArray(case["node"])

    def read(self, store, case):
        return self.array(store, case)[1].ReadAsArray()

    def unpacked(self, store, case):
        group, array = self.array(store, case)
        stored = array.ReadAsArray()
        unpacked = np.where(stored == array.GetNoDataValue(), np.nan, stored * array.GetScale() + array.GetOffset())
        axes = {name: group.OpenMDArray(name).ReadAsArray() for name in ("lat", "lon")}
        return unpacked, {"units": array.GetUnit(), **axes}


class NetCdf:
    formats = ["zarr2", "zarr3", "n5", "cf"]

    def __init__(self):
        import netCDF4

        self.netcdf = netCDF4
        self.version = f"{netCDF4.__version__} with netCDF-C {netCDF4.__netcdf4libversion__}"

    def open(self, store):
        return self.netcdf.Dataset(f"file://{store}#mode=zarr,file")

    def read(self, store, case):
        with self.open(store) as data:
            data.set_auto_maskandscale(False)
            return data[case["node"]][...]

    def unpacked(self, store, case):
        with self.open(store) as data:
            variable = data[case["node"]]
            time = data["time"]
            times = [date.isoformat() for date in self.netcdf.num2date(time[...], time.units, time.calendar)]
            axes = {name: np.asarray(data[name][...]) for name in ("lat", "lon")}
            return variable[...].filled(np.nan), {"units": variable.units, "times": times, **axes}


CLIENTS = {"xarray": Xarray, "Dask": Dask, "rasterio": Rasterio, "GDAL": Gdal, "netCDF4": NetCdf, "netCDF4 of Debian": NetCdf}


def is_consolidated(store):
    if (store / ".zmetadata").exists():
        return True
    document = store / "zarr.json"
    return document.exists() and "consolidated_metadata" in json.loads(document.read_text())


def expected(folder, case):
    array = np.frombuffer((folder / case["expected"]).read_bytes(), dtype=np.dtype(case["dtype"]).newbyteorder("<"))
    return array.reshape(case["shape"])


def difference(got, wanted):
    """What differs, or nothing; and the type if it is another, which has the same values."""
    got = np.asarray(got)
    if got.shape != wanted.shape:
        return f"the shape {list(got.shape)}", ""
    same = (got == wanted) | ((got != got) & (wanted != wanted))
    if not same.all():
        at = tuple(int(i) for i in np.argwhere(~same)[0])
        return f"{(~same).sum()} of {same.size} elements; at {list(at)} {got[at].item()!r}, not {wanted[at].item()!r}", ""
    return "", "" if got.dtype.name == wanted.dtype.name else f"as {got.dtype.name}"


def outcome(client, folder, case):
    wanted = expected(folder, case)
    if wanted.size == 0:
        raise SystemExit(f"{case['name']}: no elements are compared")
    store = folder / case["store"]
    try:
        if case["format"] == "cf":
            got, about = client.unpacked(store, case)
        else:
            got = client.read(store, case)
            about = {}
    except Exception as error:
        return "refuses", f"{type(error).__name__}: {error}".splitlines()[0]
    differs, remark = difference(got, wanted)
    if differs:
        return "differs", differs
    for name, value in about.items():
        if np.asarray(value).tolist() != case[name]:
            return "differs", f"{name}: {value}, not {case[name]}"
    return "agrees", remark


def main():
    folder = Path(sys.argv[1]).resolve()
    name = sys.argv[2]
    cases = json.loads((folder / "cases.json").read_text())
    try:
        client = CLIENTS[name]()
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    for case in cases:
        if case["format"] in client.formats:
            print(json.dumps([name, client.version, case["name"], *outcome(client, folder, case)]), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
