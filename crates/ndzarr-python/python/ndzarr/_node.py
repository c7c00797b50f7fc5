"""What arrays and groups have in common: where they are, how they were opened, and attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._attributes import Attributes
from ._places import StorageOptions

if TYPE_CHECKING:
    from ._ndzarr import RawArray, RawGroup

__all__ = ["Node", "Where"]


@dataclass(frozen=True)
class Where:
    """Where a node is and how it was opened: all that a pickle of a handle holds."""

    place: str
    format: str | None = None
    n5_axes: str = "native"
    storage_options: StorageOptions | None = field(default=None, repr=False)
    threads: int | None = None
    store_fill_chunks: bool = False
    concurrent_update: str = "merge"

    def __hash__(self) -> int:
        return hash((self.place, self.format, self.n5_axes))

    @property
    def shown(self) -> str:
        """The place without what may be secret in a URL: user, password and query."""
        return re.sub(r"\?[^|]*", "?…", re.sub(r"(?<=://)[^/@|]*@", "", self.place))

    def given(self) -> dict[str, Any]:
        """The arguments that are not the defaults."""
        options = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "place"}
        return {name: value for name, value in options.items() if value != self.__dataclass_fields__[name].default}


def _reopen(wanted: str, place: str, options: dict[str, Any]) -> Any:
    from ._open import opened

    return opened(wanted, Where(place, **options))


class Node:
    """An array or a group."""

    __slots__ = ("_raw", "_where", "__weakref__")

    _kind: str
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
        return _reopen, (self._kind, self._where.place, self._where.given())
