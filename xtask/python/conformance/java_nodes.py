"""What arrays of numbers do not show of Java N5: texts, blocks of modes 1 and 2, groups; and the controls."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
from cells import ATTRIBUTES, TYPES, Cell, n5_codecs
from compare import Differs, Refused, same, same_elements, they_read, they_write, we_write
from java_report import CONTROL
from kinds import KINDS, OBJECT, TEXTS, Kind
from peers_java import Failed

FIRST = {"n5": ("raw", {"type": "raw"}), "zarr2": ("none", None), "zarr3": ("none", [])}
FIRST_LAYOUT = {"n5": "edges truncated by us", "zarr2": "C, dot", "zarr3": "default, slash"}
LAYOUTS_OF_TEXTS = ["edges truncated by us", "axes reversed", "even blocks", "1-d", "below groups, attributes"]

# The only block of these datasets has this size, whatever it holds.
SIZE = [5, 2]
BLOCKS = {
    ("uint8", "mode 1, fewer elements"): np.array([1, 2, 255], "u1"),
    ("uint8", "mode 1, more elements"): np.arange(1, 18, dtype="u1"),
    ("int32", "mode 1, fewer elements"): np.array([-1, 2**31 - 1, -(2**31)], "<i4"),
    ("int32", "mode 1, more elements"): np.arange(-6, 7, dtype="<i4"),
    ("object", "mode 2"): np.array([9, 8, 0, 255], "u1"),
}

# Two chunks of one size.
CONTROLS = {"n5": ("even blocks", "0/0", "1/1"), "zarr2": ("even chunks", "0.0", "1.1"), "zarr3": ("default, slash", "c/0/0", "c/1/1")}


def cells_of_texts():
    KINDS["n5"]["string"] = Kind(OBJECT, "string", values=TEXTS, zero="")
    for codec, config in n5_codecs().items():
        for layout in LAYOUTS_OF_TEXTS:
            yield Cell("n5", "string", codec, layout, config)


def named(format, data_type, layout, codec=None):
    """A cell that is not of cells.py, but is reported like those."""
    name, config = FIRST[format]
    cell = Cell(format, "uint16", codec or name, FIRST_LAYOUT[format], n5_codecs()[codec] if codec else config)
    cell.type = data_type
    cell.layout = layout
    return cell


def judged(refuses, do):
    """The outcome of a function that raises what is wrong."""
    try:
        do()
    except Refused as error:
        return "ndzarr refuses", str(error)
    except Failed as error:
        return refuses, str(error)
    except Differs as error:
        return "differs", str(error)
    return "agrees", ""


def blocks(ndzarr, peer, folder, show):
    """Blocks of modes 1 and 2."""
    for (data_type, layout), elements in BLOCKS.items():
        file = Path(folder, "java.bin")
        size = None if data_type == "object" else SIZE
        for codec, config in n5_codecs().items():
            if not peer.takes(Cell("n5", "uint16", codec, FIRST_LAYOUT["n5"], config)):
                continue
            cell = named("n5", data_type, layout, codec)
            store = fresh(folder, "block.n5")

            def write():
                file.write_bytes(elements.tobytes())
                peer.java("write block", format="n5", store=store, node="a", dimensions=SIZE, block_size=SIZE, data_type=data_type,
                          compression=config, size=size, block=[0, 0], elements=str(file))
                found = json.loads(ndzarr("block", store, "a"))
                same("elements", found["elements"], elements.tolist())
                same("size", found.get("size"), size)

            show(cell, peer, "writes", judged("peer refuses", write))
        store = fresh(folder, "block.n5")

        def read():
            ndzarr("block", store, "a", "--create", data_type, "--elements=" + ",".join(map(str, elements.tolist())))
            found = peer.java("read block", format="n5", store=store, node="a", block=[0, 0], elements=str(file))
            same("elements", file.read_bytes(), elements.tobytes())
            same("size", found.get("size"), size)

        show(named("n5", data_type, layout), peer, "reads", judged("peer refuses", read))


def groups(ndzarr, peer, format, folder, show):
    """The nodes of a store, and attributes of a group."""
    cell = Cell(format, "uint16", FIRST[format][0], "below groups, attributes", FIRST[format][1])
    nodes = {"g": "group", "g/h": "group", "g/h/a": "array"}
    reported = named(format, "uint16", "groups: their members and attributes")
    store = fresh(folder, "groups." + ("n5" if format == "n5" else "zarr"))

    def write():
        peer.java("group", format=format, store=store, node="g/h", attributes=ATTRIBUTES)
        peer.write(cell, store)
        lines = [json.loads(line) for line in ndzarr("list", store).splitlines()]
        same("nodes", {line["path"]: line["node"] for line in lines}, {"": "group", **nodes})
        same("attributes", json.loads(ndzarr("info", store, "g/h"))["attributes"], ATTRIBUTES)

    def read():
        found = peer.java("nodes", format=format, store=we_write(ndzarr, cell, folder), node="g/h/a", attribute_names=list(ATTRIBUTES))
        same("nodes", found["nodes"], list(nodes))
        same("datasets", found["datasets"], [kind == "array" for kind in nodes.values()])
        same("attributes", found["attributes"], ATTRIBUTES)

    show(reported, peer, "writes", judged("peer refuses", write))
    show(reported, peer, "reads", judged("peer refuses", read))


def defaults(ndzarr, peer, format, folder, show):
    """Datasets made by Java N5 with required parameters only, and its default level of gzip."""
    for data_type in TYPES["n5"]:
        cell = Cell(format, data_type, FIRST[format][0], FIRST_LAYOUT[format], FIRST[format][1])
        store = fresh(folder, "defaults." + ("n5" if format == "n5" else "zarr"))
        out = Path(folder, "out.bin")

        def write():
            peer.java("write", defaults=True, format=format, store=store, node="a", data_type=data_type, padded=False, attributes={},
                      dimensions=peer.lengths(cell, cell.how.shape), block_size=peer.lengths(cell, cell.how.chunks),
                      compression={"type": "gzip", "level": -1}, blocks=peer.blocks(cell), elements=peer.elements(cell, store, cell.values))
            info = json.loads(ndzarr("read", store, "a", "--out", str(out)))
            same_elements(out.read_bytes(), cell.packed(cell.values))
            same("shape", info["shape"], list(cell.how.shape))
            same("chunk shape", info["chunk_shape"], list(cell.how.chunks))
            same("data type", info["data_type"], data_type)

        show(named(format, data_type, "Java's defaults", "gzip"), peer, "writes", judged("peer refuses", write))


class Replacing:
    """A peer in whose arrays a chunk is replaced by another afterwards."""

    def __init__(self, peer, *keys):
        self.peer = peer
        self.keys = keys

    def write(self, cell, store):
        self.peer.write(cell, store)
        replace(cell, store, *self.keys)


def replace(cell, store, source, to):
    shutil.copyfile(*(os.path.join(store, cell.how.node, key) for key in (source, to)))


def controls(ndzarr, peer, format, folder, show):
    """A comparison that does not detect a replaced chunk compares nothing."""
    layout, *keys = CONTROLS[format]
    cell = Cell(format, "uint16", FIRST[format][0], layout, FIRST[format][1])
    reported = named(format, "uint16", CONTROL)
    show(reported, peer, "writes", they_write(ndzarr, Replacing(peer, *keys), cell, folder))
    store = we_write(ndzarr, cell, folder)
    replace(cell, store, *keys)
    show(reported, peer, "reads", they_read(peer, cell, store))


def fresh(folder, name):
    store = os.path.join(folder, name)
    shutil.rmtree(store, ignore_errors=True)
    return store
