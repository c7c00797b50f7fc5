"""Multiscale images."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndzarr
import ndzarr.ome
from ndzarr.ome import Axis


def plain(place: str, **options: Any) -> ndzarr.Array:
    a = ndzarr.create(place, shape=(6, 5), dtype="u2", chunks=(4, 2), codecs=["zstd"], **options)
    a[...] = np.add.outer(10 * np.arange(6), np.arange(5))
    return a


#: The means of 2 by 2 of its elements, rounded to even.
MEANS = [[6, 8, 9], [26, 28, 29], [46, 48, 49]]


@pytest.mark.parametrize(("format", "convention"), [("zarr3", "OME-Zarr 0.5"), ("zarr2", "OME-Zarr 0.4")])
def test_an_array_becomes_an_image(folder: str, format: Any, convention: str) -> None:
    a = plain(f"{folder}/a")
    seen: list[tuple[int, int]] = []
    made = ndzarr.ome.create(
        f"{folder}/image",
        a,
        scale=(2, 0.5),
        translation=(-1, 0),
        unit="micrometer",
        levels=2,
        name="cells",
        format=format,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen
    for image in (made, ndzarr.ome.open(f"{folder}/image")):
        assert (image.convention, image.name, image.method, image.warnings) == (convention, "cells", "mean", ())
        assert image.axes == (Axis("y", "space", "micrometer"), Axis("x", "space", "micrometer"))
        assert [image.scale(0), image.scale(1)] == [(2, 0.5), (4, 1)]
        # The centre of 2 by 2 elements of 2 by 0.5.
        assert [image.translation(0), image.translation(1)] == [(-1, 0), (0, 0.25)]
        assert len(image.levels) == 2
        np.testing.assert_array_equal(image.levels[0], a)
        np.testing.assert_array_equal(image.levels[-1], MEANS)
        assert [level.shape for level in image.levels[:]] == [(6, 5), (3, 3)]
        assert image.levels[1].chunks == (4, 2)
        assert [image.level_for(4), image.level_for(3999, "nm"), image.level_for(1e9, "nm")] == [1, 0, 1]
        assert not [what for what in image.validate() if " must " in what]
        assert image.region(1, y=(3, 5)) == (slice(1, 2), slice(0, 3))
    with pytest.raises(IndexError):
        made.levels[2]
    with pytest.raises(ValueError, match="not comparable"):
        made.level_for(1, "s")
    with pytest.raises(ValueError, match="no axis 'z'"):
        made.region(0, z=(0, 1))


@pytest.mark.parametrize("format", ["zarr3", "zarr2"])
def test_ome_zarr_models_takes_what_is_written(folder: str, format: Any) -> None:
    models = pytest.importorskip("ome_zarr_models")
    zarr = pytest.importorskip("zarr")
    from ome_zarr_models import v04, v05

    source = np.arange(2 * 6 * 8, dtype="u2").reshape(2, 6, 8)
    path = f"{folder}/image"
    options: Any = {"shards": (1, 4, 8)} if format == "zarr3" else {}
    axes = [Axis("c", "channel", None), "y", "x"]
    ndzarr.ome.create(path, source, axes=axes, unit="micrometer", scale=(1, 2, 0.5), levels=2, chunks=(1, 2, 4), format=format, **options)
    group = zarr.open_group(path, mode="r")
    (v05 if format == "zarr3" else v04).Image.from_zarr(group)
    image = models.open_ome_zarr(group)
    scales = image.attributes.ome.multiscales[0] if format == "zarr3" else image.attributes.multiscales[0]
    assert type(image).__module__.split(".")[1] == ("v05" if format == "zarr3" else "v04")
    assert [(axis.name, axis.type, axis.unit) for axis in scales.axes] == [
        ("c", "channel", None),
        ("y", "space", "micrometer"),
        ("x", "space", "micrometer"),
    ]
    assert [list(level.coordinateTransformations[0].scale) for level in scales.datasets] == [[1, 2, 0.5], [1, 4, 1]]
    assert [level.path for level in scales.datasets] == ["0", "1"]
    np.testing.assert_array_equal(group["0"][...], source)
    # It refuses a level with a number too few.
    document = Path(path, "zarr.json" if format == "zarr3" else ".zattrs")
    changed = json.loads(document.read_text())
    inner = changed["attributes"]["ome"] if format == "zarr3" else changed
    inner["multiscales"][0]["datasets"][1]["coordinateTransformations"][0]["scale"].pop()
    document.write_text(json.dumps(changed))
    with pytest.raises(RuntimeError, match="Could not successfully validate"):
        models.open_ome_zarr(zarr.open_group(path, mode="r"))


def test_axes_are_those_that_are_named(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=(2, 3, 8, 8), dtype="u1", dimension_names=["t", "c", "y", "x"])
    image = ndzarr.ome.create(f"{folder}/named", a, levels=2)
    assert [axis[:2] for axis in image.axes] == [("t", "time"), ("c", "channel"), ("y", "space"), ("x", "space")]
    assert image.levels[1].shape == (2, 3, 4, 4)
    axes = [Axis("t", "time", "second"), "z", "y", "x"]
    image = ndzarr.ome.create(f"{folder}/given", a, axes=axes, unit="nanometer", factors=(1, 1, 4, 2), levels=2)
    assert image.axes[:2] == (Axis("t", "time", "second"), Axis("z", "space", "nanometer"))
    assert image.levels[1].shape == (2, 3, 2, 4)
    with pytest.raises(ValueError, match="3 axes for an array of 4"):
        ndzarr.ome.create(f"{folder}/none", a, axes="zyx")
    with pytest.raises(ValueError, match="method is one of"):
        ndzarr.ome.create(f"{folder}/none", a, method="median")  # type: ignore[arg-type]
    assert not os.path.exists(f"{folder}/none")


def test_elements_of_numpy_become_an_image(folder: str) -> None:
    labels = np.repeat(np.repeat(np.array([[3, 9]], "u2"), 4, 0), 4, 1)
    labels[0, 0] = 1
    image = ndzarr.ome.create(f"{folder}/i", labels, levels=3, method="mode", chunks=2, shards=8, codecs=["zstd"])
    assert (image.levels[0].chunks, image.levels[0].shards, image.levels[0].codecs[-1]) == ((2, 2), (8, 8), "zstd")
    np.testing.assert_array_equal(image.levels[1][...], [[3, 3, 9, 9], [3, 3, 9, 9]])
    np.testing.assert_array_equal(image.levels[2][...], [[3, 9]])
    image.levels[0][...] = 5
    image.make_levels("mode")
    np.testing.assert_array_equal(image.levels[2][...], [[5, 5]])
    assert image.method == "mode"
    image.make_levels("mean")
    assert (image.method, ndzarr.ome.open(f"{folder}/i").method) == ("mean", "mean")
    assert list(ndzarr.open_group("memory://ndzarr.ome")) == []
    with pytest.raises(TypeError, match="mask"):
        ndzarr.ome.create(f"{folder}/masked", np.ma.masked_equal(labels, 1))
    assert not os.path.exists(f"{folder}/masked")


def test_what_is_there_is_replaced_if_asked_for(folder: str) -> None:
    a = plain(f"{folder}/a")
    ndzarr.ome.create(f"{folder}/i", a, levels=1)
    with pytest.raises(FileExistsError):
        ndzarr.ome.create(f"{folder}/i", a)
    image = ndzarr.ome.create(f"{folder}/i", a, levels=2, overwrite=True)
    assert len(image.levels) == 2
    os.symlink(f"{folder}/i", f"{folder}/link")
    for source in (image.levels[0], ndzarr.open_array(f"{folder}/link/0")):
        with pytest.raises(ValueError, match="holds the array that it is to be made from"):
            ndzarr.ome.create(f"{folder}/i", source, overwrite=True)
    np.testing.assert_array_equal(ndzarr.ome.open(f"{folder}/i").levels[0], a)


def test_images_of_viewers_of_n5(folder: str) -> None:
    """Axes are x y z beside N5's own order, and z y x in the other."""
    root = Path(folder, "v.n5")
    for level, size in (("s0", 4), ("s1", 2)):
        ndzarr.create(str(root / "g" / level), shape=(size, size, size), dtype="u1", format="n5")[...] = 7
    attributes = {"multiScale": True, "scales": [[1, 1, 1], [2, 2, 2]], "pixelResolution": {"unit": "um", "dimensions": [1, 2, 3]}}
    (root / "g" / "attributes.json").write_text(json.dumps(attributes))
    image = ndzarr.ome.open(root / "g")
    assert (image.convention, "".join(axis.name for axis in image.axes)) == ("n5-viewer", "xyz")
    assert [image.scale(0), image.scale(1)] == [(1, 2, 3), (2, 4, 6)]
    turned = ndzarr.ome.open(root / "g", n5_axes="reversed")
    assert ("".join(axis.name for axis in turned.axes), turned.scale(1)) == ("zyx", (6, 4, 2))
    assert int(turned.levels[1][0, 1, 1]) == 7


def test_images_of_bigdataviewer_are_unpickled(folder: str) -> None:
    """The factors are in the group above the one that has the levels."""
    root = Path(folder, "b.n5")
    for time in (0, 2):
        for level, shape in (("s0", (8, 8, 4)), ("s1", (4, 4, 4))):
            ndzarr.create(str(root / f"setup0/timepoint{time}" / level), shape=shape, dtype="u1", format="n5")
    (root / "attributes.json").write_text(json.dumps({"n5": "2.5.0"}))
    factors = {"downsamplingFactors": [[1, 1, 1], [2, 2, 1]], "dataType": "uint8"}
    (root / "setup0/attributes.json").write_text(json.dumps(factors))
    found = ndzarr.ome.find(ndzarr.open_group(root, format="n5"))
    assert [image.path for image in found] == ["setup0/timepoint0", "setup0/timepoint2"]
    for image in found:
        copied = pickle.loads(pickle.dumps(image))
        assert (copied.path, copied.convention) == (image.path, image.convention)
        assert [copied.scale(level) for level in range(2)] == [(1, 1, 1), (2, 2, 1)]
        assert copied.group == image.group
        assert copied.levels[1] == image.levels[1]


def test_series_are_found(folder: str) -> None:
    a = plain(f"{folder}/a")
    root = ndzarr.create_group(f"{folder}/s", attributes={"ome": {"version": "0.5", "bioformats2raw.layout": 3}})
    for name in "01":
        ndzarr.ome.create(f"{folder}/s/{name}", a, levels=1, name=name)
    found = ndzarr.ome.find(root)
    assert [(image.path, image.name) for image in found] == [("0", "0"), ("1", "1")]
    assert found[1].group == root["1"]
    assert found[1].levels[0] == root["1/0"]
    assert ndzarr.ome.open(f"{folder}/s").name == "0"
    copied = pickle.loads(pickle.dumps(found[1]))
    assert (copied.name, copied.levels[0]) == ("1", found[1].levels[0])


def test_what_is_not_an_image(folder: str) -> None:
    with pytest.raises(FileNotFoundError):
        ndzarr.ome.open(f"{folder}/none")
    ndzarr.create_group(f"{folder}/g")
    with pytest.raises(ndzarr.MetadataError, match="no multiscale image"):
        ndzarr.ome.open(f"{folder}/g")
    a = plain(f"{folder}/a")
    with pytest.raises(ndzarr.NodeKindError):
        ndzarr.ome.open(f"{folder}/a")
    del a


def test_a_level_as_xarray(folder: str) -> None:
    xarray = pytest.importorskip("xarray")
    a = plain(f"{folder}/a")
    image = ndzarr.ome.create(f"{folder}/i", a, scale=(2, 0.5), unit="micrometer", levels=2, name="cells")
    found = image.to_xarray(1)
    assert isinstance(found, xarray.DataArray)
    assert (found.dims, found.name, found.x.attrs) == (("y", "x"), "cells", {"units": "micrometer"})
    # The centres of 2 by 2 elements.
    np.testing.assert_array_equal(found.y, [1, 5, 9])
    np.testing.assert_array_equal(found.x, [0.25, 1.25, 2.25])
    np.testing.assert_array_equal(found, MEANS)
    assert int(found.sel(y=5, x=1.25)) == 28


def test_axes_from_n5_in_its_own_order_are_a_finding(folder: str) -> None:
    for axes, names in (("native", ["x", "y", "z"]), ("reversed", ["z", "y", "x"])):
        a = ndzarr.create(f"{folder}/{axes}.n5/s0", shape=(4, 3, 2), dtype="u2", format="n5", n5_axes=axes)
        image = ndzarr.ome.create(f"{folder}/{axes}.zarr", a, name="cells")
        assert [axis.name for axis in image.axes] == names
        # OME-Zarr 0.5: three axes of space should be ordered z, y, x.
        found = [finding for finding in image.validate() if "axes" in finding]
        assert found == ([] if axes == "reversed" else ["ome.multiscales[0].axes should have z, y, x in this order, not x, y, z"])


def test_images_are_unpickled_without_their_store(folder: str) -> None:
    image = ndzarr.ome.create(f"{folder}/i.zarr", np.zeros((4, 4), "u1"), name="cells")
    text = pickle.dumps(image)
    os.rename(f"{folder}/i.zarr", f"{folder}/away")
    found = pickle.loads(text)
    with pytest.raises(FileNotFoundError):
        found.levels
    os.rename(f"{folder}/away", f"{folder}/i.zarr")
    assert (found.name, found.levels[0].shape) == ("cells", (4, 4))
    again = ndzarr.ome.create(f"{folder}/j.zarr", pickle.loads(pickle.dumps(image.levels[0])))
    assert again.levels[0].shape == (4, 4)
    assert len(ndzarr.ome.find(pickle.loads(pickle.dumps(image.group)))) == 1
