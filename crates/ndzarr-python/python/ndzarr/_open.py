"""Opens, creates, copies and checks arrays and groups."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import _codecs, _keys, _ndzarr
from ._array import Array
from ._attributes import dumps
from ._calls import Progress, watch, watched
from ._errors import AlreadyExistsError, NodeKindError, NotFoundError, make
from ._group import Group, node, opening_of
from ._new import ZERO, new_array
from ._node import Node, Where
from ._places import Place, StorageOptions, absolute
from ._shapes import Shape, as_shape

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["CopyReport", "convert", "copy", "create", "create_group", "open", "open_array", "open_group", "verify"]

Format = Literal["zarr3", "zarr2", "n5", "zarr3-draft-a", "zarr3-draft-b"]
N5Axes = Literal["native", "reversed"]
Separator = Literal["/", "."]
ConcurrentUpdate = Literal["merge", "last_writer_wins"]

def _where(
    place: Place,
    format: str | None,
    n5_axes: str,
    storage_options: StorageOptions | None,
    threads: int | None,
    store_fill_chunks: bool,
    concurrent_update: str,
    separator: str | None = None,
) -> Where:
    options = dict(storage_options) if storage_options else None
    return Where(
        absolute(place), format, n5_axes, options, threads, store_fill_chunks, concurrent_update, separator
    )


def opened(wanted: str, where: Where) -> Array | Group:
    """The "array" or "group" at a place; "any" takes both."""
    return node(_ndzarr.open(where.place, wanted, opening_of(where), watch()), where)


def open(
    path: Place,
    *,
    format: Format | None = None,
    n5_axes: N5Axes = "native",
    separator: Separator | None = None,
    storage_options: StorageOptions | None = None,
    threads: int | None = None,
    store_fill_chunks: bool = False,
    concurrent_update: ConcurrentUpdate = "merge",
) -> Array | Group:
    """Opens the array or group at a path or URL, for reading and writing.

    The format is detected unless `format` names it. A URL is `s3://bucket/path`, `gs://…`, `az://…`,
    `https://…`, `file:…` or `memory://…`; `|zip:path` behind it leads into an archive.
    `storage_options` have credentials and endpoints, by the names of s3fs, gcsfs, adlfs and obstore;
    what they do not say comes from the environment. Those of folders are `{"durability": "none"}`,
    "documents" (the default), "data" or "full": how much of a write is on the disk when it returns.

    N5: axes are in the order of the dataset's document, as in Java and in Rust. z5py, zarr-python 2 and
    pyn5 show the reverse, which is `n5_axes="reversed"`.

    Some programs nest the chunks of Zarr v2 (`0/0`) without saying so in the metadata, or say it wrongly:
    reading such an array raises `MetadataError`, and `separator="/"` or `"."` opens it.

    `threads` limits the threads of a call. `store_fill_chunks` stores chunks that equal the fill value,
    too. In stores that cannot serialize writers, partial updates need
    `concurrent_update="last_writer_wins"`, and may be lost.

    Raises `NotFoundError` (a `FileNotFoundError`) if nothing is there.

    >>> import ndzarr
    >>> ndzarr.create("memory://open/a", shape=(2, 3), dtype="u2").format
    'zarr3'
    >>> ndzarr.open("memory://open/a")
    <ndzarr.Array 'memory://open/a' zarr3 shape=(2, 3) dtype=uint16 chunks=(2, 3)>
    >>> ndzarr.open("memory://open")
    <ndzarr.Group 'memory://open' zarr3>
    """
    where = _where(
        path, format, n5_axes, storage_options, threads, store_fill_chunks, concurrent_update, separator
    )
    return opened("any", where)


def open_array(
    path: Place,
    *,
    format: Format | None = None,
    n5_axes: N5Axes = "native",
    separator: Separator | None = None,
    storage_options: StorageOptions | None = None,
    threads: int | None = None,
    store_fill_chunks: bool = False,
    concurrent_update: ConcurrentUpdate = "merge",
) -> Array:
    """Opens an array; the arguments are those of `open`.

    >>> import ndzarr
    >>> a = ndzarr.create("memory://open_array/a", shape=4, dtype="u1")
    >>> ndzarr.open_array("memory://open_array/a").shape
    (4,)
    """
    where = _where(
        path, format, n5_axes, storage_options, threads, store_fill_chunks, concurrent_update, separator
    )
    found = opened("array", where)
    assert isinstance(found, Array)
    return found


def open_group(
    path: Place,
    *,
    format: Format | None = None,
    n5_axes: N5Axes = "native",
    separator: Separator | None = None,
    storage_options: StorageOptions | None = None,
    threads: int | None = None,
    store_fill_chunks: bool = False,
    concurrent_update: ConcurrentUpdate = "merge",
) -> Group:
    """Opens a group; the arguments are those of `open`, and go for all nodes opened through it.

    >>> import ndzarr
    >>> a = ndzarr.create("memory://open_group/run/a", shape=4, dtype="u1")
    >>> list(ndzarr.open_group("memory://open_group/run"))
    ['a']
    """
    where = _where(
        path, format, n5_axes, storage_options, threads, store_fill_chunks, concurrent_update, separator
    )
    found = opened("group", where)
    assert isinstance(found, Group)
    return found


def create(
    store: Place,
    path: str | None = None,
    *,
    shape: Shape,
    dtype: DTypeLike,
    chunks: Shape | None = None,
    chunk_edges: Sequence[Sequence[int]] | None = None,
    shards: Shape | None = None,
    codecs: Any = None,
    fill_value: Any = ZERO,
    format: Format = "zarr3",
    attributes: Mapping[str, Any] | None = None,
    dimension_names: Iterable[str] | None = None,
    order: Literal["C", "F"] = "C",
    separator: str | None = None,
    overwrite: bool = False,
    force: bool = False,
    n5_axes: N5Axes = "native",
    storage_options: StorageOptions | None = None,
    threads: int | None = None,
    store_fill_chunks: bool = False,
    concurrent_update: ConcurrentUpdate = "merge",
) -> Array:
    """Creates an array.

    With a `path` the array is a node of the hierarchy whose root is `store`, whose groups are created if
    they are not there. Without it, `store` is where the array itself is: on the local disk the root of a
    new hierarchy, or a node of the one that is there; in a bucket and in memory the groups above it are
    created as well.

    `shape`, `chunks` and `shards` are in elements. Without `chunks`, a chunk has about 1 MiB; with
    `shards`, `chunks` are the inner chunks, which divide them. `chunk_edges` has the lengths of all
    chunks along each axis instead, for a rectilinear grid of Zarr v3.

    `dtype` is a dtype of NumPy or ml_dtypes, the name of a type of Zarr v3, or `str`, `bytes` or "json"
    for elements of variable size. `codecs` are names with parameters ("zstd:3", "gzip:5",
    "blosc:lz4:5:bitshuffle"), the JSON of the format, or codecs of zarr-python and numcodecs; chunks are
    not compressed without them. `fill_value` is the value of elements that were never written: zero
    unless given; `None` is none at all in Zarr v2. One that the type does not have, such as 1.5 for an
    integer, raises `ArgumentError` (a `ValueError`); floats are rounded.

    `overwrite` replaces an array, or a group without nodes below it. Where files lie that do not belong to
    it, that raises `AlreadyExistsError`; `force` removes them too. The other arguments are those of `open`.

    Raises `AlreadyExistsError` (a `FileExistsError`) if something is there.

    >>> import ndzarr
    >>> a = ndzarr.create(
    ...     "memory://create/temperature",
    ...     shape=(100, 80),
    ...     dtype="f4",
    ...     chunks=(10, 10),
    ...     shards=(50, 40),
    ...     codecs=["zstd:3"],
    ...     fill_value=float("nan"),
    ...     dimension_names=["y", "x"],
    ... )
    >>> a.chunks, a.shards, a.codecs, a.dimension_names
    ((10, 10), (50, 40), ('bytes', 'zstd'), ('y', 'x'))
    >>> ndzarr.create("memory://create", "run/wind", shape=4, dtype="f4").path
    'run/wind'
    """
    where = _where(store, None, n5_axes, storage_options, threads, store_fill_chunks, concurrent_update)
    options: dict[str, Any] = {
        "shape": shape,
        "dtype": dtype,
        "chunks": chunks,
        "chunk_edges": chunk_edges,
        "shards": shards,
        "codecs": codecs,
        "fill_value": fill_value,
        "order": order,
        "separator": separator,
        "attributes": attributes,
        "dimension_names": dimension_names,
        "overwrite": overwrite,
        "force": force,
    }
    # What it refuses is refused before a group is created.
    new = new_array(format, **options)
    if path is not None:
        return _root(where, format).create_array(path, **options)
    return Array(_ndzarr.create_array(where.place, dtype, new, opening_of(where, format), watch()), where)


def _root(where: Where, format: str) -> Group:
    """The group at a place, which is created if nothing is there."""
    try:
        found = opened("group", where)
    except NotFoundError:
        try:
            return Group(_ndzarr.create_group(where.place, None, False, False, opening_of(where, format), watch()), where)
        except AlreadyExistsError:
            # Another was first.
            found = opened("group", where)
    assert isinstance(found, Group)
    if found.format != format:
        raise make("InvalidArgument", f"the group is in the format {found.format}, and the array is to be in {format}")
    return found


def create_group(
    path: Place,
    *,
    format: Format = "zarr3",
    attributes: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    force: bool = False,
    n5_axes: N5Axes = "native",
    storage_options: StorageOptions | None = None,
    threads: int | None = None,
    concurrent_update: ConcurrentUpdate = "merge",
) -> Group:
    """Creates a group; the arguments are those of `create`.

    `overwrite` replaces an array or a group with everything below it. Where files lie that do not belong
    to it, that raises `AlreadyExistsError`; `force` removes them too.

    >>> import ndzarr
    >>> ndzarr.create_group("memory://create_group/run", attributes={"site": "north"}).attrs["site"]
    'north'
    """
    where = _where(path, None, n5_axes, storage_options, threads, False, concurrent_update)
    text = dumps(dict(attributes)) if attributes else None
    opening = opening_of(where, format)
    return Group(_ndzarr.create_group(where.place, text, overwrite, force, opening, watch()), where)


def _memory(memory: int | str | None) -> int | None:
    """A number of bytes, which may have a unit.

    >>> _memory("256MiB"), _memory("512KiB"), _memory("1.5 kB"), _memory("2K")
    (268435456, 524288, 1500, 2000)
    """
    if memory is None or isinstance(memory, int):
        return memory
    found = re.fullmatch(r"\s*(\d+|\d*\.\d+)\s*([kKMGT]?)(i?)B?\s*", memory)
    if not found:
        raise ValueError(f"{memory!r} is not a number of bytes such as '256MiB'")
    number, unit, binary = found.groups()
    power: int = " KMGT".index(unit.upper() or " ")
    return math.floor(float(number) * float(1024 if binary else 1000) ** power)


def _as_where(place: Place | Array | Group, storage_options: StorageOptions | None, n5_axes: str) -> Where:
    if isinstance(place, Node):
        if storage_options or n5_axes not in ("native", place.n5_axes):
            raise ValueError("options say how a place is opened, and this array or group is open: open it with them")
        return place._where
    return _where(place, None, n5_axes, storage_options, None, False, "merge")


#: What a copy changes unless it is given: nothing.
_KEEP: dict[str, Any] = {
    **dict.fromkeys(("select", "format", "chunks", "shards", "index_location", "codecs", "scale", "offset")),
    **dict.fromkeys(("memory", "temporary")),
    **dict.fromkeys(("no_shards", "saturate", "resume", "overwrite", "record_losses", "metadata_only"), False),
    "other_files": True,
}


class CopyReport(list[dict[str, Any]]):
    """What `copy` and `convert` did for each node: a list of dicts, parents before children.

    `not_copied` has the path of each node that is not in the target, with the reason. `account` says what became
    of each key of the source: the numbers of `documents`, `chunks` and `remade` consolidated metadata; other
    `files` that were copied byte for byte; and what was `left_out`, by the reason; of these, the number `n` and
    the `first` names. It is None where the keys cannot be listed, of a part of an array, and where the chunks
    stay in place.
    """

    not_copied: dict[str, str]
    account: dict[str, Any] | None

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__(report["nodes"])
        self.not_copied = report["not_copied"]
        self.account = report["account"]
        if not report["is_complete"]:
            names = ", ".join(self.not_copied) or "what cannot be read"
            warnings.warn(f"the copy is not complete: it lacks {names}", stacklevel=3)


def copy(
    source: Place | Array | Group,
    target: Place,
    *,
    select: Any = None,
    format: Format | None = None,
    chunks: Shape | None = None,
    shards: Shape | None | Literal[False] = None,
    index_location: Literal["start", "end"] | None = None,
    codecs: Any = None,
    dtype: DTypeLike | None = None,
    scale: float | None = None,
    offset: float | None = None,
    saturate: bool = False,
    memory: int | str | None = None,
    temporary: Place | None = None,
    resume: bool = False,
    overwrite: bool = False,
    record_losses: bool = False,
    other_files: bool = True,
    n5_axes: N5Axes | None = None,
    source_n5_axes: N5Axes | None = None,
    storage_options: StorageOptions | None = None,
    source_storage_options: StorageOptions | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> CopyReport:
    """Copies an array, or a group with everything below it: to another place, format, chunking, encoding
    or type. What is not given stays as in the source.

    `select` copies a part of an array: slices, as in `a[0:100, :, ::2]`, with `numpy.s_` or in a tuple.

    Chunks are copied byte for byte where the target can have them. Elsewhere elements go through
    `memory` ("256MiB" unless given) in blocks of whole chunks of the target, so that chunks of the source
    are decoded as few times as possible; where they would be more than 2.5 times, a temporary array beside
    the target, or at `temporary`, is used. `shards=False` is for no shards, `index_location` says on
    which side of a shard its index is. `codecs` are those of `create` that compress or check bytes. `dtype`, `scale` and `offset` convert numbers; those out of
    range are errors, or the nearest number with `saturate`.

    `resume` goes on with a copy that was killed or interrupted. `overwrite` replaces what is at the
    target. What the format cannot express is an error, unless `record_losses` leaves it out.

    `n5_axes` is that of the target; unless given it is that of the source, and it is the default for a
    source that is a place.

    Files that belong to no array or group are copied byte for byte, unless `other_files` is False. A path that
    ends in `.zip` or `.ozx` is a new archive.

    Returns for each node how it was copied, and its `losses` and `notes`; and, as attributes, what was not
    copied. An incomplete copy is a warning as well.

    >>> import ndzarr
    >>> a = ndzarr.create("memory://copy/planes", shape=(4, 6), dtype="u2", chunks=(1, 6))
    >>> a[...] = 7
    >>> report = ndzarr.copy(a, "memory://copy/columns", chunks=(4, 2), codecs=["zstd"])
    >>> report[0]["level"], int(ndzarr.open("memory://copy/columns")[3, 5])
    ('reencoded', 7)
    >>> report = ndzarr.copy(a, "memory://copy/part", select=(slice(1, 3), slice(None, None, 2)))
    >>> ndzarr.open("memory://copy/part").shape
    (2, 3)
    """
    of_place = None if isinstance(source, Node) else n5_axes
    from_ = _as_where(source, source_storage_options, source_n5_axes or of_place or "native")
    axes = n5_axes or from_.n5_axes
    to = _where(target, None, axes, storage_options, threads, False, "merge")
    change = {
        **_KEEP,
        "select": None if select is None else _part(select, source, from_),
        "format": format,
        "n5_axes": axes,
        "chunks": None if chunks is None else as_shape(chunks),
        "shards": None if shards is None or shards is False else as_shape(shards),
        "no_shards": shards is False,
        "index_location": index_location,
        "codecs": _codecs.names(codecs),
        "scale": scale,
        "offset": offset,
        "saturate": saturate,
        "memory": _memory(memory),
        "temporary": None if temporary is None else absolute(temporary),
        "resume": resume,
        "overwrite": overwrite,
        "record_losses": record_losses,
        "other_files": other_files,
    }
    with watched(progress, "copy") as how:
        report = _ndzarr.copy(from_.place, opening_of(from_), to.place, opening_of(to), dtype, change, how)
    return CopyReport(report)


def _part(select: Any, source: Place | Array | Group, where: Where) -> tuple[tuple[Any, ...], Shape]:
    """The slices of a part, and the shape of the array that they are for."""
    array = source if isinstance(source, Node) else opened("any", where)
    if not isinstance(array, Array):
        raise NodeKindError(f"{where.place} is a group: `select` copies a part of one array")
    return _keys.basic(select, array.ndim), array.shape


def convert(
    path: Place | Array | Group,
    format: Format = "zarr3",
    *,
    record_losses: bool = False,
    storage_options: StorageOptions | None = None,
    progress: Progress = None,
) -> CopyReport:
    """Adds documents of another format to an array or a group where it is, and leaves its chunks alone.

    For Zarr v2 to v3, and N5 to v3. Where chunks would have to be encoded again it is an error: `copy`
    does that. Returns what `copy` returns.

    >>> import ndzarr
    >>> a = ndzarr.create("memory://convert/a", shape=4, dtype="u2", format="zarr2")
    >>> a[:] = [1, 2, 3, 4]
    >>> ndzarr.convert(a)[0]["level"]
    'metadata'
    >>> ndzarr.open("memory://convert/a", format="zarr3")[1:3]
    array([2, 3], dtype=uint16)
    """
    where = _as_where(path, storage_options, "native")
    change = {
        **_KEEP,
        "format": format,
        "n5_axes": where.n5_axes,
        "record_losses": record_losses,
        "metadata_only": True,
    }
    opening = opening_of(where)
    with watched(progress, "convert") as how:
        report = _ndzarr.copy(where.place, opening, where.place, opening, None, change, how)
    return CopyReport(report)


def verify(
    path: Place | Array | Group,
    *,
    storage_options: StorageOptions | None = None,
    progress: Progress = None,
) -> list[dict[str, Any]]:
    """Reads every stored chunk of an array, or of all arrays below a group, and returns what is damaged.

    Each item names the `array`, and what `Array.verify` returns. An array that cannot be opened is an
    item, too.

    >>> import ndzarr
    >>> a = ndzarr.create("memory://verify/a", shape=4, dtype="u2", codecs=["zstd"])
    >>> a[:] = 1
    >>> ndzarr.verify("memory://verify")
    []
    """
    where = _as_where(path, storage_options, "native")
    found = path if isinstance(path, (Array, Group)) else opened("any", where)
    if isinstance(found, Array):
        return [{"array": found.path, **item} for item in found.verify(progress=progress)]
    damaged: list[dict[str, Any]] = []
    group, members = found._by_documents()
    for name, kind in members.items():
        if kind == "group":
            continue
        try:
            array = group.array(name)
        except (OSError, ValueError, NotImplementedError, NodeKindError) as error:
            damaged.append({"array": name, "key": getattr(error, "key", None), "what": str(error)})
            continue
        damaged += [{"array": name, **item} for item in array.verify(progress=progress)]
    return damaged
