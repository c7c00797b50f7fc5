//! Views: selections of what another selection takes, with the axes in any order.

use std::sync::Arc;

use ndarray::IxDyn;
use ndzarr_grid::{Picks, Steps};

use crate::error::{Error, ErrorKind, Result};
use crate::selections::point_list::PointList;
use crate::selections::resolved::{Axes, AxisOrder, OutAxis, Resolution, Resolved, ResolvedAxis};
use crate::selections::selection::{Selection, list, wrong};

impl Resolved {
    /// What a selection takes of this one, as if its result were an array: a view of a view.
    /// Nothing is read.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{Array, MemoryStore, Selection, s};
    ///
    /// let a = Array::<u8>::builder([4, 4, 4]).chunks([2, 2, 2]).create((MemoryStore::new(), "a"))?;
    /// a.write(.., &ndarray::Array3::from_shape_fn((4, 4, 4), |(z, y, x)| (16 * z + 4 * y + x) as u8))?;
    ///
    /// // Every other row of the second plane, from its end.
    /// let plane = s![1, ..;-2, ..].resolve(a.shape())?;
    /// assert_eq!(a.read(&plane)?, array![[28, 29, 30, 31], [20, 21, 22, 23]].into_dyn());
    /// // Of these the second, and of that two columns.
    /// let part = plane.view((1, [3, 0]))?;
    /// assert_eq!(a.read(&part)?, array![23, 20].into_dyn());
    /// // Views are written, filled, and asked for their chunks like any selection.
    /// a.fill(&part, 0)?;
    /// assert_eq!(a.chunks_in(&part)?.count(), 2);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The selection does not fit [`shape`](Self::shape). [`ErrorKind::Unsupported`]: this is a
    /// selection of points or a mask, or the selection repeats or leaves out an axis of length 1
    /// that this one added.
    pub fn view(&self, selection: impl Selection) -> Result<Self> {
        let Resolution::Axes(whole) = &self.0 else {
            let what = "a selection of points or by a mask has no views";
            return Err(Error::new(ErrorKind::Unsupported, what));
        };
        let shape: Vec<u64> = self.shape().iter().map(|&n| n as u64).collect();
        let part = selection.resolve(&shape)?;
        part.check_array(&shape)?;
        Ok(Self(match part.0 {
            Resolution::Axes(part) => Resolution::Axes(whole.part(&part)?),
            Resolution::Points(points) => Resolution::Points(Arc::new(whole.points(&points))),
            Resolution::Mask(mask) => Resolution::Points(Arc::new(whole.points(&mask.points()))),
        }))
    }

    /// The same elements with the axes of the result in another order: axis `i` becomes what axis
    /// `axes[i]` was. They come from the chunks in this order, without a copy.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{Array, MemoryStore, Selection};
    ///
    /// let a = Array::<u8>::builder([2, 3]).create((MemoryStore::new(), "a"))?;
    /// a.write(.., &array![[1, 2, 3], [4, 5, 6]])?;
    /// let turned = (..).resolve(a.shape())?.permuted(&[1, 0])?;
    /// assert_eq!(a.read(&turned)?, array![[1, 4], [2, 5], [3, 6]].into_dyn());
    /// a.write(turned.view((0, ..))?, &array![7, 8])?;
    /// assert_eq!(a.read((.., 0))?, array![7, 8]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::WrongShape`]: `axes` does not have each axis of the result once.
    pub fn permuted(&self, axes: &[usize]) -> Result<Self> {
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        let n_axes = self.shape().len();
        if !sorted.into_iter().eq(0..n_axes) {
            return Err(wrong(format!("{axes:?} is not an order of {n_axes} axes")));
        }
        let mut permuted = self.clone();
        // Points and masks have a single axis.
        if let Resolution::Axes(Axes { out, .. }) = &mut permuted.0 {
            *out = axes.iter().map(|&axis| out[axis]).collect();
        }
        Ok(permuted)
    }
}

/// A selection that is borrowed, of an array that has all of its elements.
impl Selection for Resolved {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Self> {
        self.check_array(shape)?;
        Ok(self.clone())
    }
}

impl Axes {
    /// What another selection takes of the result of this one.
    fn part(&self, part: &Self) -> Result<Self> {
        let (mut axes, mut out) = (self.axes.clone(), Vec::with_capacity(part.out.len()));
        for (whole, part) in self.out.iter().zip(&part.axes) {
            match whole {
                OutAxis::Of(axis) => axes[*axis] = self.axes[*axis].part(part, *axis)?,
                OutAxis::New if part.n == 1 => {}
                OutAxis::New => {
                    let what = "an added axis of length 1 can only be selected once or dropped";
                    return Err(Error::new(ErrorKind::Unsupported, what));
                }
            }
        }
        for axis in &part.out {
            out.push(match axis {
                OutAxis::Of(axis) => self.out[*axis],
                OutAxis::New => OutAxis::New,
            });
        }
        Ok(Self { axes, out })
    }

    /// Points of the result as points of the array.
    fn points(&self, points: &PointList) -> PointList {
        let mut coordinates = Vec::with_capacity(points.n * self.axes.len());
        for number in 0..points.n {
            let first = coordinates.len();
            // An axis that is not in the result has a single index.
            coordinates.extend(self.axes.iter().map(|axis| axis.range.start));
            for (out, &at) in self.out.iter().zip(points.point(number)) {
                if let OutAxis::Of(axis) = out {
                    coordinates[first + axis] = self.axes[*axis].at(at as usize);
                }
            }
        }
        PointList {
            coordinates,
            n_axes: self.axes.len(),
            n: points.n,
        }
    }
}

impl ResolvedAxis {
    /// The index of the array at a position of the result, which has to be one.
    fn at(&self, position: usize) -> u64 {
        let position = match &self.order {
            AxisOrder::Ascending => position,
            AxisOrder::Descending => self.n - 1 - position,
            AxisOrder::Listed(positions) => positions[position],
        };
        self.range.start + self.picks.nth(position) as u64
    }

    fn is_spaced(&self) -> bool {
        matches!(self.picks, Picks::Steps(_)) && !matches!(self.order, AxisOrder::Listed(_))
    }

    /// What another selection takes of the indices of this one.
    fn part(&self, part: &Self, axis: usize) -> Result<Self> {
        let at = |position: usize| self.at(part.at(position) as usize);
        if !self.is_spaced() || !part.is_spaced() || part.n < 2 {
            return list((0..part.n).map(at).collect(), axis);
        }
        let (first, second, last) = (at(0), at(1), at(part.n - 1));
        let order = if second < first {
            AxisOrder::Descending
        } else {
            AxisOrder::Ascending
        };
        // No more than the span of this selection, which was found to be addressable.
        let picks = Picks::Steps(Steps {
            phase: 0,
            step: first.abs_diff(second) as usize,
        });
        Ok(Self {
            range: first.min(last)..first.max(last) + 1,
            picks,
            n: part.n,
            order,
        })
    }
}
