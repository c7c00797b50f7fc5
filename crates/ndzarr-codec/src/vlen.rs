//! Array→bytes codecs of elements of variable size.

use ndzarr_model::{DataType, Endian, VlenConfig};

use crate::{CodecError, Slot, Swap, sink, swap_of};

mod buffer;
#[cfg(feature = "categorize")]
mod categorize;
mod json2;
mod msgpack2;
mod nested;

pub use buffer::VlenBuffer;
pub(crate) use buffer::cut;

/// One of them, bound to a type.
#[derive(Debug)]
pub(crate) struct Vlen {
    name: &'static str,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// A count, then each element with its length before it.
    Framed {
        /// Of lists of numbers: size of one in bytes, and how it is stored.
        numbers: Option<(usize, Swap)>,
    },
    Json2,
    Msgpack2,
    #[cfg(feature = "categorize")]
    Categorize(categorize::Categories),
}

impl Vlen {
    /// The elements of a chunk may have no more than `limit` bytes together.
    #[cfg_attr(not(feature = "categorize"), allow(unused_variables))]
    pub(crate) fn bind(config: &VlenConfig, data_type: &DataType, limit: usize) -> Result<Self, CodecError> {
        let form = match (config, data_type) {
            (VlenConfig::Utf8, DataType::String) | (VlenConfig::Bytes, DataType::Bytes) => {
                Form::Framed { numbers: None }
            }
            (VlenConfig::Json2, DataType::Json) => Form::Json2,
            (VlenConfig::Msgpack2, DataType::Json) => Form::Msgpack2,
            #[cfg(feature = "categorize")]
            (VlenConfig::Categorize(labels), DataType::String) => {
                Form::Categorize(categorize::Categories::new(labels, limit)?)
            }
            #[cfg(not(feature = "categorize"))]
            (VlenConfig::Categorize(_), DataType::String) => {
                return Err(CodecError::Disabled { name: "categorize", feature: "categorize" });
            }
            (VlenConfig::Array { endian }, DataType::VlenArray(elements)) => {
                let size = elements.elem_size().filter(|&size| size > 0);
                let size = size.ok_or_else(|| CodecError::config("vlen-array", "no numbers in the lists"))?;
                let swap = swap_of::one_order(elements, endian.or(Some(Endian::NATIVE)))?;
                Form::Framed { numbers: Some((size, swap)) }
            }
            _ => {
                return Err(CodecError::config(
                    config.name(),
                    format!("does not take elements of {data_type}"),
                ));
            }
        };
        Ok(Self { name: config.name(), form })
    }

    /// The most bytes that the payload of a chunk of this shape can be, of which there are `limit` at most.
    #[cfg_attr(not(feature = "categorize"), allow(unused_variables))]
    pub(crate) fn payload_limit(&self, shape: &[u64], limit: usize) -> usize {
        match &self.form {
            #[cfg(feature = "categorize")]
            Form::Categorize(categories) => categories.byte_len(shape).map_or(limit, |len| len.min(limit)),
            _ => limit,
        }
    }

    /// Hands out the elements of a chunk of this shape.
    pub(crate) fn decode<E: From<CodecError>>(
        &self,
        payload: &[u8],
        shape: &[u64],
        put: impl FnOnce(&[Slot], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.form {
            Form::Json2 => {
                let (slots, bytes) = json2::decode(payload, shape)?;
                put(&slots, &bytes)
            }
            Form::Msgpack2 => {
                let (slots, bytes) = msgpack2::decode(payload, shape)?;
                put(&slots, &bytes)
            }
            #[cfg(feature = "categorize")]
            Form::Categorize(categories) => put(&categories.decode(payload, shape)?, categories.text()),
            Form::Framed { numbers } => {
                let size = numbers.as_ref().map_or(1, |(size, _)| *size);
                let slots = self.framed(payload, shape, size)?;
                match numbers {
                    Some((_, swap)) if *swap != Swap::None => {
                        let mut bytes = payload.to_vec();
                        for slot in &slots {
                            swap.apply(&mut bytes[slot.start..slot.start + slot.len]);
                        }
                        put(&slots, &bytes)
                    }
                    _ => put(&slots, payload),
                }
            }
        }
    }

    /// Where the elements of framed ones are: a count, then each with its length before it (V2-128, V2-131). Bytes behind
    /// the last are passed over. Each is a list of items of this size.
    fn framed(&self, payload: &[u8], shape: &[u64], size: usize) -> Result<Vec<Slot>, CodecError> {
        let corrupt = |what: String| CodecError::corrupt(self.name, what);
        let short = || corrupt(format!("ends early, after {} bytes", payload.len()));
        let count = read_u32(payload, 0).ok_or_else(short)?;
        let expected = n_elements(shape);
        if Some(count as u64) != expected {
            return Err(corrupt(format!("{count} elements in a chunk of shape {shape:?}")));
        }
        // Each has a length at least, so that no count alone takes memory.
        if payload.len() / 4 <= count {
            return Err(short());
        }
        let mut slots = Vec::new();
        sink::reserve_items(&mut slots, count)?;
        let mut at = 4;
        for i in 0..count {
            let len = read_u32(payload, at).ok_or_else(short)?;
            at += 4;
            if len > payload.len() - at {
                return Err(corrupt(format!("element {i} of {len} bytes reaches over the end")));
            }
            if len % size != 0 {
                return Err(corrupt(format!("element {i} of {len} bytes is no list of numbers of {size}")));
            }
            slots.push(Slot { start: at, len });
            at += len;
        }
        Ok(slots)
    }

    /// Encodes the elements of a chunk of this shape.
    pub(crate) fn encode(
        &self,
        slots: &[Slot],
        bytes: &[u8],
        shape: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        out.clear();
        let numbers = match &self.form {
            Form::Json2 => return json2::encode(slots, bytes, shape, out),
            Form::Msgpack2 => return msgpack2::encode(slots, bytes, shape, out),
            #[cfg(feature = "categorize")]
            Form::Categorize(categories) => return categories.encode(slots, bytes, out),
            Form::Framed { numbers } => numbers,
        };
        let too_long = |n: usize| CodecError::encode(self.name, format!("{n} are more than a u32 can count"));
        let total = slots.iter().try_fold(4usize, |total, slot| total.checked_add(slot.len)?.checked_add(4));
        sink::reserve(out, total.unwrap_or(usize::MAX))?;
        let count = u32::try_from(slots.len()).map_err(|_| too_long(slots.len()))?;
        out.extend_from_slice(&count.to_le_bytes());
        for slot in slots {
            let len = u32::try_from(slot.len).map_err(|_| too_long(slot.len))?;
            out.extend_from_slice(&len.to_le_bytes());
            let at = out.len();
            out.extend_from_slice(slot.of(bytes));
            if let Some((_, swap)) = numbers {
                swap.apply(&mut out[at..]);
            }
        }
        Ok(())
    }
}

/// How many elements a chunk has.
fn n_elements(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |n, &len| n.checked_mul(len))
}

fn read_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}
