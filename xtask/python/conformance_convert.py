"""Has ndzarr convert every array of Zarr v2 in testdata to Zarr v3, beside its document and elsewhere, and compares what
zarr-python 3 reads of the result with what it reads of the original.

Usage: conformance_convert.py. Prints how many went which way; the exit status is 1 if any differs.
"""

import collections
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import warnings

import numpy as np
import zarr
from fixture import TESTDATA

warnings.simplefilter("ignore")

# Where zarr-python does not read the result, or reads the original otherwise: (case, part of what is said of it, why).
KNOWN = [
    ("*", "data type found that matches 'r", "has no raw bits"),
    ("zp2-fill-struct", "{'name': 'struct'", "has structures by a name of its own"),
    ("*-filter-quantize", "larger dtype", "does not see that numcodecs.quantize makes another type"),
    ("hand-filter-shuffle-0", "not array", "takes an item size of 0 as the identity (V2-120)"),
    ("hand-netcdf", "not array", "takes an item size of 0 as the identity (V2-120)"),
    ("*-vlen-utf8-*", "'0'", "shows the fill value 0 of texts as '0'"),
]


def read(store, node, zarr_format):
    return zarr.open_array(store, path=node, mode="r", zarr_format=zarr_format)[...]


def same(found, expected):
    """Bit by bit, whatever the byte order; texts by what they are."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return False
    if found.dtype.kind in "OT" or expected.dtype.kind in "OT":
        return found.tolist() == expected.tolist()
    little = [array.astype(array.dtype.newbyteorder("<")) for array in (found, expected)]
    return little[0].dtype == little[1].dtype and little[0].tobytes() == little[1].tobytes()


def convert(program, source, node, into):
    words = [program, "convert", source, node, "--format", "zarr2", "--into", into, "--to", "zarr3"]
    answer = subprocess.run(words, capture_output=True, text=True, encoding="utf-8")
    if answer.returncode != 0:
        return None, answer.stderr.strip()
    return json.loads(answer.stdout)["level"], None


def outcome(program, case, folder, node, place):
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "source")
        shutil.copytree(os.path.join(folder, "store"), source)
        try:
            expected = read(source, node, 2)
        except Exception:
            return "zarr-python does not read the original", None
        into = source if place == "beside" else os.path.join(scratch, "target")
        level, why = convert(program, source, node, into)
        if level is None:
            return f"{place}: refused", None
        try:
            found = read(into, node, 3)
        except Exception as error:
            return known(case, f"{place}: {level}", "not read", f"{type(error).__name__}: {error}")
        if not same(found, expected):
            return known(case, f"{place}: {level}", "differs", f"{found!r}, not {expected!r}")
        return f"{place}: {level}, agrees", None


def known(case, how, what, why):
    if any(fnmatch.fnmatch(case, pattern) and part in why for pattern, part, _ in KNOWN):
        return f"{how}, {what}, as is known", None
    return f"{how}, {what}", why


def main():
    program = os.environ["NDZARR_CONFORMANCE"]
    counts = collections.Counter()
    wrong = 0
    for name in sorted(os.listdir(os.path.join(TESTDATA, "zarr2"))):
        folder = os.path.join(TESTDATA, "zarr2", name)
        with open(os.path.join(folder, "case.toml"), "rb") as file:
            case = tomllib.load(file)
        if case["kind"] != "array":
            continue
        for place in ("beside", "elsewhere"):
            what, why = outcome(program, name, folder, case["node"], place)
            counts[what] += 1
            if why is not None:
                wrong += 1
                print(f"zarr2/{name} {what}: {why}", file=sys.stderr)
    for what, n in sorted(counts.items()):
        print(f"{n:5} {what}")
    return 1 if wrong or not counts["beside: metadata, agrees"] else 0


if __name__ == "__main__":
    sys.exit(main())
