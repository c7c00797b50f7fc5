"""What zarr-python 3, tensorstore and z5 do with a cell. Each peer has `write(cell, store)` and `read(cell, store)`;
`read` returns the elements and what the peer
reports of the array."""

import base64
import json
import os
import subprocess
import tempfile
import warnings

import numcodecs
import numpy as np
import tensorstore as ts
import z5py
import zarr
from cells import BASE
from kinds import Packed
from zarr.core.dtype import VariableLengthBytes

warnings.simplefilter("ignore")
zarr.config.set({"async.concurrency": 1, "threading.max_workers": 1})
CONTEXT = ts.Context({"data_copy_concurrency": {"limit": 1}, "file_io_concurrency": {"limit": 1}, "file_io_sync": False})


class Unable(Exception):
    """The interface of the peer cannot request this."""


class ZarrPython3:
    name = f"zarr-python {zarr.__version__}"
    formats = ("zarr2", "zarr3")

    def write(self, cell, store):
        how = cell.how
        kind = cell.kind
        if how.edges:
            raise Unable("no option for rectilinear grids")
        if kind is not None and (kind.tensorstore or not kind.native or kind.is_variable and not kind.zarr_python_3):
            raise Unable("no such data type")
        options = {"attributes": how.attributes, "fill_value": cell.fill}
        if cell.is_v3:
            options |= {"codecs": cell.v3_codecs(), "chunk_key_encoding": cell.v3_key_encoding(), "dimension_names": how.names}
            options["dtype"] = cell.values.dtype
        else:
            compressor = None if cell.compressor is None else numcodecs.get_codec(dict(cell.compressor))
            filters = [numcodecs.get_codec(dict(codec)) for codec in cell.filters] or None
            options |= {"compressor": compressor, "filters": filters, "order": how.order, "dimension_separator": how.separator or ".", "dtype": cell.stored_dtype}
        if kind is not None and kind.zarr_python_3:
            options["dtype"] = VariableLengthBytes() if kind.zarr_python_3 == "bytes" else kind.zarr_python_3
        array = zarr.create(how.shape, store=store, path=how.node, chunks=how.shards or how.chunks, zarr_format=3 if cell.is_v3 else 2, **options)
        if cell.values.size:
            array[how.written or ...] = cell.values[how.written or ...]

    def consolidate(self, cell, store):
        zarr.consolidate_metadata(store, zarr_format=3 if cell.is_v3 else 2)

    def open(self, cell, store):
        zarr_format = 3 if cell.is_v3 else 2
        if cell.how.consolidated:
            return zarr.open_consolidated(store, mode="r", zarr_format=zarr_format)[cell.how.node]
        return zarr.open_array(store, path=cell.how.node, mode="r", zarr_format=zarr_format)

    def read(self, cell, store):
        array = self.open(cell, store)
        says = {"attributes": dict(array.attrs)}
        # What it calls chunks are the outer ones where shards are nested, or not the only codec.
        how = cell.how
        if not (how.shards and (how.before or how.behind)) and "nested" not in (how.sharding or {}):
            says["chunks"] = list(array.chunks)
        if cell.is_v3:
            says["dimension_names"] = None if array.metadata.dimension_names is None else list(array.metadata.dimension_names)
        # Scalars of Python say less.
        return np.asarray(array[...], dtype=array.dtype), says


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
        if cell.kind is not None and not cell.kind.tensorstore:
            raise Unable("no such data type")
        if how.edges:
            raise Unable("no rectilinear grids")
        if cell.format == "n5":
            chunks = how.chunks if how.axes == "native" else how.chunks[::-1]
            metadata = {"dimensions": values.shape, "blockSize": chunks, "dataType": cell.type, "compression": cell.config, **how.attributes}
        elif cell.is_v3:
            metadata = {
                "shape": how.shape,
                "data_type": cell.type,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": how.shards or how.chunks}},
                "chunk_key_encoding": cell.v3_key_encoding(),
                "fill_value": cell.fill_json,
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
                "dtype": cell.stored_dtype.str if cell.kind is None else cell.type,
                "compressor": cell.compressor,
                "filters": cell.filters or None,
                "fill_value": cell.fill_json,
                "order": how.order,
                "dimension_separator": how.separator or ".",
            }
        array = ts.open({**self.spec(cell, store), "metadata": metadata, "create": True}, context=CONTEXT).result()
        if values.size:
            region = how.written or ...
            if how.axes == "reversed" and region != ...:
                region = region[::-1]
            array[region].write(values[region]).result()

    def consolidate(self, cell, store):
        raise Unable("no consolidated metadata")

    def read(self, cell, store):
        if cell.how.consolidated:
            raise Unable("no consolidated metadata")
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
        if how.edges or how.consolidated:
            raise Unable("no option for this layout")
        if cell.kind is not None:
            raise Unable("no such data type")
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

    def consolidate(self, cell, store):
        raise Unable("no consolidated metadata")

    def read(self, cell, store):
        if cell.how.consolidated:
            raise Unable("no consolidated metadata")
        with self.open(cell, store, "r") as file:
            dataset = file[cell.how.node]
            values = dataset[...]
            # As elsewhere the document's own members are among the attributes.
            says = {"attributes": {key: dataset.attrs[key] for key in cell.how.attributes}}
        if cell.format == "n5" and cell.how.axes == "native":
            values = values.T
        return values, says


class Zarrs:
    """The crate, called by the program xtask/peers/zarrs, which reads documents and packed elements."""

    name = "zarrs 0.23.14"
    formats = ("zarr2", "zarr3")
    process = None

    def takes(self, cell):
        """Of plain types not all combinations: it is here for what the others have not."""
        return cell.kind is not None or cell.layout in BASE or cell.codec == "none" or cell.type in ("uint16", "float32")

    def ask(self, **request):
        if self.process is None:
            program = os.environ["NDZARR_ZARRS_PEER"]
            self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["says"]

    def metadata(self, cell):
        how = cell.how
        if cell.is_v3:
            grid = {"name": "regular", "configuration": {"chunk_shape": how.shards or how.chunks}}
            if how.edges:
                grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": how.edges}}
            return {
                "zarr_format": 3,
                "node_type": "array",
                "shape": how.shape,
                "data_type": cell.data_type,
                "chunk_grid": grid,
                "chunk_key_encoding": cell.v3_key_encoding(),
                "fill_value": cell.fill_json,
                "codecs": cell.v3_codecs(),
                "attributes": how.attributes,
                **({"dimension_names": how.names} if how.names else {}),
            }
        fill = cell.fill_json
        if cell.values.dtype.kind == "V" and cell.fill is not None:
            fill = base64.b64encode(np.array(cell.fill, cell.values.dtype).tobytes()).decode()
        dtype = cell.stored_dtype
        return {
            "zarr_format": 2,
            "shape": how.shape,
            "chunks": how.chunks,
            "dtype": cell.type if cell.kind and cell.kind.tensorstore else dtype.str if dtype.names is None else dtype.descr,
            "compressor": cell.compressor,
            "filters": cell.filters or None,
            "fill_value": fill,
            "order": how.order,
            "dimension_separator": how.separator or ".",
            **({"attributes": how.attributes} if how.attributes else {}),
        }

    def write(self, cell, store):
        how = cell.how
        if cell.kind is not None and cell.data_type == "json" or cell.type == "O vlen-array":
            raise Unable("no such data type")
        region = how.written or tuple(slice(0, length) for length in how.shape)
        with tempfile.NamedTemporaryFile(dir=os.path.dirname(store)) as file:
            file.write(cell.packed(np.ascontiguousarray(cell.values[region], dtype=cell.values.dtype)))
            file.flush()
            start = [part.start for part in region]
            shape = [part.stop - part.start for part in region]
            variable = cell.kind is not None and cell.kind.is_variable
            self.ask(op="write", store=store, node=how.node, metadata=self.metadata(cell), start=start, shape=shape, data=file.name, variable=variable)

    def consolidate(self, cell, store):
        raise Unable("no consolidated metadata")

    def read(self, cell, store):
        if cell.how.consolidated:
            raise Unable("no consolidated metadata")
        with tempfile.NamedTemporaryFile(dir=os.path.dirname(store)) as file:
            says = self.ask(op="read", store=store, node=cell.how.node, out=file.name)
            return Packed(says.pop("shape"), file.read()), says


def in_n5_order(cell):
    """The elements with dimension 0 of the N5 document first; as they are in other formats."""
    return cell.values.T if cell.format == "n5" and cell.how.axes == "reversed" else cell.values


PEERS = [ZarrPython3(), Tensorstore(), Z5(), Zarrs()]
FORMATS = ["zarr2", "zarr3", "n5"]
