//! Parses selections in the form of NumPy: `[3, :, 10:200:2, -1]`.

use std::ops::Range;

use ndzarr::ndarray::SliceInfoElem;

use crate::arguments::boxes::Boxes;
use crate::failure::Failure;

/// The part of an array that a text selects, axis by axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    axes: Vec<AxisSelection>,
}

/// The selected part of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AxisSelection {
    /// One index, and the axis is dropped.
    Index(u64),
    /// `n` indices from `first`, at a distance of `step`.
    Range { first: u64, step: i64, n: u64 },
}

impl AxisSelection {
    pub(crate) fn whole(n: u64) -> Self {
        Self::Range {
            first: 0,
            step: 1,
            n,
        }
    }
}

impl Selected {
    pub(crate) fn whole(shape: &[u64]) -> Self {
        Self {
            axes: shape.iter().map(|&n| AxisSelection::whole(n)).collect(),
        }
    }

    pub(crate) fn new(axes: Vec<AxisSelection>) -> Self {
        Self { axes }
    }

    /// Parses a selection of an array of this shape; none selects everything. Ranges are clipped to
    /// the array, as NumPy clips them; an index outside is an error.
    pub(crate) fn parse(text: Option<&str>, shape: &[u64]) -> Result<Self, Failure> {
        let Some(text) = text else {
            return Ok(Self::whole(shape));
        };
        let trimmed = text.trim();
        let inner = match (trimmed.strip_prefix('['), trimmed.strip_suffix(']')) {
            (Some(_), Some(_)) => &trimmed[1..trimmed.len() - 1],
            (None, None) => trimmed,
            _ => return Err(wrong(text, "a bracket is missing")),
        };
        let inner = inner.trim();
        let inner = inner.strip_suffix(',').unwrap_or(inner);
        let parts: Vec<&str> = if inner.is_empty() {
            vec![]
        } else {
            inner.split(',').map(str::trim).collect()
        };
        let n_dots = parts.iter().filter(|part| **part == "...").count();
        if n_dots > 1 {
            return Err(wrong(text, "it has more than one \"...\""));
        }
        let n_given = parts.len() - n_dots;
        if n_given > shape.len() {
            return Err(wrong(
                text,
                &format!("it has {n_given} axes, the array {}", shape.len()),
            ));
        }
        let mut axes = Vec::with_capacity(shape.len());
        for part in &parts {
            if *part == "..." {
                let n_rest = shape.len() - n_given;
                axes.extend(
                    shape[axes.len()..][..n_rest]
                        .iter()
                        .map(|&n| AxisSelection::whole(n)),
                );
            } else {
                axes.push(parse_axis(part, shape[axes.len()]).map_err(|what| wrong(text, &what))?);
            }
        }
        axes.extend(shape[axes.len()..].iter().map(|&n| AxisSelection::whole(n)));
        Ok(Self { axes })
    }

    /// The selected part of each axis of the array.
    pub(crate) fn axes(&self) -> &[AxisSelection] {
        &self.axes
    }

    /// The axes of the array that the result has.
    pub(crate) fn remaining_axes(&self) -> Vec<usize> {
        let is_range = |axis: &usize| matches!(self.axes[*axis], AxisSelection::Range { .. });
        (0..self.axes.len()).filter(is_range).collect()
    }

    /// The shape of the result.
    pub(crate) fn shape(&self) -> Vec<u64> {
        let lengths = self.axes.iter().filter_map(|along| match along {
            AxisSelection::Range { n, .. } => Some(*n),
            AxisSelection::Index(_) => None,
        });
        lengths.collect()
    }

    /// The number of elements.
    pub(crate) fn n_elements(&self) -> u64 {
        self.shape().iter().fold(1, |all, &n| all.saturating_mul(n))
    }

    /// The selection of a box of the result.
    pub(crate) fn window(&self, ranges: &[Range<u64>]) -> Vec<SliceInfoElem> {
        let mut ranges = ranges.iter();
        let elem = |along: &AxisSelection| match *along {
            AxisSelection::Index(at) => SliceInfoElem::Index(signed(at)),
            AxisSelection::Range { first, step, n } => {
                let range = ranges.next().cloned().unwrap_or(0..n);
                if range.is_empty() {
                    return SliceInfoElem::Slice {
                        start: 0,
                        end: Some(0),
                        step: 1,
                    };
                }
                // ndarray goes through a range from its end if the step is negative.
                let at = |i: u64| first as i128 + i128::from(step) * i128::from(i);
                let start = at(range.start);
                let last = at(range.end - 1);
                let low = start.min(last) as u64;
                let high = start.max(last) as u64;
                SliceInfoElem::Slice {
                    start: signed(low),
                    end: Some(signed(high + 1)),
                    step: step as isize,
                }
            }
        };
        self.axes.iter().map(elem).collect()
    }

    /// Boxes of about this many elements that cover the result. They contain whole chunks as far as
    /// possible: `chunks` is the shape of a chunk.
    pub(crate) fn boxes(&self, chunks: &[u64], max_elements: u64) -> Boxes {
        let shape = self.shape();
        // At first, the number of elements of the result that a chunk has along each axis.
        let mut size = Vec::with_capacity(shape.len());
        for (along, &chunk) in self.axes.iter().zip(chunks) {
            if let AxisSelection::Range { step, n, .. } = along {
                size.push((chunk / step.unsigned_abs()).clamp(1, (*n).max(1)));
            }
        }
        let volume = |size: &[u64]| size.iter().fold(1_u64, |all, &n| all.saturating_mul(n));
        // The last axes first: they are close in memory.
        for axis in (0..size.len()).rev() {
            while volume(&size) < max_elements && size[axis] < shape[axis] {
                let doubled = size[axis].saturating_mul(2).min(shape[axis]);
                let before = std::mem::replace(&mut size[axis], doubled);
                if volume(&size) > max_elements {
                    size[axis] = before;
                    break;
                }
            }
        }
        // A chunk may be too large as a whole.
        for axis in 0..size.len() {
            if volume(&size) > max_elements {
                let others = volume(&size) / size[axis].max(1);
                size[axis] = (max_elements / others.max(1)).clamp(1, size[axis].max(1));
            }
        }
        Boxes::new(shape, size)
    }

    /// Boxes of at most about this many elements that cover the result, in C order, each contiguous
    /// in it.
    pub(crate) fn runs(&self, chunks: &[u64], max_elements: u64) -> Boxes {
        let shape = self.shape();
        let mut size = vec![1; shape.len()];
        let mut volume = 1_u64;
        for axis in (0..shape.len()).rev() {
            let max_len = (max_elements / volume.max(1)).max(1);
            if shape[axis] > max_len {
                let chunk = self
                    .remaining_axes()
                    .get(axis)
                    .map_or(1, |&axis| chunks[axis])
                    .max(1);
                size[axis] = if max_len > chunk {
                    max_len / chunk * chunk
                } else {
                    max_len
                };
                break;
            }
            size[axis] = shape[axis].max(1);
            volume = volume.saturating_mul(size[axis]);
        }
        Boxes::new(shape, size)
    }
}

fn signed(at: u64) -> isize {
    // No array in memory has a longer axis.
    isize::try_from(at).unwrap_or(isize::MAX)
}

fn wrong(text: &str, what: &str) -> Failure {
    Failure::usage(format_args!(
        "{text:?} does not select a part of the array: {what}"
    ))
}

/// Parses the selection of an axis of this length.
fn parse_axis(part: &str, n: u64) -> Result<AxisSelection, String> {
    let number = |text: &str| -> Result<Option<i128>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        text.parse::<i64>()
            .map(|number| Some(number.into()))
            .map_err(|_| format!("{text:?} is not an integer"))
    };
    let len = i128::from(n);
    let numbers: Vec<Option<i128>> = part.split(':').map(number).collect::<Result<_, _>>()?;
    let (start, end, step) = match numbers[..] {
        [None] => return Err("an index is missing".to_owned()),
        [Some(at)] => {
            let index = if at < 0 { at + len } else { at };
            return match u64::try_from(index) {
                Ok(index) if index < n => Ok(AxisSelection::Index(index)),
                _ => Err(format!("{at} is outside of an axis of {n}")),
            };
        }
        [start, end] => (start, end, 1),
        [start, end, step] => (start, end, step.unwrap_or(1)),
        _ => return Err(format!("{part:?} has too many colons")),
    };
    if step == 0 {
        return Err("a step of 0".to_owned());
    }
    // As `slice.indices` of Python does.
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let clip = |at: i128| (if at < 0 { at + len } else { at }).clamp(low, high);
    let start = start.map_or(if step > 0 { low } else { high }, clip);
    let end = end.map_or(if step > 0 { high } else { low }, clip);
    let span = if step > 0 { end - start } else { start - end };
    let n = if span <= 0 {
        0
    } else {
        (span + step.abs() - 1) / step.abs()
    };
    let first = if n == 0 { 0 } else { start };
    Ok(AxisSelection::Range {
        first: first as u64,
        step: step as i64,
        n: n as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The selected indices of an axis.
    fn picked(text: &str, n: u64) -> Vec<u64> {
        match parse_axis(text, n).expect("it is valid") {
            AxisSelection::Index(at) => vec![at],
            AxisSelection::Range { first, step, n } => (0..n as i64)
                .map(|i| (first as i64 + i * step) as u64)
                .collect(),
        }
    }

    /// The lists that `list(range(n)[slice])` returns in Python.
    #[test]
    fn ranges_are_those_of_numpy() {
        assert_eq!(picked(":", 3), [0, 1, 2]);
        assert_eq!(picked("1:", 3), [1, 2]);
        assert_eq!(picked(":-1", 3), [0, 1]);
        assert_eq!(picked("::2", 5), [0, 2, 4]);
        assert_eq!(picked("::-1", 3), [2, 1, 0]);
        assert_eq!(picked("::-2", 4), [3, 1]);
        assert_eq!(picked("3:0:-1", 5), [3, 2, 1]);
        assert_eq!(picked("-2:", 5), [3, 4]);
        assert_eq!(picked("0:100", 3), [0, 1, 2]);
        assert_eq!(picked("100:", 3), Vec::<u64>::new());
        assert_eq!(picked("2:1", 3), Vec::<u64>::new());
        assert_eq!(picked("-100::-1", 3), Vec::<u64>::new());
        assert_eq!(picked(":", 0), Vec::<u64>::new());
        assert_eq!(picked("-1", 3), [2]);
        for wrong in ["3", "-4", "a", "1:2:0", "1:2:3:4", "", "1.5"] {
            assert!(parse_axis(wrong, 3).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cli_16_brackets_may_be_left_out() {
        let shape = [4, 5, 6];
        let all = Selected::parse(Some("[1, ..., ::2]"), &shape).expect("it is valid");
        assert_eq!(all.shape(), [5, 3]);
        assert_eq!(
            Selected::parse(Some("1,...,::2"), &shape).expect("it is valid"),
            all
        );
        assert_eq!(
            Selected::parse(Some("-5:"), &[9])
                .expect("it is valid")
                .shape(),
            [5]
        );
        assert_eq!(
            Selected::parse(None, &shape).expect("it is valid").shape(),
            shape
        );
        assert_eq!(
            Selected::parse(Some("[]"), &shape)
                .expect("it is valid")
                .shape(),
            shape
        );
        for wrong in ["[1", "1]", "..., ...", "0,0,0,0", "1,,2"] {
            assert!(Selected::parse(Some(wrong), &shape).is_err(), "{wrong}");
        }
    }

    #[test]
    fn windows_are_selections_of_ndarray() {
        let selected = Selected::parse(Some("2, 8:0:-3"), &[4, 9]).expect("it is valid");
        assert_eq!(selected.shape(), [3]);
        let elem = |start, end, step| SliceInfoElem::Slice {
            start,
            end: Some(end),
            step,
        };
        // 8, 5, 2; then 5, 2.
        assert_eq!(
            selected.window(&[0..3]),
            [SliceInfoElem::Index(2), elem(2, 9, -3)]
        );
        assert_eq!(
            selected.window(&[1..3]),
            [SliceInfoElem::Index(2), elem(2, 6, -3)]
        );
    }

    #[test]
    fn boxes_cover_the_result_once() {
        let selected = Selected::parse(Some(":, ::2, 3"), &[10, 21, 7]).expect("it is valid");
        for most in [1, 3, 10, 1000] {
            for boxes in [
                selected.boxes(&[4, 8, 7], most),
                selected.runs(&[4, 8, 7], most),
            ] {
                let boxes: Vec<_> = boxes.collect();
                let mut seen = vec![0; 110];
                for one in &boxes {
                    for y in one[0].clone() {
                        one[1]
                            .clone()
                            .for_each(|x| seen[(y * 11 + x) as usize] += 1);
                    }
                }
                assert!(seen.iter().all(|&n| n == 1), "{most}");
                assert!(
                    boxes
                        .iter()
                        .all(|one| one.iter().map(|r| r.end - r.start).product::<u64>() <= most)
                );
            }
        }
    }

    #[test]
    fn boxes_of_any_number_are_made_one_by_one() {
        let shape = [u64::MAX, u64::MAX];
        let mut boxes = Selected::whole(&shape).boxes(&[1, 1], 1);
        assert_eq!(boxes.n_boxes(), u64::MAX);
        assert_eq!(boxes.nth(2), Some(vec![0..1, 2..3]));
        let mut runs = Selected::whole(&[3, u64::MAX]).runs(&[1, 1 << 63], 1 << 63);
        assert_eq!(runs.nth(1), Some(vec![0..1, 1 << 63..u64::MAX]));
        assert_eq!(runs.next(), Some(vec![1..2, 0..1 << 63]));
        assert_eq!(Selected::whole(&[3, 0]).boxes(&[1, 1], 1).next(), None);
        assert_eq!(
            Selected::whole(&[]).boxes(&[], 1).collect::<Vec<_>>(),
            [vec![]]
        );
    }
}
