"""What zarr-python 2 does with a cell: Zarr v2, its experimental draft of v3, and its N5 store."""

import os
import sys
import types
import warnings

os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
os.environ["ZARR_V3_SHARDING"] = "1"

import fixture  # noqa: E402, F401  isort: skip (it comes before numcodecs)

import numcodecs  # noqa: E402
import zarr  # noqa: E402
from zarr._storage.v3_storage_transformers import ShardingStorageTransformer  # noqa: E402
from zarr.n5 import N5Store  # noqa: E402

# zarr-python looks for a transformer of its own tests, which would need pytest.
sys.modules["zarr.tests.test_storage_v3"] = types.SimpleNamespace(
    DummyStorageTransfomer=types.SimpleNamespace(extension_uri="none", valid_types=[])
)
warnings.simplefilter("ignore")


class Unable(Exception):
    """The interface of the peer cannot request this."""


class ZarrPython2:
    name = f"zarr-python {zarr.__version__}"
    formats = ("zarr2", "zarr3-draft-b", "n5")

    def store(self, cell, path):
        if cell.format == "n5":
            return N5Store(path)
        return zarr.DirectoryStore(path) if cell.format == "zarr2" else zarr.DirectoryStoreV3(path)

    def compressor(self, cell):
        if cell.format != "n5":
            return None if cell.compressor is None else numcodecs.get_codec(dict(cell.compressor))
        config = dict(cell.config)
        kind = config.pop("type")
        match kind:
            case "raw":
                return None
            case "gzip":
                return (numcodecs.Zlib if config["useZlib"] else numcodecs.GZip)(config["level"])
            case "bzip2":
                return numcodecs.BZ2(config["blockSize"])
            case "xz":
                return numcodecs.LZMA(preset=config["preset"])
            case "lz4":
                return numcodecs.LZ4()
            case "zstd":
                return numcodecs.Zstd(config["level"])
            case "blosc":
                return numcodecs.Blosc(**config)

    def write(self, cell, path):
        how = cell.how
        if cell.kind is not None and (cell.kind.tensorstore or not cell.kind.native):
            raise Unable("numpy has no such data type")
        values = cell.values
        chunks = how.chunks
        region = how.written or ...
        if cell.format == "n5" and how.axes == "native":
            values = values.T
            chunks = chunks[::-1]
            region = region if region == ... else region[::-1]
        options = {"compressor": self.compressor(cell), "fill_value": cell.fill, "dtype": cell.stored_dtype}
        if cell.format == "n5":
            options["dtype"] = values.dtype
        else:
            options["filters"] = [numcodecs.get_codec(dict(codec)) for codec in cell.filters] or None
            options["order"] = how.order
            if how.separator:
                options["dimension_separator"] = how.separator
        if cell.format == "zarr3-draft-b":
            options["zarr_version"] = 3
            if how.shards:
                counts = [shard // chunk for shard, chunk in zip(how.shards, how.chunks)]
                options["storage_transformers"] = [ShardingStorageTransformer("indexed", chunks_per_shard=counts)]
        store = self.store(cell, path)
        if cell.format == "n5":
            # An array makes no container; a group does.
            zarr.group(store)
        array = zarr.create(values.shape, chunks=chunks, store=store, path=how.node, **options)
        if values.size:
            array[region] = values[region]
        if how.attributes:
            array.attrs.put(dict(how.attributes))

    def consolidate(self, cell, path):
        if cell.format == "zarr3-draft-b":
            store = self.store(cell, path)
            zarr.open_group(store, mode="a", zarr_version=3)
            zarr.consolidate_metadata(store, path="consolidated")
        else:
            zarr.consolidate_metadata(self.store(cell, path))

    def open(self, cell, path):
        store = self.store(cell, path)
        options = {}
        if cell.how.consolidated:
            return zarr.open_consolidated(store, mode="r")[cell.how.node]
        if cell.format == "zarr3-draft-b":
            options["zarr_version"] = 3
        return zarr.open_array(store, path=cell.how.node, mode="r", **options)

    def read(self, cell, path):
        array = self.open(cell, path)
        values = array[...]
        if cell.format == "zarr3-draft-b" and cell.type == "r24":
            # Its documents have raw bytes as a field without a name, and numpy gives that one.
            values = values.view("V3")
        says = {"attributes": array.attrs.asdict(), "chunks": list(array.chunks)}
        if cell.format == "zarr3-draft-b" and cell.filters:
            # The filters stand there, and it shows them.
            del says["attributes"]["filters"]
        if cell.format == "n5" and cell.how.axes == "native":
            values = values.T
            says["chunks"] = says["chunks"][::-1]
        return values, says


PEERS = [ZarrPython2()]
FORMATS = ["zarr2", "zarr3-draft-b", "n5"]
