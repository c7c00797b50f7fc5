//! The stored files that are damaged.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use super::checksums::Stored;
use ndzarr::codec::{CodecConfig, CodecSpec};
use ndzarr::{AnyArray, AnyNode, Format, OpenOptions};
use ndzarr_model::IndexLocation;
use ndzarr_tests::{Case, Kind, cases};

/// A stored file to be damaged.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) case: Case,
    pub(crate) key: String,
    pub(crate) role: Role,
    /// The codecs of a chunk; empty for other files.
    pub(crate) chain: Vec<CodecSpec>,
    /// The region to read: the content of the damaged chunk.
    pub(crate) region: Vec<Range<u64>>,
    /// Elements of a whole chunk.
    n_elements: u64,
    pub(crate) case_has_bzip2: bool,
    /// Bytes of the undamaged file.
    len: usize,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Chunk,
    /// States that a node exists, and its kind.
    Document,
    /// Optional.
    Attributes,
}

impl Target {
    pub(crate) fn case_format(&self) -> Option<Format> {
        self.case.open_as.as_ref().map(|_| Format::N5)
    }

    /// The known facts about the chunk.
    pub(crate) fn stored(&self) -> Stored<'_> {
        let n_inside: u64 = self
            .region
            .iter()
            .map(|range| range.end - range.start)
            .product();
        Stored {
            chain: &self.chain,
            n_elements: self.n_elements,
            is_inside: n_inside == self.n_elements,
            ndim: self.region.len(),
        }
    }

    /// The writer: the first part of the name.
    fn writer(&self) -> &str {
        self.case.name.split('-').next().unwrap_or_default()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.case.path(), self.key)
    }
}

/// The smallest chunk of each chain and layout, and of each writer and codec.
pub(crate) fn chunks() -> Vec<Target> {
    let chunks = || {
        all()
            .into_iter()
            .filter(|target| target.role == Role::Chunk)
    };
    let of_chains = smallest(chunks(), |target| {
        format!(
            "{} {} {}",
            target.case.format,
            signature(&target.chain),
            target.stored().is_inside
        )
    });
    let of_writers = smallest(chunks(), |target| {
        let codecs = signature(&target.chain);
        let codecs = codecs.split("blosc").next().unwrap_or_default();
        format!("{} {} {codecs}", target.case.format, target.writer())
    });
    let chosen = of_chains
        .into_iter()
        .chain(of_writers)
        .map(|target| (target.to_string(), target));
    chosen.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Codecs and documents of the tables below that [`chunks`] and [`documents`] do not choose.
pub(crate) fn left_out() -> Vec<String> {
    let chosen: Vec<String> = chunks()
        .iter()
        .map(|target| signature(&target.chain))
        .collect();
    let is_missing = |codec: &&&str| !chosen.iter().any(|chain| chain.contains(**codec));
    let mut left_out: Vec<String> = CODECS
        .iter()
        .filter(is_missing)
        .map(|codec| (*codec).to_owned())
        .collect();
    let chosen: Vec<String> = documents().into_iter().map(|target| target.key).collect();
    let is_missing = |name: &&&str| !chosen.iter().any(|key| key.ends_with(**name));
    left_out.extend(
        DOCUMENTS
            .iter()
            .filter(is_missing)
            .map(|name| (*name).to_owned()),
    );
    left_out
}

/// The name of a chain with such a codec.
const CODECS: &[&str] = &[
    "bytes",
    "transpose",
    "shards at start",
    "shards at end",
    "crc32c at Start",
    "crc32c at End",
    "gzip",
    "zlib",
    "zstd, checksum false",
    "zstd, checksum true",
    "lz4",
    "bz2",
    "lzma Xz",
    "lzma Alone",
    "lzma Raw",
    "blosc blosclz None",
    "blosc blosclz Byte",
    "blosc blosclz Bit",
    "blosc lz4 None",
    "blosc lz4 Byte",
    "blosc lz4 Bit",
    "blosc lz4hc Byte",
    "blosc zlib Byte",
    "blosc zstd Byte",
    "block (raw)",
    "block (gzip, zlib false)",
    "block (gzip, zlib true)",
    "block (bz2)",
    "block (lzma Xz",
    "block (n5 lz4)",
    "block (blosc",
    "block (zstd",
];

/// The suffix of the key of such a document.
const DOCUMENTS: &[&str] = &[
    ".zarray",
    ".zgroup",
    ".zattrs",
    "zarr.json",
    "attributes.json",
    ".array.json",
    ".group.json",
];

/// The chunks of all hand-made cases, which include streams that no writer makes, with gaps,
/// several members, or bytes after their end.
pub(crate) fn chunks_by_hand() -> Vec<Target> {
    all()
        .into_iter()
        .filter(|target| target.role == Role::Chunk && target.writer() == "hand")
        .collect()
}

/// The smallest document of each kind, format and writer.
pub(crate) fn documents() -> Vec<Target> {
    let documents = all()
        .into_iter()
        .filter(|target| target.role != Role::Chunk);
    smallest(documents, |target| {
        let name = target.key.rsplit('/').next().unwrap_or_default();
        let name = name
            .find(".array.")
            .or(name.find(".group."))
            .map_or(name, |at| &name[at..]);
        let root = target.key.contains('/');
        format!(
            "{} {} {name} {root} {:?}",
            target.case.format,
            target.writer(),
            target.case.kind
        )
    })
}

/// Every file of the cases that are read: of arrays with elements, and of groups.
pub(crate) fn all() -> Vec<Target> {
    static ALL: OnceLock<Vec<Target>> = OnceLock::new();
    ALL.get_or_init(find_all).clone()
}

fn find_all() -> Vec<Target> {
    let cases = cases().expect("testdata can be read");
    let readable = cases
        .into_iter()
        .filter(|case| matches!(case.kind, Kind::Array | Kind::Hierarchy));
    readable.flat_map(|case| targets(&case)).collect()
}

fn targets(case: &Case) -> Vec<Target> {
    let memory = case.memory().expect("the stored files can be read");
    let format = case.open_as.as_ref().map(|_| Format::N5);
    let options = OpenOptions::new().format(format);
    // Missing features are refused, whatever else is wrong.
    let Ok(node) = options.open_node((&memory, &case.node)) else {
        return Vec::new();
    };
    let chunks: BTreeMap<String, Vec<Range<u64>>> = match &node {
        AnyNode::Array(array) if is_readable(array) => array
            .units()
            .iter()
            .map(|chunk| (array.units().key(&chunk.index), chunk.ranges))
            .collect(),
        AnyNode::Array(_) => return Vec::new(),
        AnyNode::Group(_) => BTreeMap::new(),
    };
    let (chain, n_elements) = match &node {
        AnyNode::Array(array) => (
            array.spec().codecs.to_vec(),
            array.spec().unit_shape.iter().product(),
        ),
        AnyNode::Group(_) => (Vec::new(), 0),
    };
    let is_used = |key: &str| case.kind == Kind::Array || !key.contains('/');
    memory
        .keys()
        .into_iter()
        .filter(|key| is_used(key))
        .map(|key| {
            let len = memory.get(key.as_str()).map_or(0, |value| value.len());
            let role = role(case, &key, chunks.contains_key(&key));
            let case_has_bzip2 = signature(&chain).contains("bz2");
            let chain = if role == Role::Chunk {
                chain.clone()
            } else {
                Vec::new()
            };
            let region = chunks.get(&key).cloned().unwrap_or_default();
            Target {
                case: case.clone(),
                key,
                role,
                chain,
                region,
                n_elements,
                case_has_bzip2,
                len,
            }
        })
        .collect()
}

fn role(case: &Case, key: &str, is_chunk: bool) -> Role {
    let node = format!(
        "{}{}",
        case.node,
        if case.node.is_empty() { "" } else { "/" }
    );
    let name = key.strip_prefix(&node).unwrap_or_default();
    match (&case.format[..], name) {
        _ if is_chunk => Role::Chunk,
        ("zarr2", ".zarray") | ("zarr3", "zarr.json") | ("n5", "attributes.json")
            if case.kind == Kind::Array =>
        {
            Role::Document
        }
        _ => Role::Attributes,
    }
}

fn is_readable(array: &AnyArray) -> bool {
    let region: Vec<_> = array.shape().iter().map(|&n| 0..n).collect();
    array.read_bytes(&region).is_ok()
}

fn smallest(
    targets: impl Iterator<Item = Target>,
    kind: impl Fn(&Target) -> String,
) -> Vec<Target> {
    let mut chosen = BTreeMap::<String, Target>::new();
    for target in targets.filter(|target| target.len > 0) {
        let kind = kind(&target);
        if chosen
            .get(&kind)
            .is_none_or(|smallest| target.len < smallest.len)
        {
            chosen.insert(kind, target);
        }
    }
    chosen.into_values().collect()
}

pub(crate) fn has_shards(chain: &[CodecSpec]) -> bool {
    chain
        .iter()
        .any(|codec| matches!(codec.config, CodecConfig::Sharding(_)))
}

/// The codecs without their levels.
pub(crate) fn signature(chain: &[CodecSpec]) -> String {
    let names: Vec<String> = chain.iter().map(|codec| name(&codec.config)).collect();
    names.join(" ")
}

fn name(config: &CodecConfig) -> String {
    match config {
        CodecConfig::Bytes { .. } => "bytes".to_owned(),
        CodecConfig::Transpose { .. } => "transpose".to_owned(),
        CodecConfig::Sharding(sharding) => {
            let location = match sharding.index_location {
                IndexLocation::Start => "start",
                IndexLocation::End => "end",
            };
            let inner = signature(&sharding.codecs);
            let index = signature(&sharding.index_codecs);
            format!("shards at {location} ({inner}; {index})")
        }
        CodecConfig::N5Block(block) => {
            format!(
                "block ({})",
                block
                    .compression
                    .as_ref()
                    .map_or("raw".to_owned(), |codec| name(&codec.config))
            )
        }
        CodecConfig::Gzip { .. } => "gzip".to_owned(),
        CodecConfig::Zlib { .. } => "zlib".to_owned(),
        CodecConfig::N5Gzip { use_zlib, .. } => format!("gzip, zlib {use_zlib}"),
        CodecConfig::Zstd { checksum, .. } => format!("zstd, checksum {checksum}"),
        CodecConfig::Blosc(blosc) => format!("blosc {} {:?}", blosc.cname.as_str(), blosc.shuffle),
        CodecConfig::Lz4 { .. } => "lz4".to_owned(),
        CodecConfig::N5Lz4 { .. } => "n5 lz4".to_owned(),
        CodecConfig::Bz2 { .. } => "bz2".to_owned(),
        CodecConfig::Lzma(lzma) => format!("lzma {:?} {}", lzma.format, lzma.check),
        CodecConfig::Crc32c { location } => format!("crc32c at {location:?}"),
        other => format!("{other:?}"),
    }
}
