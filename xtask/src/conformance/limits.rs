//! The known limits of peers. An outcome other than agreement that no entry explains is a
//! disagreement; an agreement that an entry rules out is reported, since the peer has learned.

mod table;

use std::fmt;

use super::outcome::{Direction, Outcome, Verdict};
use super::pattern::fits;
pub(super) use table::TABLE;

/// Cells that a peer is known not to agree on. All members but the last two are lists of patterns.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) peer: &'static str,
    pub(super) format: &'static str,
    pub(super) directions: &'static [Direction],
    pub(super) data_type: &'static str,
    pub(super) codec: &'static str,
    pub(super) layout: &'static str,
    /// The result of these cells.
    pub(super) result: Verdict,
    /// Whether none of these cells agrees; otherwise it depends on the elements.
    pub(super) always: bool,
    pub(super) why: &'static str,
}

impl Limit {
    /// Whether it speaks of the cell, peer and direction of an outcome.
    pub(super) fn covers(&self, outcome: &Outcome) -> bool {
        self.peer == outcome.peer_name()
            && self.directions.contains(&outcome.direction)
            && fits(self.format, &outcome.format)
            && fits(self.data_type, &outcome.data_type)
            && fits(self.codec, &outcome.codec)
            && fits(self.layout, &outcome.layout)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.peer, self.why)?;
        let mut separator = " (";
        for (name, pattern) in [("type", self.data_type), ("codec", self.codec), ("layout", self.layout)] {
            if pattern != "*" {
                write!(f, "{separator}{name}: {}", pattern.replace('|', " or ").replace('*', "…"))?;
                separator = "; ";
            }
        }
        if separator == "; " { f.write_str(")") } else { Ok(()) }
    }
}
