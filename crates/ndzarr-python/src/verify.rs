//! Reads all of an array and lists what is damaged.

use ndzarr::{AnyArray, Chunk, DamageReport, DamagedChunk, ErrorKind, Result, RunOptions};

/// How many bytes of elements are read by one call.
const BATCH: u64 = 64 << 20;

/// The damaged chunks of an array, by their keys. Chunks that are not stored are not read.
pub(crate) fn damaged(any: &AnyArray, options: RunOptions) -> Result<Vec<DamagedChunk>> {
    let report = DamageReport::new();
    let any = any.clone().with_options(options.fill_damaged(&report));
    let units = match any.units().stored() {
        // A web server lists nothing.
        Err(error) if error.kind() == ErrorKind::Unsupported => any.units().iter(),
        stored => stored?,
    };
    let size = any.data_type().elem_size().unwrap_or(1) as u64;
    let mut batch: Vec<Chunk> = Vec::new();
    let mut bytes = 0;
    for unit in units {
        let n: u64 = unit.ranges.iter().map(|range| range.end - range.start).product();
        if !batch.is_empty() && bytes + n * size > BATCH {
            any.read_many(&batch)?;
            batch.clear();
            bytes = 0;
        }
        bytes += n * size;
        batch.push(unit);
    }
    any.read_many(&batch)?;
    let mut found = report.take();
    found.sort_by(|a, b| (&a.place.key, &a.inner_chunk).cmp(&(&b.place.key, &b.inner_chunk)));
    Ok(found)
}
