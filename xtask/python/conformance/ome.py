"""Multiscale images: ndzarr compared with ome-zarr-py, ngff-zarr, ome-zarr-models and tensorstore, and the documents of
ngff-spec.

Usage: ome.py [NGFF_SPEC]; without a folder, no documents are compared. Prints how many documents, images and levels were
compared; the exit status is 1 if any differs.
"""

import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import ngff_zarr
import numpy as np
import tensorstore as ts
import zarr
from ome_zarr.format import FormatV04, FormatV05
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from ome_zarr.writer import write_image, write_labels
from ome_zarr_models.v04.image import Image as Image04
from ome_zarr_models.v05.image import Image as Image05

PROGRAM = os.environ.get("NDZARR_CONFORMANCE", "")
R = random.Random(20261125)
AXES = ["yx", "zyx", "cyx", "czyx", "tczyx"]
DTYPES = ["uint8", "uint16", "int32", "float32", "float64"]

# Valid by the schemas, which do not compare the two, but not by the text: "The length of the scale and translation array MUST
# be the same as the length of axes".
RANK_DIFFERS = "valid/image/mismatch_axes_units"

# The hierarchies state a version in which inputs and outputs are objects, and have texts.
OF_ANOTHER_VERSION = re.compile(r"\.(input|output) must be an object")

# The least number of comparisons, by the beginnings of their names: an empty list would agree with anything.
LEAST = {
    **{f"{version} of ndzarr: {method} of": 5 for version in ["0.4", "0.5"] for method in ["mean", "mode", "stride"]},
    **{f"{version} of ndzarr: ngff-zarr": 30 for version in ["0.4", "0.5"]},
    **{f"{version} of ndzarr: ome-zarr-py": 30 for version in ["0.4", "0.5"]},
}
LEAST_OF_DOCUMENTS = {
    "attributes, spec and valid": 28, "attributes, spec and invalid": 100,
    "attributes, strict and valid": 9, "attributes, strict and invalid": 4,
    "hierarchies, spec and valid": 12, "hierarchies, spec and invalid": 60,
    "hierarchies, strict and valid": 9, "hierarchies, strict and invalid": 4,
}


def ndzarr(*arguments, line=None):
    answer = subprocess.run([PROGRAM, "image", *map(str, arguments)], input=line, capture_output=True, text=True)
    if answer.returncode != 0:
        raise RuntimeError(answer.stderr.strip())
    return [json.loads(line) for line in answer.stdout.splitlines()]


def documents(spec, check):
    """Valid documents open and have no findings, invalid ones have at least one; the hierarchies are of a version before."""
    for kind, paths in [("attributes", (spec / "tests" / "attributes").rglob("*.json")),
                        ("hierarchies", (spec / "tests" / "zarr").rglob("*.ome.zarr"))]:
        paths = sorted(path for path in paths if not path.name.startswith("."))
        for path, answer in zip(paths, ndzarr("--validate", *paths), strict=True):
            strict, valid = path.relative_to(spec / "tests").parts[1:3]
            must = answer["must"]
            should = answer["should"] if strict == "strict" else []
            if kind == "hierarchies":
                must = [finding for finding in must if not OF_ANOTHER_VERSION.search(finding)]
            if valid == "valid":
                # An image must be found, unless it is a group of other things.
                right = answer["opens"] and (answer["images"] > 0 or "/image/" not in str(path))
                differs = kind == "attributes" and RANK_DIFFERS in str(path)
                right = right and (bool(must) if differs else not must and not should)
            else:
                # Two of the hierarchies are not JSON.
                right = bool(must or should) or "not valid JSON" in (answer["error"] or "")
            check(f"{kind}, {strict} and {valid}", right, path, answer)


def downsampled(array, factors, method):
    """Means of integers are rounded to the nearest, ties to even; the mode is the least of the most frequent values."""
    return ts.downsample(ts.array(array), factors, method).read().result()


def scales_of(entry):
    """Scale and translation of each dataset, as the document states them."""
    placed = {}
    n = len(entry["axes"])
    for dataset in entry["datasets"]:
        scale = np.ones(n)
        translation = np.zeros(n)
        for transformation in dataset["coordinateTransformations"] + entry.get("coordinateTransformations", []):
            if transformation["type"] == "scale":
                scale = scale * transformation["scale"]
                translation = translation * transformation["scale"]
            elif transformation["type"] == "translation":
                translation = translation + transformation["translation"]
        placed[dataset["path"]] = (scale.tolist(), translation.tolist())
    return placed


def entry_of(folder):
    attributes = dict(zarr.open_group(folder, mode="r").attrs)
    return attributes.get("ome", attributes)["multiscales"][0]


def same_as_stored(folder, image):
    """True if ndzarr reads an image as zarr-python does."""
    entry = entry_of(folder)
    placed = scales_of(entry)
    stated = [(axis["name"], axis.get("type"), axis.get("unit")) for axis in entry["axes"]]
    if [(axis["name"], axis["kind"], axis["unit"]) for axis in image["axes"]] != stated:
        return False
    if sorted(level["path"] for level in image["levels"]) != sorted(placed):
        return False
    for level in image["levels"]:
        array = zarr.open_array(f"{folder}/{level['path']}", mode="r")
        for key, expected in zip(["scale", "translation"], placed[level["path"]]):
            if not np.allclose(level[key], expected, rtol=1e-12, atol=0):
                return False
        if not np.array_equal(np.reshape(level["values"], level["shape"]), array[...]):
            return False
    return True


def by_ndzarr(folder, number, check):
    """Checks an image that ndzarr writes: its elements, and what the other programs report of it."""
    names = AXES[number % len(AXES)]
    shape = [R.randint(1, 3) if name in "tc" else R.randint(9, 40) for name in names]
    data_type = R.choice(DTYPES)
    method = R.choice(["mean", "mode", "stride"])
    factors = [R.choice([1, 2, 3]) if name in "zyx" else 1 for name in names]
    levels = 1 + number // 2 % 3
    version = ["0.4", "0.5"][number % 2]
    values = np.random.default_rng(number).integers(0, 100 if method != "mode" else 4, shape).astype(data_type)
    chunks = [R.randint(1, n) for n in shape]
    new = {"axes": [{"name": name, "len": n, "unit": "micrometer" if name in "zyx" else None} for name, n in zip(names, shape)],
           "data_type": data_type, "scale": [round(R.uniform(0.1, 4), 3) for _ in names], "factors": factors, "levels": levels,
           "translation": [R.choice([0, 1.5]) for _ in names], "method": method, "chunks": chunks,
           "shards": [2 * n for n in chunks] if version == "0.5" and R.random() < 0.5 else None,
           "is_label": data_type in ("uint8", "uint16", "int32") and R.random() < 0.3, "values": values.ravel().tolist()}
    ndzarr(folder, "--create", "zarr2" if version == "0.4" else "zarr3", line=json.dumps(new) + "\n")
    group = zarr.open_group(folder, mode="r")
    what = f"{version} of ndzarr"
    try:
        (Image04 if version == "0.4" else Image05).from_zarr(group)
        check(f"{what}: ome-zarr-models", True)
    except Exception as error:
        check(f"{what}: ome-zarr-models", False, new, error)
    shown = [np.asarray(data) for data in list(Reader(parse_url(folder))())[0].data]
    stored = [group[str(level)][...] for level in range(levels)]
    check(f"{what}: elements", np.array_equal(stored[0], values), new)
    check(f"{what}: number of levels", len(shown) == levels == len(list(group.array_keys())), new, len(shown))
    for level in range(levels):
        check(f"{what}: ome-zarr-py", np.array_equal(shown[level], stored[level]), new, level)
    for level, (fine, coarse) in enumerate(zip(stored, stored[1:])):
        expected = downsampled(fine, factors, method)
        # tensorstore adds float32 as float32, and ndzarr as float64.
        right = np.allclose(coarse, expected, rtol=1e-6, atol=0) if data_type == "float32" else np.array_equal(coarse, expected)
        check(f"{what}: {method} of {data_type} as tensorstore makes it", right, new, level)
    read = ngff_zarr.from_ngff_zarr(folder)
    placed = scales_of(entry_of(folder))
    check(f"{what}: number of levels in ngff-zarr", len(read.images) == levels, new, len(read.images))
    for level, image in enumerate(read.images):
        scale, translation = placed[str(level)]
        right = [image.scale.get(name) for name in names] == scale
        right = right and [image.translation.get(name) for name in names] == translation
        right = right and np.array_equal(np.asarray(image.data), group[str(level)][...])
        check(f"{what}: ngff-zarr", right, new, image.scale, scale, image.translation, translation)
        # An element covers f**level elements of the finest level along an axis, and a mean has the position of their middle.
        elements = np.array(factors, dtype=float) ** level
        middle = 0 if method == "stride" else new["scale"] * (elements - 1) / 2
        right = np.allclose(scale, new["scale"] * elements, rtol=1e-12, atol=0)
        right = right and np.allclose(translation, np.array(new["translation"]) + middle, rtol=1e-12, atol=1e-12)
        check(f"{what}: scale and translation", right, new, level, scale, translation)
    image = ndzarr(folder)[0][0]
    check(f"{what}: findings", not image["findings"] and not image["warnings"], image["findings"], image["warnings"])
    check(f"{what}: read again", same_as_stored(folder, image), image["axes"], [level["scale"] for level in image["levels"]])


def by_ome_zarr(folder, number, check):
    names = AXES[number % len(AXES)]
    shape = [R.randint(1, 3) if name in "tc" else R.randint(33, 70) for name in names]
    version, fmt = [("0.4", FormatV04()), ("0.5", FormatV05())][number % 2]
    values = np.random.default_rng(number).integers(0, 200, shape).astype(R.choice(["uint8", "uint16"]))
    root = zarr.open_group(folder, mode="w", zarr_format=2 if version == "0.4" else 3)
    write_image(values, root, axes=names, fmt=fmt)
    write_labels((values > 100).astype("uint8"), root, name="cells", axes=names, fmt=fmt)
    for path in ["", "labels/cells"]:
        image = ndzarr(os.path.join(folder, path))[0][0]
        check(f"{version} of ome-zarr-py", same_as_stored(os.path.join(folder, path), image), path, image["axes"], image["warnings"])
        must = [finding for finding in image["findings"] if " must " in finding]
        check(f"{version} of ome-zarr-py: findings", not must, must)


def by_ngff_zarr(folder, number, check):
    names = AXES[number % 2]
    shape = [R.randint(33, 70) for _ in names]
    version = ["0.4", "0.5"][number % 2]
    values = np.random.default_rng(number).integers(0, 200, shape).astype("uint16")
    scale = {name: round(R.uniform(0.1, 3), 3) for name in names}
    image = ngff_zarr.to_ngff_image(values, dims=list(names), scale=scale, translation={name: R.choice([0.0, 7.5]) for name in names})
    ngff_zarr.to_ngff_zarr(folder, ngff_zarr.to_multiscales(image, scale_factors=[2, 4]), version=version)
    image = ndzarr(folder)[0][0]
    check(f"{version} of ngff-zarr", same_as_stored(folder, image), image["axes"], image["warnings"])
    must = [finding for finding in image["findings"] if " must " in finding]
    check(f"{version} of ngff-zarr: findings", not must, must)


def main():
    counts = {}
    wrong = []

    def check(what, is_right, *details):
        counts[what] = counts.get(what, 0) + 1
        if not is_right:
            wrong.append(what)
            print(what, *details, sep="\n  ", file=sys.stderr)

    least = dict(LEAST)
    if len(sys.argv) > 1:
        least.update(LEAST_OF_DOCUMENTS)
        documents(Path(sys.argv[1]), check)
    with tempfile.TemporaryDirectory() as root:
        for write, number in itertools.chain(
                ((by_ndzarr, n) for n in range(60)), ((by_ome_zarr, n) for n in range(10)), ((by_ngff_zarr, n) for n in range(4))):
            write(os.path.join(root, f"{write.__name__}-{number}.ome.zarr"), number, check)
    for what, count in counts.items():
        failed = wrong.count(what)
        print(f"{what}: {count - failed} of {count}")
    for needed, n_least in least.items():
        found = sum(count for what, count in counts.items() if what.startswith(needed))
        if found < n_least:
            wrong.append(needed)
            print(f"{needed}: {found} comparisons, fewer than {n_least}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
