"""Multiscale images: OME-Zarr 0.1 to 0.6, and in N5 those of COSEM, BigDataViewer, n5-viewer and Paintera.

>>> import ndzarr, ndzarr.ome, numpy as np
>>> a = ndzarr.create("memory://ome/plain", shape=(600, 400), dtype="u2", chunks=(100, 100))
>>> a[...] = np.arange(400)
>>> image = ndzarr.ome.create("memory://ome/image", a, scale=(0.5, 0.25), unit="micrometer")
>>> [level.shape for level in image.levels], image.scale(1)
([(600, 400), (300, 200), (150, 100)], (1.0, 0.5))
>>> image.level_for(1, "µm")
1
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from . import _codecs, _ndzarr
from ._array import Array, _unmasked
from ._calls import Progress, quiet, watch, watched
from ._errors import MetadataError, NotFoundError
from ._group import Group, opening_of
from ._node import Later, native
from ._open import ConcurrentUpdate, N5Axes, _memory, _where, open_group, opened
from ._open import create as _create_array
from ._places import Place, StorageOptions
from ._shapes import Shape, for_each_axis

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from xarray import DataArray

    from ._ndzarr import RawImage

__all__ = ["Axis", "Image", "Levels", "create", "find", "open"]

Method = Literal["mean", "mode", "stride"]


class Axis(NamedTuple):
    """An axis of an image.

    `kind` is "space", "time", "channel", another word, or `None` if none is stated.
    """

    name: str
    kind: str | None = None
    unit: str | None = None


class Levels(Sequence[Array]):
    """The arrays of an image, the finest first. Each is opened when it is asked for."""

    def __init__(self, raw: RawImage, group: Group) -> None:
        self._raw, self._group = raw, group
        self._paths = [path for path, _, _ in raw.levels]

    def __len__(self) -> int:
        return len(self._paths)

    @overload
    def __getitem__(self, level: int) -> Array: ...
    @overload
    def __getitem__(self, level: slice) -> list[Array]: ...
    def __getitem__(self, level: int | slice) -> Array | list[Array]:
        if isinstance(level, slice):
            return [self[each] for each in range(len(self))[level]]
        at = range(len(self))[level]
        return Array(self._raw.array(at, watch()), self._group._below(self._paths[at]))


class Image:
    """An image of several resolutions. `open`, `find` and `create` make it."""

    __slots__ = ("_at", "_group", "_raw", "_searched")

    def __init__(self, raw: RawImage, group: Group, searched: Group, at: int = 0) -> None:
        #: `at` is its place among the images that `find` gives of the group `searched`.
        self._raw, self._group, self._searched, self._at = raw, group, searched, at

    @property
    def group(self) -> Group:
        """Its group as it was opened, which has its attributes."""
        return self._group

    @property
    def path(self) -> str:
        """Path of its group from the root of the store."""
        return self._raw.path

    @property
    def convention(self) -> str:
        """Whose rules its metadata follow: "OME-Zarr 0.5", "COSEM", "n5-viewer"."""
        return self._raw.convention

    @property
    def name(self) -> str | None:
        """Its name, if it has one."""
        return self._raw.name

    @property
    def method(self) -> str | None:
        """How its coarser levels were made, in the words of the metadata."""
        return self._raw.method

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the metadata, and how it was read."""
        return tuple(self._raw.warnings)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Its axes, in the order of the axes of its arrays."""
        return tuple(Axis(*axis) for axis in self._raw.axes)

    @property
    def levels(self) -> Levels:
        """Its arrays, the finest first."""
        return Levels(self._raw, self._group)

    def scale(self, level: int) -> tuple[float, ...]:
        """Size of an element of a level along each axis, in the unit of the axis."""
        return tuple(self._raw.levels[level][1])

    def translation(self, level: int) -> tuple[float, ...]:
        """Coordinate of the centre of the first element of a level along each axis."""
        return tuple(self._raw.levels[level][2])

    def level_for(self, size: float, unit: str | None = None) -> int:
        """The coarsest level whose elements are no larger than `size` along any axis of space; the finest
        one if all are larger. Without a `unit`, `size` is in the unit of each axis."""
        return self._raw.level_for(size, unit, quiet)

    def region(self, level: int, **bounds: tuple[float, float]) -> tuple[slice, ...]:
        """The elements of a level that a box meets: coordinates by the names of axes, all of the others.

        >>> import ndzarr, ndzarr.ome
        >>> a = ndzarr.create("memory://ome/region/plain", shape=(600, 400), dtype="u2")
        >>> image = ndzarr.ome.create("memory://ome/region/image", a, scale=(0.5, 0.25))
        >>> image.region(1, y=(10, 12))
        (slice(10, 13, None), slice(0, 200, None))
        """
        names = [axis.name for axis in self.axes]
        if unknown := set(bounds) - set(names):
            raise ValueError(f"the image has no axis {sorted(unknown)[0]!r}, but {names}")
        shape = self.levels[level].shape
        everything = (-float("inf"), float("inf"))
        boxes = [bounds.get(name, everything) for name in names]
        found = self._raw.region(range(len(self._raw.levels))[level], boxes, shape)
        return tuple(slice(start, end) for start, end in found)

    def validate(self) -> list[str]:
        """What the metadata and the arrays must and should have, and lack, by the specification of
        OME-Zarr. Each finding has "must" or "should" in it."""
        return self._raw.validate(watch())

    def make_levels(self, method: Method = "mean", *, progress: Progress = None) -> None:
        """Makes the elements of all levels but the finest again, each from the one before.

        The mean of integers is rounded to the nearest, ties to even; "mode" is the most frequent value,
        for labels; "stride" the first element. Metadata that state another method then state this one.
        """
        with watched(progress, "levels") as how:
            self._raw = self._raw.make_levels(method, how)

    def to_xarray(self, level: int = 0) -> DataArray:
        """A level as a `DataArray` whose elements are read when they are asked for, with coordinates
        along space and time."""
        from xarray import DataArray, Variable
        from xarray.core import indexing

        from .xarray import _Lazy

        array = self.levels[level]
        names = [axis.name for axis in self.axes]
        coordinates: dict[str, Any] = {}
        for axis, n, scale, offset in zip(
            self.axes, array.shape, self.scale(level), self.translation(level), strict=True
        ):
            if axis.kind in ("space", "time"):
                unit = {"units": axis.unit} if axis.unit else {}
                coordinates[axis.name] = Variable(axis.name, scale * np.arange(n) + offset, unit)
        units = array.shards or array.chunks
        encoding = {"preferred_chunks": dict(zip(names, units, strict=True))}
        elements = Variable(names, indexing.LazilyIndexedArray(_Lazy(array)), None, encoding)
        return DataArray(elements, coords=coordinates, name=self.name)

    def __reduce__(self) -> Any:
        return _unpickled, (self._group, self._searched, self._at)

    def __repr__(self) -> str:
        axes = "".join(axis.name for axis in self.axes)
        where = self._group._where.shown
        return f"<ndzarr.ome.Image {where!r} {self.convention} axes={axes!r} levels={len(self.levels)}>"


def find(group: Group) -> list[Image]:
    """All images that a group is or has: for each entry of `multiscales`, each series of bioformats2raw,
    each setup and time point of BigDataViewer. None for a plate, whose fields are groups of their own."""
    root = group.path.strip("/")
    groups = {"": group}

    def image(raw: RawImage, at: int) -> Image:
        inner = raw.path.strip("/").removeprefix(root).strip("/")
        if inner not in groups:
            groups[inner] = group.group(inner)
        return Image(raw, groups[inner], group, at)

    return [image(raw, at) for at, raw in enumerate(_ndzarr.images(native(group), watch()))]


def _unpickled(group: Group, searched: Group, at: int) -> Image:
    image = Image(None, group, searched, at)  # type: ignore[arg-type]
    image._raw = Later(image, lambda: find(searched)[at]._raw, {})  # type: ignore[assignment]
    return image


def open(
    path: Place,
    *,
    n5_axes: N5Axes = "native",
    storage_options: StorageOptions | None = None,
    threads: int | None = None,
    concurrent_update: ConcurrentUpdate = "merge",
) -> Image:
    """Opens the image at a path or URL; the arguments are those of `ndzarr.open`. Of several images it is
    the first; `find` gives all.

    Raises `NotFoundError` if no group is there, and `MetadataError` if it has no image.

    >>> import ndzarr, ndzarr.ome
    >>> a = ndzarr.create("memory://ome/open/plain", shape=(8, 8), dtype="u1")
    >>> made = ndzarr.ome.create("memory://ome/open/image", a, name="cells")
    >>> ndzarr.ome.open("memory://ome/open/image")
    <ndzarr.ome.Image 'memory://ome/open/image' OME-Zarr 0.5 axes='yx' levels=1>
    """
    options: dict[str, Any] = {
        "n5_axes": n5_axes,
        "storage_options": storage_options,
        "threads": threads,
        "concurrent_update": concurrent_update,
    }
    try:
        group = open_group(path, **options)
    except NotFoundError as error:
        # Viewers of N5 leave out the version by which it is known.
        try:
            group = open_group(path, format="n5", **options)
        except NotFoundError:
            raise error from None
        if not group.attrs:
            raise
    found = find(group)
    if not found:
        raise MetadataError(f"the group {group._where.shown!r} has no multiscale image")
    return found[0]


#: The names of the last axes, unless the array has others.
_USUAL = ("t", "c", "z", "y", "x")


def _axes(source: Array, axes: str | Iterable[str | Axis] | None, unit: str | None) -> list[Axis]:
    if axes is None:
        names = source.dimension_names
        if names and all(isinstance(name, str) for name in names):
            axes = [str(name) for name in names]
        else:
            usual = _USUAL[max(len(_USUAL) - source.ndim, 0) :]
            turned = source.format == "n5" and source.n5_axes == "native"
            axes = usual[::-1] if turned else usual

    def axis(given: str | Axis) -> Axis:
        found = given if isinstance(given, Axis) else Axis(given)
        is_space = found.kind == "space" or (found.kind is None and found.name in ("x", "y", "z"))
        return found._replace(unit=unit) if unit and is_space and found.unit is None else found

    return [axis(given) for given in axes]


def create(
    path: Place,
    source: Array | ArrayLike,
    *,
    axes: str | Iterable[str | Axis] | None = None,
    scale: Sequence[float] | None = None,
    translation: Sequence[float] | None = None,
    unit: str | None = None,
    levels: int | None = None,
    factors: Sequence[int] | None = None,
    method: Method = "mean",
    name: str | None = None,
    format: Literal["zarr3", "zarr2"] = "zarr3",
    chunks: Shape | None = None,
    shards: Shape | None = None,
    codecs: Any = None,
    memory: int | str | None = None,
    overwrite: bool = False,
    storage_options: StorageOptions | None = None,
    threads: int | None = None,
    concurrent_update: ConcurrentUpdate = "merge",
    progress: Progress = None,
) -> Image:
    """Creates an image of the elements of an array, with all its levels: OME-Zarr 0.5 in Zarr v3, or 0.4
    in Zarr v2. Until all elements are there, the group is not an image.

    `axes` are names ("zyx", or a list with `Axis` in it); unless given, those of the array, or the last of
    t, c, z, y, x. `scale` is the size of an element along each axis, and `translation` where the centre of
    the first one is, in the unit of the axis; `unit` is that of the axes of space.

    `factors` elements of a level make one of the next along each axis: 2 along space unless given. Levels
    are added until no axis of space is longer than 256, unless `levels` says how many there are, with the
    finest. `method` is that of `Image.make_levels`.

    `chunks`, `shards` and `codecs` are those of `ndzarr.create`, and unless given those of the array.
    `memory` is a limit such as "256MiB". `overwrite` replaces an array or group, which must not hold the
    source.

    >>> import ndzarr.ome, numpy as np
    >>> image = ndzarr.ome.create("memory://ome/create", np.eye(4, dtype="f4"), levels=2, chunks=2)
    >>> image.levels[1][...]
    array([[0.5, 0. ],
           [0. , 0.5]], dtype=float32)
    """
    where = _where(path, None, "native", storage_options, threads, False, concurrent_update)
    with _as_array(source, codecs) as array:
        new = {
            "axes": [tuple(axis) for axis in _axes(array, axes, unit)],
            "scale": None if scale is None else [float(size) for size in scale],
            "translation": None if translation is None else [float(offset) for offset in translation],
            "levels": levels,
            "factors": None if factors is None else list(factors),
            "method": method,
            "name": name,
            "chunks": for_each_axis(chunks, array.ndim),
            "shards": for_each_axis(shards, array.ndim),
            "codecs": _codecs.names(codecs),
            "memory": _memory(memory),
            "overwrite": overwrite,
        }
        with watched(progress, "levels") as how:
            raw = _ndzarr.create_image(where.place, native(array), new, opening_of(where, format), how)
    group = opened("group", where)
    assert isinstance(group, Group)
    return Image(raw, group, group)


@contextmanager
def _as_array(source: Array | ArrayLike, codecs: Any) -> Iterator[Array]:
    """The source; elements in memory as an array in memory for the time being."""
    if isinstance(source, Array):
        yield source
        return
    elements = np.asarray(_unmasked(source))
    store, name = "memory://ndzarr.ome", uuid.uuid4().hex
    array = _create_array(store, name, shape=elements.shape, dtype=elements.dtype, codecs=codecs)
    try:
        array[...] = elements
        yield array
    finally:
        del open_group(store)[name]
