//! How the chunks of a custom grid cover a region.

use ndzarr_grid::{ChunkGrid, Overlap, Region};

use crate::tile::{Output, Piece};
use crate::{ChunkedArray, EngineCause, EngineError, Tile};

/// A part of the region, and what it shares with each chunk that it meets.
struct Part<'t> {
    region: Region,
    /// Indices of the overlaps, and the common elements.
    common: Vec<(usize, Region)>,
    tile: Option<Box<dyn Tile + 't>>,
}

/// Called with each piece: the number of its chunk, its elements, and where they go.
type Found<'f, 't> = dyn FnMut(usize, &Region, Option<Box<dyn Tile + 't>>) + 'f;

/// Where a part is cut.
#[derive(Debug, PartialEq, Eq)]
enum Cut {
    /// Nowhere: it lies in this chunk.
    Within(usize),
    /// At these elements along an axis.
    Along(usize, Vec<u64>),
}

/// This many chunks are listed at once.
const FEW: usize = 1024;

/// How a region is taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Division {
    /// It is cut along an axis, before this element of the array.
    Cut(usize, u64),
    /// It meets few chunks: these.
    Few(Vec<Overlap>),
}

/// Divides a region that meets many chunks of a custom grid. It depends on nothing else, so that a
/// region always has the same pieces.
pub(crate) fn divide(grid: &ChunkGrid, region: &Region) -> Division {
    let few: Vec<Overlap> = grid.overlaps(region).take(FEW + 1).collect();
    if few.len() <= FEW {
        return Division::Few(few);
    }
    // Along a side of the chunk in the middle, where the cut divides the fewest chunks.
    let middle: Vec<u64> = region.ranges().iter().map(|range| range.start.midpoint(range.end)).collect();
    let center = grid.overlaps(&Region::new(middle.iter().map(|&at| at..at + 1))).next();
    let center = center.and_then(|overlap| grid.chunk_region(&overlap.chunk));
    let sides = (0..region.ndim()).filter_map(|axis| {
        let (chunk, range) = (&center.as_ref()?.ranges()[axis], &region.ranges()[axis]);
        let at = [chunk.start, chunk.end].into_iter().find(|&at| range.start < at && at < range.end)?;
        Some((axis, at))
    });
    let divided = |&(axis, at): &(usize, u64)| {
        let mut ranges = region.ranges().to_vec();
        ranges[axis] = at - 1..at + 1;
        let is_divided = |overlap: &Overlap| overlap.in_chunk.shape()[axis] == 2;
        grid.overlaps(&Region::new(ranges)).filter(is_divided).count()
    };
    if let Some((axis, at)) = sides.min_by_key(divided) {
        return Division::Cut(axis, at);
    }
    // The chunk in the middle is missing, or all of the region is in it: a smaller part shows the
    // fault.
    let longest =
        (0..region.ndim()).max_by_key(|&axis| region.ranges()[axis].end - region.ranges()[axis].start);
    match longest.filter(|&axis| middle[axis] > region.ranges()[axis].start) {
        Some(axis) => Division::Cut(axis, middle[axis]),
        None => Division::Few(few),
    }
}

/// The elements before `at` along an axis, and those from there on.
pub(crate) fn sides(region: &Region, axis: usize, at: u64) -> [Region; 2] {
    let range = &region.ranges()[axis];
    [range.start..at, at..range.end].map(|side| {
        let mut ranges = region.ranges().to_vec();
        ranges[axis] = side;
        Region::new(ranges)
    })
}

/// Checks that each element of an array is in one chunk, which is in doubt only with a custom grid.
///
/// # Errors
/// One is in none, or in several.
pub fn check_cover(array: &ChunkedArray) -> Result<(), EngineError> {
    let whole = Region::whole(array.grid.array_shape());
    if array.grid.is_custom() && !whole.is_empty() {
        check(array, &whole)?;
    }
    Ok(())
}

/// Checks that the chunks of a custom grid cover a region, and that the chain can encode each.
/// Returns the number of the region's [`pieces`].
pub(crate) fn check(array: &ChunkedArray, region: &Region) -> Result<u64, EngineCause> {
    let (mut n, mut parts) = (0, vec![region.clone()]);
    while let Some(part) = parts.pop() {
        match divide(&array.grid, &part) {
            Division::Cut(axis, at) => {
                let [before, behind] = sides(&part, axis, at);
                parts.extend([behind, before]);
            }
            Division::Few(overlaps) => {
                let shape = |overlap: &Overlap| array.chain.check(&array.shape_of(&overlap.chunk));
                overlaps.iter().try_for_each(shape)?;
                cover(&part, &overlaps, None, &mut |_, _, _| n += 1)?;
            }
        }
    }
    Ok(n)
}

/// Cuts a tile so that each piece lies in one chunk; a chunk may have several pieces.
pub(crate) fn pieces<'t>(
    region: &Region,
    overlaps: &[Overlap],
    tile: Box<dyn Tile + 't>,
) -> Result<Vec<Piece<'t>>, EngineCause> {
    let mut pieces = Vec::with_capacity(overlaps.len());
    cover(region, overlaps, Some(tile), &mut |at, common, tile| {
        if let Some(tile) = tile {
            let Overlap { chunk, in_chunk, start } = &overlaps[at];
            let origin: Vec<u64> =
                start.iter().zip(in_chunk.start()).map(|(at, within)| at - within).collect();
            let overlap = Overlap {
                chunk: chunk.clone(),
                in_chunk: common.relative_to(&origin),
                start: common.start(),
            };
            pieces.push(Piece { overlap, output: Output::Tile(tile) });
        }
    })?;
    Ok(pieces)
}

fn cover<'t>(
    region: &Region,
    overlaps: &[Overlap],
    tile: Option<Box<dyn Tile + 't>>,
    found: &mut Found<'_, 't>,
) -> Result<(), EngineCause> {
    let common = overlaps.iter().map(Overlap::region).enumerate().collect();
    let mut parts = vec![Part { region: region.clone(), common, tile }];
    while let Some(part) = parts.pop() {
        match cut(&part.region, &part.common) {
            None => return Err(wrong(overlaps, &part)),
            Some(Cut::Within(at)) => found(at, &part.region, part.tile),
            Some(Cut::Along(axis, cuts)) => apart(part, axis, &cuts, &mut parts),
        }
    }
    Ok(())
}

/// Cuts a part along an axis.
fn apart<'t>(part: Part<'t>, axis: usize, cuts: &[u64], parts: &mut Vec<Part<'t>>) {
    let Part { region, common, tile: mut rest } = part;
    let all = region.ranges()[axis].clone();
    let mut start = all.start;
    // Each meets one part, or those on both sides of a cut through it.
    let mut shares: Vec<Vec<(usize, Region)>> = cuts.iter().map(|_| Vec::new()).collect();
    shares.push(Vec::new());
    for (at, common) in common {
        let range = &common.ranges()[axis];
        let first = cuts.partition_point(|&cut| cut <= range.start);
        let last = cuts.partition_point(|&cut| cut < range.end);
        for (i, share) in shares.iter_mut().enumerate().take(last + 1).skip(first) {
            let low = if i == 0 { all.start } else { cuts[i - 1] };
            let high = cuts.get(i).copied().unwrap_or(all.end);
            let mut ranges = common.ranges().to_vec();
            ranges[axis] = range.start.max(low)..range.end.min(high);
            share.push((at, Region::new(ranges)));
        }
    }
    let first = parts.len();
    for (i, common) in shares.into_iter().enumerate() {
        let end = cuts.get(i).copied().unwrap_or(all.end);
        let mut ranges = region.ranges().to_vec();
        ranges[axis] = start..end;
        let tile = match rest.take() {
            Some(tile) if i < cuts.len() => {
                let (head, tail) = tile.split_at(axis, (end - start) as usize);
                rest = Some(tail);
                Some(head)
            }
            tile => tile,
        };
        parts.push(Part { region: Region::new(ranges), common, tile });
        start = end;
    }
    // The first is the next to be taken.
    parts[first..].reverse();
}

/// Where to cut a part; `None` if chunks overlap in it or leave a gap.
fn cut(region: &Region, common: &[(usize, Region)]) -> Option<Cut> {
    if let [(at, one)] = common
        && one == region
    {
        return Some(Cut::Within(*at));
    }
    // A position without a chunk on both sides.
    for axis in 0..region.ndim() {
        let mut ranges: Vec<_> = common.iter().map(|(_, common)| common.ranges()[axis].clone()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let (mut cuts, mut end) = (Vec::new(), region.ranges()[axis].start);
        for range in ranges {
            if range.start >= end && range.start > region.ranges()[axis].start {
                cuts.push(range.start);
            }
            end = end.max(range.end);
        }
        if !cuts.is_empty() {
            return Some(Cut::Along(axis, cuts));
        }
    }
    // There is none: cut through a chunk then, but along the side of another. Every such cut leaves
    // fewer sides.
    (0..region.ndim()).find_map(|axis| {
        let whole = &region.ranges()[axis];
        let mut sides: Vec<u64> = common
            .iter()
            .flat_map(|(_, common)| [common.ranges()[axis].start, common.ranges()[axis].end])
            .filter(|side| *side > whole.start && *side < whole.end)
            .collect();
        sides.sort_unstable();
        sides.dedup();
        (!sides.is_empty()).then(|| Cut::Along(axis, vec![sides[sides.len() / 2]]))
    })
}

fn wrong(overlaps: &[Overlap], part: &Part<'_>) -> EngineCause {
    let start = part.region.start();
    EngineCause::Grid(match &part.common[..] {
        [] | [_] => format!("the element {start:?} is in no chunk"),
        [(a, _), (b, _), ..] => {
            format!(
                "the element {start:?} is in the chunks {:?} and {:?}",
                overlaps[*a].chunk, overlaps[*b].chunk
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(number: u64, region: Region) -> Overlap {
        Overlap { chunk: vec![number], in_chunk: Region::whole(&region.shape()), start: region.start() }
    }

    /// How often each element of a covered region is in a piece, and by which chunk.
    fn covered(shape: [u64; 2], boxes: &[[std::ops::Range<u64>; 2]]) -> Result<Vec<usize>, String> {
        let overlaps: Vec<Overlap> = boxes
            .iter()
            .enumerate()
            .map(|(i, ranges)| overlap(i as u64, Region::new(ranges.clone())))
            .collect();
        let mut chunks = vec![usize::MAX; (shape[0] * shape[1]) as usize];
        cover(&Region::whole(&shape), &overlaps, None, &mut |at, common, _| {
            let [rows, columns] = [common.ranges()[0].clone(), common.ranges()[1].clone()];
            for row in rows {
                for column in columns.clone() {
                    let chunk = &mut chunks[(row * shape[1] + column) as usize];
                    assert_eq!(*chunk, usize::MAX, "twice");
                    *chunk = at;
                }
            }
        })
        .map_err(|error| error.to_string())?;
        Ok(chunks)
    }

    #[test]
    fn bricks_are_cut_row_by_row() {
        let bricks = [[0..1, 0..2], [0..1, 2..4], [1..2, 0..1], [1..2, 1..3], [1..2, 3..4]];
        assert_eq!(covered([2, 4], &bricks), Ok(vec![0, 0, 1, 1, 2, 3, 3, 4]));
    }

    /// No straight cut leaves all five whole.
    #[test]
    fn a_pinwheel_is_cut_through_a_chunk() {
        let pinwheel = [[0..1, 0..2], [0..2, 2..3], [2..3, 1..3], [1..3, 0..1], [1..2, 1..2]];
        assert_eq!(covered([3, 3], &pinwheel), Ok(vec![0, 0, 1, 3, 4, 1, 3, 2, 2]));
    }

    #[test]
    fn gaps_and_overlaps_are_errors() {
        let gap = covered([2, 2], &[[0..1, 0..2], [1..2, 1..2]]);
        assert_eq!(gap, Err("invalid chunk grid: the element [1, 0] is in no chunk".to_owned()));
        let nothing = covered([2, 2], &[]);
        assert_eq!(nothing, Err("invalid chunk grid: the element [0, 0] is in no chunk".to_owned()));
        let both = covered([1, 3], &[[0..1, 0..2], [0..1, 1..3]]);
        assert_eq!(
            both,
            Err("invalid chunk grid: the element [0, 1] is in the chunks [0] and [1]".to_owned())
        );
    }
}
