//! The type and shape of elements, and the precision that zfp keeps.

use crate::Error;

/// The type of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scalar {
    Int32,
    Int64,
    Float32,
    Float64,
}

impl Scalar {
    /// Size of an element in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Int32 | Self::Float32 => 4,
            Self::Int64 | Self::Float64 => 8,
        }
    }
}

/// The precision to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Everything.
    Reversible,
    /// The parameters of a stream.
    Expert {
        /// Minimum bits of a block.
        minbits: u32,
        /// Maximum bits of a block.
        maxbits: u32,
        /// Maximum number of bit planes.
        maxprec: u32,
        /// Lowest bit plane.
        minexp: i32,
    },
    /// A maximum absolute error, as far as the type allows it.
    Accuracy(f64),
    /// A number of bits per element.
    Rate(f64),
    /// A number of bit planes.
    Precision(u32),
}

/// Lengths of 1 to 4 dimensions, the fastest varying one last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// In zfp's order: the fastest varying dimension first.
    lengths: [usize; 4],
    ndim: usize,
}

impl Shape {
    /// A shape in C order; one without dimensions is a single element.
    ///
    /// # Errors
    /// `shape` has more than 4 dimensions, or a length of 0.
    pub fn new(shape: &[usize]) -> Result<Self, Error> {
        if shape.len() > 4 || shape.contains(&0) {
            return Err(Error::Shape);
        }
        let mut lengths = [1; 4];
        for (length, &n) in lengths.iter_mut().zip(shape.iter().rev()) {
            *length = n;
        }
        Ok(Self {
            lengths,
            ndim: shape.len().max(1),
        })
    }

    pub(crate) fn ndim(self) -> usize {
        self.ndim
    }

    /// The lengths, the fastest varying dimension first.
    pub(crate) fn lengths(self) -> [usize; 4] {
        self.lengths
    }

    /// The number of elements; `None` if it exceeds `usize`.
    #[must_use]
    pub fn n_elements(self) -> Option<usize> {
        self.lengths
            .iter()
            .try_fold(1usize, |n, &length| n.checked_mul(length))
    }

    /// The number of blocks of 4 elements along each dimension; at most `usize::MAX`.
    pub(crate) fn n_blocks(self) -> usize {
        self.lengths[..self.ndim]
            .iter()
            .fold(1, |n, &length| n.saturating_mul(length.div_ceil(4)))
    }
}
