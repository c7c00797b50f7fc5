//! `Decoded`: a copy of decoded elements.

use ndzarr_codec::{Elements, Layout, VlenSlot};

/// Decoded elements that borrow nothing.
#[derive(Debug)]
pub(crate) struct Decoded {
    bytes: Vec<u8>,
    form: Form,
    pub(crate) layout: Layout,
}

#[derive(Debug)]
enum Form {
    Fixed { size: usize },
    Vlen { slots: Vec<VlenSlot> },
}

impl Decoded {
    /// A copy.
    pub(crate) fn of(elements: Elements<'_>, layout: &Layout) -> Self {
        let (bytes, form) = match elements {
            Elements::Fixed { bytes, size } => (bytes, Form::Fixed { size }),
            Elements::Vlen { slots, bytes } => (
                bytes,
                Form::Vlen {
                    slots: slots.to_vec(),
                },
            ),
        };
        Self {
            bytes: bytes.to_vec(),
            form,
            layout: layout.clone(),
        }
    }

    pub(crate) fn elements(&self) -> Elements<'_> {
        let bytes = &self.bytes[..];
        match &self.form {
            Form::Fixed { size } => Elements::Fixed { bytes, size: *size },
            Form::Vlen { slots } => Elements::Vlen { slots, bytes },
        }
    }

    /// Its memory use in bytes.
    pub(crate) fn byte_len(&self) -> usize {
        let slots = match &self.form {
            Form::Fixed { .. } => 0,
            Form::Vlen { slots } => size_of_val(&slots[..]),
        };
        self.bytes.len() + slots
    }
}
