"""What zarr-python 3, tensorstore and z5 do with a cell. Each peer has `write(cell, store)` and `read(cell, store)`;
`read` gives the elements and what the peer says of the array."""

import os
import warnings

import numcodecs
import numpy as np
import tensorstore as ts
import z5py
import zarr
from conformance_cells import fill_json

warnings.simplefilter("ignore")
zarr.config.set({"async.concurrency": 1, "threading.max_workers": 1})
CONTEXT = ts.Context({"data_copy_concurrency": {"limit": 1}, "file_io_concurrency": {"limit": 1}, "file_io_sync": False})


class Unable(Exception):
    """The interface of the peer has no way to ask for this."""


class ZarrPython3:
    name = f"zarr-python {zarr.__version__}"
    formats = ("zarr2", "zarr3")

    def write(self, cell, store):
        how = cell.how
        options = {"attributes": how.attributes, "fill_value": cell.fill}
        if cell.is_v3:
            options |= {"codecs": cell.v3_codecs(), "chunk_key_encoding": cell.v3_key_encoding(), "dimension_names": how.names}
            options["dtype"] = cell.values.dtype
        else:
            compressor = None if cell.compressor is None else numcodecs.get_codec(dict(cell.compressor))
            filters = [numcodecs.get_codec(dict(codec)) for codec in cell.filters] or None
            options |= {"compressor": compressor, "filters": filters, "order": how.order, "dimension_separator": how.separator or ".", "dtype": cell.stored_dtype}
        array = zarr.create(how.shape, store=store, path=how.node, chunks=how.shards or how.chunks, zarr_format=3 if cell.is_v3 else 2, **options)
        if cell.values.size:
            array[how.written or ...] = cell.values[how.written or ...]

    def read(self, cell, store):
        array = zarr.open_array(store, path=cell.how.node, mode="r", zarr_format=3 if cell.is_v3 else 2)
        says = {"attributes": dict(array.attrs)}
        # What it calls chunks are the outer ones where shards are nested, or not the only codec.
        how = cell.how
        if not (how.shards and (how.before or how.behind)) and "nested" not in (how.sharding or {}):
            says["chunks"] = list(array.chunks)
        if cell.is_v3:
            says["dimension_names"] = None if array.metadata.dimension_names is None else list(array.metadata.dimension_names)
        return array[...], says


class Tensorstore:
    name = "tensorstore 0.1.86"
    formats = ("zarr2", "zarr3", "n5")
    drivers = {"zarr2": "zarr", "zarr3": "zarr3", "n5": "n5"}

    def spec(self, cell, store):
        path = os.path.join(store, cell.how.node)
        return {"driver": self.drivers[cell.format], "kvstore": {"driver": "file", "path": path}}

    def write(self, cell, store):
        how = cell.how
        values = in_n5_order(cell)
        if cell.type == "r24":
            raise Unable("raw bytes are a dimension more")
        if cell.format == "n5":
            chunks = how.chunks if how.axes == "native" else how.chunks[::-1]
            metadata = {"dimensions": values.shape, "blockSize": chunks, "dataType": cell.type, "compression": cell.config, **how.attributes}
        elif cell.is_v3:
            metadata = {
                "shape": how.shape,
                "data_type": cell.type,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": how.shards or how.chunks}},
                "chunk_key_encoding": cell.v3_key_encoding(),
                "fill_value": fill_json(cell.type, cell.fill),
                "codecs": cell.v3_codecs(),
                "attributes": how.attributes,
                **({"dimension_names": how.names} if how.names else {}),
            }
        else:
            if how.attributes:
                raise Unable("no option for attributes")
            metadata = {
                "shape": how.shape,
                "chunks": how.chunks,
                "dtype": cell.stored_dtype.str,
                "compressor": cell.compressor,
                "filters": cell.filters or None,
                "fill_value": fill_json(cell.type, cell.fill),
                "order": how.order,
                "dimension_separator": how.separator or ".",
            }
        array = ts.open({**self.spec(cell, store), "metadata": metadata, "create": True}, context=CONTEXT).result()
        if values.size:
            region = how.written or ...
            if how.axes == "reversed" and region != ...:
                region = region[::-1]
            array[region].write(values[region]).result()

    def read(self, cell, store):
        array = ts.open(self.spec(cell, store), context=CONTEXT).result()
        values = array.read().result()
        if cell.format == "n5" and cell.how.axes == "reversed":
            values = values.T
        says = {}
        if cell.is_v3:
            says = {"attributes": array.spec().to_json()["metadata"].get("attributes", {})}
        return values, says


class Z5:
    name = f"z5 {z5py.__version__}"
    formats = ("zarr2", "zarr3", "n5")
    compressions = {"none": "raw", "raw": "raw", "zlib": "zlib", "gzip": "gzip", "bz2": "bzip2", "bzip2": "bzip2", "xz": "xz", "lz4": "lz4", "zstd": "zstd"}

    def may_crash(self, cell):
        """Divisions by zero end the process."""
        return not cell.values.size or bool(cell.how.shards)

    def open(self, cell, store, mode):
        # In zarr.json and .zgroup the container says what it is itself, once it is there.
        options = {"zarr_format": 3} if cell.is_v3 and mode == "w" else {}
        return z5py.File(store, mode=mode, **options)

    def write(self, cell, store):
        how = cell.how
        plain = how.order == "C" and how.endian == "little" and how.fill != "null" and how.key_encoding is None
        if not plain or how.before or how.behind or how.sharding or how.names:
            raise Unable("no option for this layout")
        if how.separator not in (None, "/" if cell.is_v3 else "."):
            raise Unable("no option for the separator")
        options = {"shards": how.shards} if how.shards else {}
        if cell.codec.startswith("blosc"):
            _, cname, shuffle = cell.codec.split()
            options |= {"compression": "blosc", "codec": cname, "shuffle": ["noshuffle", "shuffle", "bitshuffle"].index(shuffle)}
        elif cell.codec in self.compressions:
            options |= {"compression": self.compressions[cell.codec]}
        else:
            raise Unable("no option for this codec")
        values = in_n5_order(cell).T if cell.format == "n5" else cell.values
        chunks = how.chunks[::-1] if cell.format == "n5" and how.axes == "native" else how.chunks
        region = how.written or ...
        if cell.format == "n5" and how.axes == "native" and region != ...:
            region = region[::-1]
        with self.open(cell, store, "w") as file:
            fill = {} if cell.format == "n5" else {"fillvalue": cell.fill}
            dataset = file.create_dataset(how.node, shape=values.shape, dtype=values.dtype, chunks=chunks, **fill, **options)
            dataset[region] = values[region]
            for key, value in how.attributes.items():
                dataset.attrs[key] = value

    def read(self, cell, store):
        with self.open(cell, store, "r") as file:
            dataset = file[cell.how.node]
            values = dataset[...]
            # As elsewhere the document's own members are among the attributes.
            says = {"attributes": {key: dataset.attrs[key] for key in cell.how.attributes}}
        if cell.format == "n5" and cell.how.axes == "native":
            values = values.T
        return values, says


def in_n5_order(cell):
    """The elements with dimension 0 of the N5 document first; as they are in other formats."""
    return cell.values.T if cell.format == "n5" and cell.how.axes == "reversed" else cell.values


PEERS = [ZarrPython3(), Tensorstore(), Z5()]
FORMATS = ["zarr2", "zarr3", "n5"]
