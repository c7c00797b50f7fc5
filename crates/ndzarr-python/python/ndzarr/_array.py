"""`Array`: an array in a store, with the face of NumPy's and zarr-python's."""

from __future__ import annotations

import html
import json
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.ma  # NumPy imports it when it is first used, and a child of a fork could wait for that for ever.

from . import _keys
from ._attributes import dumps
from ._calls import Progress, Watch, quiet, watch, watched
from ._errors import BoundsError, ElementTypeError, UnsupportedError, make
from ._node import Node, Where
from ._shapes import as_shape
from ._places import is_remote

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from ._ndzarr import RawArray

__all__ = ["Array"]

Key = Any
Fields = str | Sequence[str] | None


class _Indexer:
    """A way of indexing: `array.oindex[...]`."""

    __slots__ = ("_get", "_set")

    def __init__(self, get: Callable[[Key], Any], set: Callable[[Key, Any], None]) -> None:
        self._get, self._set = get, set

    def __getitem__(self, key: Key) -> Any:
        return self._get(key)

    def __setitem__(self, key: Key, value: Any) -> None:
        self._set(key, value)


class Array(Node):
    """An array in a store. Indexing reads, and assignment writes.

    Threads and processes may write to one array at the same time: writers of one chunk or shard take
    turns, and none loses what another has written. The object has no arithmetic: `np.sum(a)` and
    `np.asarray(a)` read all of it.

    >>> import ndzarr, numpy as np
    >>> a = ndzarr.create("memory://doc/a", shape=(4, 6), dtype="i4", chunks=(2, 3))
    >>> a[1:3, 2:5] = [[1, 2, 3], [4, 5, 6]]
    >>> a[0:3, 2]
    array([0, 1, 4], dtype=int32)
    >>> a[2, ::-2]
    array([0, 5, 0], dtype=int32)
    >>> a.oindex[[2, 1], [4, 2]]
    array([[6, 4],
           [3, 1]], dtype=int32)
    >>> a[a[...] > 4]
    array([5, 6], dtype=int32)
    """

    __slots__ = ("_is_remote",)

    _kind = "array"
    _pickled = ("format", "shape", "dtype", "chunks", "shards")
    _raw: RawArray

    def __init__(self, raw: RawArray, where: Where) -> None:
        self._raw, self._where = raw, where
        self._is_remote = is_remote(where.place)

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis, in elements."""
        return self._raw.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._raw.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self._raw.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements in memory, in native byte order.

        Text of any length is `StringDType`, and `object` before NumPy 2; types that NumPy does not have
        are those of the package ml_dtypes.
        """
        found: np.dtype[Any] = self._raw.dtype
        return found

    @property
    def itemsize(self) -> int:
        """Bytes of an element in memory."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements in memory."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a chunk, in elements; with shards, of an inner chunk."""
        return self._raw.chunks

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of a shard, in elements; `None` without shards."""
        return self._raw.shards

    @property
    def data_type(self) -> str:
        """Name of the type of the elements in Zarr v3, with its parameters in brackets."""
        return self._raw.data_type

    @property
    def codecs(self) -> tuple[str, ...]:
        """Names of the codecs of a chunk, in encoding order; with shards, of an inner chunk."""
        return tuple(self._raw.codecs)

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        """Names of the axes, if there are any."""
        names = self._raw.dimension_names
        return None if names is None else tuple(names)

    @property
    def fill_value(self) -> Any:
        """The value of elements that were never written; `None` if the metadata have none."""
        stored = self._raw.fill_value
        if stored is None:
            return None
        if (kind := self._raw.objects) is not None:
            return _object(kind, stored, self._raw.listed)
        return np.frombuffer(stored, self.dtype)[0]

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """How many chunks (shards, if there are any) there are along each axis."""
        return self._raw.grid_shape

    @property
    def nchunks(self) -> int:
        """How many chunks (shards) there are."""
        return math.prod(self._raw.grid_shape)

    def stored_chunks(self) -> dict[tuple[int, ...], int | None]:
        """The chunks (shards) that are stored: the index of each and its number of bytes.

        Lists their keys and reads none of them.

        >>> import ndzarr
        >>> a = ndzarr.create("memory://doc/stored", shape=(4, 6), dtype="u1", chunks=(2, 3))
        >>> a[0, 0] = 7
        >>> a.stored_chunks()
        {(0, 0): 6}
        """
        return {tuple(index): n for index, n in self._raw.stored(watch())}

    @property
    def nchunks_initialized(self) -> int:
        """How many chunks (shards) are stored."""
        return len(self.stored_chunks())

    @property
    def nbytes_stored(self) -> int:
        """Bytes of all stored chunks."""
        return sum(n or 0 for n in self.stored_chunks().values())

    def __repr__(self) -> str:
        axes = f" n5_axes={self.n5_axes!r}" if self.format == "n5" else ""
        shards = f" shards={self.shards}" if self.shards else ""
        return (
            f"<ndzarr.Array {self._where.shown!r} {self.format} shape={self.shape} dtype={self.dtype} "
            f"chunks={self.chunks}{shards}{axes}>"
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [("place", self._where.shown), ("format", self.format)]
        if self.format == "n5":
            order = "as in the document" if self.n5_axes == "native" else "reversed"
            rows.append(("axes", f"{self.n5_axes} ({order})"))
        names = self.dimension_names
        rows += [
            ("shape", self.shape if names is None else ", ".join(f"{n}: {m}" for n, m in zip(names, self.shape, strict=True))),
            ("dtype", self.dtype),
            ("size", f"{_bytes(self.nbytes)} in memory"),
            ("chunks", f"{self.chunks}, {_bytes(math.prod(self.chunks) * self.itemsize)} each"),
        ]
        if self.shards:
            rows.append(("shards", f"{self.shards}, {self.nchunks} of them"))
        rows.append(("codecs", ", ".join(self.codecs)))
        rows.append(("fill value", self.fill_value))
        cells = "".join(
            f'<tr><th style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(str(value))}</td></tr>'
            for name, value in rows
        )
        return f"<table><caption>ndzarr.Array</caption><tbody>{cells}</tbody></table>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __contains__(self, value: object) -> bool:
        # As in NumPy: whether any element equals the value, broadcast to the array.
        if np.ndim(value) < self.ndim:  # type: ignore[arg-type]
            return any(np.any(block == value) for block in self._rows())
        return bool(np.any(self.__array__() == value))

    def __iter__(self) -> Iterator[Any]:
        for block in self._rows():
            yield from block

    def _rows(self) -> Iterator[Any]:
        """All elements, in blocks of rows: a chunk holds several, and each is read once."""
        step = max(1, (self.shards or self.chunks)[0]) if self.shape else 1
        for start in range(0, len(self), step):
            yield self[start : start + step]

    def __dask_tokenize__(self) -> Any:
        stored = sorted(self.attrs.asdict().items(), key=lambda item: item[0])
        encoded = (self.chunks, self.shards, self.codecs, repr(self.fill_value))
        return ("ndzarr.Array", self._where.place, self._where.given(), self.shape, str(self.dtype), json.dumps(stored), encoded)

    def refresh(self) -> None:
        """Reads the documents again, and takes the shape and attributes that others gave it since.

        >>> import ndzarr
        >>> a = ndzarr.create("memory://doc/refresh", shape=4, dtype="u1")
        >>> other = ndzarr.open_array("memory://doc/refresh")
        >>> a.resize(6)
        >>> other.shape
        (4,)
        >>> other.refresh()
        >>> other.shape
        (6,)
        """
        self._raw.refresh(watch())

    # As an array of NumPy.

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("the elements are in a store: an array of NumPy is always a copy of them")
        found = np.asarray(self._read(_keys.basic(..., self.ndim)))
        return found if dtype is None else found.astype(dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        if options.get("copy") is False:
            raise BufferError("the elements are in a store: DLPack gets a copy of them")
        options.pop("copy", None)
        return self.__array__().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __bool__(self) -> bool:
        return bool(self.__array__())

    def __int__(self) -> int:
        return int(self.__array__())

    def __float__(self) -> float:
        return float(self.__array__())

    def __complex__(self) -> complex:
        return complex(self.__array__())

    def __index__(self) -> int:
        return operator.index(self.__array__()[()])

    # Reading.

    def _how(self, key: Any) -> Watch:
        """Whether a read may take so long that Ctrl-C matters."""
        single = isinstance(key, tuple) and all(isinstance(item, int) for item in key)
        return watch(None if self._is_remote else self.itemsize if single else self.nbytes)

    def _read(self, key: Any, out: Any = None, how: Watch | None = None) -> np.ndarray[Any, Any]:
        """Reads what a key of `_keys` selects."""
        if how is None:
            how = self._how(key)
        if out is not None:
            # zarr-python's buffers hold an array of NumPy.
            out = out.as_ndarray_like() if hasattr(out, "as_ndarray_like") else out
            self._check_out(self._raw.selected(key), out)
        if (kind := self._raw.objects) is not None:
            items, shape = self._raw.read_objects(key, how)
            found = _objects(kind, items, shape, self.dtype, self._raw.listed)
        elif out is not None and self._raw.read_into(key, out, how):
            return _array_of(out)
        else:
            found = _array_of(self._raw.read(key, how))
        if out is None:
            return found
        out[...] = found
        return _array_of(out)

    def _check_out(self, selected: tuple[int, ...], out: Any) -> None:
        """Refuses memory that would lose elements or a mask."""
        if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
            raise TypeError(f"out is an array of NumPy without a mask, not {type(out).__name__}")
        native = out.dtype if out.dtype.kind == "T" else out.dtype.newbyteorder("=")
        are_numbers = _is_number(native) and _is_number(self.dtype)
        if native != self.dtype and not (are_numbers and np.can_cast(self.dtype, native)):
            raise ElementTypeError(f"out has the dtype {out.dtype}, and the elements are {self.dtype}")
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        if out.shape != selected:
            raise ValueError(f"out has the shape {out.shape}, and the selection {selected}")

    def _key(self, key: Key) -> tuple[Any, tuple[int, ...] | None]:
        """A key of `_keys`, and the shape of the points if it is one of points."""
        match _keys.way(key, self.ndim):
            case "points":
                return _keys.points(key, self.ndim)
            case "mask":
                return _keys.masked(key, self.shape), None
            case "orthogonal":
                return _keys.orthogonal(key, self.ndim), None
        return _keys.basic(key, self.ndim), None

    def __getitem__(self, key: Key) -> Any:
        fields, key = _keys.split_fields(key)
        return self.read(key) if fields is None else self.read(key)[fields]

    def read(self, key: Key = ..., *, out: Any = None, progress: Progress = None) -> Any:
        """Reads a selection, into memory of your own if you give it.

        `out` has the shape of the selection, and the dtype of the array or one that NumPy can cast it to
        safely, which takes an array in between. Its strides do not matter.
        `progress` is called with the number of chunks done so far and the number of all chunks; `True`
        shows a bar of tqdm.

        >>> import ndzarr, numpy as np
        >>> a = ndzarr.create("memory://doc/read", shape=(2, 3), dtype="i4", fill_value=7)
        >>> frame = np.zeros((4, 4), "i4")
        >>> int(a.read((slice(0, 2), slice(1, 3)), out=frame[1:3, 1:3]).sum())
        28
        """
        normal, shape = self._key(key)
        with nullcontext() if progress is None else watched(progress, "read") as how:
            if out is not None and shape is not None:
                return self._read_points(normal, shape, out, how)
            found = self._read(normal, out, how)
        if shape is not None:
            return found.reshape(shape)
        return found[()] if found.ndim == 0 and out is None and not _has_dots(key) else found

    def _read_points(self, key: Any, shape: tuple[int, ...], out: Any, how: Watch | None) -> np.ndarray[Any, Any]:
        out = out.as_ndarray_like() if hasattr(out, "as_ndarray_like") else out
        self._check_out(shape, out)
        flat = out.reshape(-1)
        self._read(key, flat, how)
        if not np.shares_memory(flat, out):
            out[...] = flat.reshape(out.shape)
        return _array_of(out)

    # Writing.

    def __setitem__(self, key: Key, value: ArrayLike | Array) -> None:
        fields, key = _keys.split_fields(key)
        if fields is not None:
            raise make("Unsupported", "single fields cannot be written: write whole elements")
        self.write(key, value)

    def write(self, key: Key, value: ArrayLike | Array, *, progress: Progress = None) -> None:
        """Writes a selection: `value` is broadcast to its shape, as NumPy does.

        A chunk that is written in part is read, changed and written under its lock, so that other
        writers of it lose nothing.

        >>> import ndzarr
        >>> a = ndzarr.create("memory://doc/write", shape=(2, 3), dtype="i4")
        >>> a.write((slice(None), 1), [5, 6])
        >>> a[...]
        array([[0, 5, 0],
               [0, 6, 0]], dtype=int32)
        """
        normal, shape = self._key(key)
        if progress is None:
            self._write(normal, value, shape)
        else:
            with watched(progress, "write") as how:
                self._write(normal, value, shape, how)

    def _write(
        self, key: Any, value: Any, points: tuple[int, ...] | None = None, how: Watch | None = None
    ) -> None:
        """Writes to what a key of `_keys` selects, for points of this shape."""
        how = watch() if how is None else how
        kind = self._raw.objects
        data = self._values(value, kind)
        selected = self._raw.selected(key)
        if data.ndim == 0:
            if kind is None:
                if self._raw.fill(key, data, how):
                    return
            elif kind == "string":
                return self._raw.fill_text(key, _content(kind, data.item(), None).decode(), how)
        shape = selected if points is None else points
        if shape and isinstance(key, tuple):
            data = _without_leading_ones(data, len(shape))
        try:
            data = np.broadcast_to(data, shape)
        except ValueError:
            raise make(
                "InvalidArgument", f"an array of shape {data.shape} cannot be written to a selection of shape {shape}"
            ) from None
        if points is not None:
            data = data.reshape(-1)
        if kind is not None:
            items = [_content(kind, item, self._raw.listed) for item in data.reshape(-1).tolist()]
            return self._raw.write_objects(key, items, how)
        if not self._raw.write(key, data, how):
            self._raw.write(key, np.array(data, self.dtype, order="C"), how)

    def _values(self, value: Any, kind: str | None) -> np.ndarray[Any, Any]:
        """A value as an array of the elements' dtype."""
        value = _unmasked(value.__array__() if isinstance(value, Array) else value)
        dtype = self.dtype
        if kind in ("json", "list"):
            return _boxed(value, self._raw.listed is not None)
        if kind == "string" and not (isinstance(value, np.ndarray) and value.dtype.kind in "TU"):
            return np.asarray(value, object)
        if kind == "bytes" and not isinstance(value, np.ndarray):
            # As an array of bytes of one length they would lose NULs at their ends.
            return np.asarray(_with_bytes(value), object)
        return np.asarray(value) if kind is not None else np.asarray(value, dtype)

    # Fancy.

    @property
    def oindex(self) -> _Indexer:
        """Selects along each axis for itself: integers, slices, lists of indices and masks of an axis.

        >>> import ndzarr
        >>> a = ndzarr.create("memory://doc/oindex", shape=(3, 4), dtype="i4")
        >>> a.oindex[[0, 2], [True, False, False, True]] = [[1, 2], [3, 4]]
        >>> a.oindex[[2, 0], 3]
        array([4, 2], dtype=int32)
        """
        return _Indexer(self.get_orthogonal_selection, self.set_orthogonal_selection)

    @property
    def vindex(self) -> _Indexer:
        """Selects single elements: an index array for each axis, or a mask of the whole array.

        >>> import ndzarr
        >>> a = ndzarr.create("memory://doc/vindex", shape=(3, 4), dtype="i4")
        >>> a.vindex[[0, 2], [1, -1]] = [5, 6]
        >>> a.vindex[[[2], [0]], [[3], [1]]]
        array([[6],
               [5]], dtype=int32)
        """

        def get(key: Key) -> Any:
            return self.get_mask_selection(key) if _is_mask(key) else self.get_coordinate_selection(key)

        def set(key: Key, value: Any) -> None:
            if _is_mask(key):
                self.set_mask_selection(key, value)
            else:
                self.set_coordinate_selection(key, value)

        return _Indexer(get, set)

    @property
    def blocks(self) -> _Indexer:
        """Selects whole chunks by their indices; whole shards, if there are any.

        >>> import ndzarr
        >>> a = ndzarr.create("memory://doc/blocks", shape=(3, 4), dtype="i4", chunks=(2, 2))
        >>> a.blocks[1, 0] = 7
        >>> a[...]
        array([[0, 0, 0, 0],
               [0, 0, 0, 0],
               [7, 7, 0, 0]], dtype=int32)
        """
        return _Indexer(self.get_block_selection, self.set_block_selection)

    def _got(self, key: Any, out: Any, fields: Fields) -> np.ndarray[Any, Any]:
        """What a key of `_keys` selects; only some fields of structured elements."""
        if fields is None:
            return self._read(key, out)
        if out is not None:
            raise UnsupportedError("out takes whole elements: read them and select the fields")
        return self._read(key)[fields if isinstance(fields, str) else list(fields)]

    def get_basic_selection(self, key: Key = ..., *, out: Any = None, fields: Fields = None) -> Any:
        """As `array[key]`, with integers and slices alone."""
        found = self._got(_keys.basic(_keys.without_new_axes(key), self.ndim), out, fields)
        return found[()] if found.ndim == 0 and out is None and not _has_dots(key) else found

    def set_basic_selection(self, key: Key, value: Any, *, fields: Fields = None) -> None:
        """As `array[key] = value`, with integers and slices alone."""
        _whole_elements(fields)
        self._write(_keys.basic(key, self.ndim), value)

    def get_orthogonal_selection(self, key: Key, *, out: Any = None, fields: Fields = None) -> Any:
        """As `array.oindex[key]`."""
        found = self._got(_keys.orthogonal(_keys.without_new_axes(key), self.ndim), out, fields)
        return found[()] if found.ndim == 0 and out is None else found

    def set_orthogonal_selection(self, key: Key, value: Any, *, fields: Fields = None) -> None:
        """As `array.oindex[key] = value`."""
        _whole_elements(fields)
        self._write(_keys.orthogonal(key, self.ndim), value)

    def get_coordinate_selection(self, key: Key, *, out: Any = None, fields: Fields = None) -> Any:
        """As `array.vindex[key]`, with an index array for each axis."""
        points, shape = _keys.points(key, self.ndim)
        if out is not None and fields is None:
            return self._read_points(points, shape, out, None)
        return self._got(points, out, fields).reshape(shape)

    def set_coordinate_selection(self, key: Key, value: Any, *, fields: Fields = None) -> None:
        """As `array.vindex[key] = value`, with an index array for each axis."""
        _whole_elements(fields)
        points, shape = _keys.points(key, self.ndim)
        self._write(points, value, shape)

    def get_mask_selection(self, mask: Key, *, out: Any = None, fields: Fields = None) -> Any:
        """As `array[mask]`, with a mask of the whole array."""
        return self._got(_keys.masked(mask, self.shape), out, fields)

    def set_mask_selection(self, mask: Key, value: Any, *, fields: Fields = None) -> None:
        """As `array[mask] = value`, with a mask of the whole array."""
        _whole_elements(fields)
        self._write(_keys.masked(mask, self.shape), value)

    def get_block_selection(self, key: Key, *, out: Any = None, fields: Fields = None) -> Any:
        """As `array.blocks[key]`."""
        return self._got(self._blocks(key), out, fields)

    def set_block_selection(self, key: Key, value: Any, *, fields: Fields = None) -> None:
        """As `array.blocks[key] = value`."""
        _whole_elements(fields)
        self._write(self._blocks(key), value)

    def _blocks(self, key: Key) -> tuple[slice, ...]:
        """The elements of whole chunks."""
        ranges = []
        for axis, (item, n) in enumerate(zip(_keys.basic(key, self.ndim), self.cdata_shape, strict=True)):
            if isinstance(item, slice):
                if item.step not in (None, 1):
                    raise BoundsError("blocks are selected by integers and slices without steps")
                first, behind, _ = item.indices(n)
                # Unlike elements, blocks are never clipped: zarr-python refuses those that do not exist.
                if any(end is not None and not -n <= end <= n for end in (item.start, item.stop)):
                    raise BoundsError(f"the blocks {item} do not fit axis {axis} of {n} blocks")
            elif item is None or not -n <= item < n:
                raise BoundsError(f"the block {item} does not fit axis {axis} of {n} blocks")
            else:
                first = item % n
                behind = first + 1
            ranges.append(slice(*self._raw.block_range(axis, first, behind)))
        return tuple(ranges)

    # Changing.

    def resize(self, *shape: int | Sequence[int]) -> None:
        """Changes the shape, in elements. New elements are the fill value; discarded ones are gone.

        Other handles of the array keep their shape until they are refreshed. Raises `ArgumentError` (a
        `ValueError`) if it has another number of axes.
        """
        new = as_shape(shape[0] if len(shape) == 1 else shape)  # type: ignore[arg-type]
        if len(new) != self.ndim:
            raise make("InvalidArgument", f"a shape of {len(new)} axes for an array of {self.ndim}")
        self._raw.resize(new, watch())

    def append(self, data: ArrayLike | Array, axis: int = 0, *, progress: Progress = None) -> tuple[int, ...]:
        """Extends the array along an axis, and returns the new shape.

        `data` has the array's shape, but for its length along the axis. It goes behind what the array
        has as stored, so that several processes may append to one array: each gets its own range. Raises
        `ArgumentError` (a `ValueError`) for data of another shape.

        >>> import ndzarr
        >>> a = ndzarr.create("memory://doc/append", shape=(0, 2), dtype="f8", chunks=(100, 2))
        >>> a.append([[1, 2], [3, 4]])
        (2, 2)
        """
        kind = self._raw.objects
        values = self._values(data, kind)
        axis = operator.index(axis)
        if not -self.ndim <= axis < self.ndim:
            raise BoundsError(f"the array has no axis {axis}")
        if values.ndim != self.ndim:
            raise make("InvalidArgument", f"data of {values.ndim} axes for an array of {self.ndim}")
        axis %= self.ndim
        try:
            with watched(progress, "append") as how:
                if kind is not None:
                    items = [_content(kind, item, self._raw.listed) for item in values.reshape(-1).tolist()]
                    self._raw.append_objects(axis, values.shape, items, how)
                elif not self._raw.append(axis, values, how):
                    self._raw.append(axis, np.array(values, self.dtype, order="C"), how)
        except BoundsError as error:
            # A value of another shape is a ValueError, as in an assignment.
            raise make("InvalidArgument", str(error), error.key, error.chunk) from None
        return self.shape

    def verify(self, *, progress: Progress = None) -> list[dict[str, Any]]:
        """Reads everything that is stored, and returns what is damaged: an empty list if nothing is.

        Each item names the `key`, the `chunk` (or shard), the `inner_chunk` of a shard, the `codec`
        that refused it, and `what` is wrong.
        """
        with watched(progress, "verify") as how:
            return self._raw.verify(how)


def _array_of(found: Any) -> np.ndarray[Any, Any]:
    assert isinstance(found, np.ndarray)
    return found


def _is_number(dtype: np.dtype[Any]) -> bool:
    """Whether elements are numbers; those of ml_dtypes have the kind of raw bytes."""
    return dtype.kind in "biufc" or (dtype.kind == "V" and not issubclass(dtype.type, np.void))


def _has_dots(key: Key) -> bool:
    return any(item is Ellipsis for item in (key if isinstance(key, tuple) else (key,)))


def _without_leading_ones(data: np.ndarray[Any, Any], ndim: int) -> np.ndarray[Any, Any]:
    """A value without the first axes of one element that a selection of `ndim` axes does not have."""
    while data.ndim > ndim and data.shape[0] == 1:
        data = data[0]
    return data


def _is_mask(key: Key) -> bool:
    item = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if isinstance(item, list):
        item = np.asarray(item) if item else None
    return getattr(item, "dtype", None) == bool


def _whole_elements(fields: Fields) -> None:
    if fields is not None:
        raise UnsupportedError("single fields cannot be written: write whole elements")


def _object(kind: str, stored: str | bytes, listed: Any) -> Any:
    """An element of variable size."""
    if kind == "string":
        return stored if isinstance(stored, str) else stored.decode()
    if kind == "json":
        return json.loads(stored)
    if kind == "list":
        assert isinstance(stored, bytes)
        return np.frombuffer(stored, listed).copy()
    return stored


def _objects(
    kind: str, items: list[Any], shape: tuple[int, ...], dtype: np.dtype[Any], listed: Any
) -> np.ndarray[Any, Any]:
    """Elements of variable size as an array."""
    if kind == "string":
        return np.array(items, dtype).reshape(shape)
    found = np.empty(len(items), object)
    for at, item in enumerate(items):
        found[at] = _object(kind, item, listed)
    return found.reshape(shape)


def _unmasked(value: Any) -> Any:
    """Elements of a user, for NumPy, which forgets the mask of a masked array."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array would lose its mask: fill it first, with .filled(...)")
    return value


def _boxed(value: Any, is_list: bool) -> np.ndarray[Any, Any]:
    """Values that NumPy must not take apart: lists and objects of JSON."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value
    # A list of JSON values is one of elements; one of numbers may be a single element.
    if (isinstance(value, list) and not is_list) or (isinstance(value, (list, tuple)) and any(np.ndim(item) > 0 for item in value)):
        found = np.empty(len(value), object)
        for at, item in enumerate(value):
            found[at] = item
        return found
    found = np.empty((), object)
    found[()] = value
    return found


def _with_bytes(value: Any) -> Any:
    """The same with `bytes` for other buffers of them, which NumPy takes apart."""
    if isinstance(value, (list, tuple)):
        return [_with_bytes(item) for item in value]
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else value


def _content(kind: str, item: Any, listed: Any) -> bytes:
    """The content of an element of variable size."""
    if kind == "string":
        if not isinstance(item, str):
            raise ElementTypeError(f"the elements are text, and this is {type(item).__name__}: {item!r}")
        return item.encode()
    if kind == "json":
        return dumps(item, spell_nan=False).encode()
    if kind == "list":
        return np.asarray(_unmasked(item), listed).tobytes()
    if isinstance(item, str) or not isinstance(item, (bytes, bytearray, memoryview)):
        raise ElementTypeError(f"the elements are bytes, and this is {type(item).__name__}: {item!r}")
    return bytes(item)


def _bytes(n: int) -> str:
    """A number of bytes for people."""
    size = float(n)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} PiB"
