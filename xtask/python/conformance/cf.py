"""Random datasets by xarray, which ndzarr must show as xarray does, and by ndzarr, which xarray must open as they were.

Usage: cf.py. Prints how many variables and selections were compared; the exit status is 1 if any differs.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

import cftime
import numpy as np
import xarray as xr
from datasets import opened, shown, whole

PROGRAM = os.environ.get("NDZARR_CONFORMANCE", "")
DATASETS = 40
SELECTIONS = 12
R = random.Random(20261125)
CALENDARS = ["standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day"]
UNITS = ["days", "hours", "minutes", "seconds", "milliseconds"]


def numbers(shape, with_missing):
    values = np.array([R.uniform(-100, 100) for _ in range(int(np.prod(shape)))]).reshape(shape)
    if with_missing:
        values[np.array([R.random() < 0.2 for _ in range(values.size)]).reshape(shape)] = np.nan
    return values


def times(n, calendar, whole_counts):
    """Counts of a unit since a date, increasing, and the units."""
    year = R.choice([1, 1500, 1582, 1850, 1970, 2001])
    unit = R.choice(UNITS[: 3 if year < 1600 else 5])
    units = f"{unit} since {year:04d}-{R.randint(1, 12):02d}-{R.randint(1, 28):02d}" + R.choice(["", " 06:30:00", "T12:00:00"])
    step = {"days": 40, "hours": 300, "minutes": 9999, "seconds": 10**6, "milliseconds": 10**8}[unit]
    counts = np.cumsum([R.randint(1, step) for _ in range(n)])
    if not whole_counts:
        # Fractions that are exact.
        counts = counts + R.choice([0.25, 0.5])
    return counts, units


def coordinate(n):
    """A numeric coordinate that increases or decreases, with so few digits that any JSON has them."""
    values = np.round(np.cumsum([R.uniform(0.5, 3) for _ in range(n)]) * R.choice([1, -1]) + R.uniform(-20, 20), 3)
    return values.astype(R.choice(["f8", "f4"])) if R.random() < 0.7 else np.round(values * 10).astype("i4")


def packed(zarr_format):
    """How numbers are stored."""
    kind = R.choice(["scaled", "shifted", "both", "masked", "plain", "float", "half"])
    integer = R.choice(["i2", "i4", "u2", "i8"])
    fill = int(R.choice([np.iinfo(integer).max, 0 if integer == "u2" else -1]))
    fraction = R.choice([0.1, 0.01, 0.5])
    if kind == "float":
        return {"dtype": R.choice(["f4", "f8"]), "_FillValue": R.choice([-9999.0, 1e20, np.nan])}
    if kind == "half":
        return {"dtype": "f2"}
    options = {"dtype": integer, "_FillValue": fill}
    if integer == "u2" and kind in ("masked", "scaled"):
        options["dtype"] = "i2"
        options["_FillValue"] = -32768
    if kind in ("scaled", "both"):
        options["scale_factor"] = fraction
    if kind in ("shifted", "both"):
        options["add_offset"] = -200.0
    if kind == "plain":
        return {"dtype": R.choice(["f8", "f4"])}
    if R.random() < 0.2:
        options["missing_value"] = options["_FillValue"]
    return options


def made():
    """A dataset of xarray and its encoding."""
    sizes = {"time": R.randint(1, 9), "y": R.randint(1, 6), "x": R.randint(1, 6)}
    calendar = R.choice(CALENDARS)
    whole_counts = R.random() < 0.7
    counts, units = times(sizes["time"], calendar, whole_counts)
    time = cftime.num2date(counts, units, calendar=calendar, only_use_cftime_datetimes=True)
    coords = {"y": coordinate(sizes["y"]), "time": ("time", np.asarray(time))}
    if R.random() < 0.5:
        names = [chr(97 + i) * R.randint(1, 3) + R.choice(["", "é", "日"]) for i in range(sizes["x"])]
        R.shuffle(names)
        coords["x"] = np.array(names, dtype=R.choice(["U", object]))
    else:
        coords["x"] = coordinate(sizes["x"])
    return sizes, coords, {"time": {"units": units, "calendar": calendar, "dtype": "i8" if whole_counts else "f8"}}


def by_xarray(folder, zarr_format):
    sizes, coords, encoding = made()
    data = {}
    for number in range(R.randint(1, 5)):
        dims = tuple(R.sample(list(sizes), R.randint(1, 3)))
        options = packed(zarr_format)
        integers_without = options["dtype"][0] != "f" and "scale_factor" not in options
        values = numbers([sizes[dim] for dim in dims], True)
        data[f"v{number}"] = (dims, np.round(values) if integers_without else values, {"units": "K"})
        encoding[f"v{number}"] = {**options, "chunks": tuple(R.randint(1, sizes[dim]) for dim in dims)}
        if zarr_format == 3 and R.random() < 0.3:
            encoding[f"v{number}"]["shards"] = tuple(2 * n for n in encoding[f"v{number}"]["chunks"])
    data["flag"] = ("x", np.array([R.random() < 0.5 for _ in range(sizes["x"])]))
    data["step"] = ("y", np.array([R.randint(0, 500) for _ in range(sizes["y"])], "m8[s]"))
    data["label"] = ("y", np.array([R.choice(["a", "bb", "öö", "日本"]) for _ in range(sizes["y"])], dtype=R.choice(["U4", object])))
    xr.Dataset(data, coords).to_zarr(folder, zarr_format=zarr_format, encoding=encoding, consolidated=R.random() < 0.8)


def text(label):
    """A label of a coordinate, in the form that ndzarr reads."""
    if isinstance(label, cftime.datetime):
        return label.strftime("%Y-%m-%dT%H:%M:%S.%f").strip()
    if isinstance(label, np.datetime64):
        return str(label.astype("M8[ns]"))
    return str(label) if isinstance(label, str) else float(label)


def selection(dataset, variable):
    """Random labels of some coordinates: for xarray, and for ndzarr."""
    chosen = variable
    request = []
    for dim in R.sample(list(variable.dims), R.randint(1, len(variable.dims))):
        if dim not in dataset.indexes:
            continue
        values = dataset[dim].values
        is_text = values.dtype.kind in "OUT" and isinstance(values[0], str)
        how = R.choice(["one", "list", "range"] + ([] if is_text else ["nearest"]))
        if how == "range":
            if is_text and not dataset.indexes[dim].is_monotonic_increasing and not dataset.indexes[dim].is_monotonic_decreasing:
                continue
            first, last = sorted(R.randrange(len(values)) for _ in range(2))
            chosen = chosen.isel({dim: slice(first, last + 1)})
            ends = [text(values[first]), text(values[last])]
            if R.random() < 0.5:
                ends.reverse()
            request.append([dim, {"range": ends}])
        elif how == "list":
            at = [R.randrange(len(values)) for _ in range(R.randint(0, 4))]
            chosen = chosen.isel({dim: at})
            request.append([dim, {"list": [text(values[i]) for i in at]}])
        elif how == "one":
            at = R.randrange(len(values))
            chosen = chosen.isel({dim: at})
            request.append([dim, {"one": text(values[at])}])
        elif values.dtype.kind in "iuf":
            label = round(float(values.min()) + R.uniform(-0.2, 1.2) * float(values.max() - values.min() + 1), 3)
            if values.dtype == "f4":
                label = float(np.float32(label))
            chosen = chosen.sel({dim: label}, method="nearest") if values.dtype.kind == "f" else chosen.isel(
                {dim: int(np.argmin(np.abs(values - label)))})
            request.append([dim, {"nearest": label}])
    return chosen, request


def ndzarr(folder, requests, *options):
    lines = "".join(json.dumps(request, allow_nan=False) + "\n" for request in requests)
    answer = subprocess.run([PROGRAM, "dataset", str(folder), *options], input=lines, capture_output=True, text=True)
    if answer.returncode != 0:
        raise RuntimeError(answer.stderr.strip())
    return [json.loads(line) for line in answer.stdout.splitlines()]


DTYPES = {"i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "f4": "float32", "f8": "float64"}


def by_ndzarr(folder, zarr_format):
    """A dataset that ndzarr writes, and what xarray is to show of it."""
    sizes, coords, encoding = made()
    chunks = {dim: R.randint(1, n) for dim, n in sizes.items()}
    expected = xr.Dataset(coords=coords)
    lines = []

    def add(name, dims, data_type, attributes, values):
        dimensions = [[dim, sizes[dim]] for dim in dims]
        lines.append({"name": name, "data_type": data_type, "dimensions": dimensions, "attributes": attributes,
                      "chunks": [chunks[dim] for dim in dims], "values": values})

    time = encoding["time"]
    add("time", ["time"], DTYPES[time["dtype"]], {"units": time["units"], "calendar": time["calendar"]},
        [text(value) for value in expected["time"].values])
    for dim in "yx":
        values = expected[dim].values
        is_text = values.dtype.kind in "OUT"
        add(dim, [dim], "string" if is_text else values.dtype.name, {}, [text(value) for value in values])
    for number in range(R.randint(1, 4)):
        dims = R.sample(list(sizes), R.randint(1, 3))
        values = numbers([sizes[dim] for dim in dims], True)
        options = packed(zarr_format)
        attributes = {key: value for key, value in options.items() if key != "dtype"}
        if isinstance(attributes.get("_FillValue"), float) and np.isnan(attributes["_FillValue"]):
            attributes["_FillValue"] = "NaN"
        if options["dtype"][0] != "f":
            scale = options.get("scale_factor", 1.0)
            offset = options.get("add_offset", 0.0)
            stored = np.round((values - offset) / scale)
            expected[f"v{number}"] = (dims, stored * scale + offset)
        else:
            stored = values.astype(options["dtype"])
            expected[f"v{number}"] = (dims, stored)
        given = [None if np.isnan(value) else float(value) for value in values.ravel()]
        name = "float16" if options["dtype"] == "f2" else DTYPES[options["dtype"]]
        add(f"v{number}", dims, name, attributes, given)
    flags = [R.random() < 0.5 for _ in range(sizes["x"])]
    expected["flag"] = ("x", np.array(flags))
    add("flag", ["x"], "bool" if R.random() < 0.5 else "int8", {}, flags)
    if lines[-1]["data_type"] == "int8":
        lines[-1]["attributes"]["dtype"] = "bool"
    names = [R.choice(["", "b", "öö"]) for _ in range(sizes["y"])]
    expected["label"] = ("y", np.array(names, dtype=object))
    add("label", ["y"], "string", {"coordinates": "flag"}, names)
    ndzarr(folder, lines, "--create", f"zarr{zarr_format}")
    return expected.set_coords("flag")


def same(found, expected):
    """True if both are the same; unpacked numbers may differ in the last digit, as they were not rounded alike."""
    if found["dimensions"] != expected["dimensions"] or found["shape"] != expected["shape"]:
        return False
    for one, other in zip(found["values"], expected["values"], strict=True):
        if isinstance(one, float) and isinstance(other, float):
            if not np.isclose(one, other, rtol=1e-6, atol=1e-9):
                return False
        elif one != other:
            return False
    return True


def main():
    counts = {}
    wrong = []

    def check(what, is_right, *details):
        counts[what] = counts.get(what, 0) + 1
        if not is_right:
            wrong.append(what)
            print(*details, sep="\n  ", file=sys.stderr)

    with tempfile.TemporaryDirectory() as root:
        for number in range(DATASETS):
            zarr_format = 2 + number % 2
            folder = os.path.join(root, f"xarray-{number}")
            by_xarray(folder, zarr_format)
            with opened(folder) as dataset:
                theirs = whole(dataset)
                requests = [{}]
                expected = [None]
                for name in theirs:
                    requests.append({"variable": name})
                    expected.append(theirs[name])
                for _ in range(SELECTIONS):
                    name = R.choice(list(theirs))
                    if dataset[name].ndim > 0:
                        chosen, request = selection(dataset, dataset[name])
                        requests.append({"variable": name, "sel": request})
                        expected.append(shown(chosen))
                answers = ndzarr(folder, requests)
                lists = {"coordinates": sorted(map(str, dataset.coords)), "data_variables": sorted(map(str, dataset.data_vars))}
            check(f"v{zarr_format} of xarray: variables", answers[0] == lists, answers[0], lists)
            for request, found, wanted in zip(requests[1:], answers[1:], expected[1:], strict=True):
                what = f"v{zarr_format} of xarray: " + ("selections" if "sel" in request else wanted["type"])
                keys = ["shape", "type", "values"] + ([] if "sel" in request else ["dimensions"])
                is_right = all(found.get(key) == wanted[key] for key in keys)
                check(what, is_right, request, found, wanted)

            folder = os.path.join(root, f"ndzarr-{number}")
            original = by_ndzarr(folder, zarr_format)
            with warnings.catch_warnings():
                # Metadata that are not consolidated, ambiguous dates, fill values that conflict: all would warn.
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", message=".*cftime.datetime objects instead.*")
                warnings.filterwarnings("ignore", message=".*(Zarr format 3|Zarr V3) spec.*")
                with xr.open_zarr(folder, chunks=None) as dataset:
                    theirs = whole(dataset)
                    ours = whole(original)
                    coords = sorted(map(str, dataset.coords)) == sorted(map(str, original.coords))
            check(f"v{zarr_format} of ndzarr: variables", coords and sorted(theirs) == sorted(ours), sorted(theirs), sorted(ours))
            for name, wanted in ours.items():
                check(f"v{zarr_format} of ndzarr: {wanted['type']}", same(theirs[name], wanted), name, theirs[name], wanted)
            # And once more through xarray, which cannot write the filters of texts that it converted to an index.
            again = os.path.join(root, f"again-{number}")
            with opened(folder) as dataset:
                dataset.drop_encoding().to_zarr(again, zarr_format=zarr_format, consolidated=True)
            for name, found in zip(theirs, ndzarr(again, [{"variable": name} for name in theirs]), strict=True):
                check(f"v{zarr_format} of ndzarr, of xarray, by ndzarr", found.get("values") == theirs[name]["values"], name, found, theirs[name])
    for what, count in sorted(counts.items()):
        print(f"{'DIFFERS' if what in wrong else 'agrees'}: {what} ({count})")
    return 1 if wrong else 0


sys.exit(main())
