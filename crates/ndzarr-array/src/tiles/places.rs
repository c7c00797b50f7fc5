//! `Places`: where in a box the elements are that points or a mask select, and which elements of
//! the result they are.

use std::ops::Range;
use std::sync::Arc;

use ndzarr_codec::strided::Strided;
use ndzarr_engine::{Coverage, EngineCause, Picked};
use ndzarr_grid::Region;

use crate::selections::mask::{Mask, MaskRun};
use crate::selections::point_list::{ChunkPoints, PointList};
use crate::tiles::picked_parts::{lengths, outside};
use crate::tiles::point_runs::PointRuns;

/// The selected elements of a box, as runs along its last axis: of elements that follow each other
/// in the box and in the result.
#[derive(Clone)]
pub(crate) struct Places {
    selected: Selected,
    /// Where the box begins, in the coordinates of what is selected.
    start: Vec<usize>,
    len: Vec<usize>,
}

#[derive(Clone)]
enum Selected {
    Points(Arc<PointRuns>),
    /// The box is one of an array of its shape. Runs are found when they are needed.
    Mask(Arc<Mask>),
}

/// Selected elements of a box that are at equal distances in the slice that has the box.
#[doc(hidden)]
pub struct Run {
    /// The place of the first one in the slice.
    pub(crate) place: usize,
    /// The distance to the next one.
    pub(crate) step: usize,
    /// Which elements of the result they are.
    pub(crate) targets: Range<usize>,
}

impl Run {
    /// The place of the last one in the slice.
    pub(crate) fn last_place(&self) -> usize {
        self.place + self.targets.len().saturating_sub(1) * self.step
    }

    /// The place of each of them.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        (0..self.targets.len()).map(|n| self.place + n * self.step)
    }
}

impl Places {
    /// The box of the points of a chunk.
    pub(crate) fn of_points(points: &PointList, of_chunk: &ChunkPoints) -> Self {
        let start = of_chunk.region.start();
        let mut runs = PointRuns::default();
        let mut within = vec![0; start.len()];
        for &number in &of_chunk.numbers {
            for (axis, at) in points.point(number).iter().enumerate() {
                within[axis] = (at - start[axis]) as usize;
            }
            runs.add(&within, number);
        }
        Self {
            selected: Selected::Points(Arc::new(runs)),
            start: vec![0; start.len()],
            len: lengths(&of_chunk.region),
        }
    }

    /// A region of the array that a mask is of.
    pub(crate) fn of_mask(mask: &Arc<Mask>, region: &Region) -> Self {
        let start = region.start().iter().map(|&at| at as usize).collect();
        Self {
            selected: Selected::Mask(Arc::clone(mask)),
            start,
            len: lengths(region),
        }
    }

    /// The shape of the box.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.len
    }

    /// Returns `true` if no point of the box is selected. Of a mask, only boxes are taken that have
    /// selected elements.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.selected {
            Selected::Points(points) => points.within(&self.start, &self.len).next().is_none(),
            Selected::Mask(_) => self.len.contains(&0),
        }
    }

    /// Returns `true` if all elements of the box are selected.
    pub(crate) fn is_dense(&self) -> bool {
        self.coverage(&vec![0; self.len.len()], &self.len) == Coverage::All
    }

    /// The parts of the box that an engine looks at one by one; all of it for a mask.
    pub(crate) fn picked(&self) -> Picked {
        let Selected::Points(points) = &self.selected else {
            return Picked::All;
        };
        let mut boxes = Vec::new();
        for run in points.within(&self.start, &self.len) {
            let mut ranges: Vec<Range<u64>> = Vec::with_capacity(self.len.len());
            for (at, start) in run.start().zip(&self.start) {
                let at = (at - start) as u64;
                ranges.push(at..at + 1);
            }
            if let Some(last) = ranges.last_mut() {
                last.end = last.start + run.targets.len() as u64;
            }
            boxes.push((Region::new(ranges), Vec::new()));
        }
        Picked::Boxes(boxes)
    }

    /// How many elements of a smaller box are selected. No point may be selected twice.
    pub(crate) fn coverage(&self, start: &[usize], len: &[usize]) -> Coverage {
        let start = self.absolute(start);
        match &self.selected {
            Selected::Points(points) => {
                let n_elements = len.iter().try_fold(1_usize, |n, &len| n.checked_mul(len));
                match points
                    .within(&start, len)
                    .map(|run| run.targets.len())
                    .sum()
                {
                    0 => Coverage::None,
                    n if Some(n) == n_elements => Coverage::All,
                    _ => Coverage::Part,
                }
            }
            Selected::Mask(mask) => {
                let mut any = false;
                let mut all = true;
                for row in mask.rows(&start, len) {
                    any |= row.n_selected() > 0;
                    all &= row.is_whole();
                    if any && !all {
                        return Coverage::Part;
                    }
                }
                if any { Coverage::All } else { Coverage::None }
            }
        }
    }

    /// Visits the runs in a smaller box, which lies at `place` in a slice.
    pub(crate) fn for_each_run(
        &self,
        start: &[usize],
        len: &[usize],
        place: Strided<'_>,
        mut visit: impl FnMut(Run) -> Result<(), EngineCause>,
    ) -> Result<(), EngineCause> {
        let start = self.absolute(start);
        let strides: Vec<usize> = place
            .strides
            .iter()
            .map(|&stride| stride as usize)
            .collect();
        if place.strides.iter().any(|stride| stride.is_negative()) {
            return Err(outside());
        }
        let step = strides.last().copied().unwrap_or(1);
        match &self.selected {
            Selected::Points(points) => {
                for run in points.within(&start, len) {
                    let mut place = place.offset;
                    for (axis, at) in run.start().enumerate() {
                        place += (at - start[axis]) * strides[axis];
                    }
                    visit(Run {
                        place,
                        step,
                        targets: run.targets,
                    })?;
                }
            }
            Selected::Mask(mask) => {
                for (number, row) in mask.rows(&start, len).enumerate() {
                    let mut rest = number;
                    let mut first = place.offset;
                    for axis in (0..len.len().saturating_sub(1)).rev() {
                        first += rest % len[axis] * strides[axis];
                        rest /= len[axis];
                    }
                    for MaskRun { start, targets } in mask.runs(&row) {
                        visit(Run {
                            place: first + start * step,
                            step,
                            targets,
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Only the places in a smaller box, whose selected elements are numbered from 0 on. Passes on
    /// which elements of the result they were, in order.
    pub(crate) fn part(
        &self,
        start: &[usize],
        len: &[usize],
        mut take: impl FnMut(Range<usize>),
    ) -> Self {
        let start = self.absolute(start);
        let selected = match &self.selected {
            Selected::Points(points) => {
                let mut part = PointRuns::default();
                let mut n = 0;
                for run in points.within(&start, len) {
                    let first = run.start().zip(&start).map(|(at, start)| at - start);
                    part.push(first, run.targets.len(), n);
                    n += run.targets.len();
                    take(run.targets);
                }
                Selected::Points(Arc::new(part))
            }
            Selected::Mask(mask) => {
                for row in mask.rows(&start, len) {
                    mask.runs(&row).for_each(|run| take(run.targets));
                }
                Selected::Mask(Arc::new(mask.part(&start, len)))
            }
        };
        Self {
            selected,
            start: vec![0; len.len()],
            len: len.to_vec(),
        }
    }

    /// The part before `at` along an axis, and the part from there on.
    pub(crate) fn split_at(self, axis: usize, at: usize) -> (Self, Self) {
        let mut head = self;
        let mut tail = head.clone();
        head.len[axis] = at;
        tail.start[axis] += at;
        tail.len[axis] -= at;
        (head, tail)
    }

    fn absolute(&self, start: &[usize]) -> Vec<usize> {
        self.start
            .iter()
            .zip(start)
            .map(|(origin, at)| origin + at)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array3;

    use super::*;

    const SHAPE: [usize; 3] = [3, 5, 70];
    const STRIDES: [isize; 3] = [700, 100, 1];

    /// Which elements a mask selects, and its places as those of a mask and as those of points, in
    /// a box that begins at (1, 1, 2).
    fn both(selects: impl Fn(usize) -> bool) -> (Array3<bool>, [Places; 2]) {
        let mut number = 0;
        let selected = Array3::from_shape_simple_fn(SHAPE, || {
            number += 1;
            selects(number - 1)
        });
        let mask = Arc::new(Mask::new(&SHAPE, selected.iter()));
        let region = Region::new([1..3, 1..5, 2..70]);
        let points = mask.points();
        let is_in = |number: &usize| {
            points
                .point(*number)
                .iter()
                .zip(region.start())
                .all(|(at, start)| *at >= start)
        };
        let numbers = (0..points.len()).filter(is_in).collect();
        let of_chunk = ChunkPoints {
            region: region.clone(),
            numbers,
        };
        (
            selected,
            [
                Places::of_mask(&mask, &region),
                Places::of_points(&points, &of_chunk),
            ],
        )
    }

    /// The place and the number of each selected element in a part of the box.
    fn visited(places: &Places, start: [usize; 3], len: [usize; 3]) -> Vec<(usize, usize)> {
        let mut visited = Vec::new();
        let visit = |run: Run| {
            visited.extend(run.places().zip(run.targets.clone()));
            Ok(())
        };
        let at = Strided {
            offset: 11,
            strides: &STRIDES,
        };
        places
            .for_each_run(&start, &len, at, visit)
            .expect("the strides are positive");
        visited
    }

    #[test]
    fn masks_and_points_have_the_same_runs() {
        let masks: [fn(usize) -> bool; 5] = [
            |_| true,
            |_| false,
            |n| n % 2 == 0,
            |n| n * n % 11 < 7,
            |n| !(400..480).contains(&n),
        ];
        for selects in masks {
            let (selected, places) = both(selects);
            for start in [[0, 0, 0], [1, 2, 0], [0, 1, 40], [1, 3, 67]] {
                for len in [[2, 4, 68], [1, 1, 1], [1, 2, 28], [2, 1, 63]] {
                    let len = [0, 1, 2].map(|axis| len[axis].min([2, 4, 68][axis] - start[axis]));
                    let mut expected = Vec::new();
                    let mut n = 0;
                    for ((z, y, x), selected) in selected.indexed_iter() {
                        let at = [z, y, x].map(|at| at as isize - 1);
                        let at = [at[0], at[1], at[2] - 1];
                        let is_in = (0..3).all(|axis| {
                            let within = at[axis] - start[axis] as isize;
                            within >= 0 && within < len[axis] as isize
                        });
                        if is_in && *selected {
                            let place: isize = (0..3)
                                .map(|axis| (at[axis] - start[axis] as isize) * STRIDES[axis])
                                .sum();
                            expected.push((11 + place as usize, n));
                        }
                        n += usize::from(*selected);
                    }
                    let coverage = match expected.len() {
                        0 => Coverage::None,
                        n if n == len.iter().product::<usize>() => Coverage::All,
                        _ => Coverage::Part,
                    };
                    for places in &places {
                        assert_eq!(visited(places, start, len), expected, "{start:?} {len:?}");
                        assert_eq!(places.coverage(&start, &len), coverage, "{start:?} {len:?}");
                        let mut targets = Vec::new();
                        let part = places.part(&start, &len, |of_part| targets.extend(of_part));
                        let of_part = visited(&part, [0; 3], len);
                        assert!(targets.iter().eq(expected.iter().map(|(_, target)| target)));
                        assert!(
                            of_part
                                .iter()
                                .map(|(place, _)| place)
                                .eq(expected.iter().map(|(place, _)| place))
                        );
                        assert!(
                            of_part
                                .iter()
                                .map(|(_, target)| *target)
                                .eq(0..expected.len())
                        );
                    }
                }
            }
        }
    }
}
