"""tensorstore. Cache 0, so that a read reads, except for planes and copies; as many copying threads as the others have; synced only where the row asks."""

import os
import sys

import numpy as np
import tensorstore as ts
from measure import Frames, Measure, blocks, data, mask, region, request

R = request()
# Parts of the memory of a copy that its cache and a block have. It takes more than both together.
CACHE, BLOCK = (4, 12) if "--less-memory" in sys.argv else (2, 3)
CONTEXT = ts.Context({
    "cache_pool": {"total_bytes_limit": {"planes": 1 << 30, "copy": R.get("memory", 0) // CACHE}.get(R["operation"], 0)},
    "data_copy_concurrency": {"limit": R["threads"]},
    "file_io_concurrency": {"limit": 32 if R["threads"] > 1 else 1},
    "file_io_sync": R.get("durability") == "full",
})


def opened():
    path = R["path"]
    driver = next(
        driver
        for document, driver in [("zarr.json", "zarr3"), (".zarray", "zarr"), ("attributes.json", "n5")]
        if os.path.exists(os.path.join(path, document))
    )
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": path}}
    array = ts.open(spec, open=True, context=CONTEXT, read=True, write=R["operation"] in ("write", "update", "append", "append-if-due")).result()
    return array.T if R.get("reversed_axes") else array


operation = R["operation"]
if operation in ("read", "read-stored", "read-into-f"):
    measure = Measure()
    result = opened()[region(R)].read(order="C" if operation == "read" else "F").result()
    measure.stop().print_for([result])
elif operation in ("write", "update"):
    values = data(R)
    measure = Measure()
    opened()[region(R)].write(values).result()
    measure.stop().print()
elif operation in ("append", "append-if-due"):
    values = data(R)
    array = opened().resize(exclusive_max=[0, *values.shape[1:]], resize_metadata_only=True).result()
    measure = Measure()
    frames = Frames()

    def append(at):
        global array
        array = array.resize(exclusive_max=[at + 1, *values.shape[1:]], expand_only=True).result()
        array[at].write(values[at]).result()

    for at in range(len(values)):
        frames.frame(lambda: append(at))
    measure.stop().report["frames"] = frames.end()
    measure.print()
elif operation == "copy":
    inner = [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 3, "checksum": False}},
    ]
    codecs, unit = inner, R["to_chunks"]
    if R["to_shards"]:
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
        configuration = {"chunk_shape": unit, "codecs": inner, "index_codecs": index}
        codecs, unit = [{"name": "sharding_indexed", "configuration": configuration}], R["to_shards"]
    metadata = {
        "shape": R["shape"],
        "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": unit}},
        "codecs": codecs,
    }
    measure = Measure()
    file = {"driver": "file", "path": R["source"]}
    source = ts.open({"driver": "zarr3", "kvstore": file}, open=True, context=CONTEXT, read=True).result()
    file = {"driver": "file", "path": R["path"]}
    spec = {"driver": "zarr3", "kvstore": file, "metadata": metadata}
    target = ts.open(spec, create=True, context=CONTEXT).result()
    for block in blocks(R, R["memory"] // BLOCK):
        target[block].write(source[block]).result()
    measure.stop().print()
elif operation == "points":
    points = np.array(R["chunks"])
    measure = Measure()
    result = opened().vindex[tuple(points.T)].read().result()
    measure.stop().print_for([result])
elif operation == "elements":
    measure = Measure()
    array = opened()
    results = [array[tuple(point)].read().result() for point in R["chunks"]]
    measure.stop().print_for(results)
elif operation == "slices":
    measure = Measure()
    array = opened()
    results = [array[:, :, at].read().result() for (at,) in R["chunks"]]
    measure.stop().print_for(results)
elif operation == "outer":
    rows, columns = R["chunks"]
    measure = Measure()
    result = opened().oindex[rows, columns].read(order="C").result()
    measure.stop().print_for([result])
elif operation == "mask":
    selected = mask(R)
    measure = Measure()
    result = opened().vindex[selected].read().result()
    measure.stop().print_for([result])
elif operation == "planes":
    measure = Measure()
    array = opened()
    (first, last), rest = R["region"][0], region(R)[1:]
    results = [array[(slice(at, at + 1), *rest)].read().result() for at in range(first, last)]
    measure.stop().print_for(results)
elif operation in ("chunks", "chunks-batch"):
    measure = Measure()
    array = opened()
    side = array.chunk_layout.read_chunk.shape
    pieces = [array[tuple(slice(c * n, (c + 1) * n) for c, n in zip(chunk, side))] for chunk in R["chunks"]]
    if operation == "chunks":
        results = [piece.read().result() for piece in pieces]
    else:
        batch = ts.Batch()
        futures = [piece.read(batch=batch) for piece in pieces]
        batch.submit()
        results = [future.result() for future in futures]
    measure.stop().print_for(results)
else:
    raise SystemExit(f"tensorstore does not {operation}")
