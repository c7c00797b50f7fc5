//! Array→bytes codecs of elements of variable size.

use ndzarr_model::{DataType, VlenConfig};

use crate::pipe::Pipe;
use crate::stage::{Put, Stage, Value, variable};
use crate::{CodecError, Elements, Workspace};

mod buffer;
mod categorize;
mod codec;
mod framed;
mod json2;
mod msgpack2;
mod nested;
mod text;

pub use buffer::VlenBuffer;
pub(crate) use buffer::{n_slots, put_vlen, slots_of_box, strides_of};
use codec::VlenCodec;

/// The stage of an array→bytes codec for elements of variable size.
#[derive(Debug)]
pub(crate) struct Vlen {
    codec: Box<dyn VlenCodec>,
    /// The most bytes that all elements of a chunk may have together.
    limit: usize,
}

impl Vlen {
    /// Binds a codec. All elements of a chunk together may have at most `limit` bytes.
    pub(crate) fn bind(
        config: &VlenConfig,
        data_type: &DataType,
        limit: usize,
    ) -> Result<Self, CodecError> {
        let name = config.name();
        let codec: Box<dyn VlenCodec> = match (config, data_type) {
            (VlenConfig::Utf8, DataType::String) | (VlenConfig::Bytes, DataType::Bytes) => {
                Box::new(framed::Framed::of_bytes(name, limit))
            }
            (VlenConfig::Array { endian }, DataType::VlenArray(elements)) => {
                Box::new(framed::Framed::of_numbers(name, elements, *endian, limit)?)
            }
            (VlenConfig::Json2, DataType::Json) => Box::new(nested::Nested {
                name,
                decode: json2::decode,
                encode: json2::encode,
                limit,
            }),
            (VlenConfig::Msgpack2, DataType::Json) => Box::new(nested::Nested {
                name,
                decode: msgpack2::decode,
                encode: msgpack2::encode,
                limit,
            }),
            (VlenConfig::Categorize(labels), DataType::String) => {
                Box::new(categorize::Categories::new(labels, limit)?)
            }
            _ => {
                return Err(CodecError::config(
                    name,
                    format!("does not take elements of {data_type}"),
                ));
            }
        };
        Ok(Self { codec, limit })
    }
}

impl Stage for Vlen {
    fn decode(
        &self,
        Value {
            bytes, shape, pipe, ..
        }: Value<'_>,
        workspace: &mut Workspace,
        put: &mut Put<'_>,
    ) -> Result<(), CodecError> {
        let max = self.codec.payload_limit(shape, self.limit);
        pipe.lend(bytes, max, workspace, |payload, _| {
            let (slots, bytes) = self.codec.decode(payload, shape)?;
            put(
                Elements::Vlen {
                    slots: &slots,
                    bytes: &bytes,
                },
                shape,
            );
            Ok(())
        })
    }

    fn encode(
        &self,
        elements: Elements<'_>,
        shape: &[u64],
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let (slots, bytes) = variable(elements)?;
        // A chunk that could not be read back is not written.
        n_slots(shape, self.limit)?;
        pipe.encode_made(out, workspace, |payload, _| {
            self.codec.encode(slots, bytes, shape, payload)
        })
    }
}
