"""The engine "ndzarr" of xarray: `xarray.open_dataset(path, engine="ndzarr")`, for Zarr v2, Zarr v3 and N5."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from xarray import Dataset, DataTree, Variable
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.backends.zarr import FillValueCoder
from xarray.coding.strings import create_vlen_dtype
from xarray.core import indexing
from xarray.core.utils import FrozenDict

from ._array import Array
from ._group import Group
from ._open import open_group
from ._places import StorageOptions, is_url

__all__ = ["NdzarrBackend"]


class _Lazy(BackendArray):  # type: ignore[misc]
    """An array whose elements are read when they are asked for."""

    def __init__(self, array: Array) -> None:
        self.array, self.shape = array, array.shape
        is_text = array._raw.objects == "string"
        self.dtype = create_vlen_dtype(str) if is_text else array.dtype

    def __getitem__(self, key: Any) -> Any:
        ways = {
            indexing.BasicIndexer: self._basic,
            indexing.OuterIndexer: self._outer,
            indexing.VectorizedIndexer: self._points,
        }
        found = indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.VECTORIZED, lambda raw: ways[type(key)](raw)
        )
        return found

    def _typed(self, found: Any) -> Any:
        return np.asarray(found).astype(self.dtype, copy=False)

    def _basic(self, key: Any) -> Any:
        return self._typed(self.array[key])

    def _outer(self, key: Any) -> Any:
        return self._typed(self.array.oindex[key])

    def _points(self, key: Any) -> Any:
        """Index arrays that go together, and slices for the axes in between, which follow behind them."""
        arrays = [axis for axis, item in enumerate(key) if not isinstance(item, slice)]
        if len(arrays) == len(key):
            return self._typed(self.array.vindex[key])
        # Slices beside points: the part that the points span, in memory, is what xarray selects from.
        box: list[Any] = []
        inner: list[Any] = []
        for item in key:
            if isinstance(item, slice):
                box.append(item)
                inner.append(slice(None))
            else:
                indices, which = np.unique(np.asarray(item), return_inverse=True)
                box.append(indices)
                inner.append(which.reshape(np.shape(item)))
        found = indexing.NumpyIndexingAdapter(np.asarray(self.array.oindex[tuple(box)]))
        return self._typed(found.vindex[indexing.VectorizedIndexer(tuple(inner))])


_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _with_floats(value: Any) -> Any:
    """An attribute with floats for the texts that stand for them where JSON has no number."""
    if isinstance(value, str):
        return _NOT_FINITE.get(value, value)
    if isinstance(value, list):
        return [_with_floats(item) for item in value]
    if isinstance(value, dict):
        return {name: _with_floats(item) for name, item in value.items()}
    return value


def _dimensions(name: str, array: Array, attributes: Mapping[str, Any]) -> tuple[str, ...]:
    names = array.dimension_names
    if names is None and array.format != "n5":
        names = attributes.get("_ARRAY_DIMENSIONS")
    if names and len(names) == array.ndim and all(isinstance(dimension, str) for dimension in names):
        return tuple(str(dimension) for dimension in names)
    return tuple(f"{name}_dim_{axis}" for axis in range(array.ndim))


class _Store(AbstractDataStore):  # type: ignore[misc]
    """The arrays of one group as variables."""

    def __init__(self, group: Group, use_zarr_fill_value_as_mask: bool | None) -> None:
        self.group, self.mask = group, use_zarr_fill_value_as_mask

    def get_attrs(self) -> Any:
        return FrozenDict(_with_floats(self.group.attrs.asdict()))

    def get_variables(self) -> Any:
        return FrozenDict((name, self._variable(name, array)) for name, array in self.group.arrays())

    def _variable(self, name: str, array: Array) -> Variable:
        attributes = _with_floats(array.attrs.asdict())
        dimensions = _dimensions(name, array, attributes)
        attributes.pop("_ARRAY_DIMENSIONS", None)
        attributes.pop("filters", None)
        units = array.shards or array.chunks
        encoding = {
            "chunks": array.chunks,
            "shards": array.shards,
            "preferred_chunks": dict(zip(dimensions, units, strict=True)),
        }
        # As xarray's own engine: the fill value of Zarr v2 marks missing values, that of others does not.
        mask = array.format in ("zarr2", "zarr3-draft-b") if self.mask is None else self.mask
        if mask:
            if array.fill_value is not None:
                attributes["_FillValue"] = array.fill_value
        elif isinstance(attributes.get("_FillValue"), str | list):
            attributes["_FillValue"] = FillValueCoder.decode(attributes["_FillValue"], array.dtype)
        return Variable(dimensions, indexing.LazilyIndexedArray(_Lazy(array)), attributes, encoding)


class NdzarrBackend(BackendEntrypoint):  # type: ignore[misc]
    """Opens groups of Zarr v2, Zarr v3, the draft and N5 as datasets and trees."""

    description = "Zarr v2, Zarr v3 and N5 by ndzarr"
    url = "https://github.com/ndzarr/ndzarr"
    supports_groups = True
    # `open_dataset_parameters` are those of the signature: `decode_cf=False` is for the decoders in it.

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: Any = True,
        concat_characters: bool = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        n5_axes: Any = "native",
        separator: Any = None,
        storage_options: StorageOptions | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> Dataset:
        found = self._group(filename_or_obj, group, n5_axes, separator, storage_options)
        return self._dataset(
            found,
            use_zarr_fill_value_as_mask,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        group: str | None = None,
        n5_axes: Any = "native",
        separator: Any = None,
        storage_options: StorageOptions | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
        **decoding: Any,
    ) -> dict[str, Dataset]:
        root = self._group(filename_or_obj, group, n5_axes, separator, storage_options)
        found = {"/": self._dataset(root, use_zarr_fill_value_as_mask, **decoding)}
        for path, kind in root.members(recursive=True).items():
            if kind != "array":
                found[f"/{path}"] = self._dataset(root.group(path), use_zarr_fill_value_as_mask, **decoding)
        return found

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> DataTree:
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """N5 alone: `.zarr` stays with xarray's own engine unless this one is asked for."""
        try:
            path = os.fspath(filename_or_obj)
        except TypeError:
            return False
        return isinstance(path, str) and path.rstrip("/").endswith(".n5")

    @staticmethod
    def _group(
        place: Any, group: str | None, n5_axes: Any, separator: Any, storage_options: StorageOptions | None
    ) -> Group:
        path = os.fsdecode(place)
        if not is_url(path):
            path = os.path.expanduser(path)
        root = open_group(path, n5_axes=n5_axes, separator=separator, storage_options=storage_options)
        inner = (group or "").strip("/")
        return root.group(inner) if inner else root

    @staticmethod
    def _dataset(group: Group, mask: bool | None, **decoding: Any) -> Dataset:
        return StoreBackendEntrypoint().open_dataset(_Store(group, mask), **decoding)
