//! The stage of a chain: turns elements into bytes, after the transposes and before the bytes→bytes
//! codecs.

mod array_to_array;
mod array_to_bytes;
mod raw;
mod sharded;

use std::borrow::Cow;
use std::fmt;

pub(crate) use array_to_array::ArrayToArrayStage;
pub(crate) use array_to_bytes::ArrayToBytesStage;
pub(crate) use raw::Raw;

use crate::pipe::Pipe;
use crate::{CodecError, Elements, Swap, VlenSlot, Workspace};

/// Turns elements into bytes. All shapes are over the stored axes.
pub(crate) trait Stage: fmt::Debug + Send + Sync {
    /// The swap between stored elements and native byte order. Elements to be encoded are in stored
    /// form already.
    fn swap(&self) -> &Swap {
        &Swap::None
    }

    /// Checks that arrays of this shape can be encoded.
    fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        let _ = shape;
        Ok(())
    }

    /// The encoded size of an array of this shape, if it does not depend on the elements.
    fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        let _ = shape;
        None
    }

    /// The number of bytes that a value of this shape may have in addition to its elements.
    fn overhead(&self, shape: &[u64]) -> u64 {
        let _ = shape;
        0
    }

    /// The stage, if it stores elements one by one.
    fn plain(&self) -> Option<&dyn Plain> {
        None
    }

    /// Decodes a value and passes its elements to `put`, once, with their extent over the stored
    /// axes.
    fn decode(
        &self,
        value: Value<'_>,
        workspace: &mut Workspace,
        put: &mut Put<'_>,
    ) -> Result<(), CodecError>;

    /// Encodes an array of this shape, and applies the pipe.
    fn encode(
        &self,
        elements: Elements<'_>,
        shape: &[u64],
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError>;
}

/// The destination of decoded elements, with their extent over the stored axes.
pub(crate) type Put<'p> = dyn FnMut(Elements<'_>, &[u64]) + 'p;

/// A value to be decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'v> {
    pub(crate) bytes: &'v [u8],
    /// Shape of its array, over the stored axes.
    pub(crate) shape: &'v [u64],
    /// Size of the array in bytes; 0 if the elements have variable size.
    pub(crate) byte_len: usize,
    /// The codecs to be undone first.
    pub(crate) pipe: Pipe<'v>,
}

/// A stage that stores elements of fixed size one by one in C order, so that some of them can be
/// decoded without the others, or two values at once.
pub(crate) trait Plain {
    /// The elements of a value of this shape, still encoded by the pipe.
    fn payload<'v>(&self, value: &'v [u8], shape: &'v [u64]) -> Result<Payload<'v>, CodecError>;
}

/// The elements of a value, still encoded by the pipe.
#[derive(Debug)]
pub(crate) struct Payload<'v> {
    pub(crate) bytes: &'v [u8],
    /// The extent of the decoded elements, over the stored axes.
    pub(crate) extent: Cow<'v, [u64]>,
    /// Size of the decoded elements in bytes.
    pub(crate) byte_len: usize,
}

/// The bytes of elements of fixed size.
pub(crate) fn fixed(elements: Elements<'_>) -> Result<&[u8], CodecError> {
    match elements {
        Elements::Fixed { bytes, .. } => Ok(bytes),
        Elements::Vlen { .. } => Err(CodecError::config(
            "chain",
            "elements of variable size reach a codec for elements of fixed size",
        )),
    }
}

/// The elements of variable size: the position of each, and their contents.
pub(crate) fn variable(elements: Elements<'_>) -> Result<(&[VlenSlot], &[u8]), CodecError> {
    match elements {
        Elements::Vlen { slots, bytes } => Ok((slots, bytes)),
        Elements::Fixed { .. } => Err(CodecError::encode("chain", "elements of a fixed size")),
    }
}
