//! The input and output elements of a chain, and their layout in memory.

pub(crate) mod number;
pub(crate) mod swap_of;
pub(crate) mod window;

use std::sync::Arc;

use ndzarr_model::{Leaf, LeafForm};

use crate::strided::{self, Strided};

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
    /// Elements of various sizes.
    Vlen {
        /// The position of each element in `bytes`.
        slots: &'a [VlenSlot],
        /// The contents, in any order and with any gaps.
        bytes: &'a [u8],
    },
}

/// The position of an element of variable size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VlenSlot {
    /// Index of its first byte.
    pub start: usize,
    /// Its length in bytes.
    pub len: usize,
}

impl VlenSlot {
    /// The content.
    ///
    /// # Panics
    /// The slot lies outside these bytes.
    #[must_use]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.len]
    }
}

/// A box of decoded elements within their slice: all of them, or a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The position of its first element in the slice, in elements.
    pub offset: usize,
    /// Length along each axis of the array, in elements. An N5 block may have fewer than the chunk.
    pub extent: Vec<usize>,
    /// Distance between neighbours along each axis, in elements.
    pub strides: Vec<isize>,
    /// The swap that converts the elements to native form.
    pub swap: Swap,
}

/// The difference between the form of decoded elements and the native one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Swap {
    /// None.
    #[default]
    None,
    /// Units of this many bytes (2, 4 or 8) have the other byte order.
    Every(usize),
    /// In each byte only the low bits have a meaning; they are extended over the others.
    LowBits {
        /// Number of bits with a meaning.
        bits: u8,
        /// True if the highest of them is a sign.
        signed: bool,
    },
    /// Some parts of each element are not in native form.
    Leaves(Arc<LeafSwaps>),
}

/// The parts of a structured element that are not in native form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafSwaps {
    /// Size of an element in bytes.
    pub size: usize,
    /// The parts.
    pub leaves: Vec<Leaf>,
}

impl Swap {
    /// Converts elements, a whole number of which is in `bytes`, from one form to the other in
    /// place.
    pub fn apply(&self, bytes: &mut [u8]) {
        match *self {
            Self::None => {}
            Self::Every(2) => bytes
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .for_each(|unit| unit.reverse()),
            Self::Every(4) => bytes
                .as_chunks_mut::<4>()
                .0
                .iter_mut()
                .for_each(|unit| unit.reverse()),
            Self::Every(8) => bytes
                .as_chunks_mut::<8>()
                .0
                .iter_mut()
                .for_each(|unit| unit.reverse()),
            Self::Every(width) => bytes
                .chunks_exact_mut(width.max(1))
                .for_each(<[u8]>::reverse),
            Self::LowBits { bits, signed } => {
                bytes.iter_mut().for_each(|byte| extend(byte, bits, signed))
            }
            Self::Leaves(ref swaps) => {
                for element in bytes.chunks_exact_mut(swaps.size.max(1)) {
                    swaps
                        .leaves
                        .iter()
                        .for_each(|leaf| apply_leaf(leaf, element));
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
    let Some(units) = element.get_mut(leaf.offset..leaf.offset + leaf.unit * leaf.count) else {
        return;
    };
    match leaf.form {
        LeafForm::Ordered => units
            .chunks_exact_mut(leaf.unit.max(1))
            .for_each(<[u8]>::reverse),
        LeafForm::LowBits { bits, signed } => {
            units.iter_mut().for_each(|byte| extend(byte, bits, signed))
        }
    }
}

impl Layout {
    /// The layout of elements in C order.
    #[must_use]
    pub fn c_order(extent: &[usize], swap: Swap) -> Self {
        Self {
            offset: 0,
            extent: extent.to_vec(),
            strides: c_strides(extent),
            swap,
        }
    }

    /// The position of the elements in the slice.
    #[must_use]
    pub fn place(&self) -> Strided<'_> {
        Strided {
            offset: self.offset,
            strides: &self.strides,
        }
    }

    /// Copies the elements, which have a fixed size, to another place, in native form.
    ///
    /// # Panics
    /// If an index is outside its slice.
    pub fn copy_native(&self, bytes: &[u8], size: usize, out: &mut [u8], to: Strided<'_>) {
        let native;
        let bytes = if self.swap == Swap::None {
            bytes
        } else {
            let mut swapped = bytes.to_vec();
            self.swap.apply(&mut swapped);
            native = swapped;
            &native
        };
        strided::copy(&self.extent, size, bytes, self.place(), out, to);
    }

    /// Keeps only the `len` indices from `start` on along an axis. They are not checked here: the
    /// user of the elements reports an index outside.
    pub fn cut(&mut self, axis: usize, start: usize, len: usize) {
        self.offset = self
            .offset
            .wrapping_add_signed(self.strides[axis].wrapping_mul(start.cast_signed()));
        self.extent[axis] = len;
    }

    /// The layout with permuted axes: axis `i` becomes axis `to[i]`.
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
        // An extent describes memory that exists, so the product fits, or is empty, and then no
        // stride is used.
        strides[axis - 1] = isize::saturating_mul(strides[axis], extent[axis].max(1).cast_signed());
    }
    strides
}
