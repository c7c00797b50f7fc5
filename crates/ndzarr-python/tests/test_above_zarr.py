"""Programs above zarr-python: what they write and read with the pipeline is what they do without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndzarr
import ndzarr.ome

zarr = pytest.importorskip("zarr")


def pipeline() -> Any:
    return zarr.config.set({"codec_pipeline.path": "ndzarr.zarr.NdzarrCodecPipeline"})


def arrays(path: str) -> dict[str, Any]:
    """The arrays of a group, by zarr-python's own pipeline."""
    members = zarr.open_group(path, mode="r").members(max_depth=None)
    return {name: node for name, node in members if isinstance(node, zarr.Array)}


def same_arrays(path: str, other: str) -> None:
    found, expected = arrays(path), arrays(other)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert (found[name].metadata, found[name].attrs.asdict()) == (array.metadata, array.attrs.asdict()), name
        np.testing.assert_array_equal(found[name][...], array[...], err_msg=name)


def annotated() -> Any:
    """Cells by genes: dense, sparse, of categories, of text and with missing values."""
    anndata, pd, sparse = (pytest.importorskip(name) for name in ("anndata", "pandas", "scipy.sparse"))
    random = np.random.default_rng(0)
    counts = sparse.random(50, 30, density=0.2, format="csr", dtype="f4", random_state=0)
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(random.choice(["B", "T", "NK"], 50)),
            "size": random.random(50),
            "whole": pd.array([None if i % 7 == 0 else i for i in range(50)], dtype="Int32"),
        },
        index=[f"cell {i}" for i in range(50)],
    )
    found = anndata.AnnData(counts, obs=obs, var=pd.DataFrame(index=[f"Gen ü{i}" for i in range(30)]))
    found.layers["columns"] = counts.tocsc()
    found.layers["dense"] = random.random((50, 30))
    found.obsm["umap"] = random.random((50, 2)).astype("f4")
    found.obsp["near"] = sparse.random(50, 50, density=0.1, format="csr", random_state=1)
    found.uns["made"] = {"by": "a test", "at": np.int64(5), "colours": np.array(["red", "green"])}
    return found


@pytest.mark.filterwarnings("ignore")
def test_anndata(folder: str, written: set[str]) -> None:
    anndata = pytest.importorskip("anndata")
    from anndata.tests.helpers import assert_equal

    own, new = f"{folder}/own.zarr", f"{folder}/new.zarr"
    annotated().write_zarr(own, chunks=(20, 20))
    assert not written
    with pipeline():
        annotated().write_zarr(new, chunks=(20, 20))
    # Nothing is written to the one that stands for "none".
    assert {str(Path(place).relative_to(new)) for place in written} == arrays(new).keys() - {"raw"}
    same_arrays(new, own)
    expected = anndata.read_zarr(own)
    assert_equal(expected, annotated(), exact=False)
    with pipeline():
        for path in (own, new):
            assert_equal(anndata.read_zarr(path), expected, exact=True)
        rows = anndata.io.sparse_dataset(zarr.open_group(new)["X"])[5:17]
    np.testing.assert_array_equal(rows.toarray(), annotated().X[5:17].toarray())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_ome_zarr_py(folder: str, written: set[str], version: str) -> None:
    pytest.importorskip("ome_zarr")
    from ome_zarr.format import format_from_version
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader
    from ome_zarr.writer import write_image, write_labels

    pixels = np.random.default_rng(0).integers(0, 4096, (2, 60, 70)).astype("u2")
    labels = np.repeat(np.arange(1, 61, dtype="u4"), 70).reshape(60, 70)

    def write(path: str) -> None:
        how = format_from_version(version)
        root = zarr.open_group(path, mode="w", zarr_format=how.zarr_format)
        write_image(pixels, root, scale_factors=[2, 4], axes="cyx", fmt=how, storage_options={"chunks": (1, 32, 32)})
        write_labels(labels, root, name="rows", scale_factors=[2], axes="yx", fmt=how, storage_options={"chunks": (32, 32)})

    def read(path: str) -> list[list[np.ndarray[Any, Any]]]:
        nodes = Reader(parse_url(path, mode="r"))()
        return [[np.asarray(level) for level in node.data] for node in nodes]

    own, new = f"{folder}/own.zarr", f"{folder}/new.zarr"
    write(own)
    assert not written
    with pipeline():
        write(new)
    assert {str(Path(place).relative_to(new)) for place in written} == arrays(new).keys()
    same_arrays(new, own)
    expected = read(own)
    np.testing.assert_array_equal(expected[0][0], pixels)
    for path in (own, new):
        with pipeline():
            found = read(path)
        assert [len(node) for node in found] == [len(node) for node in expected]
        for node, other in zip(found, expected, strict=True):
            for level, same in zip(node, other, strict=True):
                np.testing.assert_array_equal(level, same)
    np.testing.assert_array_equal(ndzarr.ome.open(new).levels[0][...], pixels)
