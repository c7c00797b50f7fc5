"""Has ndzarr convert every array of Zarr v2 in testdata to Zarr v3, in place and elsewhere, and compares what zarr-python 3
reads of the result with what it reads of the original.

Usage: convert.py. Prints how many went which way; the exit status is 1 if any differs, or if a known difference
no longer exists or has another reason.
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
from dataclasses import dataclass

import numcodecs
import numpy as np
import zarr
from fixture import TESTDATA

warnings.simplefilter("ignore")

def refuses(function, text):
    """True if zarr-python raises an error with this text."""
    try:
        function()
    except Exception as error:
        return text in f"{type(error).__name__}: {error}"
    return False


def opened(folder, **members):
    """A new array of v3 whose document has these members."""
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [2],
        "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        **members,
    }
    with open(os.path.join(folder, "zarr.json"), "w", encoding="utf-8") as file:
        json.dump(document, file)
    return zarr.open_array(folder, mode="r", zarr_format=3)


def has_no_raw_bits(folder):
    raw = {"codecs": [{"name": "bytes"}], "fill_value": [0, 0]}
    opened(folder)
    return refuses(lambda: opened(folder, data_type="r16", **raw), "data type found that matches 'r16'")


def has_another_struct(folder):
    fields = [{"name": "a", "data_type": "int16"}]
    struct = {"name": "struct", "configuration": {"fields": fields}}
    structured = {"name": "structured", "configuration": {"fields": [["a", "int16"]]}}
    opened(folder, data_type=structured, fill_value="AAA=")
    return refuses(lambda: opened(folder, data_type=struct, fill_value={"a": 0}), "data type found that matches {'name': 'struct'")


def mistakes_quantized(folder):
    """A small array with a filter that makes a smaller type."""
    quantize = {"name": "numcodecs.quantize", "configuration": {"digits": 1, "dtype": "<f8", "astype": "<f4"}}
    codecs = [quantize, {"name": "bytes", "configuration": {"endian": "little"}}]
    array = zarr.create((3,), store=folder, chunks=(3,), dtype="float64", codecs=codecs, zarr_format=3, overwrite=True)

    array[...] = np.array([0.5, 1.5, 2.5])
    return refuses(lambda: array[...], "larger dtype")


def shuffles_nothing(folder):
    data = bytes(range(8))
    return bytes(numcodecs.Shuffle(elementsize=0).encode(data)) == data != bytes(numcodecs.Shuffle(elementsize=4).encode(data))


def fills_with_digits(folder):
    document = {
        "zarr_format": 2,
        "shape": [1],
        "chunks": [1],
        "dtype": "|O",
        "compressor": None,
        "filters": [{"id": "vlen-utf8"}],
        "fill_value": 0,
        "order": "C",
    }
    with open(os.path.join(folder, ".zarray"), "w", encoding="utf-8") as file:
        json.dump(document, file)
    return read(folder, "", 2).tolist() == ["0"]


@dataclass
class Known:
    """Where zarr-python does not read the result, or reads the original otherwise."""

    case: str
    # Part of the message.
    part: str
    why: str
    # Returns true if zarr-python by itself has this behaviour; gets an empty folder.
    shown: object
    n_found: int = 0


KNOWN = [
    Known("*", "data type found that matches 'r", "has no raw bits", has_no_raw_bits),
    Known("zp2-fill-struct", "{'name': 'struct'", "has structures by a name of its own", has_another_struct),
    Known("*-filter-quantize", "larger dtype", "does not see that numcodecs.quantize makes another type", mistakes_quantized),
    Known("hand-filter-shuffle-0", "not array", "takes an item size of 0 as the identity (V2-120)", shuffles_nothing),
    Known("hand-netcdf", "not array", "takes an item size of 0 as the identity (V2-120)", shuffles_nothing),
    Known("*-vlen-utf8-*", "'0'", "shows the fill value 0 of texts as '0'", fills_with_digits),
]


def unfounded():
    """Known differences that no longer exist, or that have another reason."""
    for known in KNOWN:
        with tempfile.TemporaryDirectory() as folder:
            if not known.shown(folder):
                yield f"{known.case}: zarr-python shows no sign that it {known.why}"
        if known.n_found == 0:
            yield f"{known.case}: no conversion has this known difference any more: {known.why}"


def read(store, node, zarr_format):
    return zarr.open_array(store, path=node, mode="r", zarr_format=zarr_format)[...]


def same(found, expected):
    """Bit by bit, whatever the byte order; texts by what they are."""
    found = np.asarray(found)
    expected = np.asarray(expected)
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
            return judged(case, f"{place}: {level}", "not read", f"{type(error).__name__}: {error}")
        if not same(found, expected):
            return judged(case, f"{place}: {level}", "differs", f"{found!r}, not {expected!r}")
        return f"{place}: {level}, agrees", None


def judged(case, how, what, why):
    for known in KNOWN:
        if fnmatch.fnmatch(case, known.case) and known.part in why:
            known.n_found += 1
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
    for line in unfounded():
        wrong += 1
        print(line, file=sys.stderr)
    return 1 if wrong or not counts["beside: metadata, agrees"] else 0


if __name__ == "__main__":
    sys.exit(main())
