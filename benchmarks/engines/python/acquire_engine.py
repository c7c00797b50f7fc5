"""acquire-zarr: writes frames, which readers see when their shard is full and the stream is closed."""

import json
import os
import shutil

import acquire_zarr as az
from measure import Frames, Measure, data, request

R = request()
if R["operation"] not in ("append", "append-if-due"):
    raise SystemExit(f"acquire-zarr does not {R['operation']}")
values = data(R)
with open(os.path.join(R["path"], "zarr.json")) as f:
    in_shard = json.load(f)["chunk_grid"]["configuration"]["chunk_shape"][0]
# It makes the array itself.
shutil.rmtree(R["path"])


def axis(name, kind, size, chunk, shard):
    return az.Dimension(name=name, kind=kind, array_size_px=size, chunk_size_px=chunk, shard_size_chunks=shard)


_, y, x = values.shape
settings = az.StreamSettings(
    store_path=R["path"],
    version=az.ZarrVersion.V3,
    overwrite=True,
    max_threads=R["threads"],
    arrays=[
        az.ArraySettings(
            dimensions=[
                axis("t", az.DimensionType.TIME, 0, 1, in_shard),
                axis("y", az.DimensionType.SPACE, y, y, 1),
                axis("x", az.DimensionType.SPACE, x, x, 1),
            ],
            data_type=az.DataType.UINT16,
        )
    ],
)
measure = Measure()
stream = az.ZarrStream(settings)
frames = Frames()
for frame in values:
    frames.frame(lambda: stream.append(frame))
stream.close()
measure.stop().report["frames"] = frames.end()
measure.print()
