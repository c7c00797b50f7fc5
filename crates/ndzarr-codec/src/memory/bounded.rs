//! Checks sizes before memory is allocated for them.

use crate::{Buffer, CodecError, Workspace};

/// Size of an array in bytes; `None` if it exceeds the address space.
pub(crate) fn byte_len(shape: &[u64], elem_size: usize) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let mut len = elem_size;
    for &n in shape {
        len = len.checked_mul(usize::try_from(n).ok()?)?;
    }
    isize::try_from(len).ok().map(|_| len)
}

/// Size in bytes of a chunk, which must fit into memory.
pub(crate) fn chunk_len(shape: &[u64], elem_size: usize) -> Result<usize, CodecError> {
    byte_len(shape, elem_size).ok_or_else(|| {
        CodecError::config("chain", format!("a chunk of shape {shape:?} is too large"))
    })
}

/// The largest plausible size of a value whose elements have `byte_len` bytes.
pub(crate) fn value_limit(byte_len: usize, overhead: u64) -> u64 {
    (byte_len as u64)
        .saturating_mul(2)
        .saturating_add(overhead)
        .saturating_add(1 << 20)
}

/// A shape whose product was checked, as lengths in memory.
pub(crate) fn extent(shape: &[u64]) -> Vec<usize> {
    shape
        .iter()
        .map(|&n| usize::try_from(n).unwrap_or(usize::MAX))
        .collect()
}

pub(crate) fn expect_len(
    codec: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), CodecError> {
    if found == expected {
        return Ok(());
    }
    Err(CodecError::corrupt(
        codec,
        format!("{found} bytes, but the chunk has {expected}"),
    ))
}

pub(crate) fn take(workspace: &mut Workspace, byte_len: usize) -> Result<Buffer, CodecError> {
    workspace
        .take(byte_len)
        .map_err(|_| CodecError::OutOfMemory { byte_len })
}
