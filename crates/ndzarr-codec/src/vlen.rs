//! Array→bytes codecs of elements of variable size.

use std::borrow::Cow;
use std::fmt::Debug;

use ndzarr_model::{DataType, VlenConfig};

use crate::{CodecError, Slot};

mod buffer;
#[cfg(feature = "categorize")]
mod categorize;
#[cfg(any(feature = "vlen-array", feature = "vlen-bytes", feature = "vlen-utf8"))]
mod framed;
#[cfg(feature = "json2")]
mod json2;
#[cfg(feature = "msgpack2")]
mod msgpack2;
#[cfg(any(feature = "json2", feature = "msgpack2"))]
mod nested;

pub use buffer::VlenBuffer;
pub(crate) use buffer::cut;

/// One of them, bound to a type.
pub(crate) trait VlenCodec: Debug + Send + Sync {
    /// The most bytes that the payload of a chunk of this shape can be, of which there are `limit` at most.
    fn payload_limit(&self, _shape: &[u64], limit: usize) -> usize {
        limit
    }

    /// The elements of a chunk of this shape, and the bytes that they are slots of.
    fn decode<'p>(
        &'p self,
        payload: &'p [u8],
        shape: &[u64],
    ) -> Result<(Vec<Slot>, Cow<'p, [u8]>), CodecError>;

    /// Encodes the elements of a chunk of this shape.
    fn encode(
        &self,
        slots: &[Slot],
        bytes: &[u8],
        shape: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError>;
}

/// Binds one, if it is part of the build.
macro_rules! codec {
    ($feature:literal, $make:expr) => {{
        #[cfg(feature = $feature)]
        let bound = Ok(Box::new($make) as Box<dyn VlenCodec>);
        #[cfg(not(feature = $feature))]
        let bound = Err(CodecError::Disabled { name: $feature, feature: $feature });
        bound
    }};
}

/// The elements of a chunk may have no more than `limit` bytes together.
#[allow(unused_variables, reason = "of codecs that are not part of the build")]
pub(crate) fn bind(
    config: &VlenConfig,
    data_type: &DataType,
    limit: usize,
) -> Result<Box<dyn VlenCodec>, CodecError> {
    let name = config.name();
    match (config, data_type) {
        (VlenConfig::Utf8, DataType::String) => codec!("vlen-utf8", framed::Framed::of_bytes(name)),
        (VlenConfig::Bytes, DataType::Bytes) => codec!("vlen-bytes", framed::Framed::of_bytes(name)),
        (VlenConfig::Array { endian }, DataType::VlenArray(elements)) => {
            codec!("vlen-array", framed::Framed::of_numbers(name, elements, *endian)?)
        }
        (VlenConfig::Json2, DataType::Json) => {
            codec!("json2", nested::Nested { decode: json2::decode, encode: json2::encode })
        }
        (VlenConfig::Msgpack2, DataType::Json) => {
            codec!("msgpack2", nested::Nested { decode: msgpack2::decode, encode: msgpack2::encode })
        }
        (VlenConfig::Categorize(labels), DataType::String) => {
            codec!("categorize", categorize::Categories::new(labels, limit)?)
        }
        _ => Err(CodecError::config(name, format!("does not take elements of {data_type}"))),
    }
}
