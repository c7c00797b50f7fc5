//! categorize for strings of any length: a code for each element.

use std::borrow::Cow;
use std::collections::HashMap;

use ndzarr_model::{LabelsConfig, StoredType};

use super::buffer::n_slots;
use super::codec::VlenCodec;
use crate::codecs::categorize::{Codes, NAME};
use crate::filter::swap_of;
use crate::memory::{bounded, sink};
use crate::{CodecError, VlenSlot};

#[derive(Debug)]
pub(super) struct Categories {
    astype: StoredType,
    codes: Codes,
    /// All labels, one after the other.
    text: Vec<u8>,
    /// The position of each label in `text`; the first stands for strings without a label.
    labels: Vec<VlenSlot>,
    code_of: HashMap<Box<[u8]>, usize>,
    /// The most bytes that all elements of a chunk may have together: a code may stand for a string
    /// of any length.
    limit: usize,
}

impl Categories {
    pub(super) fn new(config: &LabelsConfig, limit: usize) -> Result<Self, CodecError> {
        let codes = Codes::new(&config.astype.data_type)?;
        let mut text = Vec::new();
        let mut labels = vec![VlenSlot { start: 0, len: 0 }];
        let mut code_of = HashMap::new();
        for label in &config.labels {
            // Of equal labels the last one applies, because it overwrites the others.
            code_of.insert(label.as_bytes().into(), labels.len());
            labels.push(VlenSlot {
                start: text.len(),
                len: label.len(),
            });
            text.extend_from_slice(label.as_bytes());
        }
        Ok(Self {
            astype: config.astype.clone(),
            codes,
            text,
            labels,
            code_of,
            limit,
        })
    }
}

impl VlenCodec for Categories {
    fn payload_limit(&self, shape: &[u64], limit: usize) -> usize {
        bounded::byte_len(shape, self.codes.size()).map_or(limit, |len| len.min(limit))
    }

    fn decode<'p>(
        &'p self,
        payload: &'p [u8],
        shape: &[u64],
    ) -> Result<(Vec<VlenSlot>, Cow<'p, [u8]>), CodecError> {
        let size = self.codes.size();
        let n = n_slots(shape, self.limit)?;
        bounded::expect_len(NAME, payload.len(), n.saturating_mul(size))?;
        let mut slots = Vec::new();
        sink::reserve_items(&mut slots, n)?;
        let swap = swap_of(&self.astype);
        let mut code = [0; 8];
        let code = &mut code[..size];
        let mut total = 0usize;
        for stored in payload.chunks_exact(size) {
            code.copy_from_slice(stored);
            swap.apply(code);
            let slot = self
                .codes
                .load(code)
                .and_then(|code| self.labels.get(code))
                .unwrap_or(&self.labels[0]);
            total = total.saturating_add(slot.len);
            slots.push(*slot);
        }
        if total > self.limit {
            return Err(sink::too_long(NAME, self.limit));
        }
        Ok((slots, Cow::Borrowed(&self.text)))
    }

    fn encode(
        &self,
        slots: &[VlenSlot],
        bytes: &[u8],
        _: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        out.clear();
        let size = self.codes.size();
        let len = slots.len().saturating_mul(size);
        sink::reserve(out, len)?;
        out.resize(len, 0);
        for (slot, out) in slots.iter().zip(out.chunks_exact_mut(size)) {
            self.codes
                .store(self.code_of.get(slot.of(bytes)).copied().unwrap_or(0), out)?;
        }
        swap_of(&self.astype).apply(out);
        Ok(())
    }
}
