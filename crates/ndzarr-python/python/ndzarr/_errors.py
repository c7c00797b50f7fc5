"""The exceptions of ndzarr, which are also Python's own."""

from __future__ import annotations

import errno as _errno

__all__ = [
    "AccessError",
    "AlreadyExistsError",
    "ArgumentError",
    "BoundsError",
    "CancelledError",
    "ConflictError",
    "CorruptError",
    "ElementTypeError",
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
]


class NdzarrError(Exception):
    """Any failure of a call of ndzarr.

    Each subclass is also an exception that Python has for such a failure, so that code need not know
    of ndzarr to catch it.

    >>> import ndzarr
    >>> try:
    ...     ndzarr.open("memory://errors/nothing")
    ... except FileNotFoundError as error:
    ...     error.kind
    'NotFound'
    """

    kind: str = ""
    """The kind of failure, as the Rust library names it."""
    key: str | None = None
    """The key of the value or document that it concerns, from the root of the store."""
    chunk: tuple[int, ...] | None = None
    """The index of the chunk (or shard) that it concerns."""
    inner_chunk: tuple[tuple[int, ...], ...] = ()
    """Which inner chunk of the shard it concerns, from the shard's first: an index for each level of shards."""


class NotFoundError(NdzarrError, FileNotFoundError):
    """Nothing is there."""


class MissingMemberError(NotFoundError, KeyError):
    """A group has no member of this name."""

    __str__ = Exception.__str__


class NodeKindError(NdzarrError, TypeError):
    """There is a group where an array was expected, or the reverse."""


class AlreadyExistsError(NdzarrError, FileExistsError):
    """Something is there already."""


class MetadataError(NdzarrError, ValueError):
    """Metadata does not comply with its format."""


class UnsupportedError(NdzarrError, NotImplementedError):
    """A data type, codec or extension, or what a store cannot do; the message names it."""


class CorruptError(NdzarrError, OSError):
    """A stored chunk is damaged: see `key` and `chunk`."""


class ElementTypeError(NdzarrError, TypeError):
    """The elements have another type than the call needs, or a number is out of range."""


class BoundsError(NdzarrError, IndexError):
    """A selection or shape does not fit the array."""


class ArgumentError(NdzarrError, ValueError):
    """An argument is invalid, or the format cannot express it."""


class StoreError(NdzarrError, OSError):
    """The store failed: disk, network, service."""


class AccessError(StoreError, PermissionError):
    """The store refused access: permissions of files, or the credentials of a service."""


class UnavailableError(StoreError, ConnectionError, TimeoutError):
    """The store was not reached, or did not answer in time: the same call can succeed later."""


class ConflictError(NdzarrError, RuntimeError):
    """Another writer intervened, or the store cannot serialize writers."""


class CancelledError(NdzarrError, RuntimeError):
    """The call was cancelled."""


class NoMemoryError(NdzarrError, MemoryError):
    """There is not enough memory for the result."""


class InternalError(NdzarrError, RuntimeError):
    """A defect of ndzarr."""


_NUMBERS = {
    "NotFound": _errno.ENOENT,
    "AlreadyExists": _errno.EEXIST,
    "Denied": _errno.EACCES,
    "StorageFull": _errno.ENOSPC,
}
"""For errors that are not of the operating system."""

_CLASSES: dict[str, type[NdzarrError]] = {
    "NotFound": NotFoundError,
    "WrongNodeKind": NodeKindError,
    "AlreadyExists": AlreadyExistsError,
    "InvalidMetadata": MetadataError,
    "Unsupported": UnsupportedError,
    "Corrupt": CorruptError,
    "WrongType": ElementTypeError,
    "WrongShape": BoundsError,
    "InvalidArgument": ArgumentError,
    "Store": StoreError,
    "Denied": AccessError,
    "Unavailable": UnavailableError,
    "StorageFull": StoreError,
    "UnknownOutcome": StoreError,
    "NoLocking": ConflictError,
    "Conflict": ConflictError,
    "Cancelled": CancelledError,
    "OutOfMemory": NoMemoryError,
    "Internal": InternalError,
}


def make(
    kind: str,
    message: str,
    key: str | None = None,
    chunk: tuple[int, ...] | None = None,
    inner_chunk: tuple[tuple[int, ...], ...] = (),
    errno: int | None = None,
) -> NdzarrError:
    """The exception of a kind."""
    error = _CLASSES.get(kind, NdzarrError)(message)
    error.kind, error.key, error.chunk, error.inner_chunk = kind, key, chunk, inner_chunk
    if isinstance(error, OSError):
        error.errno = _NUMBERS.get(kind) if errno is None else errno
    return error
