//! What peers are known not to do. An outcome other than agreement that no entry explains is a disagreement; an
//! agreement that an entry rules out is reported, since the peer has learned.

use std::fmt;

use super::outcome::{Direction, Outcome, Verdict};
use super::pattern::fits;

/// Cells that a peer is known not to agree on. All members but the last two are lists of patterns.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) peer: &'static str,
    pub(super) format: &'static str,
    pub(super) directions: &'static [Direction],
    pub(super) data_type: &'static str,
    pub(super) codec: &'static str,
    pub(super) layout: &'static str,
    /// What comes of these cells.
    pub(super) result: Verdict,
    /// Where the same cell agrees for some types or values, the limit says so.
    pub(super) always: bool,
    pub(super) why: &'static str,
}

const BOTH: &[Direction] = &[Direction::PeerWrites, Direction::PeerReads];
const WRITES: &[Direction] = &[Direction::PeerWrites];
const READS: &[Direction] = &[Direction::PeerReads];

/// A limit of every cell of a peer and format, to be narrowed.
const fn limit(peer: &'static str, format: &'static str, why: &'static str) -> Limit {
    Limit {
        peer,
        format,
        directions: BOTH,
        data_type: "*",
        codec: "*",
        layout: "*",
        result: Verdict::PeerRefuses,
        always: true,
        why,
    }
}
