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

const BOTH: &[Direction] = &[Direction::PeerWrites, Direction::PeerReads];
const WRITES: &[Direction] = &[Direction::PeerWrites];
const READS: &[Direction] = &[Direction::PeerReads];

const TS: &str = "tensorstore";
const Z5: &str = "z5";
const ZP2: &str = "zarr-python 2";
const ZP3: &str = "zarr-python 3";

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

/// The table.
pub(super) const TABLE: &[Limit] = &[
    // tensorstore
    Limit {
        data_type: "r24",
        directions: WRITES,
        ..limit(TS, "zarr2", "shows raw bytes as one dimension more")
    },
    Limit {
        data_type: "r24",
        directions: READS,
        result: Verdict::Differs,
        ..limit(TS, "zarr2", "shows raw bytes as one dimension more")
    },
    Limit { codec: "lz4|lzma", ..limit(TS, "zarr2", "has no lz4 and no lzma in Zarr v2") },
    Limit {
        layout: "below groups, attributes",
        directions: WRITES,
        ..limit(TS, "zarr2", "writes no attributes in Zarr v2")
    },
    Limit { codec: "filter *", ..limit(TS, "zarr2", "has no filters") },
    Limit { codec: "pcodec", ..limit(TS, "zarr2", "has no pcodec") },
    Limit { codec: "numcodecs.*", ..limit(TS, "zarr3", "has no codec of numcodecs in Zarr v3") },
    Limit {
        layout: "shards, crc32c outside",
        ..limit(TS, "zarr3", "takes no codec behind sharding_indexed")
    },
    Limit {
        data_type: "r24",
        directions: WRITES,
        ..limit(TS, "zarr3", "shows raw bytes as one dimension more")
    },
    Limit {
        data_type: "r24",
        directions: READS,
        ..limit(
            TS,
            "zarr3",
            "wants the fill value of raw bits in Base64, where the specification has a list of bytes",
        )
    },
    Limit { codec: "lz4", ..limit(TS, "n5", "has no lz4 in N5") },
    // z5
    Limit {
        data_type: "bool|float16|bfloat16|complex*|r24",
        ..limit(Z5, "zarr2|zarr3", "has integers, float32 and float64 only")
    },
    Limit {
        codec: "lzma|lz4",
        directions: WRITES,
        ..limit(Z5, "zarr2", "has no lz4 and no lzma in Zarr v2")
    },
    Limit { codec: "lzma", directions: READS, ..limit(Z5, "zarr2", "has no lz4 and no lzma in Zarr v2") },
    Limit {
        codec: "lz4",
        directions: READS,
        always: false,
        ..limit(Z5, "zarr2", "takes lz4 for one bare block, without the length that numcodecs puts in front")
    },
    Limit {
        layout: "C, slash",
        directions: WRITES,
        ..limit(Z5, "zarr2", "has no option for the separator when it writes")
    },
    Limit { codec: "filter *", ..limit(Z5, "zarr2", "has no filters") },
    Limit { codec: "pcodec", ..limit(Z5, "zarr2", "has no pcodec") },
    Limit { layout: "*F*", ..limit(Z5, "zarr2", "has no order F") },
    Limit { layout: "C, big endian", directions: WRITES, ..limit(Z5, "zarr2", "writes little endian only") },
    Limit {
        layout: "C, big endian",
        data_type: "int16|int32|int64|uint16|uint32|uint64|float*|complex*",
        directions: READS,
        ..limit(Z5, "zarr2", "refuses big-endian types")
    },
    Limit { layout: "fill null", directions: WRITES, ..limit(Z5, "zarr2", "always writes a fill value") },
    Limit {
        layout: "chunk larger than array",
        directions: WRITES,
        result: Verdict::Differs,
        ..limit(Z5, "zarr2|zarr3", "cuts the chunk shape to the shape of the array when it creates one")
    },
    Limit {
        layout: "block larger than array",
        directions: WRITES,
        result: Verdict::Differs,
        ..limit(Z5, "n5", "cuts the block size to the dimensions when it creates a dataset")
    },
    Limit { layout: "0-d*", ..limit(Z5, "zarr2|zarr3", "has no arrays without dimensions") },
    Limit {
        layout: "zero length",
        directions: WRITES,
        ..limit(Z5, "zarr2|zarr3", "divides by zero, and crashes, when a dimension has length 0")
    },
    Limit { codec: "*crc32c|numcodecs.*", ..limit(Z5, "zarr3", "has gzip, zstd and blosc only in Zarr v3") },
    Limit {
        codec: "zstd with checksum",
        directions: WRITES,
        ..limit(Z5, "zarr3", "has no option for the checksum of zstd when it writes")
    },
    Limit {
        layout: "default, dot|v2, *",
        directions: WRITES,
        ..limit(Z5, "zarr3", "has no option for the chunk key encoding when it writes")
    },
    Limit {
        layout: "dimension names",
        directions: WRITES,
        ..limit(Z5, "zarr3", "has no option for dimension names when it writes")
    },
    Limit { layout: "big endian", directions: WRITES, ..limit(Z5, "zarr3", "writes little endian only") },
    Limit {
        layout: "big endian",
        data_type: "int16|int32|int64|uint16|uint32|uint64|float*",
        directions: READS,
        result: Verdict::Differs,
        always: false,
        ..limit(Z5, "zarr3", "does not look at `endian` and swaps no bytes: wrong elements, without an error")
    },
    Limit { layout: "transposed*|shards, inner transpose", ..limit(Z5, "zarr3", "has no transpose") },
    Limit {
        layout: "shards*transpose outside",
        directions: WRITES,
        ..limit(Z5, "zarr3", "has no transpose")
    },
    Limit {
        layout: "shards, transpose outside",
        directions: READS,
        result: Verdict::Differs,
        always: false,
        ..limit(
            Z5,
            "zarr3",
            "does not see a transpose before sharding_indexed: wrong elements, without an error",
        )
    },
    Limit {
        layout: "shards of unequal sides, transpose outside",
        directions: READS,
        ..limit(Z5, "zarr3", "does not see a transpose before sharding_indexed, and divides by zero")
    },
    Limit {
        layout: "shards, index*|shards, crc32c outside",
        ..limit(Z5, "zarr3", "has shards with an index at the end, little endian and with its checksum only")
    },
    Limit { layout: "shards, nested", ..limit(Z5, "zarr3", "has no shards in shards") },
    Limit {
        codec: "lz4",
        directions: READS,
        always: false,
        ..limit(
            Z5,
            "n5",
            "takes lz4 for one bare block, without the framing of lz4-java that Java N5 defines",
        )
    },
    Limit {
        codec: "zlib",
        directions: WRITES,
        ..limit(Z5, "n5", "has no option for zlib when it writes N5")
    },
    // zarr-python 2
    Limit {
        codec: "lz4",
        directions: READS,
        ..limit(ZP2, "n5", "refuses the member blockSize that Java N5 writes for lz4")
    },
    // zarr-python 3
    Limit {
        data_type: "r24",
        layout: "shards*",
        directions: WRITES,
        ..limit(ZP3, "zarr3", "fails on raw bytes in shards, as their fill value has no hash")
    },
    Limit { data_type: "bfloat16", ..limit(ZP3, "zarr3", "has no bfloat16") },
    Limit {
        codec: "pcodec",
        ..limit(ZP3, "zarr2", "has pcodec only with a package that is not installed here")
    },
    Limit {
        codec: "numcodecs.delta*|numcodecs.fixedscaleoffset|numcodecs.packbits",
        layout: "transposed",
        directions: WRITES,
        result: Verdict::Differs,
        ..limit(
            ZP3,
            "zarr3",
            "takes the elements behind a transpose in the order of its memory: wrong elements, for itself too",
        )
    },
    Limit {
        codec: "numcodecs.delta*|numcodecs.fixedscaleoffset|numcodecs.quantize|numcodecs.astype",
        data_type: "int16|int32|int64|uint16|uint32|uint64|float*",
        layout: "big endian",
        directions: READS,
        result: Verdict::Differs,
        ..limit(
            ZP3,
            "zarr3",
            "views big-endian elements as little-endian ones in front of a filter: wrong elements, for itself too",
        )
    },
    Limit {
        data_type: "r24",
        directions: READS,
        ..limit(ZP3, "zarr3", "has a type raw_bytes of its own for the r24 of the specification")
    },
    Limit {
        layout: "shards of unequal sides, transpose outside",
        ..limit(
            ZP3,
            "zarr3",
            "checks that inner chunks divide the shard before it transposes the shard's axes",
        )
    },
];
