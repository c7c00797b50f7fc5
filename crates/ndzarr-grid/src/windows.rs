//! Cuts a region of raw elements into byte ranges that are cheap to read.

use std::ops::Range;

use crate::Region;

/// A part of a region that is read as one range of a value in which elements lie in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The elements, within the array that the value holds.
    pub region: Region,
    /// From the first to one past the last of them, in elements. It may include elements outside
    /// the region.
    pub span: Range<u64>,
}

/// The cost of reading, as a count of elements.
#[derive(Clone, Copy, Debug)]
pub struct WindowCost {
    /// One more request costs as much as this many more elements.
    pub request: u64,
    /// No window spans more elements than this, unless a single run of neighbours does.
    pub max_span: u64,
}

/// Cuts a region of an array in C order into windows, so that requests and elements read in vain
/// together cost little.
#[must_use]
pub fn windows(shape: &[u64], region: &Region, cost: WindowCost) -> Vec<Window> {
    if region.is_empty() {
        return Vec::new();
    }
    let mut strides = vec![1u64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    let mut out = Vec::new();
    split(region, &strides, cost, 0, &mut out);
    out
}

/// The positions from the first to one past the last element of a region that is not empty.
fn span(region: &Region, strides: &[u64]) -> Range<u64> {
    let mut first = 0;
    let mut last = 0;
    for (range, stride) in region.ranges().iter().zip(strides) {
        first += range.start * stride;
        last += (range.end - 1) * stride;
    }
    first..last + 1
}

/// Appends the windows of a region, whose axes before `axis` have one index.
fn split(region: &Region, strides: &[u64], cost: WindowCost, axis: usize, out: &mut Vec<Window>) {
    let span = span(region, strides);
    let len = span.end - span.start;
    let Some(next) = axis_to_split(region, axis) else {
        return out.push(Window {
            region: region.clone(),
            span,
        });
    };
    let n = region.ranges()[next].end - region.ranges()[next].start;
    let cost_of_one = cheapest(region, strides, cost, next + 1);
    let cost_of_splitting = n.saturating_mul(cost_of_one);
    let cost_of_whole = len.saturating_add(cost.request);
    let is_dense = region.n_elements() == Some(len);
    if is_dense || (cost_of_whole <= cost_of_splitting && len <= cost.max_span) {
        return out.push(Window {
            region: region.clone(),
            span,
        });
    }
    // A few neighbours along this axis may still be cheaper in one window than in one each.
    let stride = strides[next];
    let n_per_window = if cost_of_one >= stride {
        (cost.max_span / stride.max(1)).clamp(1, n)
    } else {
        1
    };
    let range = region.ranges()[next].clone();
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + n_per_window);
        let mut ranges = region.ranges().to_vec();
        ranges[next] = start..end;
        let part = Region::new(ranges);
        if n_per_window > 1 {
            let span = self::span(&part, strides);
            out.push(Window { region: part, span });
        } else {
            split(&part, strides, cost, next + 1, out);
        }
        start = end;
    }
}

/// The first axis, from `axis` on, along which the region has several indices.
fn axis_to_split(region: &Region, axis: usize) -> Option<usize> {
    (axis..region.ndim()).find(|&axis| region.ranges()[axis].end - region.ranges()[axis].start > 1)
}

/// The cost of one index of the axes before `axis`, if it is read in the cheapest way.
fn cheapest(region: &Region, strides: &[u64], cost: WindowCost, axis: usize) -> u64 {
    let Some(next) = axis_to_split(region, axis) else {
        return cost.request.saturating_add(1);
    };
    let lens: Vec<u64> = region.shape();
    let whole = (next..region.ndim())
        .map(|axis| (lens[axis] - 1) * strides[axis])
        .sum::<u64>()
        + 1;
    let cost_of_splitting = lens[next].saturating_mul(cheapest(region, strides, cost, next + 1));
    cost_of_splitting.min(whole.saturating_add(cost.request))
}
