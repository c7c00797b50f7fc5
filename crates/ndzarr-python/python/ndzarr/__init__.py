"""Chunked N-dimensional arrays in Zarr v2, Zarr v3, the May-2022 draft of Zarr v3, and N5.

Threads, processes and machines may write to one array at the same time: none of their updates is lost.

>>> import ndzarr
>>> a = ndzarr.create("memory://ndzarr/a", shape=(4, 6), dtype="f4", chunks=(2, 3), codecs=["zstd:3"])
>>> a[1:3, 2:5] = 1.5
>>> float(a[...].sum())
9.0
"""

from ._array import Array
from ._attributes import Attributes
from ._calls import config
from ._errors import (
    AccessError,
    AlreadyExistsError,
    ArgumentError,
    BoundsError,
    CancelledError,
    ConflictError,
    CorruptError,
    ElementTypeError,
    InternalError,
    MetadataError,
    MissingMemberError,
    NdzarrError,
    NodeKindError,
    NoMemoryError,
    NotFoundError,
    StoreError,
    UnavailableError,
    UnsupportedError,
)
from ._group import Group
from ._ndzarr import __version__
from ._open import CopyReport, convert, copy, create, create_group, open, open_array, open_group, verify

__all__ = [
    "AccessError",
    "AlreadyExistsError",
    "ArgumentError",
    "Array",
    "Attributes",
    "BoundsError",
    "CancelledError",
    "ConflictError",
    "CopyReport",
    "CorruptError",
    "ElementTypeError",
    "Group",
    "InternalError",
    "MetadataError",
    "MissingMemberError",
    "NdzarrError",
    "NoMemoryError",
    "NodeKindError",
    "NotFoundError",
    "StoreError",
    "UnavailableError",
    "UnsupportedError",
    "__version__",
    "config",
    "convert",
    "copy",
    "create",
    "create_group",
    "open",
    "open_array",
    "open_group",
    "verify",
]
