"""What arrays and groups have in common: where they are, how they were opened, and attributes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._attributes import Attributes
from ._places import StorageOptions

if TYPE_CHECKING:
    from ._ndzarr import RawArray, RawGroup

__all__ = ["Later", "Node", "Where", "native"]


@dataclass(frozen=True, repr=False)
class Where:
    """Where a node is and how it was opened."""

    place: str
    format: str | None = None
    n5_axes: str = "native"
    storage_options: StorageOptions | None = None
    threads: int | None = None
    store_fill_chunks: bool = False
    concurrent_update: str = "merge"
    separator: str | None = None

    def __hash__(self) -> int:
        return hash((self.place, self.format, self.n5_axes))

    def __repr__(self) -> str:
        return f"Where({self.shown!r})"

    @property
    def shown(self) -> str:
        """The place without what may be secret in a URL: user, password and query."""
        # Bytes of a path that are no text.
        place = self.place.encode(errors="surrogateescape").decode(errors="backslashreplace")
        if "://" not in place:
            return place
        return re.sub(r"\?[^|]*", "?…", re.sub(r"(?<=://)[^/@|]*@", "", place))

    def given(self) -> dict[str, Any]:
        """The arguments that are not the defaults."""
        options = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "place"}
        return {name: value for name, value in options.items() if value != self.__dataclass_fields__[name].default}


class Later:
    """Stands for the native part of a handle that comes from a pickle, until more of it is needed than
    the handle knew when it was pickled."""

    def __init__(self, owner: Any, made: Callable[[], Any], known: dict[str, Any]) -> None:
        self.__dict__.update(known, _owner=owner, _made=made)

    def __getattr__(self, name: str) -> Any:
        return getattr(native(self._owner), name)


def native(owner: Any) -> Any:
    """The native part of a handle, for calls that take it."""
    raw = owner._raw
    if not isinstance(raw, Later):
        return raw
    made = raw._made()
    # Another thread may have been first.
    if owner._raw is raw:
        owner._raw = made
    return owner._raw


def _unpickled(cls: Any, place: str, options: dict[str, Any], known: dict[str, Any]) -> Any:
    from ._open import opened

    where = Where(place, **options)
    node = cls(None, where)
    node._raw = Later(node, lambda: opened(cls._kind, where)._raw, known)
    return node


class Node:
    """An array or a group."""

    __slots__ = ("_raw", "_where", "__weakref__")

    _kind: str
    #: What a pickle holds of the native part.
    _pickled: tuple[str, ...] = ("format",)
    _raw: RawArray | RawGroup
    _where: Where

    @property
    def format(self) -> str:
        """"zarr3", "zarr2", "n5", "zarr3-draft-a" or "zarr3-draft-b"."""
        return self._raw.format

    @property
    def path(self) -> str:
        """Path from the root of the store; empty for the root."""
        return self._raw.path

    @property
    def store(self) -> str:
        """Path or URL of the store."""
        return self._raw.store

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was unusual when it was opened."""
        return tuple(self._raw.warnings)

    @property
    def n5_axes(self) -> str:
        """N5: "native" if axes are in the order of the datasets' documents, else "reversed"."""
        return self._where.n5_axes

    @property
    def attrs(self) -> Attributes:
        """Its attributes."""
        return Attributes(self._raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._kind == other._kind and self._where == other._where

    def __hash__(self) -> int:
        return hash(self._where)

    def __reduce__(self) -> Any:
        known = {name: getattr(self._raw, name) for name in self._pickled}
        return _unpickled, (type(self), self._where.place, self._where.given(), known)
