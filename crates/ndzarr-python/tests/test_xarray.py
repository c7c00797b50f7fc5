"""The engine of xarray."""

from __future__ import annotations

import json
import os
import shutil
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


def encoded_dataset() -> Any:
    """What each decoder of xarray changes."""
    found = dataset()
    found["letters"] = (("x", "n"), np.array([list("ab"), list("cd"), list("ef"), list("gh")], "S1"))
    found["wait"] = ("x", np.array([1, 2, 3, 4], "m8[s]"))
    found["t2m"].attrs["coordinates"] = "lat"
    return found


DECODERS: list[dict[str, Any]] = [
    {},
    {"decode_cf": False},
    {"decode_cf": False, "drop_variables": "name"},
    {"mask_and_scale": False},
    {"mask_and_scale": {"packed": False, "t2m": True}},
    {"decode_times": False},
    {"decode_timedelta": True},
    {"decode_timedelta": False},
    {"use_cftime": False},
    {"concat_characters": False},
    {"decode_coords": False},
    {"decode_coords": "all"},
    {"drop_variables": ["name", "lat"]},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", DECODERS, ids=str)
def test_py26_each_decoder_does_what_it_does_with_the_engine_zarr(folder: str, options: Any) -> None:
    path = f"{folder}/d.zarr"
    encoded_dataset().to_zarr(path, zarr_format=2, consolidated=False)
    calls: list[Any] = [
        xr.open_dataset,
        lambda place, **more: xr.open_datatree(place, **more).to_dataset(),
        lambda place, **more: xr.open_groups(place, **more)["/"],
        xr.open_mfdataset,
    ]
    for call in calls:
        expected, found = (call(path, engine=engine, **options).load() for engine in ("zarr", "ndzarr"))
        xr.testing.assert_identical(found, expected)
        assert set(found.coords) == set(expected.coords)
        for name in expected.variables:
            assert found[name].dtype == expected[name].dtype, name
    if options == {"decode_cf": False}:
        # What the others could have hidden from both engines.
        raw = xr.open_dataset(path, engine="ndzarr", **options)
        assert (raw.packed.dtype, raw.time.dtype.kind, raw.letters.dtype) == ("i2", "i", "S1")


def odd_dataset() -> Any:
    """Attributes and fill values for which JSON has no number."""
    found = xr.Dataset(
        {
            "plain": ("x", [1.0, np.nan, 3.0], {"missing_value": np.nan, "valid_range": [0.5, np.inf]}),
            "filled": ("x", np.array([1, np.nan, 3], "f4")),
            "packed": ("x", [1.0, np.nan, 3.0]),
            "count": ("x", np.array([1, 2, 3], "u1")),
            "flag": ("x", [True, False, True]),
            "bytes": ("x", np.array([b"a", b"b", b"c"])),
        },
        attrs={"limit": -np.inf, "unknown": np.nan, "text": "nan"},
    )
    found["filled"].encoding = {"_FillValue": np.float32(-9.5)}
    found["packed"].encoding = {"dtype": "i2", "_FillValue": -1, "scale_factor": 0.5}
    return found


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_py26_fill_values_and_attributes_that_json_has_no_number_for(folder: str, zarr_format: int) -> None:
    path = f"{folder}/d.zarr"
    odd_dataset().to_zarr(path, zarr_format=zarr_format, consolidated=False)
    if zarr_format == 3:
        # The eight bytes of NaN and of -9.5 as float64, little endian.
        stored = [json.loads(Path(f"{path}/{name}/zarr.json").read_text())["attributes"] for name in ("plain", "filled")]
        assert [attributes["_FillValue"] for attributes in stored] == ["AAAAAAAA+H8=", "AAAAAAAAI8A="]
    for options in ({}, {"mask_and_scale": False}):
        expected = xr.open_dataset(path, engine="zarr", consolidated=False, **options).load()
        found = xr.open_dataset(path, engine="ndzarr", **options).load()
        xr.testing.assert_identical(found, expected)
        for name in expected.variables:
            assert found[name].dtype == expected[name].dtype, name
    np.testing.assert_array_equal(found.filled, np.array([1, -9.5, 3], "f4"))
    assert found.filled.attrs["_FillValue"] == -9.5
    assert found.plain.attrs["valid_range"] == [0.5, np.inf]
    assert (found.attrs["limit"], found.attrs["text"]) == (-np.inf, "nan")
    assert np.isnan(found.attrs["unknown"])


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("mask", [None, True, False])
def test_py26_the_fill_value_of_zarr_as_a_mask(folder: str, zarr_format: int, mask: bool | None) -> None:
    import zarr
    from xarray.backends import ZarrStore

    root = zarr.create_group(f"{folder}/d.zarr", zarr_format=zarr_format)
    names = {"dimension_names": ["x"]} if zarr_format == 3 else {"attributes": {"_ARRAY_DIMENSIONS": ["x"]}}
    root.create_array("a", data=np.array([1, -9, 3], "i2"), fill_value=-9, **names)
    found = xr.open_dataset(f"{folder}/d.zarr", engine="ndzarr", use_zarr_fill_value_as_mask=mask)
    # The default is that of the format.
    masked = zarr_format == 2 if mask is None else mask
    np.testing.assert_array_equal(found.a, [1, np.nan, 3] if masked else [1, -9, 3])
    # xarray's own engine takes the option through its store alone.
    store = ZarrStore.open_group(f"{folder}/d.zarr", consolidated=False, use_zarr_fill_value_as_mask=mask)
    xr.testing.assert_identical(found.load(), xr.open_dataset(store).load())
    tree = xr.open_datatree(f"{folder}/d.zarr", engine="ndzarr", use_zarr_fill_value_as_mask=mask)
    xr.testing.assert_identical(tree.to_dataset().load(), found)


def test_py26_fill_values_of_v3_by_other_writers(folder: str) -> None:
    """xarray's own engine takes its base64 alone."""
    root = ndzarr.create_group(f"{folder}/d.zarr")
    for name, value in (("number", -9), ("nan", np.nan)):
        a = root.create_array(name, shape=3, dtype="f4", dimension_names=["x"])
        a[...] = [1, value, 3]
        document = Path(f"{folder}/d.zarr/{name}/zarr.json")
        document.write_text(json.dumps(json.loads(document.read_text()) | {"attributes": {"_FillValue": value}}))
    found = xr.open_dataset(f"{folder}/d.zarr", engine="ndzarr")
    for name in found:
        np.testing.assert_array_equal(found[name], [1, np.nan, 3])


def masked_dataset() -> Any:
    """Missing values in each kind of variable, and zeros that are not missing."""
    found = encoded_dataset()
    found["flag"] = ("x", np.array([True, False, True, False]))
    found["zeros"] = ("x", np.zeros(4))
    found["sparse"] = ("x", np.array([0, 5, 0, 7], "i4"))
    found["far"] = ("x", np.array([0, np.nan, 2, 3], "f4"), {"missing_value": np.nan})
    found["half"] = ("x", np.array([0, np.nan, 0.5, 3], "f2"))
    found["waves"] = ("x", np.array([0, 1j, 2, 3]))
    found["day"] = ("x", np.array(["1970-01-01", "1970-01-02", "1970-01-03", "NaT"], "M8[ns]"))
    found["empty"] = ("x", np.array(["", "a", "", "b"]))
    found["far"].encoding = {"_FillValue": np.float32(-9999)}
    found["half"].encoding = {"_FillValue": np.float16(-1.5)}
    found["sparse"].encoding = {"_FillValue": 5, "chunks": (2,)}
    found["day"].encoding = {"units": "days since 1970-01-01", "dtype": "i8", "_FillValue": -1}
    found["n"] = ("x", np.arange(4))
    return found


@pytest.mark.parametrize("empty_chunks", [True, False])
@pytest.mark.parametrize(("zarr_format", "to"), [(2, "zarr3"), (3, "zarr2"), (2, "zarr2"), (3, "zarr3")])
def test_py26_copies_show_what_their_source_shows(folder: str, zarr_format: int, to: Any, empty_chunks: bool) -> None:
    source = f"{folder}/a.zarr"
    options: dict[str, Any] = {"zarr_format": zarr_format, "consolidated": False}
    masked_dataset().to_zarr(source, write_empty_chunks=empty_chunks, **options)
    made = {"copy": f"{folder}/copy.zarr", "chunks": f"{folder}/chunks.zarr", "back": f"{folder}/back.zarr"}
    reports = [ndzarr.copy(source, made["copy"], format=to), ndzarr.copy(source, made["chunks"], format=to, chunks=3)]
    reports.append(ndzarr.copy(made["copy"], made["back"], format=f"zarr{zarr_format}"))  # type: ignore[arg-type]
    assert not [node for report in reports for node in report if node["losses"]]
    if (zarr_format, to) == (2, "zarr3"):
        made["converted"] = f"{folder}/converted.zarr"
        shutil.copytree(source, made["converted"])
        ndzarr.convert(made["converted"])
    for engine in ("zarr", "ndzarr"):
        how: dict[str, Any] = {"consolidated": False} if engine == "zarr" else {}
        for decoding in ({}, {"mask_and_scale": False}):
            expected = xr.open_dataset(source, engine=engine, **how, **decoding).load()
            for name, path in made.items():
                # Where documents of both formats are, xarray takes those of v3.
                found = xr.open_dataset(path, engine=engine, **how, **decoding).load()
                if not decoding:
                    xr.testing.assert_identical(found, expected)
                for variable in expected.variables:
                    assert found[variable].dtype == expected[variable].dtype, (engine, name, variable)
                    np.testing.assert_array_equal(found[variable].values, expected[variable].values)


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


@pytest.mark.parametrize("axes", ["native", "reversed"])
def test_names_of_python_on_n5_are_on_their_axes(folder: str, axes: Any) -> None:
    # As z5py and xarray through zarr-python 2 write an array of shape (4, 5, 6) whose axes are z, y, x.
    x = np.arange(120, dtype="i2").reshape(4, 5, 6)
    root = ndzarr.create_group(f"{folder}/c.n5", format="n5", n5_axes="reversed")
    a = root.create_array("raw", shape=x.shape, dtype="i2", chunks=2, attributes={"_ARRAY_DIMENSIONS": ["z", "y", "x"]})
    a[...] = x
    found = xr.open_dataset(f"{folder}/c.n5", n5_axes=axes)
    assert dict(found.sizes) == {"z": 4, "y": 5, "x": 6}
    np.testing.assert_array_equal(found.raw.transpose("z", "y", "x").values, x)
    assert "_ARRAY_DIMENSIONS" not in found.raw.attrs
    b = ndzarr.open_array(f"{folder}/c.n5/raw", n5_axes=axes)
    assert b.dimension_names == (("z", "y", "x") if axes == "reversed" else ("x", "y", "z"))
    assert b.warnings == ()
    b.attrs["axes"] = ["a", "b", "c"]
    assert ["axes counts" in warning for warning in ndzarr.open(f"{folder}/c.n5/raw").warnings] == [True]


def test_names_that_z5py_wrote(folder: str) -> None:
    z5py = pytest.importorskip("z5py")
    file = z5py.File(f"{folder}/c.n5", mode="w")
    raw = file.create_dataset("raw", shape=(4, 5, 6), chunks=(2, 2, 2), dtype="int16")
    raw[:] = np.arange(120).reshape(4, 5, 6)
    raw.attrs["_ARRAY_DIMENSIONS"] = ["z", "y", "x"]
    for axes in ("native", "reversed"):
        found = xr.open_dataset(f"{folder}/c.n5", n5_axes=axes)
        np.testing.assert_array_equal(found.raw.isel(z=3).transpose("y", "x").values, raw[3])


def test_trees(folder: str) -> None:
    tree = xr.DataTree.from_dict({"/": xr.Dataset({"a": ("other", [1, 2])}), "/g": dataset(), "/g/h": xr.Dataset({"b": ("more", [3.0])})})
    tree.to_zarr(f"{folder}/t.zarr")
    expected = xr.open_datatree(f"{folder}/t.zarr", engine="zarr").load()
    found = xr.open_datatree(f"{folder}/t.zarr", engine="ndzarr").load()
    xr.testing.assert_identical(found, expected)
    xr.testing.assert_identical(xr.open_dataset(f"{folder}/t.zarr", engine="ndzarr", group="g/h").load(), expected["g/h"].to_dataset(inherit=False).load())


def files(folder: str) -> set[str]:
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("made", [dataset, odd_dataset])
def test_py26_datasets_written_through_the_pipeline(folder: str, written: set[str], made: Any, zarr_format: int) -> None:
    import zarr

    made().to_zarr(f"{folder}/own.zarr", zarr_format=zarr_format, consolidated=False)
    assert not written
    with zarr.config.set({"codec_pipeline.path": "ndzarr.zarr.NdzarrCodecPipeline"}):
        made().to_zarr(f"{folder}/new.zarr", zarr_format=zarr_format, consolidated=False)
        through = xr.open_dataset(f"{folder}/new.zarr", engine="zarr", consolidated=False).load()
    assert written == {f"{folder}/new.zarr/{name}" for name in made().variables}
    expected = xr.open_dataset(f"{folder}/own.zarr", engine="zarr", consolidated=False).load()
    for found in (
        through,
        xr.open_dataset(f"{folder}/new.zarr", engine="zarr", consolidated=False).load(),
        xr.open_dataset(f"{folder}/new.zarr", engine="ndzarr").load(),
        xr.open_dataset(f"{folder}/own.zarr", engine="ndzarr").load(),
    ):
        xr.testing.assert_identical(found, expected)
    # No more than zarr-python's own: locks are gone.
    assert files(f"{folder}/new.zarr") == files(f"{folder}/own.zarr")


def test_the_engine_guesses_n5_alone() -> None:
    from ndzarr.xarray import NdzarrBackend

    backend = NdzarrBackend()
    assert backend.guess_can_open("a.n5") and backend.guess_can_open("s3://b/a.n5/")
    assert not backend.guess_can_open("a.zarr") and not backend.guess_can_open(3)


def test_chunks_under_another_separator(folder: str) -> None:
    a = ndzarr.create(f"{folder}/g", "a", shape=(4, 4), chunks=(2, 2), dtype="u1", format="zarr2", separator="/")
    a[...] = 5
    a.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
    document = Path(folder, "g/a/.zarray")
    stated = json.loads(document.read_text())
    del stated["dimension_separator"]
    document.write_text(json.dumps(stated))
    with pytest.raises(ndzarr.MetadataError, match="separator '/'"):
        xr.open_dataset(f"{folder}/g", engine="ndzarr").load()
    opened = xr.open_dataset(f"{folder}/g", engine="ndzarr", separator="/", use_zarr_fill_value_as_mask=False)
    assert (opened["a"] == 5).all()
    tree = xr.open_datatree(f"{folder}/g", engine="ndzarr", separator="/", use_zarr_fill_value_as_mask=False)
    assert (tree["a"] == 5).all()
