"""Shapes, as users of Python spell them."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

__all__ = ["Shape", "as_shape", "for_each_axis"]

Shape = int | Sequence[int]


def as_shape(shape: Shape) -> list[int]:
    """The length of each axis; one number is a shape of one axis."""
    lens = [operator.index(n) for n in ([shape] if _is_one(shape) else shape)]  # type: ignore[arg-type, union-attr]
    for n in lens:
        if not 0 <= n < 2**64:
            raise ValueError(f"the length of an axis is from 0 to 2**64 - 1, not {n}")
    return lens


def for_each_axis(given: Shape | None, ndim: int) -> list[int] | None:
    """A shape, of which one number stands for every axis."""
    if given is None:
        return None
    found = as_shape(given)
    return found * ndim if _is_one(given) else found


def _is_one(shape: object) -> bool:
    return isinstance(shape, (int, np.integer)) or (isinstance(shape, np.ndarray) and shape.ndim == 0)
