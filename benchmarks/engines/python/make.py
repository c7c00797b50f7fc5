"""Makes a dataset of the bench, never by ndzarr: `make.py job.json`."""

import json
import os
import sys

import numpy as np

with open(sys.argv[1]) as f:
    JOB = json.load(f)

if "listing" in JOB:
    import zarr

    root = zarr.open_group(JOB["path"], mode="w", zarr_format=3)
    for g in range(JOB["listing"]["groups"]):
        group = root.create_group(f"group{g}")
        for a in range(JOB["listing"]["arrays"]):
            group.create_array(f"array{a}", shape=(100, 10 + a), chunks=(10, 10), dtype="uint16", attributes={"number": a})
    if JOB["listing"].get("consolidated"):
        zarr.consolidate_metadata(JOB["path"])
else:
    import tensorstore as ts

    container = os.path.dirname(JOB["path"])
    os.makedirs(container, exist_ok=True)
    # z5py takes a container's format from its documents.
    if JOB["driver"] == "n5":
        with open(os.path.join(container, "attributes.json"), "w") as f:
            json.dump({"n5": "2.0.0"}, f)
    if JOB["driver"] == "zarr":
        with open(os.path.join(container, ".zgroup"), "w") as f:
            json.dump({"zarr_format": 2}, f)
    metadata = dict(JOB["metadata"])
    if JOB["driver"] == "zarr":
        # TOML has no null, and without one tensorstore compresses.
        metadata.setdefault("compressor", None)
        metadata.setdefault("filters", None)
    spec = {
        "driver": JOB["driver"],
        "kvstore": {"driver": "file", "path": JOB["path"]},
        "metadata": metadata,
        "create": True,
    }
    array = ts.open(spec, context=ts.Context({"file_io_sync": False})).result()
    values = np.memmap(JOB["data"], dtype="<u2", mode="r", shape=tuple(JOB["shape"]))
    (array.T if JOB["reversed_axes"] else array).write(values).result()
