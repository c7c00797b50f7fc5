"""Makes what the remote rows read, never by ndzarr: `remote_make.py FOLDER`."""

import os
import sys
import zipfile

import numcodecs
import numpy as np
import tensorstore as ts
import zarr
from zarr.codecs import ZstdCodec

FOLDER = sys.argv[1]
# Half of the bits are noise: 32 MB of 51 are left by zstd.
DATA = np.random.default_rng(1).integers(0, 256, (1000, 128, 200)).astype("<u2")


def at(*names):
    return os.path.join(FOLDER, *names)


def array(path, **more):
    made = zarr.create_array(at(path), shape=DATA.shape, chunks=(1, 128, 200), dtype="<u2", **more)
    made[:] = DATA


def n5():
    metadata = {"compression": {"type": "gzip", "level": 1}, "dataType": "uint16", "dimensions": [200, 128, 1000]}
    spec = {
        "driver": "n5",
        "kvstore": {"driver": "file", "path": at("n5", "plain")},
        "metadata": metadata | {"blockSize": [200, 128, 1]},
        "create": True,
    }
    ts.open(spec).result().write(np.ascontiguousarray(DATA.T)).result()


def many(path, version):
    """1,000 arrays, whose documents are copies of one."""
    group = zarr.create_group(at(path), zarr_format=version)
    group.create_array("a0000", shape=(100,), chunks=(10,), dtype="<u2")
    documents = [name for name in ("zarr.json", ".zarray", ".zattrs") if os.path.exists(at(path, "a0000", name))]
    for number in range(1, 1000):
        os.makedirs(at(path, f"a{number:04}"))
        for name in documents:
            with open(at(path, "a0000", name), "rb") as source, open(at(path, f"a{number:04}", name), "wb") as copy:
                copy.write(source.read())
    if path.endswith("c"):
        zarr.consolidate_metadata(at(path), zarr_format=version)


def cubes():
    values = np.linspace(0, 40, 512)
    waves = np.sin(values[:64, None, None]) + np.sin(values[None, :, None]) + np.cos(values[None, None, :])
    noise = np.random.default_rng(2).integers(0, 16, waves.shape)
    made = zarr.create_array(
        at("v3", "cubes"), shape=waves.shape, chunks=(64, 64, 64), dtype="<u2", compressors=[ZstdCodec(level=1)]
    )
    made[:] = (waves * 1000 + 4000).astype("<u2") + noise.astype("<u2")


array("v3/plain", compressors=[ZstdCodec(level=1)], zarr_format=3)
array("v2/plain", compressors=[numcodecs.Zstd(level=1)], zarr_format=2)
array("v3/shard", shards=(100, 128, 200), compressors=[ZstdCodec(level=1)], zarr_format=3)
n5()
for version in (2, 3):
    many(f"v{version}/many", version)
    many(f"v{version}/manyc", version)
cubes()
with zipfile.ZipFile(at("entries.zip"), "w") as archive:
    for number in range(100_000):
        archive.writestr(f"a/c/{number}", b"0123456789")
