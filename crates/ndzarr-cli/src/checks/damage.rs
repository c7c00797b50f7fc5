//! Looks for damage in the stored chunks of an array.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr::codec::CodecConfig;
use ndzarr::metadata::ArraySpec;
use ndzarr::{
    AnyArray, Chunk, DamageReport, DamagedChunk, DataType, ErrorKind, Format, Progress, RunOptions,
    for_each_type,
};

use crate::checks::finding::{Finding, Kind};
use crate::failure::{Failure, chain};
use crate::files::stored::cannot_list;
use crate::parallel::fold;

/// How thoroughly chunks are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Sizes, and the indices of shards.
    Quick,
    /// Every stored chunk is decoded.
    Full,
}

/// The result of a check.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// Stored chunks, or shards.
    pub(crate) n_units: u64,
    pub(crate) findings: Vec<Finding>,
    pub(crate) undecoded: Undecoded,
    /// Why each chunk was requested, if no list says which are stored.
    pub(crate) unlisted: Option<String>,
}

/// The most chunks that are requested without a list.
const MAX_UNLISTED: u64 = 1 << 20;

/// Valid values that have no elements to decode: blocks of N5 that contain objects, or another
/// number of elements than their shape has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undecoded {
    pub(crate) n: u64,
    /// A description of the first.
    pub(crate) what: Option<String>,
}

/// The finding about a node that cannot be opened, at its document or its path.
pub(crate) fn of_document(error: &ndzarr::Error, path: &str) -> Finding {
    let kind = match error.kind() {
        ErrorKind::InvalidMetadata | ErrorKind::Unsupported | ErrorKind::Corrupt => Kind::Document,
        _ => Kind::Unreadable,
    };
    Finding::new(error.key().unwrap_or(path), kind, chain(error))
}

/// Checks all stored chunks of an array.
pub(crate) fn check(
    array: &AnyArray,
    depth: Depth,
    workers: NonZeroUsize,
    on_progress: impl Fn(Progress) + Sync,
) -> Result<Checked, Failure> {
    let report = DamageReport::new();
    let on_one_thread = RunOptions::default().threads(NonZeroUsize::MIN);
    let reader = array
        .clone()
        .with_options(on_one_thread.fill_damaged(&report));
    let mut unlisted_folders = Vec::new();
    let mut no_list = None;
    let units = match array
        .units()
        .stored_but(|error| unlisted_folders.push(error))
    {
        Ok(stored) => stored,
        // A web server does not list, and a bucket may deny it: then every chunk is requested.
        Err(error) if cannot_list(&error) => {
            no_list = Some(error);
            array.units().iter()
        }
        // The chunks are not where the document says.
        Err(error) if error.kind() == ErrorKind::InvalidMetadata => {
            return Ok(Checked {
                findings: vec![of_document(&error, array.path())],
                ..Checked::default()
            });
        }
        Err(error) => return Err(error.into()),
    };
    let n_all = units
        .grid_shape()
        .iter()
        .fold(1_u64, |n, &len| n.saturating_mul(len));
    let n_units = if no_list.is_some() {
        n_all.min(MAX_UNLISTED)
    } else {
        units.len() as u64
    };
    let units = units.take(usize::try_from(n_units).unwrap_or(usize::MAX));
    let done = AtomicU64::new(0);
    let is_sharded = array.shard_shape().is_some();
    // Inner chunks are decoded one by one, so that threads share large shards. A shard that is
    // encoded by further codecs would be decoded as a whole each time.
    let last = array.spec().codecs.last().map(|codec| &codec.config);
    let is_plain = matches!(last, Some(CodecConfig::Sharding(_)));
    let by_inner = is_sharded && is_plain && depth == Depth::Full;
    let pieces: Box<dyn Iterator<Item = Chunk> + Send> = if by_inner {
        let array = array.clone();
        Box::new(units.flat_map(move |unit| array.chunks_in(&unit).into_iter().flatten()))
    } else {
        Box::new(units)
    };
    let total = if by_inner {
        n_units.saturating_mul(inner_per_shard(array))
    } else {
        n_units
    };
    let each = |state: &mut ThreadState, piece: Chunk| {
        let ThreadState {
            buffer,
            findings,
            undecoded,
        } = state;
        if depth == Depth::Quick {
            findings.extend(check_size(array, &piece));
        }
        let result = match (depth, is_sharded) {
            (Depth::Full, _) => decode(&reader, &piece, buffer),
            (Depth::Quick, true) => array.units().check_index(&piece.index),
            (Depth::Quick, false) => Ok(()),
        };
        if let Err(error) = result {
            match check_block(array, &piece, error) {
                Ok(what) => undecoded.add(1, Some(what)),
                Err(error) => findings.push(finding(&error)),
            }
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        on_progress(Progress::new(done, total.max(done)));
        Ok(())
    };
    let mut findings: BTreeSet<Finding> = unlisted_folders.iter().map(finding).collect();
    if n_all > n_units && no_list.is_some() {
        let what = format!("the first {n_units} of {n_all} chunks were asked for, and no others");
        findings.insert(Finding::new(array.path(), Kind::Unreadable, what));
    }
    let mut undecoded = Undecoded::default();
    for state in fold(workers, pieces, ThreadState::default, each)? {
        findings.extend(state.findings);
        undecoded.add(state.undecoded.n, state.undecoded.what);
    }
    findings.extend(report.take().into_iter().map(of_damage));
    if depth == Depth::Full {
        findings.extend(chunks_under_other_separator(array)?);
    }
    let unlisted = no_list.filter(|error| error.kind() == ErrorKind::Denied).map(|error| {
        format!("each of its {n_units} chunks was asked for, since a list of them was refused: {error}")
    });
    Ok(Checked {
        n_units,
        findings: findings.into_iter().collect(),
        undecoded,
        unlisted,
    })
}

/// The findings of a thread, and its memory for elements.
#[derive(Default)]
struct ThreadState {
    buffer: Vec<u8>,
    findings: Vec<Finding>,
    undecoded: Undecoded,
}

impl Undecoded {
    fn add(&mut self, n: u64, what: Option<String>) {
        self.n += n;
        self.what = self.what.take().or(what);
    }
}

fn of_damage(damaged: DamagedChunk) -> Finding {
    let (kind, what) = if damaged.may_be_read {
        (Kind::Odd, format!("{}; others may read it", damaged.what))
    } else {
        (Kind::Damaged, damaged.what)
    };
    Finding {
        chunk: Some(damaged.place.unit),
        inner_chunk: damaged.inner_chunk,
        codec: damaged.codec,
        ..Finding::new(damaged.place.key, kind, what)
    }
}

/// Describes a valid block of N5 that has no elements for its chunk; otherwise returns the error of
/// reading the chunk.
fn check_block(
    array: &AnyArray,
    block: &Chunk,
    error: ndzarr::Error,
) -> Result<String, ndzarr::Error> {
    if array.format() != Format::N5 {
        return Err(error);
    }
    if *array.data_type() == DataType::Object {
        array.n5_blocks().read_object(&block.index)?;
        return Ok("objects, which only their writer understands".to_owned());
    }
    if error.kind() != ErrorKind::Unsupported {
        return Err(error);
    }
    for_each_type!(array.data_type(), T: Number => {
        array.clone().typed::<T>()?.n5_blocks().read(&block.index)?;
        Ok("another number of elements than places (varlength)".to_owned())
    }, _ => Err(error))
}

/// Finds chunks under the other separator, which the array does not show.
fn chunks_under_other_separator(array: &AnyArray) -> Result<Option<Finding>, Failure> {
    let keys = &array.spec().keys;
    let Some(other) = keys.encoding.mistaken(array.shape().len()) else {
        return Ok(None);
    };
    let grid = array.spec().grid().map_err(Failure::new)?;
    let mut first: Option<String> = None;
    let mut n = 0_u64;
    let listed = array.storage().each_listed(&keys.prefix, |key, _| {
        let chunk = key
            .strip_prefix(&keys.prefix)
            .and_then(|below| other.decode(below, array.shape().len()));
        if chunk.is_some_and(|chunk| grid.chunk_region(&chunk).is_some()) {
            n += 1;
            if first.as_ref().is_none_or(|first| key < &**first) {
                first = Some(key.to_owned());
            }
        }
    });
    match listed {
        Err(error) if cannot_list(&error) => return Ok(None),
        listed => listed?,
    }
    Ok(first.map(|key| {
        let what = format!("{n} of its chunks lie under another separator too, and are not shown");
        Finding::new(key, Kind::Orphan, what)
    }))
}

fn inner_per_shard(array: &AnyArray) -> u64 {
    let lengths = array
        .shard_shape()
        .unwrap_or_default()
        .iter()
        .zip(array.chunk_shape());
    lengths
        .map(|(&shard, chunk)| shard.div_ceil(chunk.max(1)))
        .fold(1, u64::saturating_mul)
}

/// Decodes the part of a chunk that is inside the array.
fn decode(array: &AnyArray, chunk: &Chunk, buffer: &mut Vec<u8>) -> Result<(), ndzarr::Error> {
    let Some(size) = array.data_type().elem_size() else {
        return array.read_vlen(chunk).map(drop);
    };
    let len = chunk
        .shape()
        .iter()
        .try_fold(size, |bytes, &n| bytes.checked_mul(n));
    match len {
        Some(len)
            if buffer.len() >= len || buffer.try_reserve_exact(len - buffer.len()).is_ok() =>
        {
            if buffer.len() < len {
                buffer.resize(len, 0);
            }
            array.read_bytes_into(chunk, &mut buffer[..len])
        }
        // The error of the library says how much memory it lacks.
        _ => array.read_bytes(chunk).map(drop),
    }
}

/// True if a block of N5 can be decoded, with any number of elements.
pub(crate) fn is_valid_block(array: &AnyArray, block: &Chunk) -> Result<bool, Failure> {
    match array.read_bytes(block) {
        Ok(_) => Ok(true),
        Err(error) => Ok(check_block(array, block, error).is_ok()),
    }
}

/// A failed read as a finding.
fn finding(error: &ndzarr::Error) -> Finding {
    let kind = match error.kind() {
        ErrorKind::Corrupt => Kind::Damaged,
        ErrorKind::InvalidMetadata => return of_document(error, ""),
        _ => Kind::Unreadable,
    };
    Finding {
        chunk: error.chunk().map(<[u64]>::to_vec),
        inner_chunk: error.inner_chunk().to_vec(),
        codec: error.codec().map(str::to_owned),
        ..Finding::new(error.key().unwrap_or_default(), kind, chain(error))
    }
}

/// Checks the size of a value.
fn check_size(array: &AnyArray, unit: &Chunk) -> Option<Finding> {
    let len = unit.byte_len?;
    let expected = raw_len(array.spec(), &unit.index);
    let what = match expected {
        _ if len == 0 && expected != Some(0) => "it is empty".to_owned(),
        Some(expected) if len != expected => format!("it has {len} bytes instead of {expected}"),
        _ => return None,
    };
    let key = array.units().key(&unit.index);
    Some(Finding {
        chunk: Some(unit.index.clone()),
        ..Finding::new(key, Kind::Damaged, what)
    })
}

/// The length of a value whose codecs do not compress it.
fn raw_len(spec: &ArraySpec, chunk: &[u64]) -> Option<u64> {
    let mut len = spec.data_type.elem_size()? as u64;
    let shape = spec.grid().ok()?.shape_of(chunk)?;
    for n in shape {
        len = len.checked_mul(n)?;
    }
    for codec in spec.codecs.iter() {
        match &codec.config {
            CodecConfig::Bytes { .. } | CodecConfig::Transpose { .. } => {}
            CodecConfig::Crc32c { .. }
            | CodecConfig::Crc32 { .. }
            | CodecConfig::Adler32 { .. } => len += 4,
            _ => return None,
        }
    }
    Some(len)
}

/// True if a chunk, or this inner chunk of a shard, is still broken. Decodes only the ranges of the
/// chunk.
pub(crate) fn is_broken(
    array: &AnyArray,
    chunk: &Chunk,
    inner_chunk: &[Vec<u64>],
) -> Result<bool, Failure> {
    let report = DamageReport::new();
    let on_one_thread = RunOptions::default().threads(NonZeroUsize::MIN);
    let reader = array
        .clone()
        .with_options(on_one_thread.fill_damaged(&report));
    match decode(&reader, chunk, &mut Vec::new()) {
        Ok(()) => Ok(report
            .take()
            .iter()
            .any(|damaged| damaged.inner_chunk == inner_chunk)),
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use ndzarr::store::bytes::Bytes;
    use ndzarr::store::{Fetch, Fetched, Key, Precondition, Put, StoreError};
    use ndzarr::{MemoryStore, Storage, Store};
    use serde_json::json;

    use super::*;

    /// Counts the fetches.
    #[derive(Debug)]
    struct Counting(MemoryStore, AtomicUsize);

    impl Store for Counting {
        fn inner(&self) -> Option<&dyn Store> {
            Some(&self.0)
        }

        fn name(&self) -> String {
            self.0.name()
        }

        fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.fetch(fetch)
        }

        fn put(
            &self,
            key: &Key,
            parts: &[Bytes],
            only_if: Precondition,
        ) -> Result<Put, StoreError> {
            self.0.put(key, parts, only_if)
        }

        fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
            self.0.erase(key, only_if)
        }
    }

    #[test]
    fn a_shard_that_a_further_codec_encodes_is_decoded_once() {
        let bytes = json!({"name": "bytes"});
        let crc = json!({"name": "crc32c"});
        let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
        let configuration =
            json!({"chunk_shape": [1], "codecs": [bytes, crc], "index_codecs": index});
        let document = json!({
            "zarr_format": 3, "node_type": "array", "shape": [64], "data_type": "uint8", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [
                {"name": "sharding_indexed", "configuration": configuration},
                {"name": "gzip", "configuration": {"level": 5}},
            ],
        });
        let store = MemoryStore::new();
        store.set("zarr.json", document.to_string()).expect("a key");
        let store = Arc::new(Counting(store, AtomicUsize::new(0)));
        let array = AnyArray::open(Storage::from(Arc::clone(&store) as Arc<dyn Store>))
            .expect("it is there");
        array
            .clone()
            .typed::<u8>()
            .expect("its type")
            .fill(.., 1)
            .expect("it is written");
        let before = store.1.load(Ordering::Relaxed);
        let found = check(&array, Depth::Full, NonZeroUsize::MIN, |_| {}).expect("it is sound");
        assert_eq!((found.n_units, found.findings.len()), (1, 0));
        let reads = store.1.load(Ordering::Relaxed) - before;
        assert!(reads < 5, "{reads} reads");
    }
}
