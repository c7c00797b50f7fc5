"""Kinds of random selections: the request to ndzarr, and the same selection in NumPy, tensorstore
and zarr-python."""

import numpy as np
import tensorstore

NAMES = ["t", "z", "y", "x"]


class Kind:
    """One selection. `take` and `put` are NumPy's; the rest is for the peers, which may have no such selection."""

    def __init__(self, name, request, take, put):
        self.name = name
        self.request = request
        self.take = take
        self.put = put
        self.by_tensorstore = self.by_zarr = ""
        self.in_tensorstore = self.zarr_get = self.zarr_set = None
        # True if the peers drop the same axes.
        self.same_shape = True
        # Moves one index outside the array, if it has one.
        self.spoil = None

    def with_tensorstore(self, how, view):
        """A view of an array, which is read and written."""
        self.by_tensorstore = how
        self.in_tensorstore = view
        return self

    def with_zarr(self, how, get, put):
        self.by_zarr = how
        self.zarr_get = get
        self.zarr_set = put
        return self


def indexed(name, request, index):
    def put(elements, values):
        elements[index] = values

    return Kind(name, request, lambda elements: elements[index], put)


def integers(along):
    return np.array(along, dtype=np.intp)


def outside(r, n):
    return r.choice([n, -n - 1])


def indices(r, n, distinct):
    found = r.sample(range(n), r.randint(0, n)) if distinct else [r.randrange(n) for _ in range(r.randint(0, 9))]
    return [at - n if r.random() < 0.3 else at for at in found]


def a_mask(r, n):
    share = r.choice([0.05, 0.5, 1])
    return [r.random() < share for _ in range(n)]


def lists(r, stored, distinct):
    chosen = [indices(r, n, distinct) for n in stored.shape]
    there = [[at % n for at in along] for n, along in zip(stored.shape, chosen)]
    outer = tuple(integers(along) for along in there)
    kind = indexed("lists", {"lists": chosen}, np.ix_(*outer))
    kind.with_tensorstore("oindex", lambda t: t.oindex[tuple(there)])
    if all(there):
        kind.with_zarr("oindex", lambda z: z.oindex[outer], lambda z, values: z.oindex.__setitem__(outer, values))

    def spoil(r, shape):
        axis = r.randrange(len(shape))
        if not chosen[axis]:
            return False
        chosen[axis][r.randrange(len(chosen[axis]))] = outside(r, shape[axis])
        return True

    kind.spoil = spoil
    return kind


def axis_masks(r, stored, _):
    chosen = [a_mask(r, n) for n in stored.shape]
    masks = tuple(np.array(mask) for mask in chosen)
    kind = indexed("masks of axes", {"masks": chosen}, np.ix_(*masks))
    kind.with_tensorstore("oindex", lambda t: t.oindex[masks])
    if all(mask.any() for mask in masks):
        kind.with_zarr("oindex", lambda z: z.oindex[masks], lambda z, values: z.oindex.__setitem__(masks, values))

    def spoil(r, shape):
        chosen[r.randrange(len(shape))].append(True)
        return True

    kind.spoil = spoil
    return kind


def a_slice(r, n):
    """Start, end and step, which counts from the end if it is negative; and the same as a slice of Python."""
    start, end = sorted(r.randint(0, n) for _ in range(2))
    step = r.choice([-4, -3, -2, -1, 1, 1, 2, 3, 4])
    chosen = [start - n if 0 < n - start and r.random() < 0.2 else start, end, step]
    if end == n and r.random() < 0.5:
        chosen[1] = None
    if start == end:
        return chosen, slice(start, start, 1)
    if step > 0:
        return chosen, slice(start, end, step)
    return chosen, slice(end - 1, start - 1 if start > 0 else None, step)


def slices(r, stored, _):
    chosen = []
    python = []
    for n in stored.shape:
        if r.random() < 0.3:
            at = r.randrange(-n, n)
            chosen.append(at)
            python.append(at % n)
        else:
            along, its_slice = a_slice(r, n)
            chosen.append(along)
            python.append(its_slice)
    python = tuple(python)
    kind = indexed("slices", {"slices": chosen}, python)
    # Down to the first index: to NumPy, -1 would be the last one; tensorstore takes no end for one that may move.
    down = [isinstance(along, slice) and along.stop is None for along in python]
    explicit = tuple(slice(along.start, -1, along.step) if is_down else along for along, is_down in zip(python, down))
    kind.with_tensorstore("slices", lambda t: t[explicit])
    if all(isinstance(along, int) or along.step > 0 for along in python):
        kind.with_zarr("slices", lambda z: z[python], lambda z, values: z.__setitem__(python, values))

    def spoil(r, shape):
        axis = r.randrange(len(shape))
        if isinstance(chosen[axis], int):
            chosen[axis] = outside(r, shape[axis])
        else:
            chosen[axis][1] = shape[axis] + 1
        return True

    kind.spoil = spoil
    return kind


def names(r, stored, distinct):
    """In any order; the result has the array's, as in xarray."""
    shape = stored.shape
    chosen = []
    dropped = []
    labels = {}
    there = [list(range(n)) for n in shape]
    for axis in r.sample(range(len(shape)), len(shape)):
        n = shape[axis]
        what = r.choice(["index", "mask", "list", "slice", "all"])
        if what == "index":
            along = r.randrange(-n, n)
            there[axis] = [along % n]
            dropped.append(axis)
        elif what == "mask":
            along = a_mask(r, n)
            there[axis] = [at for at in range(n) if along[at]]
        elif what == "list":
            along = indices(r, n, distinct)
            there[axis] = [at % n for at in along]
        elif what == "slice":
            (start, end, step), its_slice = a_slice(r, n)
            along = {"start": start, "end": end, "step": step}
            there[axis] = list(range(n))[its_slice]
        else:
            continue
        chosen.append([NAMES[axis], along])
        labels[NAMES[axis]] = there[axis]
    outer = tuple(integers(along) for along in there)
    index = np.ix_(*outer)

    def put(elements, values):
        elements[index] = np.expand_dims(values, tuple(dropped))

    def by_label(t):
        for name, along in labels.items():
            t = t[tensorstore.d[name].oindex[along]]
        return t

    def zarr_set(z, values):
        z.oindex[outer] = np.expand_dims(values, tuple(dropped))

    kind = Kind("names", {"names": chosen}, lambda elements: np.squeeze(elements[index], axis=tuple(dropped)), put)
    kind.with_tensorstore("labels", by_label)
    if all(there):
        kind.with_zarr("oindex", lambda z: z.oindex[outer], zarr_set)
    kind.same_shape = not dropped

    def spoil(r, shape):
        if not chosen:
            return False
        along = r.choice(chosen)
        along[1] = [outside(r, shape[NAMES.index(along[0])])]
        return True

    kind.spoil = spoil
    return kind


def points(r, stored, distinct):
    shape = stored.shape
    chosen = [[r.randrange(-n, n) for n in shape] for _ in range(r.randint(0, 30))]
    if distinct:
        chosen = list({tuple(at % n for at, n in zip(point, shape)): point for point in chosen}.values())
    by_axis = list(zip(*chosen)) or [[] for _ in shape]
    there = tuple(integers([at % n for at in along]) for along, n in zip(by_axis, shape))
    kind = indexed("points", {"points": chosen}, there)
    kind.with_tensorstore("vindex", lambda t: t.vindex[there])
    if chosen:
        kind.with_zarr("vindex", lambda z: z.vindex[there], lambda z, values: z.vindex.__setitem__(there, values))

    def spoil(r, shape):
        axis = r.randrange(len(shape))
        if not chosen:
            return False
        r.choice(chosen)[axis] = outside(r, shape[axis])
        return True

    kind.spoil = spoil
    return kind


def masks(r, stored, _):
    mask = np.array(a_mask(r, int(np.prod(stored.shape)))).reshape(stored.shape)
    kind = indexed("masks", {"mask": mask.ravel().tolist()}, mask)
    kind.with_tensorstore("vindex", lambda t: t.vindex[mask])
    if mask.any():
        kind.with_zarr(
            "mask", lambda z: z.get_mask_selection(mask), lambda z, values: z.set_mask_selection(mask, values)
        )
    return kind


def blocks(r, stored, _):
    chosen = []
    for n, length in zip(stored.shape, stored.chunks):
        count = -(-n // length)
        first, end = sorted((r.randint(0, count - 1), r.randint(1, count)))
        chosen.append([first, max(end, first + 1)])
    python = tuple(slice(a * c, min(b * c, n)) for (a, b), c, n in zip(chosen, stored.chunks, stored.shape))
    taken = tuple(slice(first, end) for first, end in chosen)
    kind = indexed("blocks", {"blocks": chosen}, python)
    kind.with_tensorstore("slices", lambda t: t[python])
    # In a sharded array, zarr-python's blocks are shards.
    if stored.shards is None:
        kind.with_zarr("blocks", lambda z: z.blocks[taken], lambda z, values: z.blocks.__setitem__(taken, values))

    def spoil(r, shape):
        axis = r.randrange(len(shape))
        chosen[axis][1] = -(-shape[axis] // stored.chunks[axis]) + 1
        return True

    kind.spoil = spoil
    return kind


KINDS = [lists, axis_masks, slices, names, points, masks, blocks]
