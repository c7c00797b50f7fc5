"""Cases from n5_vectors.tsv: what six N5 writers wrote for one common array, and odd blocks written by Java.

The table lies outside of the repository (NDZARR_SHARED). Without it the committed cases stay as they are.
"""

import json

import numpy as np
from fixture import SHARED, TESTDATA, begin, keep, run

SETS = {
    "java-4.0.x": ("java", "n5 (Java)", "4.0.3-SNAPSHOT"),
    "java-extra": ("java-extra", "n5 (Java)", "4.0.3-SNAPSHOT"),
    "z5-3.0.2": ("z5-set", "z5", "3.0.2"),
    "zarr-2.18.7-N5Store": ("zp2-set", "zarr-python", "2.18.7"),
    "tensorstore": ("ts-set", "tensorstore", "0.1.86"),
    "rust-n5-0.7.6": ("rust-n5", "rust-n5", "0.7.6"),
}
# tensorstore ignores the container and never writes its version, so nothing says that the folder is one.
ROOTLESS = {"ts-set": {"open_as": "n5", "note": "no version at the root: the format has to be given"}}
COLUMNS = {"dataType", "compression", "blockSize", "dimensions", "compressionType", "n5"}


def table():
    """The stored keys of every set: {set: {key: bytes}}."""
    sets = {}
    for line in (SHARED / "specs" / "n5_vectors.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        writer, key, kind, content = line.split("\t")
        sets.setdefault(writer, {})[key] = content.encode() if kind == "json" else bytes.fromhex(content)
    return sets


def expected_of(prefix, dataset, document):
    """The elements in native axis order: computed, never decoded from the blocks. None = no array can be read."""
    dims, dtype = document["dimensions"], document["dataType"]
    index = np.indices(dims)
    if prefix != "java-extra":
        if dims == [5, 4]:
            return (1 + index[0] + 5 * index[1]).astype(dtype)
        if dataset == "rank0":
            return np.array(42, dtype)
        raise AssertionError(f"{prefix} {dataset}")
    if dataset.startswith("comp/"):
        return index[1].astype(dtype)
    if dataset == "empty":
        return np.zeros(dims, dtype)
    if dataset in ("f32", "f64"):
        return np.array([1.5, -2], dtype)
    if dataset == "i64":
        return np.array([-2], dtype)
    if dataset.startswith("spec/"):
        values = np.zeros(dims, dtype)
        values[:1, :2, :3] = (1 + index[1] + 2 * index[2])[:1, :2, :3]
        return values
    return None


BLOCKS = {
    "obj": ([{"grid": [0], "mode": 2, "payload": "090807"}], "Java objects have neither shape nor item size"),
    "str": (
        [{"grid": [0, 0, 0], "mode": 1, "size": [3, 2, 1], "n_elements": 18, "strings": ["", "a", "bc", "de", "fgh", ":-þ"]}],
        "texts, each followed by NUL",
    ),
    "var": (
        [{"grid": [0, 0], "mode": 1, "size": [5, 2], "n_elements": 3, "payload": "010203"}],
        "3 elements in a block of 10: no array read can place them",
    ),
    "var32": (
        [{"grid": [0, 1], "mode": 1, "size": [5, 2], "n_elements": 3, "payload": "000000010000000200000003"}],
        "3 elements in a block of 10: no array read can place them",
    ),
}


def datasets():
    for name, keys in table().items():
        prefix, writer, version = SETS[name]
        nodes, attributes = {"": "group"}, {}
        for key, content in sorted(keys.items()):
            if not key.endswith("attributes.json"):
                continue
            path = key.removesuffix("attributes.json").rstrip("/")
            document = json.loads(content)
            if "dimensions" not in document:
                nodes[path] = "group"
                attributes[path] = {k: v for k, v in document.items() if k != "n5"}
                continue
            nodes[path] = "array"
            for depth in range(1, path.count("/") + 1):
                nodes["/".join(path.split("/")[:depth])] = "group"
            dataset(prefix, writer, version, keys, path, document)
        if c := begin(f"n5/{prefix}-hierarchy", writer=writer, version=version, format="n5", kind="hierarchy", **ROOTLESS.get(prefix, {})):
            for key, content in keys.items():
                c.put(key, content)
            c.hierarchy(nodes, attributes)


def dataset(prefix, writer, version, keys, path, document):
    """One case: a dataset and the root document."""
    values = expected_of(prefix, path, document)
    note = "" if values is not None else BLOCKS[path][1]
    case = f"n5/{prefix}-{path.replace('/', '-').replace('_', '-')}"
    kind = "array" if values is not None else "block"
    c = begin(case, writer=writer, version=version, format="n5", node=path, kind=kind, note=note)
    if not c:
        return
    for key, content in keys.items():
        if key == "attributes.json" or key.startswith(path + "/"):
            c.put(key, content)
    if values is None:
        c.block({"blocks": BLOCKS[path][0], "array_read": "fails"})
    else:
        user = {k: v for k, v in document.items() if k not in COLUMNS}
        c.array(values, chunk_shape=document["blockSize"], fill_value=0, attributes=user)


if __name__ == "__main__":
    if (SHARED / "specs" / "n5_vectors.tsv").exists():
        run(datasets)
    print(f"{SHARED}/specs/n5_vectors.tsv is not there; its cases are kept as committed")
    for folder in sorted((TESTDATA / "n5").glob("*")):
        if "n5_vectors.py" in (folder / "case.toml").read_text():
            keep(f"n5/{folder.name}")
