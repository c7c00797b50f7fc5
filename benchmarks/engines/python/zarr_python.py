"""zarr-python, plain or with another pipeline: its own fused one (`--fused`), that of zarrs-python (`--zarrs`) or ours (`--ndzarr`)."""

import sys

import numpy as np
import zarr
from measure import Frames, Measure, blocks, data, mask, region, request

R = request()
zarr.config.set({"threading.max_workers": R["threads"]})
if "--zarrs" in sys.argv:
    import zarrs  # noqa: F401

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.chunk_concurrent_minimum": R["threads"]})
elif "--fused" in sys.argv:
    zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"})
elif "--ndzarr" in sys.argv:
    import ndzarr

    ndzarr.config.threads = R["threads"]
    zarr.config.set({"codec_pipeline.path": "ndzarr.zarr.NdzarrCodecPipeline"})

operation = R["operation"]
if operation in ("read", "read-stored", "read-into-f"):
    if operation == "read-into-f":
        zarr.config.set({"array.order": "F"})
    measure = Measure()
    result = zarr.open_array(R["path"], mode="r")[region(R)]
    measure.stop().print_for([result])
elif operation in ("write", "update"):
    values = data(R)
    measure = Measure()
    zarr.open_array(R["path"], mode="r+")[region(R)] = values
    measure.stop().print()
elif operation in ("append", "append-if-due"):
    values = data(R)
    array = zarr.open_array(R["path"], mode="r+")
    array.resize((0, *array.shape[1:]))
    measure = Measure()
    frames = Frames()
    for frame in values:
        frames.frame(lambda: array.append(frame[np.newaxis], axis=0))
    measure.stop().report["frames"] = frames.end()
    measure.print()
elif operation in ("chunks", "chunks-batch"):
    measure = Measure()
    array = zarr.open_array(R["path"], mode="r")
    results = [array[tuple(slice(c * n, (c + 1) * n) for c, n in zip(chunk, array.chunks))] for chunk in R["chunks"]]
    measure.stop().print_for(results)
elif operation == "copy":
    measure = Measure()
    source = zarr.open_array(R["source"], mode="r")
    target = zarr.create_array(
        R["path"],
        shape=source.shape,
        dtype=source.dtype,
        chunks=tuple(R["to_chunks"]),
        shards=tuple(R["to_shards"]) or None,
        compressors=zarr.codecs.ZstdCodec(level=3),
    )
    for block in blocks(R):
        target[block] = source[block]
    measure.stop().print()
elif operation == "points":
    points = np.array(R["chunks"])
    measure = Measure()
    result = zarr.open_array(R["path"], mode="r").vindex[tuple(points.T)]
    measure.stop().print_for([result])
elif operation == "elements":
    measure = Measure()
    array = zarr.open_array(R["path"], mode="r")
    results = [array[tuple(point)] for point in R["chunks"]]
    measure.stop().print_for(results)
elif operation == "slices":
    measure = Measure()
    array = zarr.open_array(R["path"], mode="r")
    results = [array[:, :, at] for (at,) in R["chunks"]]
    measure.stop().print_for(results)
elif operation == "outer":
    rows, columns = map(np.array, R["chunks"])
    measure = Measure()
    result = zarr.open_array(R["path"], mode="r").oindex[rows, columns]
    measure.stop().print_for([result])
elif operation == "mask":
    selected = mask(R)
    measure = Measure()
    result = zarr.open_array(R["path"], mode="r").get_mask_selection(selected)
    measure.stop().print_for([result])
elif operation in ("list", "list-consolidated"):
    measure = Measure()
    root = zarr.open_group(R["path"], mode="r", use_consolidated=operation == "list-consolidated")
    lines = [
        f"{name}/{inside} {list(array.shape)}" for name, group in root.groups() for inside, array in group.arrays()
    ]
    measure.stop().print_for_text(lines)
else:
    raise SystemExit(f"zarr-python does not {operation}")
