//! Sizes that are checked before memory is taken for them, and decoding that stays within them.

use std::sync::Arc;

use crate::workspace::Buffer;
use crate::{BytesToBytes, CodecError, Dst, Workspace, sink};

/// Size in bytes of an array; `None` beyond what memory can hold.
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

/// A shape whose product was checked, as lengths in memory.
pub(crate) fn extent(shape: &[u64]) -> Vec<usize> {
    shape.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect()
}

pub(crate) fn expect_len(codec: &'static str, found: usize, expected: usize) -> Result<(), CodecError> {
    if found == expected {
        return Ok(());
    }
    Err(CodecError::corrupt(codec, format!("{found} bytes where the chunk has {expected}")))
}

pub(crate) fn take(workspace: &mut Workspace, byte_len: usize) -> Result<Buffer, CodecError> {
    workspace
        .take(byte_len)
        .map_err(|_| CodecError::config("chain", format!("no memory for a chunk of {byte_len} bytes")))
}

/// The bytes→bytes part of a chain.
#[derive(Clone, Copy)]
pub(crate) struct Pipe<'c> {
    codecs: &'c [Arc<dyn BytesToBytes>],
}

impl<'c> Pipe<'c> {
    pub(crate) fn new(codecs: &'c [Arc<dyn BytesToBytes>]) -> Self {
        Self { codecs }
    }

    /// Undoes the codecs, last first. `final_len` is the most that may come out of the first.
    pub(crate) fn decode(
        self,
        encoded: &[u8],
        final_len: usize,
        dst: Dst<'_>,
        workspace: &mut Workspace,
    ) -> Result<usize, CodecError> {
        let Some((first, rest)) = self.codecs.split_first() else {
            return store("bytes", encoded, dst);
        };
        // What may lie between two stages: twice the final size, or just what codecs of fixed size leave.
        let mut limits = Vec::with_capacity(rest.len());
        let mut exact = if matches!(dst, Dst::Exact(_)) { Some(final_len) } else { None };
        for codec in &self.codecs[..rest.len()] {
            exact = exact.and_then(|len| codec.encoded_len(len));
            limits.push(exact.unwrap_or_else(|| final_len.saturating_mul(2).saturating_add(64 << 10)));
        }
        let mut current: Option<Vec<u8>> = None;
        for (codec, &max) in rest.iter().zip(&limits).rev() {
            let mut next = Vec::new();
            let src = current.as_deref().unwrap_or(encoded);
            codec.decode(src, Dst::Grow { buf: &mut next, max }, workspace)?;
            current = Some(next);
        }
        let src = current.as_deref().unwrap_or(encoded);
        if let Dst::Exact(out) = &dst
            && let Some(len) = first.decoded_len(src)?
            && len != out.len() as u64
        {
            let what = format!("says that it holds {len} bytes where the chunk has {}", out.len());
            return Err(CodecError::corrupt(first.name(), what));
        }
        if let Dst::Grow { max, .. } = &dst
            && let Some(len) = first.decoded_len(src)?
            && len > *max as u64
        {
            let what = format!("says that it holds {len} bytes where at most {max} can be");
            return Err(CodecError::corrupt(first.name(), what));
        }
        first.decode(src, dst, workspace)
    }

    /// Applies the codecs in order.
    pub(crate) fn encode(
        self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        let Some((last, rest)) = self.codecs.split_last() else {
            out.clear();
            out.extend_from_slice(bytes);
            return Ok(());
        };
        let mut current: Option<Vec<u8>> = None;
        for codec in rest {
            let mut next = Vec::new();
            codec.encode(current.as_deref().unwrap_or(bytes), &mut next, workspace)?;
            current = Some(next);
        }
        last.encode(current.as_deref().unwrap_or(bytes), out, workspace)
    }
}

/// Copies decoded bytes to where they belong.
pub(crate) fn store(codec: &'static str, bytes: &[u8], mut dst: Dst<'_>) -> Result<usize, CodecError> {
    sink::room_of(codec, &mut dst, bytes.len())?.copy_from_slice(bytes);
    Ok(bytes.len())
}
