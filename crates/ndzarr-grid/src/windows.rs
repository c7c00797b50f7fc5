//! Cuts a region of raw elements into byte ranges that are cheap to read.

use std::ops::Range;

use crate::Region;

/// A part of a region that is read as one range of a value in which elements lie in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The elements, within the array that the value holds.
    pub region: Region,
    /// From the first to one past the last of them, in elements; elements in between may belong to
    /// others.
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

/// Cuts a region of an array in C order into windows that keep the cost of requests and of elements
/// read in vain low together.
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

fn span(region: &Region, strides: &[u64]) -> Range<u64> {
    let at = |index: &dyn Fn(&Range<u64>) -> u64| {
        region.ranges().iter().zip(strides).map(|(range, stride)| index(range) * stride).sum::<u64>()
    };
    at(&|range| range.start)..at(&|range| range.end - 1) + 1
}

fn split(region: &Region, strides: &[u64], cost: WindowCost, axis: usize, out: &mut Vec<Window>) {
    let span = span(region, strides);
    let len = span.end - span.start;
    // The first axis from here on that has anything to split.
    let next =
        (axis..region.ndim()).find(|&axis| region.ranges()[axis].end - region.ranges()[axis].start > 1);
    let Some(next) = next else {
        return out.push(Window { region: region.clone(), span });
    };
    let n = region.ranges()[next].end - region.ranges()[next].start;
    let each = best(region, strides, cost, next + 1);
    let splitting = n.saturating_mul(each);
    let whole = len.saturating_add(cost.request);
    let dense = region.n_elements() == Some(len);
    if dense || (whole <= splitting && len <= cost.max_span) {
        return out.push(Window { region: region.clone(), span });
    }
    // Several neighbours along this axis may still be cheaper together than each alone.
    let stride = strides[next];
    let together = if each >= stride { (cost.max_span / stride.max(1)).clamp(1, n) } else { 1 };
    let range = region.ranges()[next].clone();
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + together);
        let mut ranges = region.ranges().to_vec();
        ranges[next] = start..end;
        let part = Region::new(ranges);
        if together > 1 {
            let span = self::span(&part, strides);
            out.push(Window { region: part, span });
        } else {
            split(&part, strides, cost, next + 1, out);
        }
        start = end;
    }
}

/// Cost of one index of the axes before `axis`, read in the cheapest way.
fn best(region: &Region, strides: &[u64], cost: WindowCost, axis: usize) -> u64 {
    let Some(next) =
        (axis..region.ndim()).find(|&axis| region.ranges()[axis].end - region.ranges()[axis].start > 1)
    else {
        return cost.request.saturating_add(1);
    };
    let lens: Vec<u64> = region.shape();
    let whole = (next..region.ndim()).map(|axis| (lens[axis] - 1) * strides[axis]).sum::<u64>() + 1;
    let splitting = lens[next].saturating_mul(best(region, strides, cost, next + 1));
    splitting.min(whole.saturating_add(cost.request))
}
