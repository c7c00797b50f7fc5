//! The trait `PlainElement`: Rust types that differ from stored elements at most in byte order.

use bytemuck::Pod;
use half::{bf16, f16};
use ndzarr_model::{ComplexPart, DataType};
use num_complex::Complex;

/// A Rust type with the same layout in memory as in storage, except for the byte order. Each is an
/// [`Element`](crate::Element).
pub trait PlainElement: Copy + bytemuck::Zeroable + Send + Sync + 'static {
    /// The representation in memory and files: the type itself, or the byte of a `bool`.
    type Repr: Repr;

    /// The data type of the elements of a new array.
    fn data_type() -> DataType;

    /// Whether elements of a stored type are values of this one.
    fn accepts(stored: &DataType) -> bool {
        *stored == Self::data_type()
    }

    /// The value's representation.
    fn to_repr(self) -> Self::Repr;

    /// The value of a representation. Call it only if [`is_valid`](Self::is_valid).
    fn from_repr(repr: Self::Repr) -> Self;

    /// Whether these bits are a valid value of the type.
    fn is_valid(repr: &Self::Repr) -> bool {
        let _ = repr;
        true
    }

    /// Whether any bits are a valid value of the type.
    const ANY_BITS: bool = true;

    /// Memory of this type as its representation, if any bits are valid values.
    fn cast_slice_mut(slice: &mut [Self]) -> Option<&mut [Self::Repr]>;
}

/// Plain memory whose byte order can be reversed.
pub trait Repr: Pod + Send + Sync {
    /// Reverses the bytes of each unit of `width` bytes.
    #[must_use]
    fn swapped(self, width: usize) -> Self;
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Repr for $type {
            #[inline]
            fn swapped(self, _: usize) -> Self {
                self.swap_bytes()
            }
        }
    )*};
}
integer!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! by_bits {
    ($($type:ty),*) => {$(
        impl Repr for $type {
            #[inline]
            fn swapped(self, _: usize) -> Self {
                Self::from_bits(self.to_bits().swap_bytes())
            }
        }
    )*};
}
by_bits!(f16, bf16, f32, f64);

macro_rules! complex {
    ($($type:ty),*) => {$(
        impl Repr for Complex<$type> {
            #[inline]
            fn swapped(self, width: usize) -> Self {
                Self::new(self.re.swapped(width), self.im.swapped(width))
            }
        }
    )*};
}
complex!(f16, bf16, f32, f64);

impl<const N: usize> Repr for [u8; N] {
    #[inline]
    fn swapped(mut self, width: usize) -> Self {
        match width {
            // The compiler generates faster code for widths that it knows.
            2 => self.as_chunks_mut::<2>().0.iter_mut().for_each(|unit| unit.reverse()),
            4 => self.as_chunks_mut::<4>().0.iter_mut().for_each(|unit| unit.reverse()),
            8 => self.as_chunks_mut::<8>().0.iter_mut().for_each(|unit| unit.reverse()),
            _ => self.chunks_exact_mut(width.max(1)).for_each(<[u8]>::reverse),
        }
        self
    }
}

macro_rules! element {
    ($($type:ty => $data_type:expr $(, or ($or:pat))?);* $(;)?) => {$(
        impl PlainElement for $type {
            type Repr = Self;

            fn data_type() -> DataType {
                $data_type
            }

            $(fn accepts(stored: &DataType) -> bool {
                *stored == Self::data_type() || matches!(stored, $or)
            })?

            #[inline]
            fn to_repr(self) -> Self {
                self
            }

            #[inline]
            fn from_repr(repr: Self) -> Self {
                repr
            }

            fn cast_slice_mut(slice: &mut [Self]) -> Option<&mut [Self]> {
                Some(slice)
            }
        }
    )*};
}
element! {
    i8 => DataType::Int { bits: 8 }, or (DataType::Int { bits: 2 | 4 });
    i16 => DataType::Int { bits: 16 };
    i32 => DataType::Int { bits: 32 };
    i64 => DataType::Int { bits: 64 };
    u8 => DataType::UInt { bits: 8 }, or (DataType::UInt { bits: 2 | 4 } | DataType::SmallFloat(_));
    u16 => DataType::UInt { bits: 16 };
    u32 => DataType::UInt { bits: 32 };
    u64 => DataType::UInt { bits: 64 };
    f16 => DataType::Float { bits: 16 };
    f32 => DataType::Float { bits: 32 };
    f64 => DataType::Float { bits: 64 };
    bf16 => DataType::BFloat16;
    Complex<f16> => DataType::ComplexOf(ComplexPart::Float16);
    Complex<bf16> => DataType::ComplexOf(ComplexPart::BFloat16);
    Complex<f32> => DataType::Complex { bits: 64 };
    Complex<f64> => DataType::Complex { bits: 128 };
}

impl<const N: usize> PlainElement for [u8; N] {
    type Repr = Self;

    fn data_type() -> DataType {
        DataType::Raw { bytes: N }
    }

    fn accepts(stored: &DataType) -> bool {
        matches!(stored, DataType::Raw { bytes } | DataType::FixedBytes { bytes } if *bytes == N)
    }

    #[inline]
    fn to_repr(self) -> Self {
        self
    }

    #[inline]
    fn from_repr(repr: Self) -> Self {
        repr
    }

    fn cast_slice_mut(slice: &mut [Self]) -> Option<&mut [Self]> {
        Some(slice)
    }
}

impl PlainElement for bool {
    type Repr = u8;

    fn data_type() -> DataType {
        DataType::Bool
    }

    #[inline]
    fn to_repr(self) -> u8 {
        u8::from(self)
    }

    #[inline]
    fn from_repr(repr: u8) -> Self {
        repr != 0
    }

    #[inline]
    fn is_valid(repr: &u8) -> bool {
        *repr <= 1
    }

    const ANY_BITS: bool = false;

    fn cast_slice_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }
}
