"""What Java N5 and n5-zarr do with a cell, by the program in xtask/src/conformance/java."""

import itertools
import json
import os
import subprocess

import numpy as np
from cells import BIG, CRC32C, TYPES, Filtered
from fixture import packed
from kinds import Packed

SHUFFLES = ["noshuffle", "shuffle", "bitshuffle"]


class Unable(Exception):
    """The interface of the peer cannot request this."""


class Failed(Exception):
    """Java threw something."""


class Java:
    """The program, one process for all commands."""

    def __init__(self):
        command = ["java", "-cp", os.environ["NDZARR_JAVA_CLASS_PATH"], "Peer"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def __call__(self, do, **fields):
        self.process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["says"]


def compression(config):
    """A codec of N5, v2 or v3 as Java N5 has it, and what else a list of v3 has."""
    if isinstance(config, list):
        rest = [codec for codec in config if codec != CRC32C]
        if len(rest) > 1:
            raise Unable("several compressors")
        return compression({"id": rest[0]["name"], **rest[0]["configuration"]}) if rest else {"type": "raw"}
    if config is None:
        return {"type": "raw"}
    kind = config.get("type") or config["id"]
    match kind:
        case "gzip" | "zlib":
            return {"type": "gzip", "level": config["level"], "useZlib": config.get("useZlib", kind == "zlib")}
        case "bzip2" | "bz2":
            return {"type": "bzip2", "blockSize": config.get("blockSize") or config["level"]}
        case "blosc":
            shuffle = config["shuffle"] if isinstance(config["shuffle"], int) else SHUFFLES.index(config["shuffle"])
            return {"type": "blosc", "cname": config["cname"], "clevel": config["clevel"], "shuffle": shuffle, "blocksize": 0, "typesize": 1, "nthreads": 1}
        case "zstd" if config.get("checksum"):
            raise Unable("Java N5 has no checksum in documents of zstd")
        case "zstd":
            return {"type": "zstd", "level": config["level"]}
        case "lz4" | "lzma" | "xz" | "raw" if "type" in config:
            return config
    raise Unable(f"Java N5 has no {kind}")


class Peer:
    """One library. Its dimension 0 varies fastest; Zarr's last one does."""

    def __init__(self, java, library, version, formats, found):
        self.java = java
        self.name = f"{library} {version}"
        self.formats = formats
        self.found = found

    def takes(self, cell):
        """True for each type with every codec, each with every layout, and uint16 with all of both; for plain types and texts
        of N5 only."""
        library = {"blosc": "n5-blosc", "zstd": "n5-zstandard"}.get(cell.codec.split(" ")[0], "n5")
        is_plain = cell.kind is None and not isinstance(cell.config, Filtered) and not cell.codec.startswith("numcodecs.")
        is_odd = cell.how.edges is not None or cell.how.consolidated
        is_base = cell.codec in ("raw", "none") or cell.layout in ("edges truncated by us", "C, dot", "default, slash") or cell.type == "uint16"
        return library in self.found and not is_odd and (is_plain and is_base or cell.type == "string" and cell.format == "n5")

    def is_native(self, cell):
        """True if axes are in the order of the document; n5-zarr has those of order F so, too."""
        return cell.format == "n5" and cell.how.axes == "native" or cell.format == "zarr2" and cell.how.order == "F"

    def lengths(self, cell, lengths):
        return list(lengths) if self.is_native(cell) else list(lengths)[::-1]

    def elements(self, cell, path, values=None):
        """Writes a file of elements; its name."""
        file = os.path.join(os.path.dirname(path), "java.bin")
        if values is not None:
            with open(file, "wb") as out:
                out.write(packed(values.T if self.is_native(cell) else values))
        return file

    def blocks(self, cell):
        """Positions of blocks that hold something, and no others."""
        how = cell.how
        whole = tuple(slice(0, length) for length in how.shape)
        ranges = [
            range(part.start // chunk, (part.stop - 1) // chunk + 1)
            for part, chunk in zip(how.written or whole, how.chunks)
        ]
        return [self.lengths(cell, at) for at in itertools.product(*ranges)]

    def write(self, cell, path):
        how = cell.how
        if cell.type not in [*TYPES["n5"], "string"]:
            raise Unable("Java N5 has no such type")
        fields = {
            "format": cell.format, "store": path, "node": how.node, "padded": how.edge == "padded",
            "dimensions": self.lengths(cell, how.shape), "block_size": self.lengths(cell, how.chunks),
            "data_type": cell.type, "compression": compression(cell.config), "attributes": how.attributes,
        }
        if cell.format == "zarr2":
            fields |= {"dtype": cell.stored_dtype.str, "order": how.order, "separator": how.separator or ".", "fill_value": fill(cell)}
        if cell.format == "zarr3":
            fields |= self.of_v3(cell)
        self.java("write", **fields, blocks=self.blocks(cell), elements=self.elements(cell, path, cell.values))

    def of_v3(self, cell):
        how = cell.how
        sharding = cell.how.sharding or {}
        if how.key_encoding:
            # n5-zarr puts a separator before them, and `/0/0` is not in the store.
            raise Unable("keys of v2 would be written to the root of the file system")
        if how.before or how.behind or "before" in sharding or "nested" in sharding:
            raise Unable("its interface makes no such array")
        index = sharding.get("index_codecs")
        shard = how.shards and {
            "size": how.shards[::-1], "at_start": sharding.get("index_location") == "start",
            "big_index": index == [BIG], "checksum": index is None,
        }
        return {
            "endian": how.endian, "separator": how.separator or "/", "fill_value": fill(cell), "shard": shard or None,
            "checksum": CRC32C in cell.config, "dimension_names": how.names and how.names[::-1],
        }

    def read(self, cell, path):
        file = self.elements(cell, path)
        says = self.java("read", format=cell.format, store=path, node=cell.how.node, elements=file, attribute_names=list(cell.how.attributes))
        with open(file, "rb") as data:
            data = data.read()
        if says["data_type"] != cell.type:
            raise Failed(f"shows {says['data_type']}")
        shape = self.lengths(cell, says["dimensions"])
        about = {"attributes": says["attributes"], "chunks": self.lengths(cell, says["block_size"])}
        if not self.is_native(cell):
            return Packed(tuple(shape), data), about
        values = texts(data) if cell.type == "string" else np.frombuffer(data, cell.values.dtype.newbyteorder("<"))
        return values.reshape(shape[::-1]).T, about


def texts(data):
    """Each has its length before it."""
    found = []
    while data:
        end = 4 + int.from_bytes(data[:4], "little")
        found.append(data[4:end].decode())
        data = data[end:]
    return np.array(found, object)


def fill(cell):
    value = cell.fill_json
    return value if value is None or isinstance(value, str) else json.dumps(value)


def peers(java, found):
    """Those on the class path."""
    all = [Peer(java, "Java N5", found["n5"], ("n5",), found)] if "n5" in found else []
    formats = tuple(format for format, name in [("zarr2", "n5-zarr"), ("zarr3", "n5-zarr v3")] if name in found)
    return [*all, Peer(java, "n5-zarr", found["n5-zarr"], formats, found)] if formats else all
