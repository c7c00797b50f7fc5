"""A codec pipeline for zarr-python 3: its reads and writes of local files go through ndzarr.

Everything above zarr-python (xarray, Dask, anndata, ome-zarr-py) then writes safely: tasks, threads and
processes may share chunks and shards, and none loses what another has written.

    zarr.config.set({"codec_pipeline.path": "ndzarr.zarr.NdzarrCodecPipeline"})

or, in the environment, `ZARR_CODEC_PIPELINE__PATH=ndzarr.zarr.NdzarrCodecPipeline`. It needs zarr-python 3.1
or later, and is an `ImportError` where it is used with an earlier one. Other stores than
`LocalStore`, and data types and codecs that ndzarr does not have, keep zarr-python's own pipeline.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.ma
from zarr.abc.codec import CodecPipeline
from zarr.core.array import create_codec_pipeline
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.storage import LocalStore

from ._array import Array
from ._calls import Stop, Watch
from ._errors import NdzarrError, UnsupportedError
from ._open import open_array

__all__ = ["NdzarrCodecPipeline"]

#: What zarr-python asks of one chunk: where it is, what it is, the selection within it, where in the
#: result that belongs, and whether it is all of the chunk.
Item = tuple[Any, Any, Any, Any, bool]


class NdzarrCodecPipeline(CodecPipeline):  # type: ignore[misc]
    """Reads and writes regions of one array in a `LocalStore` as single calls of ndzarr."""

    def __init__(self, metadata: Any, store: LocalStore, own: CodecPipeline) -> None:
        self.metadata, self.store = metadata, store
        #: zarr-python's own pipeline.
        self.own = own
        self._arrays: dict[tuple[str, bool], Array] = {}

    # Made by zarr-python.

    @classmethod
    def from_codecs(cls, codecs: Iterable[Any], **options: Any) -> CodecPipeline:
        """zarr-python's own pipeline: without a store there are no files to lock."""
        if not hasattr(CodecPipeline, "from_array_metadata_and_store"):
            raise ImportError(
                "ndzarr's codec pipeline needs zarr-python 3.1 or later, and this is "
                f"{version('zarr')}, which does not say where an array is: writers could not take turns"
            )
        return BatchedCodecPipeline.from_codecs(codecs, **options)

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Any) -> CodecPipeline:
        """The pipeline of an array in a store."""
        # A subclass, or what wraps a store, does more than files: it keeps its own pipeline.
        if type(store) is not LocalStore:
            raise NotImplementedError("ndzarr serves arrays in a LocalStore")
        return cls(array_metadata, store, create_codec_pipeline(array_metadata))

    def evolve_from_array_spec(self, array_spec: Any) -> NdzarrCodecPipeline:
        return type(self)(self.metadata, self.store, self.own.evolve_from_array_spec(array_spec))

    def __getstate__(self) -> dict[str, Any]:
        return {"metadata": self.metadata, "store": self.store}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = create_codec_pipeline(state["metadata"])
        self.__init__(state["metadata"], state["store"], own)  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NdzarrCodecPipeline) and (self.metadata, self.store) == (other.metadata, other.store)

    __hash__ = None  # type: ignore[assignment]

    # What concerns codecs alone is zarr-python's.

    supports_partial_decode = False
    supports_partial_encode = False

    def __iter__(self) -> Iterator[Any]:
        yield from self.own

    def __getattr__(self, name: str) -> Any:
        if name in ("own", "metadata", "store", "_arrays"):
            raise AttributeError(name)
        return getattr(self.own, name)

    def validate(self, **options: Any) -> None:
        self.own.validate(**options)

    def compute_encoded_size(self, byte_length: int, array_spec: Any) -> int:
        return int(self.own.compute_encoded_size(byte_length, array_spec))

    async def decode(self, chunk_bytes_and_specs: Any) -> Any:
        return await self.own.decode(chunk_bytes_and_specs)

    async def encode(self, chunk_arrays_and_specs: Any) -> Any:
        return await self.own.encode(chunk_arrays_and_specs)

    # Regions.

    def _array(self, where: str, spec: Any, to_write: bool = False) -> Array | None:
        """The array of a path in the store; `None` if ndzarr cannot serve it.

        zarr-python reads what ndzarr refuses for any reason. It writes without locks only where there is
        nothing that ndzarr has: other failures, such as those of the disk, are those of the write.
        """
        fills = bool(getattr(spec.config, "write_empty_chunks", False))
        found = self._arrays.get((where, fills))
        if found is None:
            path = os.path.join(self.store.root, where)
            format = "zarr3" if self.metadata.zarr_format == 3 else "zarr2"
            try:
                found = open_array(path, format=format, store_fill_chunks=fills)  # type: ignore[arg-type]
            except (FileNotFoundError, UnsupportedError):
                return None
            except ValueError:
                if to_write:
                    raise
                return None
            self._arrays[where, fills] = found
        return found

    def _fresh(self, array: Array, plan: _Plan, spec: Any, how: Watch, to_write: bool = False) -> Array | None:
        """The array with the shape that it has now: other handles may have resized it."""
        try:
            array._raw.refresh(how)
        except NdzarrError:
            if how[2] is not None and how[2].is_stopped:
                raise
            self._arrays.clear()
            fresh = self._array(plan.where, spec, to_write)
            if fresh is None:
                return None
            array = fresh
        return array if len(plan.end) == array.ndim and _is_within(plan.end, array) else None

    async def read(self, batch_info: Iterable[Item], out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
        batch = list(batch_info)
        memory = _plain(out.as_ndarray_like())
        plan = self._plan(batch, memory, drop_axes)
        # To know which chunks are missing, each has to be asked for.
        if plan is None or not getattr(batch[0][1].config, "read_missing_chunks", True):
            return await self.own.read(batch, out, drop_axes)
        if not await _in_thread(self._read, plan, batch[0][1], memory):
            return await self.own.read(batch, out, drop_axes)
        return tuple({"status": "present"} for _ in batch)

    def _read(self, plan: _Plan, spec: Any, memory: np.ndarray[Any, Any], how: Watch) -> bool:
        array = self._array(plan.where, spec)
        if array is not None and not _is_within(plan.end, array):
            array = self._fresh(array, plan, spec, how)
        if array is None or not _fits(array, memory):
            return False
        target = _shaped(memory, array._raw.selected(plan.key))
        if target is None:
            return False
        if array._raw.objects is None and target.dtype == array.dtype:
            array._read(plan.key, target, how)
        else:
            target[...] = array._read(plan.key, None, how)
        return True

    async def write(self, batch_info: Iterable[Item], value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        batch = list(batch_info)
        # An array that is read-only is zarr-python's own, which refuses the write.
        read_only = bool(self.store.read_only)
        memory = _plain(value.as_ndarray_like())
        plan = None if read_only else self._plan(batch, memory, drop_axes)
        if plan is None and not read_only and all(_selects_nothing(item) for item in batch):
            return
        if plan is None or not await _in_thread(self._write, plan, batch[0][1], memory):
            if not read_only:
                warnings.warn(
                    "this write is zarr-python's own, which takes no locks: what others write to the same chunks at "
                    "the same time may be lost",
                    stacklevel=2,
                )
            await self.own.write(batch, value, drop_axes)

    def _write(self, plan: _Plan, spec: Any, memory: np.ndarray[Any, Any], how: Watch) -> bool:
        array = self._array(plan.where, spec, to_write=True)
        if array is not None:
            array = self._fresh(array, plan, spec, how, to_write=True)
        if array is None or not _fits(array, memory):
            return False
        shaped = _shaped(memory, array._raw.selected(plan.key))
        # One of another shape is broadcast, or refused.
        array._write(plan.key, memory if shaped is None else shaped, None, how)
        return True

    def _plan(self, batch: list[Item], memory: Any, drop_axes: tuple[int, ...]) -> _Plan | None:
        """The one selection that a batch of chunks makes up; `None` if it makes up none."""
        if not batch or type(memory) is not np.ndarray:
            return None
        if self.metadata.zarr_format == 3 and not hasattr(self.metadata.chunk_grid, "chunk_shape"):
            return None
        return _Plan.of(batch, self._keys(), len(self.metadata.shape), drop_axes)

    def _keys(self) -> _Keys:
        ndim = len(self.metadata.shape)
        if self.metadata.zarr_format == 2:
            return _Keys(max(1, ndim), self.metadata.dimension_separator, 0)
        encoding = self.metadata.chunk_key_encoding
        if encoding.name == "default":
            return _Keys(ndim, encoding.separator, 1)
        return _Keys(max(1, ndim), encoding.separator, 0)


async def _in_thread(call: Callable[..., bool], *args: Any) -> bool:
    """Runs a call in a thread. If the task is cancelled, so is the call, and the task waits for its end:
    nothing is read or written later."""
    stop = Stop()

    def run() -> bool:
        if stop.is_stopped:
            return False
        return call(*args, (False, None, stop))

    # A future rather than a task: the end of a loop cancels all tasks.
    done = asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, run)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        stop.stop()
        while not done.done():
            try:
                await asyncio.wait([done])
            except asyncio.CancelledError:
                continue
        if not done.cancelled():
            done.exception()
        raise


def _selects_nothing(item: Item) -> bool:
    """Whether no element of a chunk is selected."""
    _, spec, selection, _, _ = item
    axes = selection if isinstance(selection, tuple) else (selection,)
    return any(len(_moved(axis, 0, n)) == 0 for axis, n in zip(axes, spec.shape, strict=False))


def _plain(memory: Any) -> Any:
    """Memory of a subclass, such as that of a file, as an array of NumPy; masks would be lost."""
    is_array = isinstance(memory, np.ndarray) and not isinstance(memory, np.ma.MaskedArray)
    return memory.view(np.ndarray) if is_array else memory


def _shaped(memory: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any] | None:
    """The same memory in this shape, if they differ in axes of one element alone."""
    if memory.shape == shape:
        return memory
    if [n for n in memory.shape if n != 1] != [n for n in shape if n != 1]:
        return None
    return memory.reshape(shape)


def _is_within(end: tuple[int, ...], array: Array) -> bool:
    return all(behind <= n for behind, n in zip(end, array.shape, strict=True))


def _fits(array: Array, memory: np.ndarray[Any, Any]) -> bool:
    """Whether ndzarr and zarr-python mean the same elements."""
    if array._raw.objects is not None:
        return memory.dtype.kind in "OTU"
    return bool(memory.dtype.kind == array.dtype.kind and memory.dtype.itemsize == array.dtype.itemsize)


class _Keys:
    """How chunk keys of an array are spelled."""

    def __init__(self, n: int, separator: str, skip: int) -> None:
        self.n, self.separator, self.skip = n, separator, skip

    def split(self, path: str) -> tuple[str, list[int]]:
        """The path of the array, and the index of the chunk."""
        if self.separator == "/":
            parts = path.split("/")
            n = self.n + self.skip
            return "/".join(parts[:-n]), [int(part) for part in parts[len(parts) - self.n :]] if self.n else []
        where, _, key = path.rpartition("/")
        return where, [int(part) for part in key.split(self.separator)[self.skip :]]


class _Plan:
    """One selection of an array: where the array is, its key, and the end of what it touches."""

    def __init__(self, where: str, key: Any, end: tuple[int, ...]) -> None:
        self.where, self.key, self.end = where, key, end

    @classmethod
    def of(cls, batch: list[Item], keys: _Keys, ndim: int, drop_axes: tuple[int, ...]) -> _Plan | None:
        if ndim == 0:
            where, _ = keys.split(batch[0][0].path)
            return cls(where, (), ()) if len(batch) == 1 else None
        first = batch[0][2]
        if not isinstance(batch[0][3], tuple) and isinstance(first, tuple) and _are_points(first, ndim):
            return cls._of_points(batch, keys, ndim)
        return cls._of_axes(batch, keys, ndim, drop_axes)

    @classmethod
    def _of_points(cls, batch: list[Item], keys: _Keys, ndim: int) -> _Plan | None:
        """Coordinates, which zarr-python has sorted by chunk."""
        n = sum(len(selection[0]) for _, _, selection, _, _ in batch)
        points = [np.empty(n, np.int64) for _ in range(ndim)]
        where = ""
        for path, spec, selection, out, _ in batch:
            where, chunk = keys.split(path.path)
            for axis in range(ndim):
                points[axis][out] = selection[axis] + chunk[axis] * spec.shape[axis]
        return cls(where, points, tuple(int(axis.max()) + 1 for axis in points))

    @classmethod
    def _of_axes(cls, batch: list[Item], keys: _Keys, ndim: int, drop_axes: tuple[int, ...]) -> _Plan | None:
        """A selection along each axis for itself."""
        where = ""
        # For each axis, by the index of the chunk along it: the indices, and where in the result they belong.
        along: list[dict[int, tuple[Any, Any]]] = [{} for _ in range(ndim)]
        for path, spec, selection, out, _ in batch:
            where, chunk = keys.split(path.path)
            selection = selection if isinstance(selection, tuple) else (selection,)
            places = iter(out if isinstance(out, tuple) else (out,))
            if len(selection) != ndim or len(chunk) != ndim:
                return None
            for axis, (item, at) in enumerate(zip(selection, chunk, strict=True)):
                is_single = axis in drop_axes or isinstance(item, (int, np.integer))
                place = None if is_single else next(places, None)
                if at not in along[axis]:
                    along[axis][at] = (_moved(item, at * spec.shape[axis], spec.shape[axis]), place)
            if next(places, None) is not None:
                return None
        if math.prod(len(parts) for parts in along) != len(batch):
            return None
        key: list[Any] = []
        end = []
        for parts in along:
            found = _joined(list(parts.values()))
            if found is None:
                return None
            item, behind = found
            key.append(item)
            end.append(behind)
        return cls(where, tuple(key), tuple(end))


def _are_points(selection: tuple[Any, ...], ndim: int) -> bool:
    return len(selection) == ndim and all(
        isinstance(item, np.ndarray) and item.ndim == 1 and item.dtype.kind in "iu" for item in selection
    )


def _moved(item: Any, start: int, n: int) -> Any:
    """A selection within a chunk as indices of the array: a `range` or an array of one axis."""
    if isinstance(item, (int, np.integer)):
        return range(start + int(item), start + int(item) + 1)
    if isinstance(item, slice):
        found = range(n)[item]
        return range(start + found.start, start + found.stop, found.step)
    array = np.asarray(item)
    if array.dtype == bool:
        return np.nonzero(array.reshape(-1))[0] + start
    return array.reshape(-1).astype(np.int64) + start


def _joined(parts: list[tuple[Any, Any]]) -> tuple[Any, int] | None:
    """The parts of an axis as one integer, slice or list of indices, and the end of what they touch."""
    if any(len(indices) == 0 for indices, _ in parts):
        return None
    end = max(int(max(indices[0], indices[-1])) if isinstance(indices, range) else int(indices.max()) for indices, _ in parts) + 1
    if all(place is None for _, place in parts):
        indices, _ = parts[0]
        return (int(indices[0]), end) if len(parts) == 1 and len(indices) == 1 else None
    plain = all(isinstance(indices, range) and isinstance(place, slice) and place.step in (None, 1) for indices, place in parts)
    if plain:
        # Parts in their order in the result, which are steps of one range.
        parts = sorted(parts, key=lambda part: part[1].start or 0)
        first, last = parts[0][0], parts[-1][0]
        step = first.step if len(first) > 1 else (parts[1][0][0] - first[0] if len(parts) > 1 else 1)
        n = sum(len(indices) for indices, _ in parts)
        whole = range(first[0], last[-1] + (1 if step > 0 else -1), step)
        at, fits = 0, step > 0 and len(whole) == n
        for indices, place in parts:
            fits = fits and (place.start or 0) == at and indices[0] == whole[at] and (len(indices) == 1 or indices.step == step)
            at += len(indices)
            fits = fits and place.stop in (None, at)
        if fits:
            return slice(whole.start, whole.stop, whole.step), end
    lens = sum(len(indices) for indices, _ in parts)
    joined = np.full(lens, -1, np.int64)
    for indices, place in parts:
        where = place if isinstance(place, slice) else np.asarray(place).reshape(-1)
        try:
            joined[where] = np.asarray(indices)
        except (IndexError, ValueError):
            return None
    return (joined, end) if joined.min() >= 0 else None
