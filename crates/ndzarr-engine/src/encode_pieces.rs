//! Assembles and encodes chunks piece by piece, so that copies stay in the cache.

use std::ops::Range;

use ndzarr_codec::{CodecError, Workspace, c_strides, strided};
use ndzarr_grid::Region;

use crate::encode_job::{EncodeJob, extent};
use crate::{EngineCause, Source};

/// The number of places to check whether a chunk is more than the fill value, and the bytes checked
/// in each.
const LOOKS: usize = 8;
const LOOK: usize = 1 << 10;

impl EncodeJob {
    /// Encodes a chunk of this shape if it comes entirely from the source, in the source's order,
    /// and the chain takes pieces. Otherwise, or if it may be all fill value and `skip_fill` is
    /// set, it returns `None` without having done anything.
    pub(crate) fn run_in_pieces(
        &self,
        source: &dyn Source,
        shape: &[u64],
        skip_fill: bool,
        workspace: &mut Workspace,
    ) -> Result<Option<Vec<u8>>, EngineCause> {
        let chain = &self.chain;
        let is_copy = self.old.is_none()
            && source.is_dense()
            && source.is_c_order()
            && self.axes.is_sorted()
            && self.region.contains(&Region::whole(shape));
        let Some(piece_len) = chain.piece_len(shape).filter(|_| is_copy) else { return Ok(None) };
        let (size, extent) = (chain.elem_size(), extent(shape)?);
        let strides = c_strides(&extent);
        let mut make = |range: Range<usize>, out: &mut [u8]| {
            let elements = range.start / size..range.end / size;
            for_each_box(&extent, elements.clone(), |at, start, len| {
                let from: Vec<usize> = start.iter().zip(&self.source_start).map(|(a, b)| a + b).collect();
                source.gather(&from, len, out, at - elements.start, &strides);
            });
        };
        if skip_fill {
            let n: usize = extent.iter().product();
            let look = (LOOK / size).clamp(1, piece_len.get() / size);
            let byte_len = look * size;
            let mut seen = workspace.take(byte_len).map_err(|_| CodecError::OutOfMemory { byte_len })?;
            let may_be_fill = (0..LOOKS).all(|i| {
                let first = (n / LOOKS * i).min(n - look);
                make(first * size..(first + look) * size, seen.bytes_mut());
                strided::is_all(seen.bytes(), chain.fill().bytes())
            });
            workspace.give(seen);
            if may_be_fill {
                return Ok(None);
            }
        }
        let mut out = workspace.take_bytes();
        chain.encode_pieces(shape, &mut make, workspace, &mut out)?;
        Ok(Some(out))
    }
}

/// Cuts a range of an array in C order into the fewest possible boxes. Each comes with the number
/// of its first element, its first index and its length along each axis.
fn for_each_box(extent: &[usize], range: Range<usize>, mut take: impl FnMut(usize, &[usize], &[usize])) {
    let mut at = range.start;
    while at < range.end {
        let (mut start, mut len) = (vec![0; extent.len()], vec![1; extent.len()]);
        let (mut rest, mut stride) = (at, 1);
        for (axis, &n) in extent.iter().enumerate().rev() {
            start[axis] = rest % n;
            rest /= n;
            // As far as possible along this axis, while all axes after it are complete.
            if at.is_multiple_of(stride) && at + stride <= range.end {
                len[axis + 1..].copy_from_slice(&extent[axis + 1..]);
                len[axis] = (n - start[axis]).min((range.end - at) / stride);
            }
            stride *= n;
        }
        take(at, &start, &len);
        at += len.iter().product::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element of the range is in one box, in order; returns the boxes' lengths.
    fn check(extent: &[usize], range: Range<usize>) -> Vec<Vec<usize>> {
        let strides = c_strides(extent);
        let mut lens = Vec::new();
        let mut next = range.start;
        for_each_box(extent, range.clone(), |at, start, len| {
            assert_eq!(at, next, "{extent:?} {range:?}");
            let place: usize = start.iter().zip(&strides).map(|(i, stride)| i * *stride as usize).sum();
            assert_eq!(at, place, "{extent:?} {range:?}");
            assert!(start.iter().zip(len).zip(extent).all(|((start, len), n)| *len > 0 && start + len <= *n));
            // The distance from the first element to the last matches their numbers: nothing
            // between is left out.
            let n: usize = len.iter().product();
            let last: usize =
                len.iter().zip(&strides).map(|(len, stride)| (len - 1) * *stride as usize).sum();
            assert_eq!(last + 1, n, "{extent:?} {range:?}");
            lens.push(len.to_vec());
            next += n;
        });
        assert_eq!(next, range.end.max(range.start), "{extent:?} {range:?}");
        lens
    }

    #[test]
    fn boxes_cover_each_range_in_its_order() {
        for extent in [&[12][..], &[3, 4], &[1, 5], &[5, 1, 2], &[2, 3, 4], &[2, 1, 3, 2]] {
            let n: usize = extent.iter().product();
            for start in 0..=n {
                for end in start..=n {
                    let boxes = check(extent, start..end);
                    assert!(boxes.len() < 2 * extent.len(), "{extent:?} {start} {end}");
                }
            }
        }
    }

    #[test]
    fn boxes_are_as_large_as_can_be() {
        assert_eq!(check(&[128, 128, 128], 1 << 17..1 << 18), [[8, 128, 128]]);
        assert_eq!(check(&[4, 10, 10], 95..327), [[1, 1, 5], [2, 10, 10], [1, 2, 10], [1, 1, 7]]);
        assert_eq!(check(&[2, 3], 2..2), [[0usize; 2]; 0]);
    }
}
