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
    /// Elements of sizes of their own, one behind the other in `bytes`.
    Vlen {
        /// Where each element ends in `bytes`.
        ends: &'a [u64],
        /// The contents.
        bytes: &'a [u8],
    },
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

/// Byte order of decoded elements, against this machine's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swap {
    /// The same.
    #[default]
    None,
    /// Units of this many bytes (2, 4 or 8) are the other way round.
    Every(usize),
}

impl Swap {
    /// Turns the units of `bytes` round in place.
    pub fn apply(self, bytes: &mut [u8]) {
        match self {
            Self::None => {}
            Self::Every(2) => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|unit| unit.reverse()),
            Self::Every(4) => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|unit| unit.reverse()),
            Self::Every(8) => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|unit| unit.reverse()),
            Self::Every(width) => bytes.chunks_exact_mut(width.max(1)).for_each(<[u8]>::reverse),
        }
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
