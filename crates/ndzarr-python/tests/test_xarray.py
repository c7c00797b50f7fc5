"""The engine of xarray."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndzarr

xr = pytest.importorskip("xarray")
pytest.importorskip("zarr")
pd = pytest.importorskip("pandas")


def dataset() -> Any:
    """Packed, missing, dated and named, as data of the climate are."""
    random = np.random.default_rng(0)
    time = pd.date_range("2000-01-01", periods=20)
    temperature = 15 + 8 * random.standard_normal((20, 3, 4))
    temperature[3, 1] = np.nan
    found = xr.Dataset(
        {
            "t2m": (("time", "y", "x"), temperature, {"units": "K", "valid_range": [180.0, 330.0]}),
            "packed": (("time", "x"), random.random((20, 4))),
            "count": (("x",), np.arange(4, dtype="i2")),
            "name": (("x",), np.array(["a", "bb", "ccc", "ü"])),
            "scalar": ((), 5.5),
        },
        coords={"time": time, "y": [1.0, 2.0, 3.0], "x": np.arange(4), "lat": (("y", "x"), random.random((3, 4)))},
        attrs={"title": "a test", "history": ["made"]},
    )
    found["packed"].encoding = {"dtype": "i2", "scale_factor": 0.001, "add_offset": 0.5, "_FillValue": -9999}
    return found


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("consolidated", [True, False])
def test_py26_datasets_are_identical_to_those_of_the_engine_zarr(folder: str, zarr_format: int, consolidated: bool) -> None:
    path = f"{folder}/d.zarr"
    dataset().to_zarr(path, zarr_format=zarr_format, consolidated=consolidated)
    for options in ({}, {"mask_and_scale": False}, {"decode_times": False}, {"drop_variables": ["name"]}):
        expected = xr.open_dataset(path, engine="zarr", consolidated=consolidated, **options).load()
        found = xr.open_dataset(path, engine="ndzarr", **options).load()
        xr.testing.assert_identical(found, expected)
        for name in expected.variables:
            assert found[name].dtype == expected[name].dtype, name
    lazy = xr.open_dataset(path, engine="ndzarr", chunks={})
    assert lazy.t2m.chunks == xr.open_dataset(path, engine="zarr", consolidated=consolidated, chunks={}).t2m.chunks
    xr.testing.assert_identical(lazy.load(), xr.open_dataset(path, engine="zarr", consolidated=consolidated).load())


def test_selections_are_lazy(folder: str) -> None:
    path = f"{folder}/d.zarr"
    expected = dataset()
    expected.to_zarr(path, zarr_format=2, encoding={"t2m": {"chunks": (1, 3, 4)}})
    # Whoever reads more than the selections below comes upon this chunk.
    Path(f"{path}/t2m/18.0.0").write_bytes(b"damaged")
    found = xr.open_dataset(path, engine="ndzarr")
    for select in (
        lambda d: d.t2m[3:17:4, ::-1, 2],
        lambda d: d.t2m.isel(time=[5, 1, 1], x=[0, 3]),
        lambda d: d.t2m.isel(time=xr.DataArray([5, 1], dims="p"), y=xr.DataArray([0, 2], dims="p")),
        lambda d: d.t2m.isel(time=xr.DataArray([5, 1], dims="p"), y=xr.DataArray([0, 2], dims="p"), x=[1, 2]),
        lambda d: d.t2m.isel(time=xr.DataArray([[5, 1], [0, 19]], dims=("p", "q")), y=1),
        lambda d: d.t2m.sel(time="2000-01-05", y=2.0),
        lambda d: d.t2m[3, 2, 1],
    ):
        np.testing.assert_array_equal(select(found).values, select(expected).values)
    with pytest.raises(OSError, match="18.0.0"):
        found.t2m.load()


def test_n5_containers(folder: str) -> None:
    root = ndzarr.create_group(f"{folder}/c.n5", format="n5")
    a = root.create_array("s0", shape=(4, 6, 8), dtype="u2", chunks=(2, 3, 4), dimension_names=["x", "y", "z"])
    x = np.arange(4 * 6 * 8, dtype="u2").reshape(4, 6, 8)
    a[...] = x
    found = xr.open_dataset(f"{folder}/c.n5")
    assert found.s0.dims == ("x", "y", "z")
    np.testing.assert_array_equal(found.s0[1:3, :, ::-2].values, x[1:3, :, ::-2])
    turned = xr.open_dataset(f"{folder}/c.n5", engine="ndzarr", n5_axes="reversed")
    assert turned.s0.dims == ("z", "y", "x")
    np.testing.assert_array_equal(turned.s0.values, x.T)
    assert found.s0.encoding["preferred_chunks"] == {"x": 2, "y": 3, "z": 4}


def test_trees(folder: str) -> None:
    tree = xr.DataTree.from_dict({"/": xr.Dataset({"a": ("other", [1, 2])}), "/g": dataset(), "/g/h": xr.Dataset({"b": ("more", [3.0])})})
    tree.to_zarr(f"{folder}/t.zarr")
    expected = xr.open_datatree(f"{folder}/t.zarr", engine="zarr").load()
    found = xr.open_datatree(f"{folder}/t.zarr", engine="ndzarr").load()
    xr.testing.assert_identical(found, expected)
    xr.testing.assert_identical(xr.open_dataset(f"{folder}/t.zarr", engine="ndzarr", group="g/h").load(), expected["g/h"].to_dataset(inherit=False).load())


def test_writes_of_to_zarr_go_through_the_pipeline(folder: str) -> None:
    import zarr

    with zarr.config.set({"codec_pipeline.path": "ndzarr.zarr.NdzarrCodecPipeline"}):
        dataset().to_zarr(f"{folder}/d.zarr")
        found = xr.open_dataset(f"{folder}/d.zarr", engine="zarr").load()
    xr.testing.assert_identical(found, xr.open_dataset(f"{folder}/d.zarr", engine="ndzarr").load())
    np.testing.assert_allclose(found.t2m.values, dataset().t2m.values)


def test_the_engine_guesses_n5_alone() -> None:
    from ndzarr.xarray import NdzarrBackend

    backend = NdzarrBackend()
    assert backend.guess_can_open("a.n5") and backend.guess_can_open("s3://b/a.n5/")
    assert not backend.guess_can_open("a.zarr") and not backend.guess_can_open(3)
