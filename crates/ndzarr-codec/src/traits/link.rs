//! A bytes→bytes codec in a pipe, and the capabilities that built-in ones have beyond
//! `BytesToBytes`.

use std::num::NonZeroUsize;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::{BytesToBytes, CodecError, Workspace};

/// A codec in a pipe, used by itself or for one of its capabilities.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    codec: Arc<dyn BytesToBytes>,
    /// The same codec, with its capabilities.
    capable: Option<Arc<dyn Capable>>,
}

impl Link {
    /// A codec that only decodes and encodes whole values.
    pub(crate) fn new(codec: Arc<dyn BytesToBytes>) -> Self {
        Self {
            codec,
            capable: None,
        }
    }

    /// A codec with more capabilities.
    pub(crate) fn capable(codec: impl Capable + 'static) -> Self {
        let capable: Arc<dyn Capable> = Arc::new(codec);
        Self {
            codec: capable.clone(),
            capable: Some(capable),
        }
    }

    pub(crate) fn borrowing_decoder(&self) -> Option<&dyn BorrowDecoded> {
        self.capable.as_deref()?.borrowing_decoder()
    }

    pub(crate) fn partial_decoder(&self) -> Option<&dyn DecodeParts> {
        self.capable.as_deref()?.partial_decoder()
    }

    pub(crate) fn piecewise_encoder(&self) -> Option<&dyn EncodePieces> {
        self.capable.as_deref()?.piecewise_encoder()
    }

    pub(crate) fn pair_decoder(&self) -> Option<&dyn DecodeTwo> {
        self.capable.as_deref()?.pair_decoder()
    }
}

impl Deref for Link {
    type Target = dyn BytesToBytes;

    fn deref(&self) -> &Self::Target {
        &*self.codec
    }
}

/// A codec that can do more than decode and encode whole values.
pub(crate) trait Capable: BytesToBytes {
    fn borrowing_decoder(&self) -> Option<&dyn BorrowDecoded> {
        None
    }

    fn partial_decoder(&self) -> Option<&dyn DecodeParts> {
        None
    }

    fn piecewise_encoder(&self) -> Option<&dyn EncodePieces> {
        None
    }

    fn pair_decoder(&self) -> Option<&dyn DecodeTwo> {
        None
    }
}

/// Finds the decoded bytes among the encoded ones, so that nothing is copied.
pub(crate) trait BorrowDecoded {
    /// The decoded bytes of `src`, checked.
    fn checked<'s>(&self, src: &'s [u8]) -> Result<&'s [u8], CodecError>;
}

/// Decodes part of a value.
pub(crate) trait DecodeParts {
    /// The decoded size of the blocks of `src`, if they can be decoded independently; the last may
    /// have fewer bytes. `None` if decoding always begins at the start.
    fn block_len(&self, src: &[u8]) -> Result<Option<NonZeroUsize>, CodecError>;

    /// Decodes at least `parts` of `src` to their places in `out`, which has the length of the
    /// whole decoded value, if that is faster than decoding all of it; returns true if it did. The
    /// parts are whole blocks, or the start; they are in bytes and ascending. The rest of `out` is
    /// unspecified, and damage there may go undetected. A checksum of the whole value is a reason
    /// to decode all of it.
    fn decode_parts(
        &self,
        src: &[u8],
        parts: &[Range<usize>],
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<bool, CodecError>;
}

/// Encodes bytes that are made just before they are encoded, so that they are still in the
/// processor's cache.
pub(crate) trait EncodePieces {
    /// The length of the pieces for `byte_len` bytes; `None` if all of them have to be encoded at
    /// once.
    fn piece_len(&self, byte_len: usize) -> Option<NonZeroUsize>;

    /// Encodes like [`BytesToBytes::encode`]. `make` gets a range of the bytes and writes them into
    /// memory that is aligned for every element type; it may get the same range twice.
    fn encode_pieces(
        &self,
        byte_len: usize,
        make: &mut dyn FnMut(Range<usize>, &mut [u8]),
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError>;
}

/// Decodes two values at once.
pub(crate) trait DecodeTwo {
    /// Decodes two values, each to exactly the length of its `dst`, if that is faster than one
    /// after the other; returns true if it did. If not, or if a value is corrupt, the content of
    /// `dst` is unspecified: decode each separately.
    fn decode_two(&self, src: [&[u8]; 2], dst: [&mut [u8]; 2], workspace: &mut Workspace) -> bool;
}
