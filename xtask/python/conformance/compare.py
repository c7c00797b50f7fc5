"""Runs cells of `cargo xtask conformance` in both directions against the peers of this environment.

Usage: compare.py full|quick SHARD/SHARDS FILTER. Every line of the output is the JSON of one outcome:
[format, type, codec, layout, peer, direction, outcome, detail], the direction "writes" (the peer writes, ndzarr reads)
or "reads" (ndzarr writes, the peer reads), the outcome "agrees", "differs", "peer refuses" or "ndzarr refuses".
"""

import fnmatch
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np
from cells import cells
from kinds import Packed, rounded


class Ndzarr:
    """The binary, one process for all commands."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def __call__(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer["status"] != 0:
            raise Refused(answer["stderr"])
        return answer["stdout"]


class Refused(Exception):
    """ndzarr gave another status than 0."""


class Differs(Exception):
    """What was read is not what was written."""


def isolated(peer, cell, function, *arguments):
    """The outcome of a function, in a process of its own if the peer may crash."""
    if not getattr(peer, "may_crash", lambda cell: False)(cell):
        return function(*arguments)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            json.dump(function(*arguments), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "peer refuses", f"crashes: {signal.Signals(os.WTERMSIG(status)).name}"
    return tuple(json.loads(answer))


def same(what, found, expected):
    if found != expected:
        raise Differs(f"{what}: {found!r}, not {expected!r}")


def same_elements(found, expected):
    """Bit by bit; `found` is packed."""
    if found == expected:
        return
    if len(found) != len(expected):
        raise Differs(f"{len(found)} bytes, not {len(expected)}")
    first = next(i for i, (a, b) in enumerate(zip(found, expected)) if a != b)
    raise Differs(f"byte {first} of {len(expected)} is {found[first]:02x}, not {expected[first]:02x}")


def same_fill(data_type, found, expected):
    """Fill values in the form of v3; None = no fill value, which v3 cannot express."""
    if expected is not None and (found is None or rounded(data_type, found) != rounded(data_type, expected)):
        raise Differs(f"fill value: {found!r}, not {expected!r}")


def same_info(cell, info):
    """Compares what `info` reports of a store that a peer has written."""
    how = cell.how
    same("format", info["format"], "zarr3-draft" if cell.format == "zarr3-draft-b" else cell.format)
    same("shape", info["shape"], list(how.shape))
    same("chunk shape", info["chunk_shape"], list(how.chunks))
    same("shard shape", info["shard_shape"], None if how.shards is None else list(how.shards))
    same("data type", info["data_type"], cell.kind.read_as or cell.data_type if cell.kind else cell.data_type)
    same("attributes", info["attributes"], how.attributes)
    same("dimension names", info["dimension_names"], how.names)
    same_fill(cell.data_type, info["fill_value"], cell.fill_json)


def remove_consolidated(store):
    """Removes the documents that consolidated metadata contain."""
    documents = [".zarray", ".zattrs", "zarr.json", "*.array.json", "*.group.json"]
    for path in sorted(pathlib.Path(store).rglob("*")):
        is_root = path.parent == pathlib.Path(store)
        if any(path.match(pattern) for pattern in documents if not is_root) or path.name == ".zgroup" and not is_root:
            path.unlink()


def without_padding(cell, data):
    """Padding between fields may hold anything."""
    if cell.kind is None or cell.values.dtype.names is None or len(data) != cell.values.nbytes:
        return data
    return cell.packed(np.frombuffer(data, cell.values.dtype.newbyteorder("<")).reshape(cell.values.shape))


def they_write(ndzarr, peer, cell, folder):
    store = os.path.join(folder, "theirs." + ("n5" if cell.format == "n5" else "zarr"))
    out = os.path.join(folder, "out.bin")
    shutil.rmtree(store, ignore_errors=True)
    try:
        peer.write(cell, store)
        if cell.how.consolidated:
            peer.consolidate(cell, store)
            remove_consolidated(store)
    except Exception as error:
        return "peer refuses", f"{type(error).__name__}: {error}"
    try:
        info = json.loads(ndzarr("read", store, cell.how.node, "--out", out, "--n5-axes", cell.how.axes))
        with open(out, "rb") as file:
            same_elements(without_padding(cell, file.read()), cell.packed(cell.values))
        same_info(cell, info)
    except Refused as error:
        return "ndzarr refuses", str(error)
    except Differs as error:
        return "differs", f"ndzarr reads {error}"
    return "agrees", ""


def we_write(ndzarr, cell, folder):
    """Writes the store and returns its path."""
    store = os.path.join(folder, "ours." + ("n5" if cell.format == "n5" else "zarr"))
    spec = os.path.join(folder, "spec.json")
    data = os.path.join(folder, "in.bin")
    shutil.rmtree(store, ignore_errors=True)
    with open(spec, "w", encoding="utf-8") as file:
        json.dump(cell.spec(), file)
    with open(data, "wb") as file:
        file.write(cell.packed(cell.values))
    ndzarr("write", store, cell.how.node, "--spec", spec, "--in", data)
    if cell.how.consolidated:
        ndzarr("consolidate", store)
        remove_consolidated(store)
    return store


def they_read(peer, cell, store):
    try:
        values, says = peer.read(cell, store)
    except Exception as error:
        return "peer refuses", f"{type(error).__name__}: {error}"
    try:
        if isinstance(values, Packed):
            same("shape", tuple(values.shape), cell.values.shape)
            same_elements(values.data, cell.packed(cell.values))
        else:
            values = np.asarray(values)
            same("shape", values.shape, cell.values.shape)
            if cell.kind is None or not cell.kind.is_variable:
                same("data type", values.dtype.newbyteorder("="), cell.values.dtype.newbyteorder("="))
            same_elements(cell.packed(values), cell.packed(cell.values))
        if "attributes" in says:
            same("attributes", says["attributes"], cell.how.attributes)
        if "chunks" in says:
            same("chunks", says["chunks"], list(cell.how.chunks))
        if "dimension_names" in says:
            same("dimension names", says["dimension_names"], cell.how.names)
    except Differs as error:
        return "differs", f"the peer reads {error}"
    return "agrees", ""


def environment():
    """The formats and peers of this environment."""
    try:
        import tensorstore  # noqa: F401
    except ImportError:
        import peers_zarr2 as here
    else:
        import peers_zarr3 as here
    return here.FORMATS, here.PEERS


def show(cell, peer, direction, outcome):
    print(json.dumps([cell.format, cell.type, cell.codec, cell.layout, peer.name, direction, *outcome]))


def compare(ndzarr, peers, cell, folder):
    """Prints the outcomes of a cell."""
    refusal = None
    try:
        store = we_write(ndzarr, cell, folder)
    except Refused as error:
        refusal = "ndzarr refuses", str(error)
    for peer in peers:
        if cell.format not in peer.formats or not getattr(peer, "takes", lambda cell: True)(cell):
            continue
        show(cell, peer, "writes", isolated(peer, cell, they_write, ndzarr, peer, cell, folder))
        if cell.is_written:
            show(cell, peer, "reads", refusal or isolated(peer, cell, they_read, peer, cell, store))


def temporary_folder():
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    return tempfile.TemporaryDirectory(prefix="ndzarr-conformance-", dir=memory)


def main():
    which, shard, pattern = sys.argv[1:4]
    index, count = map(int, shard.split("/"))
    ndzarr = Ndzarr(os.environ["NDZARR_CONFORMANCE"])
    formats, peers = environment()
    with temporary_folder() as folder:
        for number, cell in enumerate(cells(which, formats)):
            name = f"{cell.format}/{cell.type}/{cell.codec}/{cell.layout}"
            if number % count == index and fnmatch.fnmatchcase(name, pattern):
                compare(ndzarr, peers, cell, folder)


if __name__ == "__main__":
    main()
