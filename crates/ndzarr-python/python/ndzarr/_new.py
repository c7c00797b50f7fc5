"""The description of a new array, from arguments as users of Python spell them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _codecs
from ._array import _content, _unmasked
from ._attributes import dumps
from ._errors import make
from ._shapes import Shape, as_shape, for_each_axis

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["ZERO", "new_array"]

#: For `fill_value`: zero, or what zero means for the type.
ZERO: Any = type("Zero", (), {"__repr__": lambda _: "ZERO"})()


def new_array(
    format: str,
    *,
    shape: Shape,
    dtype: DTypeLike,
    chunks: Shape | None = None,
    chunk_edges: Sequence[Sequence[int]] | None = None,
    shards: Shape | None = None,
    codecs: Any = None,
    fill_value: Any = ZERO,
    order: str = "C",
    separator: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    dimension_names: Iterable[str] | None = None,
    overwrite: bool = False,
    force: bool = False,
) -> dict[str, Any]:
    """The description of a new array, for the native part."""
    lens = as_shape(shape)

    kind = _vlen(dtype)
    fill: bytes | None = None
    if fill_value is not ZERO and fill_value is not None:
        fill = _content(kind, fill_value, None) if kind else _one(dtype, fill_value)
    big = kind is None and not isinstance(dtype, str) and np.dtype(dtype).byteorder == ">"
    names, text = _codecs.parsed(codecs, format, kind == "string", kind == "bytes", big)
    return {
        "shape": lens,
        "chunks": for_each_axis(chunks, len(lens)),
        "chunk_edges": None if chunk_edges is None else [as_shape(axis) for axis in chunk_edges],
        "shards": for_each_axis(shards, len(lens)),
        "codecs": names,
        "codecs_json": text,
        "fill_value": fill,
        "no_fill_value": fill_value is None and format in ("zarr2", "zarr3-draft-b"),
        "order": order,
        "separator": separator,
        "attributes": dumps(dict(attributes)) if attributes else None,
        "dimension_names": None if dimension_names is None else list(dimension_names),
        "overwrite": overwrite,
        "force": force,
    }


#: Names of types that the package ml_dtypes has.
_OF_ML_DTYPES = re.compile(r"bfloat16|u?int[24]|float[468]_\w+")


def _vlen(dtype: Any) -> str | None:
    """What elements of variable size are."""
    if dtype in (str, "str", "string"):
        return "string"
    if dtype in (bytes, "bytes"):
        return "bytes"
    if isinstance(dtype, str) and dtype == "json":
        return "json"
    if isinstance(dtype, str) and (_OF_ML_DTYPES.fullmatch(dtype) or re.fullmatch(r"r\d+|complex_\w+", dtype)):
        return None
    return "string" if np.dtype(dtype).kind in "OT" or np.dtype(dtype).str in ("<U0", "|U0") else None


def _one(dtype: Any, value: Any) -> bytes:
    """One element, as its bytes in native order."""
    if isinstance(dtype, str) and _OF_ML_DTYPES.fullmatch(dtype):
        import ml_dtypes

        dtype = getattr(ml_dtypes, dtype)
    elif isinstance(dtype, str) and re.fullmatch(r"r\d+", dtype):
        dtype = f"V{int(dtype[1:]) // 8}"
    found = np.dtype(dtype)
    if found.names:
        # The formats pack fields.
        found = np.dtype({"names": list(found.names), "formats": [found.fields[name][0] for name in found.names]}) if found.fields else found
    with np.errstate(all="ignore"):
        element = np.asarray(_unmasked(value), found.newbyteorder("="))
    if not _is_kept(element, value):
        what = f"the fill value {value!r} is not an element of {found}: it would become {element.tolist()!r}"
        raise make("InvalidArgument", what)
    return element.tobytes()


def _is_kept(element: np.ndarray[Any, Any], value: Any) -> bool:
    """Whether NumPy has made an element of a value without changing it, except for the rounding of floats."""
    names, kind = element.dtype.names, element.dtype.kind
    if names:
        items = value.item() if isinstance(value, (np.ndarray, np.void)) else value
        each = items if isinstance(items, tuple) else (items,) * len(names)
        return all(_is_kept(element[name], item) for name, item in zip(names, each, strict=True))
    if kind in "SU":
        return bool(np.all(element == np.asarray(value, kind)))
    given = np.asarray(value)
    if kind in "mM":
        return given.dtype.kind != kind or bool(np.all((element == given) | np.isnat(given)))
    if issubclass(element.dtype.type, np.void):
        return given.dtype.kind not in "SV" or given.dtype.itemsize <= element.dtype.itemsize
    if given.dtype.kind not in "biufc":
        # A text that NumPy has read, or an object that has said which number it is.
        return True
    if re.match("bool|u?int", element.dtype.name):
        return bool(np.all(element == given))
    return bool(np.all(np.isfinite(element) == np.isfinite(given)))
