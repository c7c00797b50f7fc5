"""Attributes of nodes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Protocol

import numpy as np

from ._calls import Watch, watch

__all__ = ["Attributes", "dumps"]


class _Raw(Protocol):
    @property
    def attributes(self) -> str: ...

    def change_attributes(self, how: str, attributes: str, watch: Watch) -> None: ...


def _plain(value: Any, spell_nan: bool) -> Any:
    """JSON has no NaN and no infinities: the formats spell them as strings."""
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if not spell_nan:
            return number
        if math.isnan(number):
            return "NaN"
        if math.isinf(number):
            return "Infinity" if number > 0 else "-Infinity"
        return number
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError(f"integers have at most 64 bits, and this one is longer: {value}")
    if isinstance(value, np.generic):
        return _plain(value.item(), spell_nan)
    if isinstance(value, np.ndarray):
        return _plain(value.tolist(), spell_nan)
    if isinstance(value, Mapping):
        # Other names that JSON has a spelling for.
        names = {name: name if isinstance(name, bool) or name is None else str(name) for name in value}
        return {names[name]: _plain(item, spell_nan) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, spell_nan) for item in value]
    return value


def dumps(value: Any, *, spell_nan: bool = True) -> str:
    """The JSON of attributes, or of an element; scalars and arrays of NumPy become numbers and lists."""
    return json.dumps(_plain(value, spell_nan), allow_nan=False)


class Attributes(MutableMapping[str, Any]):
    """The attributes of a node: a `dict` that is stored with it.

    Each change is one call, and takes its turn with those of other threads and processes, so that none
    is lost. Reading gives what the handle saw last; `refresh` of the node reads them again. NaN and
    infinities, which JSON does not have, are the strings "NaN", "Infinity" and "-Infinity".

    >>> import ndzarr
    >>> a = ndzarr.create("memory://attributes/a", shape=4, dtype="f4", attributes={"units": "K"})
    >>> a.attrs["site"] = "north"
    >>> a.attrs.update(runs=[1, 2])
    >>> del a.attrs["units"]
    >>> a.attrs
    {'runs': [1, 2], 'site': 'north'}
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: _Raw) -> None:
        self._raw = raw

    def asdict(self) -> dict[str, Any]:
        """All of them."""
        found: dict[str, Any] = json.loads(self._raw.attributes)
        return found

    def __getitem__(self, name: str) -> Any:
        return self.asdict()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.asdict())

    def __len__(self) -> int:
        return len(self.asdict())

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._raw.change_attributes("remove", json.dumps([name]), watch())

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Sets several and keeps the others, in one change."""
        self._raw.change_attributes("merge", dumps(dict(*args, **kwargs)), watch())

    def put(self, attributes: Mapping[str, Any]) -> None:
        """Replaces all of them."""
        self._raw.change_attributes("replace", dumps(dict(attributes)), watch())

    def clear(self) -> None:
        """Removes all of them."""
        self.put({})

    def __repr__(self) -> str:
        return repr(self.asdict())
