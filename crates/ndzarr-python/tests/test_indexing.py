"""Indices: as NumPy and zarr-python understand them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import ndzarr

PARTS = [
    0,
    -1,
    np.uint8(2),
    np.array(3),
    slice(None),
    slice(1, 5),
    slice(None, None, -1),
    slice(8, 1, -3),
    slice(-3, None, 2),
    slice(5, 2),
    slice(0, 10**30),
]


@pytest.mark.parametrize("key", list(itertools.product(PARTS, PARTS[::2], [slice(2, 9, 3), 4])), ids=str)
def test_basic_indices_are_those_of_numpy(stored: ndzarr.Array, cube: Any, key: Any) -> None:
    expected = cube[key]
    found = stored[key]
    np.testing.assert_array_equal(found, expected)
    assert np.shape(found) == np.shape(expected)
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "key",
    [..., (), (0,), (..., 1), (2, ...), (2, ..., 1), (None, 0), (..., None), (0, None, ..., None, 1), (0, 1, 2, ...), (0, 1, 2, None)],
    ids=str,
)
def test_dots_and_new_axes(stored: ndzarr.Array, cube: Any, key: Any) -> None:
    expected = cube[key]
    found = stored[key]
    np.testing.assert_array_equal(found, expected)
    assert np.shape(found) == np.shape(expected)
    assert type(found) is type(expected)
    stored[key] = expected * -1
    np.testing.assert_array_equal(stored[key], expected * -1)


@pytest.mark.parametrize("key", [(0, 0, 0, 0), (..., ...), 1.5, "x", (0, "y"), {}, (slice(0.5),)], ids=str)
def test_what_is_no_index(stored: ndzarr.Array, key: Any) -> None:
    with pytest.raises((IndexError, TypeError, ValueError)):
        stored[key]


def test_bounds(stored: ndzarr.Array) -> None:
    for key in (16, -17, (0, 12), (0, 0, -11)):
        with pytest.raises(IndexError):
            stored[key]
    assert stored[16:20].shape == (0, 12, 10)


def test_py09_bools_are_masks_and_arrays_of_one_are_integers(stored: ndzarr.Array, cube: Any) -> None:
    for key in (True, (False, 0), np.True_):
        with pytest.raises(IndexError):
            stored[key]
    np.testing.assert_array_equal(stored[np.array(3), np.uint8(2), np.int64(1)], cube[3, 2, 1])


def test_py10_values_of_another_shape(stored: ndzarr.Array, cube: Any) -> None:
    stored[0:2, 0] = cube[5, 5]
    np.testing.assert_array_equal(stored[1, 0], cube[5, 5])
    for value in (np.zeros(9, "f4"), np.zeros((2, 12, 10), "f4"), np.zeros(120, "f4"), np.zeros((10, 12), "f4")):
        with pytest.raises(ValueError, match="shape"):
            stored[0] = value
    # Axes of one element in front do not matter.
    expected = stored[...]
    for value in (cube[5][None], cube[6][None, None]):
        stored[0] = expected[0] = value
        stored[:, 3:4] = expected[:, 3:4] = value[..., 3:4, :]
        stored[[4, 1], 2] = expected[[4, 1], 2] = value[..., 2:4, :]
        np.testing.assert_array_equal(stored[...], expected)
    with pytest.raises(ValueError):
        stored[1, 2, 3] = np.array([[5]], "f4")
    points = (np.array([0, 1]), np.array([2, 3]), np.array([4, 5]))
    mask = np.zeros(cube.shape, bool)
    mask[points] = True
    for value in (np.zeros((1, 2), "f4"), np.zeros((2, 1), "f4"), np.zeros(3, "f4")):
        with pytest.raises(ValueError, match="shape"):
            stored.vindex[points] = value
        with pytest.raises(ValueError, match="shape"):
            stored[mask] = value


def test_py11_casts_are_those_of_numpy(folder: str) -> None:
    a = ndzarr.create(f"{folder}/i", shape=4, dtype="i4")
    a[...] = [1.7, -1.7, 2.2, 0]
    assert a[...].tolist() == [1, -1, 2, 0]
    a[0] = True
    assert a[0] == 1
    with pytest.raises(ValueError):
        a[0] = "a text"
    u = ndzarr.create(f"{folder}/u", shape=4, dtype="u1")
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(OverflowError):
            u[0] = 300


def test_index_arrays_along_axes(stored: ndzarr.Array, cube: Any) -> None:
    rows, columns = [5, 0, 0, -1], np.array([True, False] * 5)
    np.testing.assert_array_equal(stored.oindex[rows, 2:9:3, columns], cube[np.ix_(rows, range(2, 9, 3), np.nonzero(columns)[0])])
    np.testing.assert_array_equal(stored.oindex[rows, 3], cube[rows, 3])
    np.testing.assert_array_equal(stored[rows], cube[rows])
    np.testing.assert_array_equal(stored[2, [3, 1]], cube[2, [3, 1]])
    np.testing.assert_array_equal(stored.oindex[..., columns], cube[..., columns])
    with pytest.raises(IndexError, match="oindex"):
        stored[..., columns]
    assert stored.oindex[[], :, 0].shape == (0, 12)
    with pytest.raises(IndexError, match="oindex"):
        stored[[1, 2], [1, 2]]
    with pytest.raises(IndexError):
        stored.oindex[[16]]
    with pytest.raises(IndexError):
        stored.oindex[[True, False]]
    with pytest.raises(IndexError):
        stored.oindex[[0.5]]


NUMPY_KEYS = [0, slice(1, 3), None, [0, 1], np.array([True, False, True])]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_what_numpy_selects_otherwise_is_an_error(folder: str, n: int) -> None:
    x = np.arange(81).reshape(3, 3, 3, 3)[(0,) * (4 - n)]
    a = ndzarr.create(f"{folder}/a", shape=x.shape, dtype=x.dtype, chunks=2)
    a[...] = x
    n_equal = n_refused = 0
    for key in itertools.product(NUMPY_KEYS, repeat=n):
        try:
            expected = x[key]
        except IndexError:
            continue
        try:
            found = a[key]
        except IndexError as error:
            n_refused += 1
            assert "oindex" in str(error), key
            with pytest.raises(IndexError):
                a[key] = 0
            continue
        n_equal += 1
        np.testing.assert_array_equal(found, expected, err_msg=str(key))
    assert n_equal >= 5 and (n_refused > 0) == (n > 1)


def test_py09_silent_differences_from_numpy_are_errors(stored: ndzarr.Array, cube: Any) -> None:
    # NumPy: shape (2, 12), since the integer and the list are apart; along its axis it would be (12, 2).
    assert cube[0, :, [0, 1]].shape == (2, 12)
    masks = tuple(np.arange(n) % 2 == 0 for n in cube.shape)
    for key in ((0, slice(None), [0, 1]), masks, masks[:2], (*masks[:2], [0, 1])):
        with pytest.raises(IndexError, match="oindex"):
            stored[key]
        with pytest.raises(IndexError, match="oindex"):
            stored[key] = 0
    np.testing.assert_array_equal(stored[...], cube)
    np.testing.assert_array_equal(stored.oindex[masks], cube[np.ix_(*masks)])


def test_elements_without_axes(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=(), dtype="i4", fill_value=5)
    x = np.array(5, "i4")
    for key in (..., ()):
        assert type(a[key]) is type(x[key]) and a[key] == 5
    assert type(a.get_basic_selection()) is np.ndarray
    assert 5 in a and 6 not in a


def test_in_is_that_of_numpy(stored: ndzarr.Array, cube: Any) -> None:
    for value in (5, 5.5, -1, cube.size - 1, cube[3], cube[3, 2], cube[0] - 1, cube, [[0.0]]):
        assert (value in stored) == (value in cube), value


def test_index_arrays_are_written_with_the_last_of_a_value(stored: ndzarr.Array, cube: Any) -> None:
    expected = cube.copy()
    value = np.arange(4 * 10, dtype="f4").reshape(4, 10)
    stored.oindex[[3, 1, 3, 2], 5] = value
    expected[[3, 1, 3, 2], 5] = value
    np.testing.assert_array_equal(stored[...], expected)


def test_points_and_masks(stored: ndzarr.Array, cube: Any) -> None:
    points = ([[0, -1], [3, 3]], [[1, 2], [5, 5]], 4)
    np.testing.assert_array_equal(stored.vindex[points], cube[points])
    np.testing.assert_array_equal(stored[[0, 1], [2, 3], [4, 5]], cube[[0, 1], [2, 3], [4, 5]])
    mask = cube % 7 == 0
    np.testing.assert_array_equal(stored[mask], cube[mask])
    np.testing.assert_array_equal(stored.vindex[mask], cube[mask])
    stored[mask] = -1
    expected = cube.copy()
    expected[mask] = -1
    np.testing.assert_array_equal(stored[...], expected)
    stored.vindex[points] = [[1, 2], [3, 4]]
    expected[points] = [[1, 2], [3, 4]]
    np.testing.assert_array_equal(stored[...], expected)
    out = np.zeros((2, 2), "f4")
    assert stored.get_coordinate_selection(points, out=out) is out
    np.testing.assert_array_equal(out, expected[points])
    with pytest.raises(IndexError):
        stored[mask[:-1]]


def test_blocks(folder: str) -> None:
    x = np.arange(10 * 9).reshape(10, 9)
    a = ndzarr.create(f"{folder}/a", shape=x.shape, dtype=x.dtype, chunks=(2, 3), shards=(4, 6))
    a[...] = x
    assert (a.cdata_shape, a.nchunks) == ((3, 2), 6)
    np.testing.assert_array_equal(a.blocks[0, 1], x[0:4, 6:9])
    np.testing.assert_array_equal(a.blocks[-1], x[8:10])
    np.testing.assert_array_equal(a.blocks[1:3, 0], x[4:10, 0:6])
    a.blocks[2, 1] = 0
    assert a[8:, 6:].sum() == 0
    for key in (3, -4, (0, 2), (slice(None, None, 2), 0), slice(0, 4)):
        with pytest.raises(IndexError):
            a.blocks[key]


def test_rectilinear_blocks(folder: str) -> None:
    a = ndzarr.create(f"{folder}/a", shape=(6, 4), dtype="u1", chunk_edges=[[3, 1, 2], [2, 2]])
    a.blocks[1, 1] = 5
    expected = np.zeros((6, 4), "u1")
    expected[3:4, 2:4] = 5
    np.testing.assert_array_equal(a[...], expected)


def test_all_index_ways_in_every_format(folder: str) -> None:
    x = np.arange(8 * 6, dtype="i4").reshape(8, 6)
    for format in ("zarr2", "zarr3", "n5", "zarr3-draft-a"):
        a = ndzarr.create(f"{folder}/{format}/a", shape=x.shape, dtype="i4", chunks=(3, 4), format=format)
        a[...] = x
        np.testing.assert_array_equal(a.oindex[[7, 0], [5, 1]], x[np.ix_([7, 0], [5, 1])])
        np.testing.assert_array_equal(a.vindex[[7, 0], [5, 1]], x[[7, 0], [5, 1]])
        np.testing.assert_array_equal(a[x % 5 == 0], x[x % 5 == 0])


def test_py12_conversions_to_numpy(stored: ndzarr.Array, cube: Any) -> None:
    np.testing.assert_array_equal(np.asarray(stored), cube)
    assert np.asarray(stored, "f8").dtype == np.dtype("f8")
    assert np.array(stored, copy=True).shape == cube.shape
    with pytest.raises(ValueError):
        stored.__array__(copy=False)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError):
            np.asarray(stored, copy=False)
    np.testing.assert_array_equal(np.from_dlpack(stored), cube)
    assert np.sum(stored) == cube.sum()
    with pytest.raises(TypeError):
        stored + 1  # type: ignore[operator]
    assert len(stored) == 16
    for found, expected in zip(stored, cube, strict=True):
        np.testing.assert_array_equal(found, expected)
