//! `Points`: a selection of single elements by their coordinates, and masks of a whole array.

use std::sync::Arc;

use ndarray::{ArrayBase, Data, Dimension, Ix1};

use crate::error::Result;
use crate::selections::axis_selection::Integer;
use crate::selections::mask::Mask;
use crate::selections::point_list::PointList;
use crate::selections::resolved::{Resolution, Resolved};
use crate::selections::selection::{Selection, index_in, wrong};

/// Single elements of an array, by their coordinates, in any order. The result has one axis.
///
/// This is NumPy's indexing by arrays of coordinates, and zarr's `vindex`. Negative coordinates
/// count from the end. Each chunk is read once, however its elements are spread over the points; of
/// a shard, only the inner chunks that have any. If a write has a point twice, the last one counts.
///
/// ```
/// use ndarray::array;
/// use ndzarr::{Array, MemoryStore, Points};
///
/// let a = Array::<u8>::builder([2, 3]).create((MemoryStore::new(), "a"))?;
/// a.write(.., &array![[1, 2, 3], [4, 5, 6]])?;
/// // As a list of points, or by axis.
/// assert_eq!(a.read(Points::new([[1, 2], [0, 0], [-1, 2]]))?, array![6, 1, 6]);
/// assert_eq!(a.read(Points::by_axis([[1, 0, -1], [2, 0, 2]]))?, array![6, 1, 6]);
/// a.write(Points::new([[0, 1], [1, 1]]), &[7, 8])?;
/// assert_eq!(a.read(..)?, array![[1, 7, 3], [4, 8, 6]].into_dyn());
///
/// // A mask of the array's shape selects the elements where it is true, in C order.
/// let mask = array![[true, false, false], [false, true, true]];
/// assert_eq!(a.read(&mask)?, array![1, 8, 6]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    /// Point by point.
    coordinates: Vec<i128>,
    n_axes: usize,
    n: usize,
    /// The numbers of coordinates that differ.
    uneven: Option<(usize, usize)>,
}

impl Points {
    /// Points with one coordinate for each axis.
    pub fn new<I: Integer>(points: impl IntoIterator<Item = impl AsRef<[I]>>) -> Self {
        let mut all = Self {
            coordinates: Vec::new(),
            n_axes: 0,
            n: 0,
            uneven: None,
        };
        for point in points {
            let point = point.as_ref();
            if all.n == 0 {
                all.n_axes = point.len();
            } else if point.len() != all.n_axes {
                all.uneven.get_or_insert((all.n_axes, point.len()));
            }
            all.coordinates.extend(point.iter().map(|at| at.to_i128()));
            all.n += 1;
        }
        all
    }

    /// Points whose coordinates are listed for each axis, as in NumPy.
    pub fn by_axis<I: Integer>(axes: impl IntoIterator<Item = impl AsRef<[I]>>) -> Self {
        let axes: Vec<_> = axes.into_iter().collect();
        let n = axes.first().map_or(0, |axis| axis.as_ref().len());
        let uneven = axes
            .iter()
            .map(|axis| axis.as_ref().len())
            .find(|&len| len != n);
        let point = |at| axes.iter().filter_map(move |axis| axis.as_ref().get(at));
        let coordinates = (0..n).flat_map(point).map(|at| at.to_i128()).collect();
        Self {
            coordinates,
            n_axes: axes.len(),
            n,
            uneven: uneven.map(|len| (n, len)),
        }
    }
}

impl Selection for Points {
    type OutDim = Ix1;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        if let Some((one, other)) = self.uneven {
            return Err(wrong(format!(
                "points with {one} and with {other} coordinates"
            )));
        }
        // A list of no points has no number of coordinates.
        if (self.n > 0 || self.n_axes > 0) && self.n_axes != shape.len() {
            let n_axes = self.n_axes;
            let ndim = shape.len();
            return Err(wrong(format!(
                "points of {n_axes} coordinates for an array of {ndim} dimensions"
            )));
        }
        let coordinates = self.coordinates.iter().zip((0..shape.len()).cycle());
        let coordinates = coordinates.map(|(&at, axis)| index_in(at, axis, shape[axis]));
        let coordinates = coordinates.collect::<Result<_>>()?;
        let points = PointList {
            coordinates,
            n_axes: shape.len(),
            n: self.n,
        };
        Ok(Resolved(Resolution::Points(Arc::new(points))))
    }
}

/// A mask: the elements where it is true, in C order.
impl<S: Data<Elem = bool>, D: Dimension> Selection for ArrayBase<S, D> {
    type OutDim = Ix1;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        if !self
            .shape()
            .iter()
            .map(|&n| n as u64)
            .eq(shape.iter().copied())
        {
            let given = self.shape();
            return Err(wrong(format!(
                "a mask of shape {given:?} for an array of {shape:?}"
            )));
        }
        Ok(Resolved(Resolution::Mask(Arc::new(Mask::new(
            self.shape(),
            self.iter(),
        )))))
    }
}
