"""Indices of Python, as NumPy and zarr-python understand them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ._errors import BoundsError

__all__ = ["basic", "is_index", "masked", "orthogonal", "points", "split_fields", "way", "without_new_axes"]

Key = Any


def is_index(item: object) -> bool:
    """Whether an item is one integer. A `bool` is none: to NumPy it is a mask without axes."""
    if isinstance(item, (bool, np.bool_)):
        return False
    if isinstance(item, np.ndarray) and (item.ndim > 0 or item.dtype.kind not in "iu"):
        return False
    try:
        operator.index(item)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _array(item: object) -> np.ndarray[Any, Any] | None:
    """An item that is a list or an array of indices or of bools; `None` if it is something else."""
    if isinstance(item, list):
        if not item:
            return np.empty(0, np.int64)
        found = np.asarray(item)
    elif isinstance(item, np.ndarray):
        found = item
    elif hasattr(item, "__array__") and hasattr(item, "shape") and hasattr(item, "dtype"):
        found = np.asarray(item)
    else:
        return None
    if found.ndim == 0 or (found.dtype.kind not in "iub" and found.size > 0):
        return None
    return found


def _wrong(what: str) -> BoundsError:
    error = BoundsError(what)
    error.kind = "WrongShape"
    return error


def _whole(key: Key, ndim: int) -> tuple[Any, ...]:
    """A tuple with one item for each axis, besides those that are `None`."""
    key = key if isinstance(key, tuple) else (key,)
    dots = sum(item is Ellipsis for item in key)
    if dots > 1:
        raise _wrong("an index can only have a single ellipsis ('...')")
    given = sum(item is not None and item is not Ellipsis for item in key)
    if given > ndim:
        raise _wrong(f"too many indices: the array has {ndim} dimensions, but {given} were indexed")
    rest = (slice(None),) * (ndim - given)
    if not dots:
        return (*key, *rest)
    at = next(i for i, item in enumerate(key) if item is Ellipsis)
    return (*key[:at], *rest, *key[at + 1 :])


def split_fields(key: Key) -> tuple[str | list[str] | None, Key]:
    """The names of fields in an index, and the rest of it."""
    if isinstance(key, str):
        return key, ...
    if isinstance(key, list) and key and all(isinstance(item, str) for item in key):
        return key, ...
    if isinstance(key, tuple):
        names = [item for item in key if isinstance(item, str)]
        if names:
            rest = tuple(item for item in key if not isinstance(item, str))
            return (names[0] if len(names) == 1 else names), rest or ...
    return None, key


def way(key: Key, ndim: int) -> str:
    """Which of the ways of indexing `array[key]` means: "basic", "points", "mask" or "orthogonal".

    Index arrays for all axes select points; one index array among slices selects along its axis;
    anything else is an error, since NumPy and orthogonal indexing differ there.
    """
    items = key if isinstance(key, tuple) else (key,)
    arrays = [None if is_index(item) else _array(item) for item in items]
    found = [array for array in arrays if array is not None]
    if not found:
        return "basic"
    if len(items) == 1 and found[0].dtype == bool and found[0].ndim == ndim:
        return "mask"
    integers = all(array.dtype != bool for array in found)
    drops = [array is not None or is_index(item) for item, array in zip(items, arrays, strict=True)]
    if all(drops) and integers and len(items) == ndim:
        return "points"
    # zarr-python refuses an index array beside `...`, too.
    if len(found) == 1 and not any(item is Ellipsis for item in items):
        at = next(at for at, array in enumerate(arrays) if array is not None)
        # NumPy moves the axis to the front if a slice parts the index array from an integer.
        together = drops.index(True) + sum(drops) == len(drops) - drops[::-1].index(True)
        if together or all(drops[:at]):
            return "orthogonal"
    raise _wrong(
        "index arrays for some of the axes mean different things to NumPy and to orthogonal indexing: use vindex or oindex"
    )


def without_new_axes(key: Key) -> Key:
    """Refuses `None`, which zarr-python's methods do not know."""
    if any(item is None for item in (key if isinstance(key, tuple) else (key,))):
        raise _wrong("a selection has no new axes: index the array itself with None")
    return key


def basic(key: Key, ndim: int) -> tuple[Any, ...]:
    """Integers, slices, `...` and `None`, one for each axis."""
    items = _whole(key, ndim)
    for item in items:
        if item is not None and not isinstance(item, slice) and not is_index(item):
            raise _wrong(f"an axis is indexed by an integer or a slice, not by {item!r}")
    return tuple(item if item is None or isinstance(item, slice) else operator.index(item) for item in items)


def _list(item: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if item.dtype.kind == "u" and item.size and item.max() > np.iinfo(np.int64).max:
        raise _wrong("an index does not fit any axis")
    return np.ascontiguousarray(item, np.int64)


def _bytes(mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(mask).view(np.uint8)


def orthogonal(key: Key, ndim: int) -> tuple[Any, ...]:
    """As `basic`, and lists of indices or masks for single axes."""
    items: list[Any] = []
    for item in _whole(key, ndim):
        array = None if item is None or isinstance(item, slice) or is_index(item) else _array(item)
        if array is not None:
            if array.ndim != 1:
                raise _wrong(f"orthogonal indexing takes index arrays of one axis, not of {array.ndim}")
            items.append(_bytes(array) if array.dtype == bool else _list(array))
        elif item is None or isinstance(item, slice):
            items.append(item)
        elif is_index(item):
            items.append(operator.index(item))
        else:
            raise _wrong(f"an axis is indexed by an integer, a slice, or integers or bools of one axis, not by {item!r}")
    return tuple(items)


def points(key: Key, ndim: int) -> tuple[list[Any], tuple[int, ...]]:
    """Coordinates along each axis, and the shape of the result."""
    items = key if isinstance(key, tuple) else (key,)
    if len(items) != ndim:
        raise _wrong(f"points of {len(items)} coordinates for an array of {ndim} dimensions")
    arrays = []
    for item in items:
        array = np.asarray(operator.index(item)) if is_index(item) else _array(item)
        if array is None or array.dtype == bool:
            raise _wrong(f"coordinates are integers, not {item!r}")
        arrays.append(_list(array).reshape(array.shape))
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError as error:
        raise _wrong(str(error)) from None
    # A point by integers alone is an array of one.
    shape = shape or (1,)
    return [np.broadcast_to(array, shape).reshape(-1) for array in arrays], shape


def masked(key: Key, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A mask of a whole array, as bytes."""
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    found = _array(mask)
    if found is None or found.dtype != bool:
        raise _wrong(f"a mask is an array of bools, not {mask!r}")
    if found.shape != shape:
        raise _wrong(f"a mask of shape {found.shape} for an array of shape {shape}")
    return _bytes(found)
