//! A pass over the elements of arrays that follows what is stored: boxes without a stored chunk have
//! nothing but the fill value, and are counted instead of read.

use std::fs;
use std::ops::Range;
use std::path::Path;

use ndzarr::AnyArray;

use crate::arguments::selection::{Along, Boxes, Selected};

/// The boxes of a pass.
pub(crate) struct Pass {
    boxes: Boxes,
    /// The numbers of those to read, in ascending order; `None` for all.
    read: Option<Vec<u64>>,
}

/// With fewer boxes, a list of what is stored takes longer than reading them.
const FEW: u64 = 8;

impl Pass {
    /// Over these boxes, each the same part of what is selected of each array.
    ///
    /// All are read where it is not known what is stored: a store cannot list, or does not show
    /// everything that reads reach.
    pub(crate) fn new(boxes: Boxes, parts: &[(&AnyArray, &Selected)]) -> Self {
        let read = if boxes.n_boxes() <= FEW { None } else { stored_boxes(&boxes, parts) };
        Self { boxes, read }
    }

    /// How many boxes are read.
    pub(crate) fn n_boxes(&self) -> u64 {
        self.read.as_ref().map_or(self.boxes.n_boxes(), |read| read.len() as u64)
    }

    /// The boxes that are read, in C order.
    pub(crate) fn boxes(&self) -> Box<dyn Iterator<Item = Vec<Range<u64>>> + Send + '_> {
        match &self.read {
            None => Box::new(self.boxes.clone()),
            Some(read) => Box::new(read.iter().map(|&number| self.boxes.at(number))),
        }
    }

    /// How many elements there are in the boxes that are not read: they have the fill value.
    pub(crate) fn n_left_out(&self) -> u64 {
        let Some(read) = &self.read else { return 0 };
        let volume = |&number: &u64| -> u64 {
            self.boxes.at(number).iter().map(|range| range.end - range.start).product()
        };
        let n_read: u64 = read.iter().map(volume).sum();
        self.boxes.n_elements().saturating_sub(n_read)
    }

    /// The first few elements, in C order, that are not read.
    pub(crate) fn first_left_out(&self, most: usize) -> Vec<Vec<u64>> {
        let mut first = Vec::new();
        let Some(read) = &self.read else { return first };
        // Line by line along the last axis: boxes follow each other there.
        let shape = self.boxes.shape();
        let Some((&len, outer)) = shape.split_last() else { return first };
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

/// The numbers of the boxes that have an element of a stored chunk, and of the first one: reading it
/// shows what is wrong with every read.
fn stored_boxes(boxes: &Boxes, parts: &[(&AnyArray, &Selected)]) -> Option<Vec<u64>> {
    boxes.shape().iter().try_fold(1, |all: u64, &n| all.checked_mul(n))?;
    let mut numbers = vec![0];
    for (array, selected) in parts {
        for chunk in listed(array)? {
            if let Some(met) = met(selected, &chunk) {
                boxes.add_numbers(&met, &mut numbers);
            }
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// The places of the stored chunks of an array, if a list shows all that reads reach. Links may lead to more: a list
/// enters a folder once.
fn listed(array: &AnyArray) -> Option<impl Iterator<Item = Vec<Range<u64>>>> {
    let folder = Path::new(&array.storage().name()).join(array.path());
    if folder.is_dir() && has_links(&folder) {
        return None;
    }
    Some(array.units().stored().ok()?.map(|unit| unit.ranges))
}

/// Whether there may be symbolic links in a folder.
fn has_links(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return true };
    entries.any(|entry| {
        let Ok(entry) = entry else { return true };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => has_links(&entry.path()),
            Ok(kind) => !kind.is_file(),
            Err(_) => true,
        }
    })
}

/// The part of the result of a selection that lies in a box of the array; `None` if nothing does.
fn met(selected: &Selected, chunk: &[Range<u64>]) -> Option<Vec<Range<u64>>> {
    let mut met = Vec::with_capacity(chunk.len());
    for (along, range) in selected.axes().iter().zip(chunk) {
        match *along {
            Along::Index(at) if range.contains(&at) => {}
            Along::Index(_) => return None,
            Along::Range { first, step, n } => {
                let (first, step) = (i128::from(first), i128::from(step));
                let (low, high) = (i128::from(range.start), i128::from(range.end));
                // `first + step * i` is in `low..high`.
                let (from, to) = match step > 0 {
                    true => (ceil(low - first, step), ceil(high - first, step)),
                    false => (ceil(first - high + 1, -step), ceil(first - low + 1, -step)),
                };
                let clip = |at: i128| at.clamp(0, n.into()) as u64;
                met.push(clip(from)..clip(to));
            }
        }
    }
    met.iter().all(|range| !range.is_empty()).then_some(met)
}

fn ceil(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with looking at each index.
    #[test]
    fn what_a_chunk_has_of_a_selection() {
        let texts = [":", "3:", "::2", "1::3", "::-1", "20::-4", "5", "7:8"];
        for text in texts {
            let selected = Selected::parse(Some(text), &[23]).expect("it is valid");
            let indices: Vec<u64> = match selected.axes()[0] {
                Along::Index(at) => vec![at],
                Along::Range { first, step, n } => {
                    (0..n as i64).map(|i| (first as i64 + i * step) as u64).collect()
                }
            };
            for chunk in [0..5, 5..10, 10..11, 20..23, 0..23] {
                let found = met(&selected, std::slice::from_ref(&chunk));
                let is_in = |at: &u64| chunk.contains(at);
                if let Along::Index(at) = selected.axes()[0] {
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
        let pass = Pass { boxes, read: Some(vec![0, 2, 3]) };
        assert_eq!(pass.n_left_out(), 56 - 6 - 2 - 6);
        let first = [[0, 3], [0, 4], [0, 5], [1, 3], [1, 4], [1, 5], [2, 3]];
        assert_eq!(pass.first_left_out(7), first);
        assert_eq!(pass.first_left_out(0), Vec::<Vec<u64>>::new());
        assert_eq!(pass.first_left_out(1000).len(), 42);
        let read: Vec<_> = pass.boxes().collect();
        assert_eq!(read, [[0..2, 0..3], [0..2, 6..7], [2..4, 0..3]]);
    }
}
