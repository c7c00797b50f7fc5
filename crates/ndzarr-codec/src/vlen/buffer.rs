//! A buffer that collects elements of variable size in any order.

use crate::memory::{bounded, sink};
use crate::strided::{Strided, Walk};
use crate::{CodecError, Elements, Layout, VlenSlot, c_strides};

/// Elements of variable size that are added one by one, in any order.
#[derive(Clone, Debug, Default)]
pub struct VlenBuffer {
    slots: Vec<VlenSlot>,
    bytes: Vec<u8>,
}

impl VlenBuffer {
    /// `n` elements, each with this content.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn filled(n: usize, content: &[u8]) -> Result<Self, CodecError> {
        let mut slots = Vec::new();
        sink::reserve_items(&mut slots, n)?;
        slots.resize(
            n,
            VlenSlot {
                start: 0,
                len: content.len(),
            },
        );
        Ok(Self {
            slots,
            bytes: content.to_vec(),
        })
    }

    /// Gives an element its content.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn set(&mut self, index: usize, content: &[u8]) {
        self.slots[index] = VlenSlot {
            start: self.bytes.len(),
            len: content.len(),
        };
        self.bytes.extend_from_slice(content);
    }

    /// The position of each element in [`bytes`](Self::bytes).
    #[must_use]
    pub fn slots(&self) -> &[VlenSlot] {
        &self.slots
    }

    /// The contents.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements.
    #[must_use]
    pub fn elements(&self) -> Elements<'_> {
        Elements::Vlen {
            slots: &self.slots,
            bytes: &self.bytes,
        }
    }

    /// True if every element has this content.
    #[must_use]
    pub fn is_all(&self, content: &[u8]) -> bool {
        self.slots
            .iter()
            .all(|slot| slot.of(&self.bytes) == content)
    }

    /// Copies a box of elements with other strides.
    ///
    /// # Panics
    /// If an index is outside.
    pub fn copy_from(
        &mut self,
        extent: &[usize],
        slots: &[VlenSlot],
        bytes: &[u8],
        from: Strided<'_>,
        to: Strided<'_>,
    ) {
        for_each_position(extent, from, to, |from, to| {
            self.set(to, slots[from].of(bytes))
        });
    }
}

/// The slots of a box of elements, in C order of the box.
pub(crate) fn slots_of_box(
    extent: &[usize],
    slots: &[VlenSlot],
    from: Strided<'_>,
) -> Vec<VlenSlot> {
    let mut selected = Vec::new();
    for_each_position(extent, from, from, |from, _| selected.push(slots[from]));
    selected
}

/// Visits the elements of a box in C order, with the position of each on both sides.
fn for_each_position(
    extent: &[usize],
    from: Strided<'_>,
    to: Strided<'_>,
    mut visit: impl FnMut(usize, usize),
) {
    if extent.contains(&0) {
        return;
    }
    let axes: Vec<_> = (extent.iter().zip(from.strides).zip(to.strides))
        .map(|((&n, &from), &to)| (n, from, to))
        .collect();
    let mut walk = Walk::new(&axes, from.offset.cast_signed(), to.offset.cast_signed());
    while let Some((from, to)) = walk.next() {
        visit(from.cast_unsigned(), to.cast_unsigned());
    }
}

/// Adds decoded elements of variable size to `out`, at the positions `to`. It is an error if all
/// elements together have more than `limit` bytes.
pub(crate) fn put_vlen(
    codec: &'static str,
    elements: Elements<'_>,
    layout: &Layout,
    out: &mut VlenBuffer,
    limit: usize,
    to: Strided<'_>,
) -> Result<(), CodecError> {
    let Elements::Vlen { slots, bytes } = elements else {
        return Ok(());
    };
    // Elements may share bytes.
    let added = slots
        .iter()
        .fold(0usize, |len, slot| len.saturating_add(slot.len));
    if added > limit.saturating_sub(out.bytes.len()) {
        return Err(sink::too_long(codec, limit));
    }
    sink::reserve(&mut out.bytes, added)?;
    out.copy_from(&layout.extent, slots, bytes, layout.place(), to);
    Ok(())
}

/// The number of elements in a shape, if their slots take no more memory than the contents may.
pub(crate) fn n_slots(shape: &[u64], limit: usize) -> Result<usize, CodecError> {
    bounded::byte_len(shape, size_of::<VlenSlot>())
        .filter(|&byte_len| byte_len <= limit)
        .map(|byte_len| byte_len / size_of::<VlenSlot>())
        .ok_or_else(|| {
            CodecError::config(
                "chain",
                format!("{shape:?} are too many elements of variable size"),
            )
        })
}

/// Strides of a box of this shape in C order.
pub(crate) fn strides_of(shape: &[u64]) -> Vec<isize> {
    c_strides(&bounded::extent(shape))
}
