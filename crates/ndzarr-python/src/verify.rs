//! Reads all of an array and lists the damaged chunks.

use ndzarr::codec::CodecConfig;
use ndzarr::{AnyArray, Chunk, DamageReport, DamagedChunk, ErrorKind, Result, RunOptions};

/// The number of bytes of elements that one call reads.
const BATCH: u64 = 64 << 20;

/// The damaged chunks of an array, by their keys. Chunks that are not stored are not read.
pub(crate) fn damaged(any: &AnyArray, options: RunOptions) -> Result<Vec<DamagedChunk>> {
    let report = DamageReport::new();
    let any = any.clone().with_options(options.fill_damaged(&report));
    let units = match any.units().stored() {
        // A web server lists nothing, and a bucket may deny it: then every chunk is requested.
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Denied) => {
            any.units().iter()
        }
        stored => stored?,
    };
    let size = any.data_type().elem_size().unwrap_or(1) as u64;
    // A shard may not fit in memory: its inner chunks are read. With further codecs after it, it is
    // one value.
    let last = any.spec().codecs.last().map(|codec| &codec.config);
    let is_sharded = any.shard_shape().is_some() && matches!(last, Some(CodecConfig::Sharding(_)));
    let of_unit = |unit: Chunk| -> Box<dyn Iterator<Item = Chunk> + '_> {
        match is_sharded.then(|| any.chunks_in(&unit)) {
            Some(Ok(inner)) => Box::new(inner),
            _ => Box::new(std::iter::once(unit)),
        }
    };
    let mut batch: Vec<Chunk> = Vec::new();
    let mut bytes = 0;
    for piece in units.flat_map(of_unit) {
        let n: u64 = piece
            .ranges
            .iter()
            .map(|range| range.end - range.start)
            .product();
        if !batch.is_empty() && bytes + n * size > BATCH {
            any.read_many(&batch)?;
            batch.clear();
            bytes = 0;
        }
        bytes += n * size;
        batch.push(piece);
    }
    any.read_many(&batch)?;
    let mut found = report.take();
    found.sort_by(|a, b| (&a.place.key, &a.inner_chunk).cmp(&(&b.place.key, &b.inner_chunk)));
    Ok(found)
}
