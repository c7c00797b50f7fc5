//! The trait of the array→bytes codecs for elements of variable size.

use std::borrow::Cow;
use std::fmt::Debug;

use crate::{CodecError, VlenSlot};

/// An array→bytes codec for elements of variable size, bound to a type.
pub(crate) trait VlenCodec: Debug + Send + Sync {
    /// The largest payload of a chunk of this shape in bytes, at most `limit`.
    fn payload_limit(&self, _shape: &[u64], limit: usize) -> usize {
        limit
    }

    /// The elements of a chunk of this shape, and the bytes that contain them.
    fn decode<'p>(
        &'p self,
        payload: &'p [u8],
        shape: &[u64],
    ) -> Result<(Vec<VlenSlot>, Cow<'p, [u8]>), CodecError>;

    /// Encodes the elements of a chunk of this shape.
    fn encode(
        &self,
        slots: &[VlenSlot],
        bytes: &[u8],
        shape: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError>;
}
