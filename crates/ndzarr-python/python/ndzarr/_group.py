"""`Group`: a group of arrays and groups."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ._array import Array
from ._attributes import dumps
from ._calls import config, watch
from ._errors import AccessError, MissingMemberError, NodeKindError, UnsupportedError
from ._ndzarr import RawArray
from ._ndzarr import open as _open
from ._new import ZERO, new_array
from ._node import Node, Where
from ._places import below, variables
from ._shapes import Shape

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ._ndzarr import RawGroup

__all__ = ["Group", "node"]


def node(raw: RawArray | RawGroup, where: Where) -> Array | Group:
    """The public face of an opened node."""
    return Array(raw, where) if isinstance(raw, RawArray) else Group(raw, where)


class Group(Node, Mapping[str, "Array | Group"]):
    """A group: a mapping of the names of arrays and groups in it.

    >>> import ndzarr
    >>> run = ndzarr.create_group("memory://group/run", attributes={"site": "north"})
    >>> t = run.create_array("temperature", shape=4, dtype="f4")
    >>> raw = run.create_group("raw")
    >>> list(run)
    ['raw', 'temperature']
    >>> run["temperature"].shape
    (4,)
    >>> "raw" in run
    True
    """

    __slots__ = ()

    _kind = "group"
    _raw: RawGroup

    def __init__(self, raw: RawGroup, where: Where) -> None:
        self._raw, self._where = raw, where

    def _below(self, path: str) -> Where:
        # Consolidated metadata and the format are those of the group.
        return Where(**{**self._where.__dict__, "place": below(self._where.place, path)})

    def members(self, *, recursive: bool = False) -> dict[str, str]:
        """What is in the group: names, or with `recursive` paths, each with "array" or "group"; with
        "unreadable" if its document does not show its kind."""
        return dict(self._raw.members(recursive, watch()))

    def _by_documents(self) -> tuple[Group, dict[str, str]]:
        """The group and the paths of all nodes below it, without consolidated metadata, which may be stale;
        with them if the store cannot list."""
        opening = {**opening_of(self._where), "ignores_consolidated": True}
        found = node(_open(self._where.place, "group", opening, watch()), self._where)
        assert isinstance(found, Group)
        try:
            return found, found.members(recursive=True)
        except (AccessError, UnsupportedError):
            return self, self.members(recursive=True)

    def __getitem__(self, name: str) -> Array | Group:
        try:
            return node(self._raw.open(name, watch()), self._below(name))
        except FileNotFoundError as error:
            raise _missing(error, name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.members())

    def __len__(self) -> int:
        return len(self.members())

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self._raw.open(name, watch())
        except FileNotFoundError:
            return False
        return True

    def array(self, name: str) -> Array:
        """The array of this name or relative path."""
        found = self[name]
        if not isinstance(found, Array):
            raise NodeKindError(f"{name!r} is a group, not an array")
        return found

    def group(self, name: str) -> Group:
        """The group of this name or relative path."""
        found = self[name]
        if not isinstance(found, Group):
            raise NodeKindError(f"{name!r} is an array, not a group")
        return found

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """The arrays in it, with their names. One that cannot be read is an error when it is reached."""
        for name, kind in self.members().items():
            if kind != "group":
                yield name, self.array(name)

    def groups(self) -> Iterator[tuple[str, Group]]:
        """The groups in it, with their names."""
        for name, kind in self.members().items():
            if kind == "group":
                yield name, self.group(name)

    def create_array(
        self,
        name: str,
        *,
        shape: Shape,
        dtype: DTypeLike,
        chunks: Shape | None = None,
        chunk_edges: Sequence[Sequence[int]] | None = None,
        shards: Shape | None = None,
        codecs: Any = None,
        fill_value: Any = ZERO,
        attributes: Mapping[str, Any] | None = None,
        dimension_names: Iterable[str] | None = None,
        order: Literal["C", "F"] = "C",
        separator: str | None = None,
        overwrite: bool = False,
        force: bool = False,
    ) -> Array:
        """Creates an array in it, in the group's format; the arguments are those of `ndzarr.create`.

        >>> import ndzarr
        >>> run = ndzarr.create_group("memory://group/create_array")
        >>> run.create_array("scan/0", shape=(4, 6), dtype="u2").path
        'create_array/scan/0'
        """
        new = new_array(
            self.format,
            shape=shape,
            dtype=dtype,
            chunks=chunks,
            chunk_edges=chunk_edges,
            shards=shards,
            codecs=codecs,
            fill_value=fill_value,
            attributes=attributes,
            dimension_names=dimension_names,
            order=order,
            separator=separator,
            overwrite=overwrite,
            force=force,
        )
        where = self._below(name)
        return Array(self._raw.create_array(name, dtype, new, opening_of(where, self.format), watch()), where)

    def create_group(self, name: str, *, attributes: Mapping[str, Any] | None = None) -> Group:
        """Creates a group in it, in the same format."""
        # What cannot be JSON is refused before anything is created.
        text = dumps(dict(attributes)) if attributes else None
        made = Group(self._raw.create_group(name, watch()), self._below(name))
        if text is not None:
            made._raw.change_attributes("merge", text, watch())
        return made

    def __setitem__(self, name: str, value: object) -> None:
        what = "'Group' object does not support item assignment: create_array and create_group make members"
        raise TypeError(what)

    def __delitem__(self, name: str) -> None:
        """Removes a node with everything below it. Where files lie that do not belong to it, it raises
        `AlreadyExistsError` and removes nothing; `erase` has the option to remove them too."""
        self.erase(name)

    def erase(self, name: str, *, force: bool = False) -> None:
        """Removes a node with everything below it, as `del` does; with `force` also files that do not
        belong to it.

        >>> import ndzarr
        >>> root = ndzarr.create_group("memory://group/erase")
        >>> a = root.create_array("a", shape=4, dtype="u1")
        >>> root.erase("a", force=True)
        >>> list(root)
        []
        """
        try:
            self._raw.erase(name, force, watch())
        except FileNotFoundError as error:
            raise _missing(error, name) from None

    def consolidate(self) -> None:
        """Stores copies of all metadata below it in one document, so that it opens with one request."""
        self._raw.consolidate(watch())

    def tree(self) -> str:
        """The nodes below it, a line for each.

        >>> import ndzarr
        >>> root = ndzarr.create_group("memory://group/tree")
        >>> a = root.create_group("scan").create_array("0", shape=(4, 6), dtype="u2")
        >>> print(root.tree())
        scan
        scan/0 (4, 6) uint16
        """
        lines = []
        for path, kind in self.members(recursive=True).items():
            if kind == "array":
                array = self.array(path)
                lines.append(f"{path} {array.shape} {array.dtype}")
            else:
                lines.append(path if kind == "group" else f"{path} {kind}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        axes = f" n5_axes={self.n5_axes!r}" if self.format == "n5" else ""
        return f"<ndzarr.Group {self._where.shown!r} {self.format}{axes}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="text-align:left">{html.escape(name)}</td><td>{kind}</td></tr>'
            for name, kind in self.members().items()
        )
        title = html.escape(f"ndzarr.Group {self._where.shown} ({self.format})")
        return f"<table><caption>{title}</caption><tbody>{rows}</tbody></table>"


def _missing(error: FileNotFoundError, name: str) -> Exception:
    """The error of a name that a group does not have."""
    new = MissingMemberError(str(error) or name)
    new.kind, new.key = getattr(error, "kind", ""), getattr(error, "key", None)
    return new


def opening_of(where: Where, format: str | None = None) -> dict[str, Any]:
    """How a node is opened, for the native part."""
    if where.concurrent_update not in ("merge", "last_writer_wins"):
        raise ValueError(f"concurrent_update is 'merge' or 'last_writer_wins', not {where.concurrent_update!r}")
    if where.separator not in (None, "/", "."):
        raise ValueError(f"separator is '/' or '.', not {where.separator!r}")
    threads = where.threads if where.threads is not None else config.threads
    if threads is not None and threads < 1:
        raise ValueError(f"a call needs at least 1 thread, not {threads}")
    return {
        "format": where.format if format is None else format,
        "n5_axes": where.n5_axes,
        "separator": where.separator,
        "variables": variables(where.place, where.storage_options),
        "threads": threads,
        "store_fill_chunks": where.store_fill_chunks,
        "last_writer_wins": where.concurrent_update == "last_writer_wins",
        "ignores_consolidated": False,
    }
