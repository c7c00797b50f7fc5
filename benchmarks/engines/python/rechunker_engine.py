"""rechunker with threads of Dask, Zarr v2 to Zarr v2. Each thread may take its part of half the memory: it takes more."""

import json
import os

import dask
import numcodecs
import zarr
from measure import Measure, request
from rechunker import rechunk

R = request()
if R["operation"] != "copy" or R["to_shards"]:
    raise SystemExit(f"rechunker does not {R['operation']} into {'shards' if R['to_shards'] else 'chunks'}")

# The chunks of the dataset, below the document of Zarr v3, as an array of Zarr v2.
with open(os.path.join(R["source"], "zarr.json")) as f:
    document = json.load(f)
SOURCE = os.path.join(R["source"], "c")
with open(os.path.join(SOURCE, ".zarray"), "w") as f:
    codec = numcodecs.Zstd(level=3).get_config()
    chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
    array = {"zarr_format": 2, "shape": R["shape"], "chunks": chunks, "dtype": "<u2", "compressor": codec}
    json.dump({**array, "fill_value": 0, "order": "C", "filters": None, "dimension_separator": "/"}, f)

measure = Measure()
plan = rechunk(
    zarr.open_array(SOURCE, mode="r"),
    target_chunks=tuple(R["to_chunks"]),
    max_mem=R["memory"] // 2 // R["threads"],
    target_store=R["path"],
    target_options={"compressor": numcodecs.Zstd(level=3)},
    temp_store=f"{R['path']}.temporary",
)
with dask.config.set(scheduler="threads", num_workers=R["threads"]):
    plan.execute()
measure.stop()
# tensorstore, which checks the copy, does not know this member.
path = os.path.join(R["path"], ".zarray")
with open(path) as f:
    document = json.load(f)
document["compressor"].pop("checksum", None)
with open(path, "w") as f:
    json.dump(document, f)
measure.print()
