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

from selection_kinds import KINDS, NAMES

warnings.simplefilter("ignore")

PROGRAM = os.environ.get("NDZARR_CONFORMANCE", "")
ARRAYS = 60
# Of each kind, of each array.
ROUNDS = 4
R = random.Random(20261124)
FORMATS = [2, 3, "n5"]


class Stored:
    """An array with random shape, chunks and shards in a folder, its elements, and the peers that read it."""

    def __init__(self, folder, name, data_format):
        self.folder = folder
        self.name = name
        self.format = data_format
        ndim = R.randint(1, 4)
        self.shape = tuple(R.randint(1, 12) for _ in range(ndim))
        self.chunks = tuple(R.randint(1, 5) for _ in range(ndim))
        self.shards = None
        if data_format == 3 and R.random() < 0.5:
            self.shards = tuple(n * R.randint(1, 3) for n in self.chunks)
        self.names = None if data_format == 2 else NAMES[:ndim]
        self.compressed = R.random() < 0.5
        self.elements = np.arange(np.prod(self.shape), dtype="<i4").reshape(self.shape)
        # Some chunks are not stored.
        self.fill = 0 if data_format == "n5" else -1
        self.elements[tuple(slice(0, n) for n in self.chunks)] = self.fill
        self.create()

    def create(self):
        path = os.path.join(self.folder, self.name)
        if self.format == "n5":
            # zarr-python 3 has no N5.
            metadata = {
                "dimensions": self.shape, "blockSize": self.chunks, "dataType": "int32",
                "axes": self.names, "compression": {"type": "gzip" if self.compressed else "raw"},
            }
            spec = {"driver": "n5", "kvstore": {"driver": "file", "path": path}, "metadata": metadata}
            tensorstore.open(spec, create=True).result().write(self.elements).result()
            self.zarr = None
            return
        more = {"shards": self.shards} if self.shards else {}
        if self.names and self.format == 3:
            more["dimension_names"] = self.names
        self.zarr = zarr.create_array(
            path, shape=self.shape, chunks=self.chunks, dtype="<i4", zarr_format=self.format, fill_value=self.fill,
            compressors="auto" if self.compressed else None, **more,
        )
        self.zarr[...] = self.elements

    def again(self):
        """The same array in another place: a failed write of zarr-python may still write to this one."""
        self.name += "-again"
        self.create()

    def tensorstore(self):
        driver = {2: "zarr", 3: "zarr3", "n5": "n5"}[self.format]
        kvstore = {"driver": "file", "path": os.path.join(self.folder, self.name)}
        return tensorstore.open({"driver": driver, "kvstore": kvstore}, open=True, read=True, write=True).result()

    def ndzarr(self, requests):
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        command = [PROGRAM, "select", self.folder, self.name]
        answer = subprocess.run(command, input=lines, capture_output=True, text=True)
        if answer.returncode != 0:
            raise RuntimeError(answer.stderr.strip())
        return [json.loads(line) if line else None for line in answer.stdout.splitlines()]

    def everything(self):
        """By ndzarr."""
        request = {"slices": [[0, n, 1] for n in self.shape]}
        return np.array(self.ndzarr([request])[0]["values"], dtype="<i4").reshape(self.shape)

    def describe(self):
        return f"format {self.format}, {self.shape}, chunks {self.chunks}, shards {self.shards}"


class Report:
    def __init__(self):
        self.counts = {}
        self.refused = {}
        self.wrong = set()

    def check(self, what, is_right, stored, request):
        self.counts[what] = self.counts.get(what, 0) + 1
        if not is_right:
            if what not in self.wrong:
                print(f"{what}, {stored.describe()}: {json.dumps(request)[:400]}", file=sys.stderr)
            self.wrong.add(what)
        return is_right

    def print(self):
        for what, count in sorted(self.counts.items()):
            print(f"{'DIFFERS' if what in self.wrong else 'agrees'}: {what} ({count})")
        for what, count in sorted(self.refused.items()):
            print(f"zarr-python fails: {what} ({count})")


def interface():
    """The interface of ndzarr that is used, by chance."""
    return {"asynchronous": R.random() < 0.5}


def new_values(kind, elements):
    shape = kind.take(elements).shape
    return np.array([R.randrange(1 << 30) for _ in range(np.prod(shape, dtype=int))], dtype="<i4").reshape(shape)


def reads(stored, makers, report):
    chosen = [make(R, stored, False) for make in makers for _ in range(ROUNDS)]
    other = stored.tensorstore()
    answers = stored.ndzarr([{**kind.request, **interface()} for kind in chosen])
    for kind, found in zip(chosen, answers):
        if not report.check(f"reads {kind.name}: without an error", "values" in found, stored, [kind.request, found]):
            continue
        found = np.array(found["values"], dtype="<i4").reshape(found["shape"])

        def check(what, theirs, same_shape=True):
            is_right = np.array_equal(found, theirs)
            if not same_shape:
                is_right = theirs.size == found.size and np.array_equal(found.ravel(), np.ravel(theirs))
            report.check(f"reads {kind.name}: {what}", is_right, stored, kind.request)

        check("numpy", kind.take(stored.elements))
        check(f"tensorstore {kind.by_tensorstore}", kind.in_tensorstore(other).read().result(), kind.same_shape)
        if stored.zarr is not None and kind.zarr_get is not None:
            check(f"zarr-python {kind.by_zarr}", np.asarray(kind.zarr_get(stored.zarr)), kind.same_shape)


def ndzarr_writes(stored, makers, report):
    """Each index once or several times: the last value stays, as in NumPy. Then one value for all."""
    for make in makers:
        for what, distinct in [("writes", True), ("writes repeated", False), ("fills", False)]:
            kind = make(R, stored, distinct)
            values = new_values(kind, stored.elements)
            if what == "fills":
                number = R.randrange(1 << 30)
                values[...] = number
                request = {**kind.request, **interface(), "fill": number}
            else:
                request = {**kind.request, **interface(), "values": values.ravel().tolist()}
            answer = stored.ndzarr([request])
            kind.put(stored.elements, values)
            what = f"{what} {kind.name}"
            report.check(f"{what}: without an error", answer == [None], stored, request)
            found = stored.tensorstore().read().result()
            report.check(f"{what}: tensorstore reads it", np.array_equal(found, stored.elements), stored, request)
            if stored.zarr is not None:
                found = stored.zarr[...]
                report.check(f"{what}: zarr-python reads it", np.array_equal(found, stored.elements), stored, request)


def peers_write(stored, makers, report):
    """Each index once, since the peers do not define which value stays."""
    for make in makers:
        kind = make(R, stored, True)
        values = new_values(kind, stored.elements)
        target = kind.in_tensorstore(stored.tensorstore())
        # tensorstore 0.1.86 may write to the first element if nothing is selected.
        if values.size > 0:
            # An index that NumPy drops may be an axis of length 1 there.
            target.write(values.reshape(target.shape)).result()
        kind.put(stored.elements, values)
        is_right = np.array_equal(stored.everything(), stored.elements)
        report.check(f"tensorstore writes {kind.name}: ndzarr reads it", is_right, stored, kind.request)

        kind = make(R, stored, True)
        if stored.zarr is None or kind.zarr_set is None:
            continue
        values = new_values(kind, stored.elements)
        try:
            kind.zarr_set(stored.zarr, values)
        except (IndexError, ValueError):
            # Lists in shards, of zarr-python 3.1.
            what = f"writes {kind.name}"
            report.refused[what] = report.refused.get(what, 0) + 1
            stored.again()
        else:
            kind.put(stored.elements, values)
            is_right = np.array_equal(stored.everything(), stored.elements)
            report.check(f"zarr-python writes {kind.name}: ndzarr reads it", is_right, stored, kind.request)


def refused(stored, makers, report):
    """One index outside, at either end: an error that leaves the array as it is, as in NumPy."""
    for make in makers:
        for _ in range(20):
            kind = make(R, stored, False)
            if kind.spoil is not None and kind.spoil(R, stored.shape):
                break
        else:
            continue
        requests = [kind.request, {**kind.request, "fill": 5}, {**kind.request, "values": [5]}]
        answers = stored.ndzarr([{**request, **interface()} for request in requests])
        is_right = all(answer is not None and "error" in answer for answer in answers)
        report.check(f"refuses {kind.name} outside", is_right, stored, kind.request)
        is_right = np.array_equal(stored.tensorstore().read().result(), stored.elements)
        report.check(f"refuses {kind.name} outside: nothing is written", is_right, stored, kind.request)


def main():
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ARRAYS):
            stored = Stored(folder, f"a{number}", FORMATS[number % len(FORMATS)])
            makers = [make for make in KINDS if stored.names or make.__name__ != "names"]
            reads(stored, makers, report)
            ndzarr_writes(stored, makers, report)
            refused(stored, makers, report)
            peers_write(stored, makers, report)
    report.print()
    return 1 if report.wrong else 0


sys.exit(main())
