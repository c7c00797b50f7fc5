//! The elements that go into and come out of a chain, and how they lie in memory.

use std::sync::Arc;

use ndzarr_model::{Leaf, LeafForm};

/// Elements that a chain decoded, or that it is to encode.
#[derive(Clone, Copy, Debug)]
pub enum Elements<'a> {
    /// Elements of one size.
    Fixed {
        /// The elements, not necessarily aligned.
        bytes: &'a [u8],
        /// Size of an element in bytes.
        size: usize,
    },
    /// Elements of sizes of their own.
    Vlen {
        /// Where in `bytes` each element is.
        slots: &'a [VlenSlot],
        /// The contents, in any order and with anything between them.
        bytes: &'a [u8],
    },
}

/// Where the content of an element of variable size is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VlenSlot {
    /// Number of its first byte.
    pub start: usize,
    /// How many bytes it has.
    pub len: usize,
}

impl VlenSlot {
    /// The content.
    ///
    /// # Panics
    /// Where it is no slot of these bytes.
    #[must_use]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.len]
    }
}

/// How decoded elements lie in their slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Length of each axis of the array, in elements. An N5 block may hold fewer than the chunk's.
    pub extent: Vec<usize>,
    /// Distance between neighbours along each axis, in elements.
    pub strides: Vec<isize>,
    /// What remains to be done to come to this machine's byte order.
    pub swap: Swap,
}

/// How decoded elements lie, against how this machine has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Swap {
    /// The same.
    #[default]
    None,
    /// Units of this many bytes (2, 4 or 8) are the other way round.
    Every(usize),
    /// Of each byte just the low bits count, and are to be extended over the others.
    LowBits {
        /// How many bits count.
        bits: u8,
        /// Whether the highest of them is a sign.
        signed: bool,
    },
    /// Some parts of each element lie otherwise.
    Leaves(Arc<LeafSwaps>),
}

/// The parts of a structured element that lie otherwise than this machine has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafSwaps {
    /// Size of an element in bytes.
    pub size: usize,
    /// The parts.
    pub leaves: Vec<Leaf>,
}

impl Swap {
    /// Brings elements, of which `bytes` holds a whole number, from one form to the other in place.
    pub fn apply(&self, bytes: &mut [u8]) {
        match *self {
            Self::None => {}
            Self::Every(2) => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|unit| unit.reverse()),
            Self::Every(4) => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|unit| unit.reverse()),
            Self::Every(8) => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|unit| unit.reverse()),
            Self::Every(width) => bytes.chunks_exact_mut(width.max(1)).for_each(<[u8]>::reverse),
            Self::LowBits { bits, signed } => bytes.iter_mut().for_each(|byte| extend(byte, bits, signed)),
            Self::Leaves(ref swaps) => {
                for element in bytes.chunks_exact_mut(swaps.size.max(1)) {
                    swaps.leaves.iter().for_each(|leaf| apply_leaf(leaf, element));
                }
            }
        }
    }
}

/// Extends the low bits of a byte over the others.
fn extend(byte: &mut u8, bits: u8, signed: bool) {
    let unused = 8 - u32::from(bits.clamp(1, 8));
    *byte = if signed {
        ((*byte << unused).cast_signed() >> unused).cast_unsigned()
    } else {
        *byte << unused >> unused
    };
}

fn apply_leaf(leaf: &Leaf, element: &mut [u8]) {
    let Some(units) = element.get_mut(leaf.offset..leaf.offset + leaf.unit * leaf.count) else { return };
    match leaf.form {
        LeafForm::Ordered => units.chunks_exact_mut(leaf.unit.max(1)).for_each(<[u8]>::reverse),
        LeafForm::LowBits { bits, signed } => units.iter_mut().for_each(|byte| extend(byte, bits, signed)),
    }
}

impl Layout {
    /// Elements in C order.
    #[must_use]
    pub fn c_order(extent: &[usize], swap: Swap) -> Self {
        Self { extent: extent.to_vec(), strides: c_strides(extent), swap }
    }

    /// The same elements under axes that are shuffled: axis `i` becomes axis `to[i]`.
    #[must_use]
    pub fn permuted(&self, to: &[usize]) -> Self {
        let mut permuted = self.clone();
        for (i, &axis) in to.iter().enumerate() {
            permuted.extent[axis] = self.extent[i];
            permuted.strides[axis] = self.strides[i];
        }
        permuted
    }
}

/// Strides in elements of an array in C order.
#[must_use]
pub fn c_strides(extent: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; extent.len()];
    for axis in (1..extent.len()).rev() {
        // An extent describes memory that exists, so that the product fits, or is empty, and no stride is ever used.
        strides[axis - 1] = isize::saturating_mul(strides[axis], extent[axis].max(1).cast_signed());
    }
    strides
}
