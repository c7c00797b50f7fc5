//! The bytes→bytes codecs of a chain, applied in order.

use std::num::NonZeroUsize;

use crate::elements::window::Window;
use crate::memory::bounded::{expect_len, take};
use crate::memory::sink;
use crate::traits::link::{DecodeTwo, EncodePieces, Link};
use crate::{Buffer, BytesToBytes, CodecError, Dst, Workspace};

/// The bytes→bytes part of a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe<'c> {
    codecs: &'c [Link],
    /// The most memory allocated for a value before its content is seen, in bytes.
    trusted: usize,
}

/// The most memory allocated for a chunk only because the metadata implies its size, in bytes.
const TRUSTED_BYTES: usize = 64 << 20;
/// The most memory allocated for a value before its content is seen, as a multiple of its own size.
const TRUSTED_RATIO: usize = 256;

impl<'c> Pipe<'c> {
    pub(crate) fn new(codecs: &'c [Link]) -> Self {
        Self {
            codecs,
            trusted: TRUSTED_BYTES,
        }
    }

    /// For values that state their own size: limits the memory allocated because of it.
    pub(crate) fn trusting(self, byte_len: usize) -> Self {
        Self {
            trusted: self.trusted.min(byte_len),
            ..self
        }
    }

    /// True if memory for the whole chunk may be allocated before its content is seen; otherwise it
    /// grows with the content.
    fn trusts(self, byte_len: usize, encoded_len: usize) -> bool {
        byte_len <= self.trusted.max(encoded_len.saturating_mul(TRUSTED_RATIO))
    }

    /// Undoes the last codecs as long as that needs no copy.
    fn undo_without_copy(mut self, encoded: &[u8]) -> Result<(Self, &[u8]), CodecError> {
        let mut content = encoded;
        while let Some((last, rest)) = self.codecs.split_last()
            && let Some(codec) = last.borrowing_decoder()
        {
            content = codec.checked(content)?;
            self.codecs = rest;
        }
        Ok((self, content))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.codecs.is_empty()
    }

    /// Decodes a chunk of `byte_len` bytes and passes it on: without a copy if the codecs need
    /// none, and in memory that grows with the content if the chunk is far larger than its encoded
    /// form.
    pub(crate) fn decode_chunk(
        self,
        encoded: &[u8],
        byte_len: usize,
        workspace: &mut Workspace,
        put: impl FnOnce(&[u8]),
    ) -> Result<(), CodecError> {
        let (pipe, content) = self.undo_without_copy(encoded)?;
        if pipe.is_empty() {
            expect_len("bytes", content.len(), byte_len)?;
            put(content);
            return Ok(());
        }
        if !self.trusts(byte_len, content.len()) {
            let mut out = workspace.take_bytes();
            let grow = Dst::Grow {
                buf: &mut out,
                max: byte_len,
            };
            let n = pipe.decode(content, byte_len, grow, workspace)?;
            expect_len("bytes", n, byte_len)?;
            put(&out);
            workspace.give_bytes(out);
            return Ok(());
        }
        let mut buffer = take(workspace, byte_len)?;
        let result = pipe.decode(content, byte_len, Dst::Exact(buffer.bytes_mut()), workspace);
        if result.is_ok() {
            put(buffer.bytes());
        }
        workspace.give(buffer);
        result.map(|_| ())
    }

    /// The only codec, if it can decode two values at once.
    fn pair_decoder(self) -> Option<&'c dyn DecodeTwo> {
        let [codec] = self.codecs else { return None };
        codec.pair_decoder()
    }

    /// True if [`decode_two`](Self::decode_two) may be worth trying.
    pub(crate) fn decodes_two(self) -> bool {
        self.pair_decoder().is_some()
    }

    /// Decodes two chunks of `byte_len` bytes at once; `None` if that is not faster than one after
    /// the other, or if one is corrupt.
    pub(crate) fn decode_two(
        self,
        encoded: [&[u8]; 2],
        byte_len: [usize; 2],
        workspace: &mut Workspace,
    ) -> Option<[Buffer; 2]> {
        let codec = self.pair_decoder()?;
        if !(0..2).all(|i| self.trusts(byte_len[i], encoded[i].len())) {
            return None;
        }
        let mut a = workspace.take(byte_len[0]).ok()?;
        let mut b = workspace.take(byte_len[1]).ok()?;
        if codec.decode_two(encoded, [a.bytes_mut(), b.bytes_mut()], workspace) {
            return Some([a, b]);
        }
        workspace.give(a);
        workspace.give(b);
        None
    }

    /// Undoes the codecs and lends their output, at most `max` bytes: without a copy if they need
    /// none.
    pub(crate) fn lend<R>(
        self,
        encoded: &[u8],
        max: usize,
        workspace: &mut Workspace,
        read: impl FnOnce(&[u8], &mut Workspace) -> Result<R, CodecError>,
    ) -> Result<R, CodecError> {
        let (pipe, content) = self.undo_without_copy(encoded)?;
        if pipe.is_empty() {
            return read(content, workspace);
        }
        let mut decoded = workspace.take_bytes();
        pipe.decode(
            content,
            max,
            Dst::Grow {
                buf: &mut decoded,
                max,
            },
            workspace,
        )?;
        let result = read(&decoded, workspace);
        workspace.give_bytes(decoded);
        result
    }

    /// Decodes the blocks of a chunk that overlap a window, or everything before the window's end;
    /// the rest is unspecified. `None` if the codec can do neither, if nothing would be left out,
    /// or if the chunk states another size: then decode it as a whole.
    pub(crate) fn decode_window(
        self,
        encoded: &[u8],
        byte_len: usize,
        window: &Window,
        workspace: &mut Workspace,
    ) -> Result<Option<Buffer>, CodecError> {
        let [codec] = self.codecs else {
            return Ok(None);
        };
        let Some(partial) = codec.partial_decoder() else {
            return Ok(None);
        };
        if !self.trusts(byte_len, encoded.len())
            || codec.decoded_len(encoded)? != Some(byte_len as u64)
        {
            return Ok(None);
        }
        let parts = match partial.block_len(encoded)? {
            Some(block_len) if block_len.get() < byte_len => window.parts(block_len, byte_len),
            Some(_) => return Ok(None),
            None => vec![0..window.end()],
        };
        if parts.iter().any(|part| part.len() == byte_len) {
            return Ok(None);
        }
        let mut buffer = take(workspace, byte_len)?;
        let decoded = partial.decode_parts(encoded, &parts, buffer.bytes_mut(), workspace);
        if let Ok(true) = decoded {
            return Ok(Some(buffer));
        }
        workspace.give(buffer);
        decoded.map(|_| None)
    }

    /// Undoes the codecs, last first. `final_len` is the most that the first codec may output.
    pub(crate) fn decode(
        self,
        encoded: &[u8],
        final_len: usize,
        dst: Dst<'_>,
        workspace: &mut Workspace,
    ) -> Result<usize, CodecError> {
        let (pipe, encoded) = self.undo_without_copy(encoded)?;
        let Some((first, rest)) = pipe.codecs.split_first() else {
            return sink::store("bytes", encoded, dst);
        };
        if rest.is_empty() {
            return decode_first(&**first, encoded, dst, workspace);
        }
        // The most bytes between two codecs: the exact size where all codecs before have a fixed
        // encoded size, and otherwise twice the size of content that they may have widened.
        let mut limits = Vec::with_capacity(rest.len());
        let mut exact = if matches!(dst, Dst::Exact(_)) {
            Some(final_len)
        } else {
            None
        };
        let mut len = final_len;
        for codec in &pipe.codecs[..rest.len()] {
            exact = exact.and_then(|len| codec.encoded_len(len));
            len = codec.encoded_len(len).unwrap_or(len);
            let estimate = || {
                len.max(final_len)
                    .saturating_mul(2)
                    .saturating_add(64 << 10)
            };
            limits.push(exact.unwrap_or_else(estimate));
        }
        let mut current: Option<Vec<u8>> = None;
        for (codec, &max) in rest.iter().zip(&limits).rev() {
            let mut next = workspace.take_bytes();
            let src = current.as_deref().unwrap_or(encoded);
            codec.decode(
                src,
                Dst::Grow {
                    buf: &mut next,
                    max,
                },
                workspace,
            )?;
            if let Some(previous) = current.replace(next) {
                workspace.give_bytes(previous);
            }
        }
        let src = current.unwrap_or_default();
        let n = decode_first(&**first, &src, dst, workspace)?;
        workspace.give_bytes(src);
        Ok(n)
    }

    /// The only codec, if it encodes `byte_len` bytes in pieces, and the length of a piece.
    pub(crate) fn piecewise_encoder(
        self,
        byte_len: usize,
    ) -> Option<(&'c dyn EncodePieces, NonZeroUsize)> {
        let [codec] = self.codecs else { return None };
        let codec = codec.piecewise_encoder()?;
        Some((codec, codec.piece_len(byte_len)?))
    }

    /// Applies the codecs in order to the output of `make`, which goes straight to its destination
    /// if there are no codecs.
    pub(crate) fn encode_made(
        self,
        out: &mut Vec<u8>,
        workspace: &mut Workspace,
        make: impl FnOnce(&mut Vec<u8>, &mut Workspace) -> Result<(), CodecError>,
    ) -> Result<(), CodecError> {
        if self.is_empty() {
            return make(out, workspace);
        }
        let mut made = workspace.take_bytes();
        make(&mut made, workspace)?;
        self.encode(&made, out, workspace)?;
        workspace.give_bytes(made);
        Ok(())
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
            sink::reserve(out, bytes.len())?;
            out.extend_from_slice(bytes);
            return Ok(());
        };
        let mut current: Option<Vec<u8>> = None;
        for codec in rest {
            let mut next = workspace.take_bytes();
            codec.encode(current.as_deref().unwrap_or(bytes), &mut next, workspace)?;
            if let Some(previous) = current.replace(next) {
                workspace.give_bytes(previous);
            }
        }
        last.encode(current.as_deref().unwrap_or(bytes), out, workspace)?;
        if let Some(previous) = current {
            workspace.give_bytes(previous);
        }
        Ok(())
    }
}

/// The size of content of `len` bytes after these codecs. A codec without a fixed encoded size
/// counts as one that keeps the size.
pub(crate) fn limit_after(codecs: &[Link], len: usize) -> usize {
    codecs
        .iter()
        .fold(len, |len, codec| codec.encoded_len(len).unwrap_or(len))
}

/// The last step of decoding: a size that the value states is checked before anything is decoded.
fn decode_first(
    codec: &dyn BytesToBytes,
    src: &[u8],
    dst: Dst<'_>,
    workspace: &mut Workspace,
) -> Result<usize, CodecError> {
    if let Some(len) = codec.decoded_len(src)? {
        let what = match &dst {
            Dst::Exact(out) if len != out.len() as u64 => {
                format!(
                    "states {len} decoded bytes, but the chunk has {}",
                    out.len()
                )
            }
            Dst::Grow { max, .. } if len > *max as u64 => {
                format!("states {len} decoded bytes, but at most {max} are possible")
            }
            _ => return codec.decode(src, dst, workspace),
        };
        return Err(CodecError::corrupt(codec.name(), what));
    }
    codec.decode(src, dst, workspace)
}
