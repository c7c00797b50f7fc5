//! The common part of json2 and msgpack2, which both turn a chunk into nested lists.

use std::borrow::Cow;

use super::buffer::n_slots;
use super::codec::VlenCodec;
use super::text::Text;
use crate::memory::sink;
use crate::{CodecError, VlenSlot};

/// json2 or msgpack2.
#[derive(Debug)]
pub(super) struct Nested {
    pub(super) name: &'static str,
    pub(super) decode: Decode,
    pub(super) encode: Encode,
    /// The most bytes that all elements of a chunk may have together: their text may be longer than
    /// the payload.
    pub(super) limit: usize,
}

/// Turns the payload and the shape of a chunk into its elements.
type Decode = fn(&[u8], &[u64], &mut Vec<VlenSlot>, &mut Text) -> Result<(), CodecError>;

/// Turns elements and the shape of their chunk into the payload.
type Encode = fn(&[VlenSlot], &[u8], &[u64], &mut Vec<u8>) -> Result<(), CodecError>;

impl VlenCodec for Nested {
    fn decode<'p>(
        &'p self,
        payload: &'p [u8],
        shape: &[u64],
    ) -> Result<(Vec<VlenSlot>, Cow<'p, [u8]>), CodecError> {
        let n = n_slots(shape, self.limit)?;
        let mut slots = Vec::new();
        let mut text = Text::new(self.name, self.limit);
        // Each element has at least a byte, so a false shape does not allocate memory.
        sink::reserve_items(&mut slots, n.min(payload.len()))?;
        (self.decode)(payload, shape, &mut slots, &mut text)?;
        Ok((slots, text.into_bytes().into()))
    }

    fn encode(
        &self,
        slots: &[VlenSlot],
        bytes: &[u8],
        shape: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        out.clear();
        (self.encode)(slots, bytes, shape, out)
    }
}

/// The most dimensions, as in NumPy.
const MAX_DIMENSIONS: usize = 64;

/// A step of the walk over the elements of a chunk, row by row.
pub(super) enum Step {
    /// A list with this number of members begins.
    Open(u64),
    /// The next element of the list.
    Element,
    /// The list ends.
    Close,
}

/// Walks the lists below the outermost, which the caller has begun. A chunk without dimensions has
/// one element.
pub(super) fn walk<E: From<CodecError>>(
    codec: &'static str,
    shape: &[u64],
    visit: &mut impl FnMut(Step) -> Result<(), E>,
) -> Result<(), E> {
    if shape.len() > MAX_DIMENSIONS {
        let what = format!("{} dimensions are too many", shape.len());
        return Err(CodecError::config(codec, what).into());
    }
    match shape {
        [] => visit(Step::Element),
        [n] => (0..*n).try_for_each(|_| visit(Step::Element)),
        [n, rest @ ..] => (0..*n).try_for_each(|_| {
            visit(Step::Open(rest[0]))?;
            walk(codec, rest, visit)?;
            visit(Step::Close)
        }),
    }
}
