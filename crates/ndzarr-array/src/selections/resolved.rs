//! `Resolved`: a selection applied to an array of known shape.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Axis, Dimension, IxDyn, RawData};
use ndzarr_grid::{Picks, Region};

use crate::error::{Error, ErrorKind, Result};
use crate::selections::mask::Mask;
use crate::selections::point_list::PointList;
use crate::tiles::output::taken;

/// A selection applied to an array of known shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved(pub(crate) Resolution);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// What is selected along each axis, independent of the others.
    Axes(Axes),
    Points(Arc<PointList>),
    /// The elements where it is true, in C order.
    Mask(Arc<Mask>),
}

/// What is selected along each axis, and the axes of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axes {
    /// Along each axis of the array.
    pub(crate) axes: Vec<ResolvedAxis>,
    /// The axes of the result, in order.
    pub(crate) out: Vec<OutAxis>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedAxis {
    /// From the lowest selected index to one past the highest.
    pub(crate) range: Range<u64>,
    /// The selected indices, counted from the start of the range.
    pub(crate) picks: Picks,
    /// The number of selected indices, and their order in the result.
    pub(crate) n: usize,
    pub(crate) order: AxisOrder,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AxisOrder {
    Ascending,
    Descending,
    /// For each index of the result, its position among the picks. Some may repeat.
    Listed(Vec<usize>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutAxis {
    Of(usize),
    New,
}

/// Converts a result to the number of dimensions of its selection.
pub(crate) fn into_dim<T, D: Dimension>(out: ndarray::ArrayD<T>) -> Result<ndarray::Array<T, D>> {
    out.into_dimensionality()
        .map_err(|error| Error::new(ErrorKind::WrongShape, error))
}

impl Resolved {
    pub(crate) fn check_shape(&self, shape: &[usize]) -> Result<()> {
        let expected = self.shape();
        if shape == expected {
            return Ok(());
        }
        let what = format!("an array of shape {shape:?} for a selection of {expected:?}");
        Err(Error::new(ErrorKind::WrongShape, what))
    }

    /// Checks that an array of this shape has all of its elements: a selection of the caller's own,
    /// or one that was resolved before, may be of another array.
    pub(crate) fn check_array(&self, shape: &[u64]) -> Result<()> {
        let fits = match &self.0 {
            Resolution::Axes(Axes { axes, .. }) => {
                axes.len() == shape.len()
                    && axes
                        .iter()
                        .zip(shape)
                        .all(|(axis, &len)| axis.range.end <= len)
            }
            Resolution::Points(points) => points.fit(shape),
            Resolution::Mask(mask) => mask.fits(shape),
        };
        if fits {
            return Ok(());
        }
        let what = format!("the selection was resolved for another shape than {shape:?}");
        Err(Error::new(ErrorKind::WrongShape, what))
    }

    /// Shape of the result, in elements.
    #[must_use]
    pub fn shape(&self) -> Vec<usize> {
        match &self.0 {
            Resolution::Axes(axes) => axes.shape(),
            Resolution::Points(points) => vec![points.len()],
            Resolution::Mask(mask) => vec![mask.len()],
        }
    }

    /// The selection of all combinations: `parts` are selections of arrays of one axis each, or of
    /// none, as of [`NewAxis`](ndarray::NewAxis). For selections whose kinds are known at run time
    /// only.
    ///
    /// # Errors
    /// [`WrongShape`](ErrorKind::WrongShape): one of the parts selects points or by a mask of a
    /// whole array.
    ///
    /// ```
    /// use ndarray::{IxDyn, array};
    /// use ndzarr::{Array, MemoryStore, Resolved, Result, Selection};
    ///
    /// enum Part {
    ///     Index(i64),
    ///     List(Vec<i64>),
    /// }
    ///
    /// struct Parts(Vec<Part>);
    ///
    /// impl Selection for Parts {
    ///     type OutDim = IxDyn;
    ///
    ///     fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
    ///         let parts = self.0.iter().zip(shape).map(|(part, &len)| match part {
    ///             Part::Index(index) => (*index,).resolve(&[len]),
    ///             Part::List(list) => (list,).resolve(&[len]),
    ///         });
    ///         Resolved::outer(parts.collect::<Result<Vec<_>>>()?)
    ///     }
    /// }
    ///
    /// let a = Array::<u8>::builder([2, 3]).create((MemoryStore::new(), "a"))?;
    /// a.write(.., &array![[1, 2, 3], [4, 5, 6]])?;
    /// let parts = Parts(vec![Part::Index(-1), Part::List(vec![2, 0])]);
    /// assert_eq!(a.read(parts)?, array![6, 4].into_dyn());
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn outer(parts: impl IntoIterator<Item = Self>) -> Result<Self> {
        let mut all = Axes {
            axes: Vec::new(),
            out: Vec::new(),
        };
        for part in parts {
            let Resolution::Axes(part) = part.0 else {
                let what = "points and masks of a whole array select along all of its axes at once";
                return Err(Error::new(ErrorKind::WrongShape, what));
            };
            let n_before = all.axes.len();
            all.axes.extend(part.axes);
            all.out.extend(part.out.into_iter().map(|out| match out {
                OutAxis::Of(axis) => OutAxis::Of(n_before + axis),
                OutAxis::New => OutAxis::New,
            }));
        }
        Ok(Self(Resolution::Axes(all)))
    }

    /// See [`Axes::ascending`].
    pub(crate) fn ascending(&self) -> Option<Self> {
        match &self.0 {
            Resolution::Axes(axes) => axes.ascending().map(|axes| Self(Resolution::Axes(axes))),
            Resolution::Points(_) | Resolution::Mask(_) => None,
        }
    }

    /// A selection along axes whose lists are in ascending order.
    pub(crate) fn in_order(&self) -> Option<&Axes> {
        match &self.0 {
            Resolution::Axes(axes) => Some(axes).filter(|axes| axes.ascending().is_none()),
            Resolution::Points(_) | Resolution::Mask(_) => None,
        }
    }

    /// The points of a selection of points or by a mask; none of another one.
    pub(crate) fn points(&self) -> Arc<PointList> {
        match &self.0 {
            Resolution::Points(points) => Arc::clone(points),
            Resolution::Mask(mask) => Arc::new(mask.points()),
            Resolution::Axes(_) => Arc::default(),
        }
    }

    /// The box of a selection by indices and ascending ranges without steps.
    pub(crate) fn dense_region(&self) -> Option<Region> {
        match &self.0 {
            Resolution::Axes(axes) => axes.dense_region(),
            Resolution::Points(_) | Resolution::Mask(_) => None,
        }
    }
}

impl Axes {
    pub(crate) fn shape(&self) -> Vec<usize> {
        self.out
            .iter()
            .map(|out| match out {
                OutAxis::Of(axis) => self.axes[*axis].n,
                OutAxis::New => 1,
            })
            .collect()
    }

    /// The box that contains every selected element.
    pub(crate) fn region(&self) -> Region {
        Region::new(self.axes.iter().map(|axis| axis.range.clone()))
    }

    /// The axis, if all of it is selected in ascending order.
    fn dense_region(&self) -> Option<Region> {
        let dense = |axis: &ResolvedAxis| axis.picks.is_all() && axis.order == AxisOrder::Ascending;
        self.axes.iter().all(dense).then(|| self.region())
    }

    /// Which indices of the box are selected along each axis.
    pub(crate) fn picks(&self) -> Vec<Picks> {
        self.axes.iter().map(|axis| axis.picks.clone()).collect()
    }

    /// Turns a view of the result's shape into one with one axis per array axis, in ascending
    /// order.
    pub(crate) fn unfold<S: RawData>(&self, view: ArrayBase<S, IxDyn>) -> ArrayBase<S, IxDyn> {
        let mut view = view;
        for (at, out) in self.out.iter().enumerate().rev() {
            if *out == OutAxis::New {
                view = view.index_axis_move(Axis(at), 0);
            }
        }
        if let Some(order) = self.permutation() {
            view = view.permuted_axes(order);
        }
        for (axis, resolved) in self.axes.iter().enumerate() {
            if !self.out.contains(&OutAxis::Of(axis)) {
                view = view.insert_axis(Axis(axis));
            }
            if resolved.order == AxisOrder::Descending {
                view.invert_axis(Axis(axis));
            }
        }
        view
    }

    /// The axes of the result that are of the array, in the order of the array's; `None` if they
    /// are.
    fn permutation(&self) -> Option<Vec<usize>> {
        let of = |out: &OutAxis| match out {
            OutAxis::Of(axis) => Some(*axis),
            OutAxis::New => None,
        };
        let axes: Vec<usize> = self.out.iter().filter_map(of).collect();
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by_key(|&at| axes[at]);
        Some(order).filter(|order| !order.is_sorted())
    }

    /// The selection with its lists in ascending order, each index once; `None` if they are.
    pub(crate) fn ascending(&self) -> Option<Self> {
        let listed = |axis: &ResolvedAxis| matches!(axis.order, AxisOrder::Listed(_));
        self.axes.iter().any(listed).then(|| {
            let mut ascending = self.clone();
            for axis in ascending.axes.iter_mut().filter(|axis| listed(axis)) {
                (_, axis.n) = axis
                    .picks
                    .hit(0, (axis.range.end - axis.range.start) as usize);
                axis.order = AxisOrder::Ascending;
            }
            ascending
        })
    }

    /// The lists along the axes of the result: the axis, and the position in the ascending list for
    /// each of its indices.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (Axis, &[usize])> {
        self.out
            .iter()
            .enumerate()
            .filter_map(|(at, out)| match out {
                OutAxis::Of(axis) => match &self.axes[*axis].order {
                    AxisOrder::Listed(positions) => Some((Axis(at), &positions[..])),
                    AxisOrder::Ascending | AxisOrder::Descending => None,
                },
                OutAxis::New => None,
            })
    }

    /// Brings the result of [`ascending`](Self::ascending) into the order of the lists.
    pub(crate) fn in_order<T: Clone>(&self, ascending: ArrayD<T>) -> Result<ArrayD<T>> {
        let lists: Vec<_> = self.lists().collect();
        if lists.is_empty() {
            Ok(ascending)
        } else {
            taken(ascending.view(), &lists)
        }
    }

    /// The opposite of [`in_order`](Self::in_order). Where an index repeats, the last one counts.
    pub(crate) fn ascending_data<T: Clone>(&self, data: ArrayViewD<'_, T>) -> Result<ArrayD<T>> {
        let last = |(axis, positions): (Axis, &[usize])| {
            let n = positions.iter().max().map_or(0, |last| last + 1);
            let mut last = vec![0; n];
            positions
                .iter()
                .enumerate()
                .for_each(|(at, &position)| last[position] = at);
            (axis, last)
        };
        let last: Vec<_> = self.lists().map(last).collect();
        taken(
            data,
            &last
                .iter()
                .map(|(axis, last)| (*axis, &last[..]))
                .collect::<Vec<_>>(),
        )
    }
}
