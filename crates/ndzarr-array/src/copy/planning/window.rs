//! The part of an array that is copied: indices at equal distances along each axis.

use std::ops::Range;

use ndarray::SliceInfoElem;
use ndzarr_grid::{Picks, Region, Steps};

use crate::error::{Error, ErrorKind, Result};
use crate::selections::resolved::{Axes, AxisOrder, OutAxis, Resolution, Resolved, ResolvedAxis};
use crate::selections::selection::Selection;

/// What is copied along each axis of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window(Vec<Along>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Along {
    /// The lowest index.
    low: u64,
    step: u64,
    n: u64,
    descends: bool,
}

impl Window {
    /// What these slices select of an array of this shape.
    ///
    /// # Errors
    /// They do not fit it, or do not keep its axes.
    pub(crate) fn new(slices: &[SliceInfoElem], shape: &[u64]) -> Result<Self> {
        if slices
            .iter()
            .any(|slice| !matches!(slice, SliceInfoElem::Slice { .. }))
        {
            let what =
                "a copy has the axes of its source: take a range of length 1 instead of an index";
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        let Resolved(Resolution::Axes(Axes { axes, .. })) = slices.resolve(shape)? else {
            unreachable!("slices select along axes")
        };
        let along = |ResolvedAxis {
                         range,
                         picks,
                         n,
                         order,
                     }: ResolvedAxis| {
            let first = picks.nth(0) as u64;
            let step = if n > 1 {
                picks.nth(1) as u64 - first
            } else {
                1
            };
            Along {
                low: range.start + first,
                step,
                n: n as u64,
                descends: order == AxisOrder::Descending,
            }
        };
        Ok(Self(axes.into_iter().map(along).collect()))
    }

    pub(crate) fn shape(&self) -> Vec<u64> {
        self.0.iter().map(|along| along.n).collect()
    }

    /// The most elements that it has, along each axis, of a box of the array with these lengths.
    pub(crate) fn thinned(&self, lens: &[u64]) -> Vec<u64> {
        self.0
            .iter()
            .zip(lens)
            .map(|(along, len)| len.div_ceil(along.step))
            .collect()
    }

    /// The elements of the array that are a region of this part.
    pub(crate) fn of(&self, region: &Region) -> Resolved {
        let axis = |(along, range): (&Along, &Range<u64>)| {
            let first = if along.descends {
                along.n - range.end
            } else {
                range.start
            };
            let n = range.end - range.start;
            let low = along.low + first * along.step;
            let end = if n == 0 {
                low
            } else {
                low + (n - 1) * along.step + 1
            };
            let order = if along.descends {
                AxisOrder::Descending
            } else {
                AxisOrder::Ascending
            };
            let picks = Picks::Steps(Steps {
                phase: 0,
                step: along.step as usize,
            });
            ResolvedAxis {
                range: low..end,
                picks,
                n: n as usize,
                order,
            }
        };
        let axes: Vec<ResolvedAxis> = self.0.iter().zip(region.ranges()).map(axis).collect();
        let out = (0..axes.len()).map(OutAxis::Of).collect();
        Resolved(Resolution::Axes(Axes { axes, out }))
    }

    /// The region of this part whose elements a region of the array has.
    pub(crate) fn within(&self, region: &Region) -> Region {
        let axis = |(along, range): (&Along, &Range<u64>)| {
            let [first, end] = [range.start, range.end].map(|at| {
                at.saturating_sub(along.low)
                    .div_ceil(along.step)
                    .min(along.n)
            });
            if along.descends {
                along.n - end..along.n - first
            } else {
                first..end
            }
        };
        Region::new(self.0.iter().zip(region.ranges()).map(axis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::s;

    #[test]
    fn regions_of_a_part_and_of_its_array() {
        let slices = s![3..11;2, 10..20;-3, ..];
        let window = Window::new(slices.as_ref(), &[12, 20, 5]).expect("it fits");
        // 3, 5, 7, 9 and 19, 16, 13, 10.
        assert_eq!(window.shape(), [4, 4, 5]);
        assert_eq!(window.thinned(&[4, 4, 4]), [2, 2, 4]);
        let part = window.of(&Region::new([1..3, 0..2, 2..5]));
        let same = s![5..8;2, 16..20;-3, 2..5]
            .resolve(&[12, 20, 5])
            .expect("it fits");
        assert_eq!(part, same);
        // Of 4..8 it has 5 and 7, of 12..17 the second and the third.
        assert_eq!(
            window.within(&Region::new([4..8, 12..17, 0..1])),
            Region::new([1..3, 1..3, 0..1])
        );
        assert!(window.within(&Region::new([0..3, 0..20, 0..5])).is_empty());
        assert!(
            window
                .within(&Region::new([10..12, 0..20, 0..5]))
                .is_empty()
        );
    }

    #[test]
    fn an_index_is_refused() {
        let error = Window::new(s![1, ..].as_ref(), &[2, 2]).expect_err("it drops an axis");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(
            Window::new(s![0..3].as_ref(), &[2])
                .expect_err("too long")
                .kind(),
            ErrorKind::WrongShape
        );
    }
}
