//! The outcome of one cell of the conformance table, for one peer and direction.

use std::fmt;

/// The outcome of one cell, one peer and one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) format: String,
    pub(super) data_type: String,
    pub(super) codec: String,
    pub(super) layout: String,
    /// Name and version.
    pub(super) peer: String,
    pub(super) direction: Direction,
    pub(super) result: Verdict,
    /// The refusal or the difference.
    pub(super) detail: String,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    /// The peer writes, ndzarr reads.
    PeerWrites,
    /// ndzarr writes, the peer reads.
    PeerReads,
}

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The elements and the description of the array are equal.
    Agrees,
    /// Something else was read.
    Differs,
    /// The peer gave an error, or cannot be asked.
    PeerRefuses,
    /// ndzarr gave an error.
    NdzarrRefuses,
}

impl Outcome {
    /// Reads a line of `compare.py`.
    ///
    /// # Errors
    ///
    /// A message with the line, when it has another form.
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        let malformed = || format!("not an outcome: {line}");
        let fields: [String; 8] = serde_json::from_str(line).map_err(|_| malformed())?;
        let [format, data_type, codec, layout, peer, direction, result, detail] = fields;
        let direction = match &*direction {
            "writes" => Direction::PeerWrites,
            "reads" => Direction::PeerReads,
            _ => return Err(malformed()),
        };
        let result = match &*result {
            "agrees" => Verdict::Agrees,
            "differs" => Verdict::Differs,
            "peer refuses" => Verdict::PeerRefuses,
            "ndzarr refuses" => Verdict::NdzarrRefuses,
            _ => return Err(malformed()),
        };
        Ok(Self { format, data_type, codec, layout, peer, direction, result, detail })
    }

    /// The peer without its version.
    pub(super) fn peer_name(&self) -> &str {
        // The two versions of zarr-python are two peers.
        match self.peer.rsplit_once(' ') {
            Some(("zarr-python", version)) if version.starts_with('2') => "zarr-python 2",
            Some(("zarr-python", _)) => "zarr-python 3",
            Some((name, _)) => name,
            None => &self.peer,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, data_type, codec, layout, peer, detail, .. } = self;
        let who = match self.direction {
            Direction::PeerWrites => format!("{peer} writes, ndzarr reads"),
            Direction::PeerReads => format!("ndzarr writes, {peer} reads"),
        };
        let what = match self.result {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::PeerRefuses => "the peer refuses",
            Verdict::NdzarrRefuses => "ndzarr refuses",
        };
        write!(f, "{format}/{data_type}/{codec}/{layout}: {who}: {what}: {detail}")
    }
}
