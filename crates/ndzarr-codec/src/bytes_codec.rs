//! The trait `BytesToBytes`: a codec that turns bytes into bytes.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;

use crate::{CodecError, Workspace, bounded};

/// A codec from bytes to bytes.
///
/// Decoders are bounded: they produce what `dst` has room for, and fail at the first byte more.
pub trait BytesToBytes: fmt::Debug + Send + Sync {
    /// Name for errors.
    fn name(&self) -> &'static str;

    /// Decodes all of `src` into `dst`; returns how many bytes that gave.
    ///
    /// # Errors
    /// A value that is no whole and right output of the encoder; for [`Dst::Exact`] any other length than that of the
    /// slice; for [`Dst::Grow`] more than its limit.
    fn decode(&self, src: &[u8], dst: Dst<'_>, workspace: &mut Workspace) -> Result<usize, CodecError>;

    /// Encodes `src`, replacing the content of `dst`.
    ///
    /// # Errors
    /// Input that the codec cannot take.
    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, workspace: &mut Workspace) -> Result<(), CodecError>;

    /// In pieces of how many bytes [`encode_pieces`](Self::encode_pieces) takes so many; `None` where it takes all at once.
    fn piece_len(&self, byte_len: usize) -> Option<NonZeroUsize> {
        let _ = byte_len;
        None
    }

    /// As [`encode`](Self::encode), of bytes that are made just before they are encoded, so that they are still in the processor's
    /// cache. `make` is told a range of them and puts these into memory that is aligned for every element; it may be asked for
    /// one twice.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    fn encode_pieces(
        &self,
        byte_len: usize,
        make: &mut dyn FnMut(Range<usize>, &mut [u8]),
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        let mut buffer = bounded::take(workspace, byte_len)?;
        make(0..byte_len, buffer.bytes_mut());
        let result = self.encode(buffer.bytes(), dst, workspace);
        workspace.give(buffer);
        result
    }

    /// Whether [`decode_two`](Self::decode_two) may be worth a try.
    fn decodes_two(&self) -> bool {
        false
    }

    /// Decodes two values, each to just as many bytes as its `dst` has, if that takes less time than one after the other; returns
    /// whether it did. If not, or if a value is not right, what `dst` holds is not defined, and each is to be decoded by
    /// [`decode`](Self::decode).
    fn decode_two(&self, src: [&[u8]; 2], dst: [&mut [u8]; 2], workspace: &mut Workspace) -> bool {
        let _ = (src, dst, workspace);
        false
    }

    /// What `src` decodes to, if that is a part of it as it is, checked: then nothing is copied.
    ///
    /// # Errors
    /// As [`Self::decode`].
    fn peel<'s>(&self, src: &'s [u8]) -> Result<Option<&'s [u8]>, CodecError> {
        let _ = src;
        Ok(None)
    }

    /// How many bytes `src` says it decodes to, from a size field; `None` where it has none.
    ///
    /// # Errors
    /// A header that is broken.
    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        let _ = src;
        Ok(None)
    }

    /// Into how many bytes each of the blocks of `src` decodes, where they can be decoded one without the others; the last
    /// may have fewer.
    ///
    /// # Errors
    /// A header that is broken.
    fn block_len(&self, src: &[u8]) -> Result<Option<NonZeroUsize>, CodecError> {
        let _ = src;
        Ok(None)
    }

    /// Decodes at least `parts` of `src` to their places in `out`, which has the length of all that `src` decodes to. The
    /// parts are in bytes and ascending. What `out` holds elsewhere is not defined, and damage there need not be found.
    ///
    /// # Errors
    /// As [`Self::decode`].
    fn decode_parts(
        &self,
        src: &[u8],
        parts: &[Range<usize>],
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        let _ = parts;
        self.decode(src, Dst::Exact(out), workspace).map(|_| ())
    }

    /// Decodes at least the first `n` bytes to their places in `out`, which has the length of all that `src` decodes to, where
    /// that takes less than to decode all of it; returns whether it does. What `out` holds behind them is not defined, and damage
    /// there need not be found. A checksum over all of it is a reason to decode all of it.
    ///
    /// # Errors
    /// As [`Self::decode`].
    fn decode_start(
        &self,
        src: &[u8],
        n: usize,
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<bool, CodecError> {
        let _ = (src, n, out, workspace);
        Ok(false)
    }

    /// The encoded size of so many bytes, where it does not depend on what they are.
    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        let _ = decoded;
        None
    }
}

/// Where a decoder writes.
#[derive(Debug)]
pub enum Dst<'a> {
    /// Just this many bytes are expected.
    Exact(&'a mut [u8]),
    /// Any number up to `max`; the content of `buf` is replaced, and it grows with the output.
    Grow {
        /// The buffer.
        buf: &'a mut Vec<u8>,
        /// The most bytes that are acceptable.
        max: usize,
    },
}
