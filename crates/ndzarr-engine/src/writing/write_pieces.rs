//! `WritePieces`: the regions of a write, cut along the lines of the chunk grid.

use std::ops::Range;

use ndzarr_grid::{ChunkGrid, Overlap, Overlaps, Region};

use crate::picked_chunks::PickedChunks;
use crate::{ChunkedArray, Coverage, Source};

/// The pieces of the regions of a write, numbered over all regions and made one by one: a region
/// may overlap very many chunks.
pub(crate) struct WritePieces<'g, 's> {
    grid: &'g ChunkGrid,
    regions: Vec<WriteRegion<'s>>,
}

struct WriteRegion<'s> {
    overlaps: Overlaps,
    /// The first element of the region.
    start: Vec<u64>,
    source: &'s dyn Source,
    /// The chunks that the source has elements for, if that is known without examining each.
    picked: Option<PickedChunks>,
    /// The number after that of its last piece.
    end: u64,
}

/// The part of a region in one chunk, and the box of its elements in their source.
pub(crate) struct WritePiece<'s> {
    pub(crate) overlap: Overlap,
    pub(crate) source: &'s dyn Source,
    /// The first element of the box, and its length along each axis.
    pub(crate) from: Vec<usize>,
    pub(crate) len: Vec<usize>,
}

impl<'g, 's> WritePieces<'g, 's> {
    pub(crate) fn new(array: &'g ChunkedArray, parts: &[(Region, &'s dyn Source)]) -> Self {
        let grid = &array.grid;
        let mut regions = Vec::with_capacity(parts.len());
        let mut end = 0_u64;
        for (region, source) in parts.iter().filter(|(region, _)| !region.is_empty()) {
            let overlaps = grid.overlaps(region);
            let picked = PickedChunks::new(grid, region, &source.picked());
            end = end.saturating_add(
                picked
                    .as_ref()
                    .map_or(overlaps.n_indices(), PickedChunks::n),
            );
            regions.push(WriteRegion {
                overlaps,
                start: region.start(),
                source: *source,
                picked,
                end,
            });
        }
        Self { grid, regions }
    }

    /// The numbers of all pieces.
    pub(crate) fn numbers(&self) -> Range<u64> {
        0..self.regions.last().map_or(0, |last| last.end)
    }

    /// How many pieces have elements.
    pub(crate) fn count(&self) -> u64 {
        let all_have =
            |region: &WriteRegion<'_>| region.source.is_dense() || region.picked.is_some();
        if self.regions.iter().all(all_have) {
            return self.numbers().end;
        }
        self.numbers()
            .filter(|&number| self.get(number).is_some())
            .count() as u64
    }

    /// The piece with this number, if it has elements.
    pub(crate) fn get(&self, number: u64) -> Option<WritePiece<'s>> {
        let at = self.regions.partition_point(|region| region.end <= number);
        let begin = at
            .checked_sub(1)
            .map_or(0, |before| self.regions[before].end);
        let WriteRegion {
            overlaps,
            start,
            source,
            picked,
            ..
        } = self.regions.get(at)?;
        let overlap = match picked {
            None => overlaps.nth_index(number - begin)?,
            Some(picked) => picked.overlap(self.grid, overlaps, number - begin)?,
        };
        let from: Vec<_> = overlap
            .start
            .iter()
            .zip(start)
            .map(|(at, start)| (at - start) as usize)
            .collect();
        let len: Vec<_> = overlap
            .in_chunk
            .shape()
            .iter()
            .map(|&n| n as usize)
            .collect();
        let has_elements = source.coverage(&from, &len) != Coverage::None;
        has_elements.then_some(WritePiece {
            overlap,
            source: *source,
            from,
            len,
        })
    }
}
