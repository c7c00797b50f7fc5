//! vlen-utf8, vlen-bytes and vlen-array: a count, then each element with its length before it.

use std::borrow::Cow;

use ndzarr_model::{DataType, Endian};

use super::buffer::n_slots;
use super::codec::VlenCodec;
use crate::elements::swap_of;
use crate::memory::sink;
use crate::{CodecError, Swap, VlenSlot};

#[derive(Debug)]
pub(super) struct Framed {
    name: &'static str,
    /// For lists of numbers: the size of a number in bytes, and the swap to its stored form.
    numbers: Option<(usize, Swap)>,
    /// The most bytes that all elements of a chunk may have together.
    limit: usize,
}

impl Framed {
    /// For strings or bytes.
    pub(super) fn of_bytes(name: &'static str, limit: usize) -> Self {
        Self {
            name,
            numbers: None,
            limit,
        }
    }

    /// For lists of numbers.
    pub(super) fn of_numbers(
        name: &'static str,
        elements: &DataType,
        endian: Option<Endian>,
        limit: usize,
    ) -> Result<Self, CodecError> {
        let size = elements.elem_size().filter(|&size| size > 0);
        let size = size.ok_or_else(|| CodecError::config(name, "no numbers in the lists"))?;
        let swap = swap_of::one_order(elements, endian.or(Some(Endian::NATIVE)))?;
        Ok(Self {
            name,
            numbers: Some((size, swap)),
            limit,
        })
    }

    /// The positions of the elements, each a list of items of this size in bytes. Bytes after the
    /// last element are ignored.
    fn slots(
        &self,
        payload: &[u8],
        shape: &[u64],
        size: usize,
    ) -> Result<Vec<VlenSlot>, CodecError> {
        let corrupt = |what: String| CodecError::corrupt(self.name, what);
        let short = || corrupt(format!("ends early, after {} bytes", payload.len()));
        let count = read_u32(payload, 0).ok_or_else(short)?;
        if count != n_slots(shape, self.limit)? {
            return Err(corrupt(format!(
                "{count} elements in a chunk of shape {shape:?}"
            )));
        }
        // Each element has at least a length, so a false count does not allocate memory.
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
                return Err(corrupt(format!(
                    "element {i} of {len} bytes goes beyond the end"
                )));
            }
            if len % size != 0 {
                return Err(corrupt(format!(
                    "element {i} of {len} bytes is not a list of numbers of {size} bytes"
                )));
            }
            slots.push(VlenSlot { start: at, len });
            at += len;
        }
        Ok(slots)
    }
}

impl VlenCodec for Framed {
    fn decode<'p>(
        &'p self,
        payload: &'p [u8],
        shape: &[u64],
    ) -> Result<(Vec<VlenSlot>, Cow<'p, [u8]>), CodecError> {
        let size = self.numbers.as_ref().map_or(1, |(size, _)| *size);
        let slots = self.slots(payload, shape, size)?;
        let bytes = match &self.numbers {
            Some((_, swap)) if *swap != Swap::None => {
                let mut bytes = Vec::new();
                sink::reserve(&mut bytes, payload.len())?;
                bytes.extend_from_slice(payload);
                for slot in &slots {
                    swap.apply(&mut bytes[slot.start..slot.start + slot.len]);
                }
                bytes.into()
            }
            Some(_) | None => payload.into(),
        };
        Ok((slots, bytes))
    }

    fn encode(
        &self,
        slots: &[VlenSlot],
        bytes: &[u8],
        _: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        out.clear();
        let too_long =
            |n: usize| CodecError::encode(self.name, format!("{n} are more than a u32 can count"));
        let total = slots.iter().try_fold(4usize, |total, slot| {
            total.checked_add(slot.len)?.checked_add(4)
        });
        sink::reserve(out, total.unwrap_or(usize::MAX))?;
        let count = u32::try_from(slots.len()).map_err(|_| too_long(slots.len()))?;
        out.extend_from_slice(&count.to_le_bytes());
        for slot in slots {
            let len = u32::try_from(slot.len).map_err(|_| too_long(slot.len))?;
            out.extend_from_slice(&len.to_le_bytes());
            let at = out.len();
            out.extend_from_slice(slot.of(bytes));
            if let Some((_, swap)) = &self.numbers {
                swap.apply(&mut out[at..]);
            }
        }
        Ok(())
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}
