"""The same random selections of the same stores by ndzarr, zarr-python and tensorstore: reading and writing.

Usage: selections.py. Prints how many of each kind were compared; the exit status is 1 if any differs.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import tensorstore
import zarr

warnings.simplefilter("ignore")

PROGRAM = os.environ.get("NDZARR_CONFORMANCE", "")
NAMES = ["t", "z", "y", "x"]
ARRAYS = 60
# Of each kind, of each array.
ROUNDS = 4
R = random.Random(20261124)


def made(folder, name, zarr_format):
    """An array by zarr-python with random shape, chunks and shards, and its elements."""
    ndim = R.randint(1, 4)
    shape = tuple(R.randint(1, 12) for _ in range(ndim))
    chunks = tuple(R.randint(1, 5) for _ in range(ndim))
    shards = {}
    if zarr_format == 3 and R.random() < 0.5:
        shards = {"shards": tuple(n * R.randint(1, 3) for n in chunks)}
    names = {"dimension_names": NAMES[:ndim]} if zarr_format == 3 else {}
    compressors = R.choice([None, "auto"])
    array = zarr.create_array(
        os.path.join(folder, name), shape=shape, chunks=chunks, dtype="<i4", zarr_format=zarr_format,
        compressors=compressors, fill_value=-1, **shards, **names,
    )
    elements = np.arange(np.prod(shape), dtype="<i4").reshape(shape)
    array[...] = elements
    # Some chunks are not stored.
    first = tuple(slice(0, min(n, length)) for n, length in zip(array.chunks, shape))
    array[first] = elements[first] = -1
    return array, elements


def opened(folder, name, zarr_format):
    driver = {2: "zarr", 3: "zarr3"}[zarr_format]
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": os.path.join(folder, name)}}
    return tensorstore.open(spec, open=True, read=True, write=True).result()


def indices(n, distinct):
    found = R.sample(range(n), R.randint(0, n)) if distinct else [R.randrange(n) for _ in range(R.randint(0, 9))]
    return [at - n if R.random() < 0.3 else at for at in found]


class Kind:
    """One selection: what ndzarr is told, what NumPy, zarr-python and tensorstore do with it."""

    def __init__(self, name, request, numpy, reads, write):
        self.name, self.request, self.numpy, self.reads, self.write = name, request, numpy, reads, write


def positive(shape, lists):
    return [[at % n for at in along] for n, along in zip(shape, lists)]


def lists(shape, distinct):
    chosen = [indices(n, distinct) for n in shape]
    there = positive(shape, chosen)
    outer = np.ix_(*(np.array(along, dtype=np.intp) for along in there))
    reads = [
        ("zarr-python oindex", lambda z, _: z.oindex[tuple(np.array(along, dtype=np.intp) for along in there)]),
        ("tensorstore oindex", lambda _, t: t.oindex[tuple(there)].read().result()),
    ]
    if any(not along for along in there):
        reads = reads[1:]
    return Kind("lists", {"lists": chosen}, outer, reads, lambda z, values: z.oindex.__setitem__(
        tuple(np.array(along, dtype=np.intp) for along in there), values))


def slices(shape, _):
    chosen, python = [], []
    for n in shape:
        if R.random() < 0.3:
            at = R.randrange(-n, n)
            chosen.append(at)
            python.append(at)
        else:
            start, end = sorted(R.randint(0, n) for _ in range(2))
            step = R.randint(1, 4)
            chosen.append([start, end, step])
            python.append(slice(start, end, step))
    python = tuple(python)
    reads = [
        ("zarr-python", lambda z, _: z[python]),
        ("tensorstore", lambda _, t: t[tuple(at % n if isinstance(at, int) else at for n, at in zip(shape, python))].read().result()),
    ]
    return Kind("slices", {"slices": chosen}, python, reads, lambda z, values: z.__setitem__(python, values))


def names(shape, distinct):
    chosen, outer, dropped = [], [], []
    for axis in R.sample(range(len(shape)), len(shape)):
        kind = R.choice(["index", "mask", "list", "all"])
        n = shape[axis]
        if kind == "index":
            at = R.randrange(-n, n)
            chosen.append([NAMES[axis], at])
            outer.append((axis, [at % n]))
            dropped.append(axis)
        elif kind == "mask":
            mask = [R.random() < 0.5 for _ in range(n)]
            chosen.append([NAMES[axis], mask])
            outer.append((axis, [at for at in range(n) if mask[at]]))
        elif kind == "list":
            along = indices(n, distinct)
            chosen.append([NAMES[axis], along])
            outer.append((axis, [at % n for at in along]))
        else:
            outer.append((axis, list(range(n))))
    there = [along for _, along in sorted(outer)]
    dims = {NAMES[axis]: along for axis, along in outer}

    def by_label(_, t):
        found = t
        for name, along in dims.items():
            found = found[tensorstore.d[name].oindex[along]]
        return np.squeeze(found.read().result(), axis=tuple(dropped))

    selected = np.ix_(*(np.array(along, dtype=np.intp) for along in there))
    kind = Kind("names", {"names": chosen}, selected, [("tensorstore labels", by_label)], None)
    kind.squeeze = tuple(dropped)
    return kind


def points(shape, distinct):
    n = R.randint(0, 30)
    chosen = [[R.randrange(-n, n) for n in shape] for _ in range(n)]
    if distinct:
        seen, kept = set(), []
        for point in chosen:
            there = tuple(at % n for at, n in zip(point, shape))
            if there not in seen:
                seen.add(there)
                kept.append(point)
        chosen = kept
    there = tuple(np.array(along, dtype=np.intp) for along in positive(shape, list(zip(*chosen)) or [[] for _ in shape]))
    reads = [("tensorstore vindex", lambda _, t: t.vindex[there].read().result())]
    if chosen:
        reads.append(("zarr-python vindex", lambda z, _: z.vindex[there]))
    return Kind("points", {"points": chosen}, there, reads, lambda z, values: z.vindex.__setitem__(there, values) if chosen else None)


def masks(shape, _):
    mask = np.array([R.random() < R.choice([0.05, 0.5]) for _ in range(int(np.prod(shape)))]).reshape(shape)
    reads = [("tensorstore vindex", lambda _, t: t.vindex[mask].read().result())]
    if mask.any():
        reads.append(("zarr-python mask", lambda z, _: z.get_mask_selection(mask)))
    return Kind("masks", {"mask": mask.ravel().tolist()}, mask, reads, lambda z, values: z.set_mask_selection(mask, values) if mask.any() else None)


def blocks(shape, _, array):
    chunks = array.chunks
    chosen = []
    for n, length in zip(shape, chunks):
        count = -(-n // length)
        chosen.append(tuple(sorted((R.randint(0, count - 1), R.randint(1, count)))))
    chosen = [(first, end) if first < end else (first, first + 1) for first, end in chosen]
    python = tuple(slice(first * n, end * n) for (first, end), n in zip(chosen, chunks))
    taken = tuple(slice(first, end) for first, end in chosen)
    # In a sharded array, zarr-python's blocks are shards.
    reads = [("zarr-python blocks", lambda z, _: z.blocks[taken])] if array.shards is None else []
    return Kind("blocks", {"blocks": chosen}, python, reads, lambda z, values: z.__setitem__(python, values))


def ndzarr(folder, name, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    answer = subprocess.run([PROGRAM, "select", folder, name], input=lines, capture_output=True, text=True)
    if answer.returncode != 0:
        raise RuntimeError(answer.stderr.strip())
    return [json.loads(line) if line else None for line in answer.stdout.splitlines()]


def main():
    counts, refused, wrong = {}, {}, []

    def check(what, is_right):
        counts[what] = counts.get(what, 0) + 1
        if not is_right:
            wrong.append(what)

    with tempfile.TemporaryDirectory() as folder:
        for number in range(ARRAYS):
            name, zarr_format = f"a{number}", 2 + number % 2
            array, elements = made(folder, name, zarr_format)
            other = opened(folder, name, zarr_format)
            shape = elements.shape
            makers = [lists, slices, points, masks, lambda shape, distinct: blocks(shape, distinct, array)]
            if zarr_format == 3:
                makers.append(names)
            chosen = [make(shape, False) for make in makers for _ in range(ROUNDS)]
            for kind, found in zip(chosen, ndzarr(folder, name, [kind.request for kind in chosen])):
                found = np.array(found["values"], dtype="<i4").reshape(found["shape"])
                expected = np.squeeze(elements[kind.numpy], axis=getattr(kind, "squeeze", ()))
                check(f"reads {kind.name}: numpy", np.array_equal(found, expected))
                for what, read in kind.reads:
                    theirs = np.asarray(read(array, other))
                    is_right = theirs.size == found.size and np.array_equal(found, theirs.reshape(found.shape))
                    check(f"reads {kind.name}: {what}", is_right)
                    if not is_right:
                        print(f"{shape}, {json.dumps(kind.request)}: {theirs.shape}, not {found.shape}", file=sys.stderr)
            # Both write the same; each index once, since the peers do not say which value stays.
            for make in makers[:5]:
                kind = make(shape, True)
                values = np.array([R.randrange(1 << 30) for _ in range(elements[kind.numpy].size)], dtype="<i4")
                ndzarr(folder, name, [{**kind.request, "values": values.tolist()}])
                elements[kind.numpy] = values.reshape(elements[kind.numpy].shape)
                check(f"writes {kind.name}: zarr-python reads it", np.array_equal(array[...], elements))
                check(f"writes {kind.name}: tensorstore reads it", np.array_equal(opened(folder, name, zarr_format).read().result(), elements))
                kind = make(shape, True)
                values = np.array([R.randrange(1 << 30) for _ in range(elements[kind.numpy].size)], dtype="<i4")
                values = values.reshape(elements[kind.numpy].shape)
                try:
                    kind.write(array, values)
                except (IndexError, ValueError):
                    # Lists in shards, of zarr-python 3.1. What it left is overwritten.
                    refused[kind.name] = refused.get(kind.name, 0) + 1
                    array[...] = elements
                else:
                    elements[kind.numpy] = values
                everything = {"slices": [[0, n, 1] for n in shape]}
                found = ndzarr(folder, name, [everything])[0]["values"]
                check(f"zarr-python writes {kind.name}: ndzarr reads it", found == elements.ravel().tolist())
    for what, count in sorted(counts.items()):
        print(f"{'DIFFERS' if what in wrong else 'agrees'}: {what} ({count})")
    for name, count in refused.items():
        print(f"zarr-python fails: writes {name} ({count})")
    return 1 if wrong else 0


sys.exit(main())
