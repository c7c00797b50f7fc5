//! The chunk lengths along one axis of a rectilinear grid, and the search for a chunk among them.

use std::ops::Range;

use crate::GridError;

/// Lengths of the chunks along one axis of a rectilinear grid, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChunkEdges {
    /// All chunks have this length, whatever the length of the axis.
    Repeated(u64),
    /// Lengths, each with the number of consecutive chunks that have it. Together the chunks may be
    /// longer than the axis, not shorter.
    Listed(Vec<(u64, u64)>),
}

impl ChunkEdges {
    /// The greatest length; 0 without chunks.
    #[must_use]
    pub fn max(&self) -> u64 {
        match self {
            Self::Repeated(len) => *len,
            Self::Listed(runs) => runs.iter().map(|(len, _)| *len).max().unwrap_or(0),
        }
    }

    /// The end of the last chunk, in elements; `None` if the chunks do not end, or end beyond u64.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        match self {
            Self::Repeated(_) => None,
            Self::Listed(runs) => runs.iter().try_fold(0u64, |end, (len, count)| {
                end.checked_add(len.checked_mul(*count)?)
            }),
        }
    }

    /// The different lengths, each once, unordered.
    #[must_use]
    pub fn distinct(&self) -> Vec<u64> {
        let mut lens = match self {
            Self::Repeated(len) => vec![*len],
            Self::Listed(runs) => runs.iter().map(|(len, _)| *len).collect(),
        };
        lens.sort_unstable();
        lens.dedup();
        lens
    }

    /// True if the chunks of both are equal, up to the end of the shorter one.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let runs = |edges: &Self| match edges {
            Self::Repeated(len) => vec![(*len, u64::MAX)],
            Self::Listed(runs) => runs.clone(),
        };
        let ours = runs(self);
        let theirs = runs(other);
        let mut ours = ours.into_iter();
        let mut theirs = theirs.into_iter();
        let mut a = ours.next();
        let mut b = theirs.next();
        while let (Some((a_len, a_count)), Some((b_len, b_count))) = (a, b) {
            if a_len != b_len {
                return false;
            }
            let both = a_count.min(b_count);
            a = if a_count > both {
                Some((a_len, a_count - both))
            } else {
                ours.next()
            };
            b = if b_count > both {
                Some((b_len, b_count - both))
            } else {
                theirs.next()
            };
        }
        true
    }

    pub(crate) fn check(&self, axis: usize, len: u64) -> Result<(), GridError> {
        match self {
            Self::Repeated(0) if len > 0 => {
                Err(GridError(format!("a chunk length of 0 along axis {axis}")))
            }
            Self::Repeated(_) => Ok(()),
            Self::Listed(runs) if runs.iter().any(|(len, count)| *len == 0 || *count == 0) => Err(
                GridError(format!("a chunk length or a count of 0 along axis {axis}")),
            ),
            Self::Listed(_) => match self.end() {
                Some(end) if end < len => Err(GridError(format!(
                    "chunks of {end} elements along axis {axis}, which has {len}"
                ))),
                _ => Ok(()),
            },
        }
    }
}

/// Consecutive chunks of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Index of the first chunk.
    chunk: u64,
    /// The first element of that chunk.
    start: u64,
    len: u64,
}

/// The chunks along an axis, to be searched: the cost is logarithmic in the number of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AxisRuns {
    /// In order; the last one continues without an end.
    runs: Vec<Run>,
    array_len: u64,
}

impl AxisRuns {
    pub(crate) fn new(edges: &ChunkEdges, array_len: u64) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        match edges {
            ChunkEdges::Repeated(len) => runs.push(Run {
                chunk: 0,
                start: 0,
                len: (*len).max(1),
            }),
            ChunkEdges::Listed(listed) => {
                let mut chunk = 0u64;
                let mut start = 0u64;
                for &(len, count) in listed {
                    if runs.last().is_none_or(|run| run.len != len) {
                        runs.push(Run { chunk, start, len });
                    }
                    let end = len.checked_mul(count).and_then(|n| start.checked_add(n));
                    // Chunks that begin beyond u64 are never reached.
                    let (Some(end), Some(next)) = (end, chunk.checked_add(count)) else {
                        break;
                    };
                    chunk = next;
                    start = end;
                }
            }
        }
        if runs.is_empty() {
            runs.push(Run {
                chunk: 0,
                start: 0,
                len: 1,
            });
        }
        Self { runs, array_len }
    }

    /// The chunk that contains an element.
    pub(crate) fn chunk_at(&self, element: u64) -> u64 {
        let run = self.runs[self.runs.partition_point(|run| run.start <= element).max(1) - 1];
        run.chunk + (element - run.start) / run.len
    }

    /// The elements of a chunk, which may be outside the array.
    pub(crate) fn range(&self, chunk: u64) -> Range<u64> {
        let run = self.runs[self.runs.partition_point(|run| run.chunk <= chunk).max(1) - 1];
        let start = run
            .start
            .saturating_add((chunk - run.chunk).saturating_mul(run.len));
        start..start.saturating_add(run.len)
    }

    /// The parts of a range in which all chunks have one length, and that length.
    pub(crate) fn parts(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, u64)> {
        let Range { start, end } = range;
        let first = self.runs.partition_point(|run| run.start <= start).max(1) - 1;
        let runs = &self.runs[first..];
        let ends = runs[1..].iter().map(|next| next.start).chain([u64::MAX]);
        runs.iter()
            .zip(ends)
            .take_while(move |(run, _)| run.start < end)
            .map(move |(run, run_end)| (run.start.max(start)..run_end.min(end), run.len))
    }

    /// The number of chunks that overlap the first `len` elements.
    pub(crate) fn n_chunks(&self, len: u64) -> u64 {
        if len == 0 {
            0
        } else {
            self.chunk_at(len - 1) + 1
        }
    }

    pub(crate) fn array_len(&self) -> u64 {
        self.array_len
    }
}
