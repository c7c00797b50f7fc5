//! A bytes→bytes codec in a pipe, and what a built-in one can do beyond `BytesToBytes`.

use std::num::NonZeroUsize;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::{BytesToBytes, CodecError, Workspace};

/// A codec in a pipe. It is used as what it is, or for one of its capabilities.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    codec: Arc<dyn BytesToBytes>,
    /// The same codec.
    capable: Option<Arc<dyn Capable>>,
}

impl Link {
    /// A codec that decodes and encodes whole values alone.
    pub(crate) fn new(codec: Arc<dyn BytesToBytes>) -> Self {
        Self { codec, capable: None }
    }

    /// A codec that can do more.
    pub(crate) fn capable(codec: impl Capable + 'static) -> Self {
        let capable: Arc<dyn Capable> = Arc::new(codec);
        Self { codec: capable.clone(), capable: Some(capable) }
    }

    pub(crate) fn peel(&self) -> Option<&dyn Peel> {
        self.capable.as_deref()?.peel()
    }

    pub(crate) fn parts(&self) -> Option<&dyn Parts> {
        self.capable.as_deref()?.parts()
    }

    pub(crate) fn pieces(&self) -> Option<&dyn Pieces> {
        self.capable.as_deref()?.pieces()
    }

    pub(crate) fn two(&self) -> Option<&dyn Two> {
        self.capable.as_deref()?.two()
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
    fn peel(&self) -> Option<&dyn Peel> {
        None
    }

    fn parts(&self) -> Option<&dyn Parts> {
        None
    }

    fn pieces(&self) -> Option<&dyn Pieces> {
        None
    }

    fn two(&self) -> Option<&dyn Two> {
        None
    }
}

/// Finding the decoded bytes among the encoded ones, so that nothing is copied.
pub(crate) trait Peel {
    /// What `src` decodes to, checked.
    fn checked<'s>(&self, src: &'s [u8]) -> Result<&'s [u8], CodecError>;
}

/// Decoding a part of a value.
pub(crate) trait Parts {
    /// Into how many bytes each of the blocks of `src` decodes, where they can be decoded one
    /// without the others; the last may have fewer. `None` where decoding always begins at the
    /// start.
    fn block_len(&self, src: &[u8]) -> Result<Option<NonZeroUsize>, CodecError>;

    /// Decodes at least `parts` of `src` to their places in `out`, which has the length of all that
    /// `src` decodes to, where that takes less time than to decode all of it; returns whether it
    /// does. The parts are whole blocks, or the start; they are in bytes and ascending. What `out`
    /// holds elsewhere is not defined, and damage there need not be found. A checksum over all of
    /// it is a reason to decode all of it.
    fn decode_parts(
        &self,
        src: &[u8],
        parts: &[Range<usize>],
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<bool, CodecError>;
}

/// Encoding bytes that are made just before they are encoded, so that they are still in the
/// processor's cache.
pub(crate) trait Pieces {
    /// The length of the pieces of `byte_len` bytes; `None` where all of them are encoded at once.
    fn piece_len(&self, byte_len: usize) -> Option<NonZeroUsize>;

    /// As [`BytesToBytes::encode`]. `make` gets a range of the bytes and puts them into memory that
    /// is aligned for every element; it may get one twice.
    fn encode_pieces(
        &self,
        byte_len: usize,
        make: &mut dyn FnMut(Range<usize>, &mut [u8]),
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError>;
}

/// Decoding two values at once.
pub(crate) trait Two {
    /// Decodes two values, each to just as many bytes as its `dst` has, if that takes less time
    /// than one after the other; returns whether it did. If not, or if a value is not right, what
    /// `dst` holds is not defined, and each is to be decoded by itself.
    fn decode_two(&self, src: [&[u8]; 2], dst: [&mut [u8]; 2], workspace: &mut Workspace) -> bool;
}
