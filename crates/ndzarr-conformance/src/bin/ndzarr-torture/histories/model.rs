//! The expected content of an array, in plain memory, computed without the library.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use ndzarr::ndarray::{ArrayD, Dimension, IxDyn, Slice};

/// The result of a step, or why it failed.
pub(super) type Checked<T = ()> = Result<T, String>;

/// A region, one range for each axis.
pub(super) type Region = Vec<Range<u64>>;

/// An array's elements and attributes.
pub(super) struct Model {
    pub(super) elements: ArrayD<u32>,
    pub(super) attributes: BTreeMap<String, u64>,
    fill: u32,
    /// The shape of what is stored under one key; `None` where lengths vary.
    unit: Option<Vec<u64>>,
}

impl Model {
    pub(super) fn new(shape: &[u64], fill: u32, unit: Option<Vec<u64>>) -> Self {
        Self {
            elements: filled(shape, fill),
            attributes: BTreeMap::new(),
            fill,
            unit,
        }
    }

    pub(super) fn shape(&self) -> Vec<u64> {
        self.elements.shape().iter().map(|&n| n as u64).collect()
    }

    pub(super) fn get(&self, region: &Region) -> ArrayD<u32> {
        self.elements
            .slice_each_axis(|axis| slice(&region[axis.axis.index()]))
            .to_owned()
    }

    pub(super) fn set(&mut self, region: &Region, elements: &ArrayD<u32>) {
        self.elements
            .slice_each_axis_mut(|axis| slice(&region[axis.axis.index()]))
            .assign(elements);
    }

    /// Another shape: new elements are the fill value.
    pub(super) fn resize(&mut self, shape: &[u64]) {
        let kept: Region = self
            .shape()
            .iter()
            .zip(shape)
            .map(|(&old, &new)| 0..old.min(new))
            .collect();
        let elements = self.get(&kept);
        self.elements = filled(shape, self.fill);
        self.set(&kept, &elements);
    }

    /// The elements as [`set`](Self::set) would leave them.
    pub(super) fn with(&self, region: &Region, elements: &ArrayD<u32>) -> ArrayD<u32> {
        let mut all = self.elements.clone();
        all.slice_each_axis_mut(|axis| slice(&region[axis.axis.index()]))
            .assign(elements);
        all
    }

    /// The elements after the array was shrunk and enlarged again.
    pub(super) fn cut(&self, shape: &[u64]) -> ArrayD<u32> {
        let kept: Region = self
            .shape()
            .iter()
            .zip(shape)
            .map(|(&old, &new)| 0..old.min(new))
            .collect();
        let mut all = filled(&self.shape(), self.fill);
        all.slice_each_axis_mut(|axis| slice(&kept[axis.axis.index()]))
            .assign(&self.get(&kept));
        all
    }

    /// Takes over the content after a call that may have done its work or not: each stored unit
    /// must be entirely old or entirely new.
    pub(super) fn adopt(&mut self, found: ArrayD<u32>, new: &ArrayD<u32>) -> Checked {
        if found.shape() != self.elements.shape() {
            return Err(format!(
                "the shape is {:?}, not {:?}",
                found.shape(),
                self.elements.shape()
            ));
        }
        let mut units: HashMap<Vec<u64>, bool> = HashMap::new();
        for ((at, &found), (&old, &new)) in found.indexed_iter().zip(self.elements.iter().zip(new))
        {
            let at = at.slice();
            if found != old && found != new {
                return Err(format!("{at:?} is {found}, neither {old} nor {new}"));
            }
            let Some(unit) = self.unit.as_ref().filter(|_| old != new) else {
                continue;
            };
            let key = at
                .iter()
                .zip(unit)
                .map(|(&at, &unit)| at as u64 / unit)
                .collect();
            if *units.entry(key).or_insert(found == new) != (found == new) {
                return Err(format!(
                    "{at:?} is {found}: its chunk has old elements and new ones"
                ));
            }
        }
        self.elements = found;
        Ok(())
    }

    /// The first element of each unit that differs.
    pub(super) fn one_of_each_unit(&self, others: &ArrayD<u32>) -> Vec<Vec<u64>> {
        let mut units: BTreeMap<Vec<u64>, Vec<u64>> = BTreeMap::new();
        for ((at, element), other) in self.elements.indexed_iter().zip(others) {
            if let Some(unit) = self.unit.as_ref().filter(|_| element != other) {
                let at: Vec<u64> = at.slice().iter().map(|&at| at as u64).collect();
                units
                    .entry(at.iter().zip(unit).map(|(at, unit)| at / unit).collect())
                    .or_insert(at);
            }
        }
        units.into_values().collect()
    }

    /// Checks that the content is exactly this.
    pub(super) fn check(&self, found: &ArrayD<u32>) -> Checked {
        if found.shape() != self.elements.shape() {
            return Err(format!(
                "the shape is {:?}, not {:?}",
                found.shape(),
                self.elements.shape()
            ));
        }
        differs(found, &self.elements)
    }

    /// Takes over blocks that were appended concurrently: each must be found as one block, in any
    /// order.
    pub(super) fn appended(
        &mut self,
        axis: usize,
        mut blocks: Vec<ArrayD<u32>>,
        found: ArrayD<u32>,
    ) -> Checked {
        let mut at = self.shape()[axis];
        let length = |block: &ArrayD<u32>| block.shape()[axis] as u64;
        let mut shape = self.shape();
        shape[axis] += blocks.iter().map(length).sum::<u64>();
        if found
            .shape()
            .iter()
            .map(|&n| n as u64)
            .ne(shape.iter().copied())
        {
            return Err(format!(
                "the shape is {:?}, not {shape:?}: appends are lost",
                found.shape()
            ));
        }
        self.resize(&shape);
        while !blocks.is_empty() {
            let fits = blocks.iter().position(|block| {
                let mut region: Region = shape.iter().map(|&n| 0..n).collect();
                region[axis] = at..(at + length(block)).min(shape[axis]);
                found.slice_each_axis(|axis| slice(&region[axis.axis.index()])) == block.view()
            });
            let Some(block) = fits else {
                return Err(format!(
                    "at {at} along axis {axis} is none of the blocks that were appended"
                ));
            };
            let block = blocks.swap_remove(block);
            let mut region: Region = shape.iter().map(|&n| 0..n).collect();
            region[axis] = at..at + length(&block);
            at += length(&block);
            self.set(&region, &block);
        }
        self.check(&found)
    }

    /// True if a write of `region` through a handle of another shape replaces a whole unit as the
    /// handle sees it, though others see more of it: what others have appended there is lost then,
    /// as the guarantees say.
    pub(super) fn hides_some(&self, region: &Region, seen: &[u64]) -> bool {
        let Some(unit) = &self.unit else {
            return seen != self.shape();
        };
        let shape = self.shape();
        (0..shape.len()).any(|axis| {
            let last = seen[axis].saturating_sub(1) / unit[axis];
            seen[axis] < shape[axis] && region[axis].end > last * unit[axis]
        })
    }
}

/// The first difference of two arrays of one shape.
pub(super) fn differs(found: &ArrayD<u32>, expected: &ArrayD<u32>) -> Checked {
    for ((at, found), expected) in found.indexed_iter().zip(expected) {
        if found != expected {
            return Err(format!("{:?} is {found}, not {expected}", at.slice()));
        }
    }
    Ok(())
}

fn filled(shape: &[u64], fill: u32) -> ArrayD<u32> {
    ArrayD::from_elem(
        IxDyn(&shape.iter().map(|&n| n as usize).collect::<Vec<_>>()),
        fill,
    )
}

fn slice(range: &Range<u64>) -> Slice {
    Slice::from(range.start as usize..range.end as usize)
}
