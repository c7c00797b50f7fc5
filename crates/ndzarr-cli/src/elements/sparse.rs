//! A pass over the elements of arrays that reads only stored chunks: boxes without any have only
//! the fill value, and are counted instead of read.

use std::fs;
use std::ops::Range;
use std::path::Path;

use ndzarr::AnyArray;

use crate::arguments::boxes::Boxes;
use crate::arguments::selection::{AxisSelection, Selected};

/// The boxes of a pass.
pub(crate) struct Pass {
    boxes: Boxes,
    /// The numbers of the boxes to read, in ascending order; `None` for all.
    read: Option<Vec<u64>>,
}

/// Listing the stored chunks takes longer than reading so few boxes.
const MAX_WITHOUT_LIST: u64 = 8;

impl Pass {
    /// A pass over these boxes, which are parts of the selection of each array.
    ///
    /// All boxes are read if the stored chunks are not known: a store cannot list, or its list
    /// lacks chunks that a read finds.
    pub(crate) fn new(boxes: Boxes, parts: &[(&AnyArray, &Selected)]) -> Self {
        let read = if boxes.n_boxes() <= MAX_WITHOUT_LIST {
            None
        } else {
            stored_boxes(&boxes, parts)
        };
        Self { boxes, read }
    }

    /// The number of boxes that are read.
    pub(crate) fn n_boxes(&self) -> u64 {
        self.read
            .as_ref()
            .map_or(self.boxes.n_boxes(), |read| read.len() as u64)
    }

    /// The boxes that are read, in C order.
    pub(crate) fn boxes(&self) -> Box<dyn Iterator<Item = Vec<Range<u64>>> + Send + '_> {
        match &self.read {
            None => Box::new(self.boxes.clone()),
            Some(read) => Box::new(read.iter().map(|&number| self.boxes.at(number))),
        }
    }

    /// The number of elements in the boxes that are not read: they have the fill value.
    pub(crate) fn n_unread(&self) -> u64 {
        let Some(read) = &self.read else { return 0 };
        let volume = |&number: &u64| -> u64 {
            self.boxes
                .at(number)
                .iter()
                .map(|range| range.end - range.start)
                .product()
        };
        let n_read: u64 = read.iter().map(volume).sum();
        self.boxes.n_elements().saturating_sub(n_read)
    }

    /// The indices of the first few elements, in C order, that are not read.
    pub(crate) fn first_unread(&self, most: usize) -> Vec<Vec<u64>> {
        let mut first = Vec::new();
        let Some(read) = &self.read else { return first };
        // Line by line along the last axis: boxes follow each other there.
        let shape = self.boxes.shape();
        let Some((&len, outer)) = shape.split_last() else {
            return first;
        };
        let lines = Boxes::new(outer.to_vec(), vec![1; outer.len()]);
        for line in lines {
            let mut index: Vec<u64> = line.iter().map(|range| range.start).chain([0]).collect();
            let last = index.len() - 1;
            while index[last] < len {
                if first.len() == most {
                    return first;
                }
                let (number, end) = self.boxes.of(&index);
                if read.binary_search(&number).is_ok() {
                    index[last] = end;
                } else {
                    first.push(index.clone());
                    index[last] += 1;
                }
            }
        }
        first
    }
}

/// The numbers of the boxes that overlap a stored chunk, and of the first box: reading it shows an
/// error that every read has.
fn stored_boxes(boxes: &Boxes, parts: &[(&AnyArray, &Selected)]) -> Option<Vec<u64>> {
    boxes
        .shape()
        .iter()
        .try_fold(1, |all: u64, &n| all.checked_mul(n))?;
    let mut numbers = vec![0];
    for (array, selected) in parts {
        for chunk in stored_chunks(array)? {
            if let Some(overlap) = overlap(selected, &chunk) {
                boxes.add_numbers(&overlap, &mut numbers);
            }
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// The ranges of the stored chunks of an array, if a list shows all that reads find. Links may lead
/// to more: a list enters a folder only once.
fn stored_chunks(array: &AnyArray) -> Option<impl Iterator<Item = Vec<Range<u64>>>> {
    let folder = Path::new(&array.storage().name()).join(array.path());
    if folder.is_dir() && has_links(&folder) {
        return None;
    }
    Some(array.units().stored().ok()?.map(|unit| unit.ranges))
}

/// True if a folder may have symbolic links.
fn has_links(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else {
        return true;
    };
    entries.any(|entry| {
        let Ok(entry) = entry else { return true };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => has_links(&entry.path()),
            Ok(kind) => !kind.is_file(),
            Err(_) => true,
        }
    })
}

/// The part of the result of a selection that a chunk has; `None` if they do not overlap.
fn overlap(selected: &Selected, chunk: &[Range<u64>]) -> Option<Vec<Range<u64>>> {
    let mut ranges = Vec::with_capacity(chunk.len());
    for (along, range) in selected.axes().iter().zip(chunk) {
        match *along {
            AxisSelection::Index(at) if range.contains(&at) => {}
            AxisSelection::Index(_) => return None,
            AxisSelection::Range { first, step, n } => {
                let first = i128::from(first);
                let step = i128::from(step);
                let low = i128::from(range.start);
                let high = i128::from(range.end);
                // `first + step * i` is in `low..high`.
                let (from, to) = if step > 0 {
                    (ceil(low - first, step), ceil(high - first, step))
                } else {
                    (ceil(first - high + 1, -step), ceil(first - low + 1, -step))
                };
                let clip = |at: i128| at.clamp(0, n.into()) as u64;
                ranges.push(clip(from)..clip(to));
            }
        }
    }
    ranges
        .iter()
        .all(|range| !range.is_empty())
        .then_some(ranges)
}

fn ceil(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with a check of each index.
    #[test]
    fn the_part_of_a_selection_that_a_chunk_has() {
        let texts = [":", "3:", "::2", "1::3", "::-1", "20::-4", "5", "7:8"];
        for text in texts {
            let selected = Selected::parse(Some(text), &[23]).expect("it is valid");
            let indices: Vec<u64> = match selected.axes()[0] {
                AxisSelection::Index(at) => vec![at],
                AxisSelection::Range { first, step, n } => (0..n as i64)
                    .map(|i| (first as i64 + i * step) as u64)
                    .collect(),
            };
            for chunk in [0..5, 5..10, 10..11, 20..23, 0..23] {
                let found = overlap(&selected, std::slice::from_ref(&chunk));
                let is_in = |at: &u64| chunk.contains(at);
                if let AxisSelection::Index(at) = selected.axes()[0] {
                    assert_eq!(found, is_in(&at).then(Vec::new), "{text} {chunk:?}");
                    continue;
                }
                let start = indices.iter().position(is_in).unwrap_or(0) as u64;
                let n = indices.iter().filter(|at| is_in(at)).count() as u64;
                let expected = (n > 0).then(|| vec![start..start + n]);
                assert_eq!(found, expected, "{text} {chunk:?}");
            }
        }
    }

    #[test]
    fn the_first_elements_that_are_not_read() {
        // 4 x 3 boxes of 2 x 3 elements, the last ones of 2 x 1.
        let boxes = Boxes::new(vec![8, 7], vec![2, 3]);
        let pass = Pass {
            boxes,
            read: Some(vec![0, 2, 3]),
        };
        assert_eq!(pass.n_unread(), 56 - 6 - 2 - 6);
        let first = [[0, 3], [0, 4], [0, 5], [1, 3], [1, 4], [1, 5], [2, 3]];
        assert_eq!(pass.first_unread(7), first);
        assert_eq!(pass.first_unread(0), Vec::<Vec<u64>>::new());
        assert_eq!(pass.first_unread(1000).len(), 42);
        let read: Vec<_> = pass.boxes().collect();
        assert_eq!(read, [[0..2, 0..3], [0..2, 6..7], [2..4, 0..3]]);
    }
}
