"""Reads every array case with all peers of this environment and notes in case.toml which of them agree.

A peer that refuses a case proves nothing; one that returns other elements fails the run, unless KNOWN explains it.
"""

import fnmatch
import json
import os
import sys
import tomllib
import warnings

os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
os.environ["ZARR_V3_SHARDING"] = "1"
warnings.simplefilter("ignore")

from fixture import ONLY, TESTDATA, packed  # noqa: E402  isort: skip (it comes before numcodecs)

import numpy as np  # noqa: E402
import zarr  # noqa: E402

PEERS = {}

# Cases in which a peer returns other elements, although the expected ones are right: (case, peer, what the peer does).
KNOWN = [
    ("*-fill-null*", "zarr-python 2", "leaves missing chunks uninitialised when there is no fill value"),
    ("draft/hand-b-0d-zarrita", "zarr-python 2", "knows c0 only"),
    ("*complex", "zarr-python 2", "computes 1 + 1i * inf, which is NaN + inf i"),
    ("zarr2/hand-filter-shuffle-0", "zarr-python *", "takes an item size of 0 as the identity (V2-120)"),
    ("zarr2/hand-netcdf", "zarr-python *", "takes an item size of 0 as the identity (V2-120)"),
    ("zarr2/hand-json2-f", "zarr-python 2", "scrambles lists of order F (V2-174)"),
    ("draft/hand-b-struct", "zarr-python 2", "leaves missing chunks uninitialised when there is no fill value"),
    ("*-vlen-utf8-fill-0", "zarr-python 3", 'reads the fill value 0 as "0" (V2-070)'),
    ("*-vlen-utf8-missing", "zarr-python 3", 'reads the fill value 0 as "0" (V2-070)'),
    ("zarr2/zp2-*-v[0-9]*", "tensorstore", "shows raw bytes as a dimension more"),
    ("zarr3/*-raw-bytes", "tensorstore", "shows raw bytes as a dimension more"),
    ("zarr3/hand-int4-upper-bits", "tensorstore", "keeps the upper bits of an int4 (V3-079)"),
    ("n5/hand-block-[bg]z*-two-*", "z5", "fills the rest with zeros after the first stream"),
]


def peer(name, *formats):
    def register(function):
        PEERS[name] = (formats, function)
        return function

    return register


if zarr.__version__.startswith("3."):
    import tensorstore as ts
    import z5py

    @peer("zarr-python 3", "zarr2", "zarr3")
    def zarr_python_3(store, node, fmt):
        return zarr.open_array(store, path=node or None, mode="r", zarr_format=int(fmt[-1]))[...]

    @peer("tensorstore", "zarr2", "zarr3", "n5")
    def tensorstore(store, node, fmt):
        driver = {"zarr2": "zarr", "zarr3": "zarr3", "n5": "n5"}[fmt]
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": os.path.join(store, node)}}
        return ts.open(spec).result().read().result()

    @peer("z5", "n5")
    def z5(store, node, fmt):
        link = f"/tmp/ndzarr-fixture-{os.getpid()}.n5"
        os.symlink(store, link)
        try:
            with z5py.File(link, mode="r") as f:
                return f[node][...].T
        finally:
            os.unlink(link)

else:
    sys.modules["zarr.tests.test_storage_v3"] = type(sys)("stub")
    sys.modules["zarr.tests.test_storage_v3"].DummyStorageTransfomer = type("Dummy", (), {"extension_uri": "none"})
    from zarr.n5 import N5Store

    @peer("zarr-python 2", "zarr2", "zarr3-draft-b", "n5")
    def zarr_python_2(store, node, fmt):
        if fmt == "n5":
            return zarr.open_array(N5Store(store), path=node, mode="r")[...].T
        if fmt == "zarr2":
            return zarr.open_array(zarr.DirectoryStore(store), path=node, mode="r")[...]
        return zarr.open_array(zarr.DirectoryStoreV3(store), path=node or "/", mode="r", zarr_version=3)[...]


def read(function, case, fields):
    values = np.asarray(function(str(case / "store"), fields["node"], fields["format"]))
    if values.dtype.kind == "T":
        values = values.astype(object)
    return list(values.shape), packed(values)


def nodes(case, fields):
    """All nodes below the root as zarr-python 3 lists them."""
    root = zarr.open_group(str(case / "store"), mode="r", zarr_format=int(fields["format"][-1]), use_consolidated=False)
    found = {"": "group"}
    for path, node in root.members(max_depth=None):
        found[path] = "array" if isinstance(node, zarr.Array) else "group"
    return found


# zarr-python 3 shows nodes below arrays' and reserved names; the checklist forbids it (V3-043).
UNLISTED = ["zarr3/hand-reserved-names"]


def main():
    tally = {}
    broken = []
    for file in sorted(TESTDATA.glob("*/*/case.toml")):
        case = file.parent
        name = f"{case.parent.name}/{case.name}"
        if not fnmatch.fnmatchcase(name, ONLY):
            continue
        text = file.read_text()
        fields = tomllib.loads(text)
        if fields["kind"] == "hierarchy" and "zarr-python 3" in PEERS and fields["format"] in ("zarr2", "zarr3") and name not in UNLISTED:
            expected = {n["path"]: n["node"] for n in json.loads((case / "expected.json").read_text())["nodes"]}
            if nodes(case, fields) != expected:
                broken.append(f"{name}: zarr-python 3 lists {nodes(case, fields)}")
            tally["zarr-python 3", "lists"] = tally.get(("zarr-python 3", "lists"), 0) + 1
        if fields["kind"] not in ("array", "error"):
            continue
        agree = set(fields.get("read_by", []))
        for who, (formats, function) in PEERS.items():
            if fields["format"] not in formats or (fields["kind"] == "error" and who == "z5"):
                continue
            if any(fnmatch.fnmatchcase(name, c) and fnmatch.fnmatchcase(who, w) for c, w, _ in KNOWN):
                tally[who, "differs (known)"] = tally.get((who, "differs (known)"), 0) + 1
                continue
            try:
                shape, data = read(function, case, fields)
            except Exception as error:
                outcome = "refuses"
                if os.environ.get("NDZARR_VERBOSE") and fields["kind"] == "array":
                    print(f"{name}: {who} refuses: {type(error).__name__} {str(error)[:150]!r}")
            else:
                if fields["kind"] == "error":
                    outcome = "accepts a bad"
                    if os.environ.get("NDZARR_VERBOSE"):
                        print(f"{name}: {who} accepts: {json.loads((case / 'expected.json').read_text())['error']}")
                elif shape == json.loads((case / "expected.json").read_text())["shape"] and data == (case / "expected.bin").read_bytes():
                    outcome = "agrees"
                    agree.add(who)
                else:
                    outcome = "differs"
                    broken.append(f"{name}: {who} reads {shape} {data[:64].hex()}")
            tally[who, outcome] = tally.get((who, outcome), 0) + 1
        if agree:
            lines = [line for line in text.splitlines() if not line.startswith("read_by = ")]
            file.write_text("\n".join([*lines, f"read_by = {json.dumps(sorted(agree))}"]) + "\n")
    for (who, outcome), count in sorted(tally.items()):
        print(f"{who} {outcome}: {count}")
    for line in broken:
        print(f"DISAGREES {line}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
