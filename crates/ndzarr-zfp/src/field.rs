//! The type and shape of elements, and how much of them zfp keeps.

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

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Everything.
    Reversible,
    /// The parameters of a stream.
    Expert {
        /// Fewest bits of a block.
        minbits: u32,
        /// Most bits of a block.
        maxbits: u32,
        /// Most bit planes.
        maxprec: u32,
        /// Lowest bit plane.
        minexp: i32,
    },
    /// This absolute error at most, as far as the type allows it.
    Accuracy(f64),
    /// So many bits for each element.
    Rate(f64),
    /// So many bit planes.
    Precision(u32),
}

/// Lengths of 1 to 4 dimensions, the one that varies fastest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// As zfp counts them: the fastest first.
    lengths: [usize; 4],
    ndim: usize,
}

impl Shape {
    /// A shape in C order; one without dimensions is one element.
    ///
    /// # Errors
    /// More than 4 dimensions, or a length of 0.
    pub fn new(shape: &[usize]) -> Result<Self, Error> {
        if shape.len() > 4 || shape.contains(&0) {
            return Err(Error::Shape);
        }
        let mut lengths = [1; 4];
        for (length, &n) in lengths.iter_mut().zip(shape.iter().rev()) {
            *length = n;
        }
        Ok(Self { lengths, ndim: shape.len().max(1) })
    }

    pub(crate) fn ndim(self) -> usize {
        self.ndim
    }

    /// The fastest dimension first.
    pub(crate) fn lengths(self) -> [usize; 4] {
        self.lengths
    }

    /// How many elements it has.
    #[must_use]
    pub fn n_elements(self) -> Option<usize> {
        self.lengths.iter().try_fold(1usize, |n, &length| n.checked_mul(length))
    }

    /// How many blocks of 4 elements along each dimension there are.
    pub(crate) fn n_blocks(self) -> usize {
        self.lengths[..self.ndim].iter().map(|&length| length.div_ceil(4)).product()
    }
}
