//! The trait `PlainElement`: Rust types that differ from stored elements at most in byte order.

use bytemuck::Pod;
use half::{bf16, f16};
use ndarray::{ArrayViewD, ArrayViewMutD};
use ndzarr_codec::Swap;
use ndzarr_model::{ComplexPart, DataType};
use num_complex::Complex;

use crate::tiles::assign::{as_it_is, assign, same, stream};

/// A Rust type with the same layout in memory as in storage, except for the byte order. Each is an
/// [`Element`](crate::Element).
pub trait PlainElement: Copy + bytemuck::Zeroable + Send + Sync + 'static {
    /// The representation in memory and files: the type itself, or the byte of a `bool`.
    type Repr: Repr;

    /// The data type of the elements of a new array.
    fn data_type() -> DataType;

    /// Returns `true` if elements of a stored type are values of this one.
    fn accepts(stored: &DataType) -> bool {
        *stored == Self::data_type()
    }

    /// The value's representation.
    fn to_repr(self) -> Self::Repr;

    /// The value of a representation. Call it only if [`is_valid`](Self::is_valid).
    fn from_repr(repr: Self::Repr) -> Self;

    /// Returns `true` if these bits are a valid value of the type.
    fn is_valid(repr: &Self::Repr) -> bool {
        let _ = repr;
        true
    }

    /// Any bits are a valid value of the type.
    const ANY_BITS: bool = true;

    /// Memory of this type as its representation, if any bits are valid values.
    fn cast_slice_mut(slice: &mut [Self]) -> Option<&mut [Self::Repr]>;

    /// Puts valid elements of a chunk into a view, bypassing the caches if it is `streamed`.
    #[doc(hidden)]
    fn put(
        src: ArrayViewD<'_, Self::Repr>,
        mut dst: ArrayViewMutD<'_, Self>,
        swap: &Swap,
        streamed: bool,
    ) {
        match swap {
            Swap::None if streamed && stream(src.view(), dst.view_mut(), Self::cast_slice_mut) => {}
            Swap::None => assign(src, dst, Self::from_repr),
            Swap::Every(width) => assign(src, dst, |repr| Self::from_repr(repr.swapped(*width))),
            swap => assign(src, dst, |repr| Self::from_repr(brought(repr, swap))),
        }
    }

    /// Runs a call that moves elements, as they are or as their bytes.
    #[doc(hidden)]
    fn moved<C: Moving<Self>>(call: C) -> C::Output {
        call.run()
    }
}

/// A call that moves plain elements of a type. Those of this library are moved as bytes, so that
/// the call is compiled once for each size.
///
/// A read of a selection gets here and on by `Values::tiles` of `Stored`, `Element::tiles`,
/// `PlainElement::moved`, then `run_on_bytes` for a type of this library, else `run`, and
/// `ArrayInfo::tiles`, which has the code. A write goes from `ArrayInfo::write_view` to
/// `ArrayInfo::sources` likewise.
#[doc(hidden)]
pub trait Moving<T> {
    /// What the call returns.
    type Output;

    /// Runs it.
    fn run(self) -> Self::Output;

    /// Runs it with elements as their bytes.
    fn run_on_bytes<const N: usize>(self) -> Self::Output
    where
        T: Pod;
}

/// Converts an element to native form.
pub(crate) fn brought<R: Repr>(mut repr: R, swap: &Swap) -> R {
    swap.apply(bytemuck::bytes_of_mut(&mut repr));
    repr
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
            2 => self
                .as_chunks_mut()
                .0
                .iter_mut()
                .for_each(|unit| *unit = u16::from_ne_bytes(*unit).swap_bytes().to_ne_bytes()),
            4 => self
                .as_chunks_mut()
                .0
                .iter_mut()
                .for_each(|unit| *unit = u32::from_ne_bytes(*unit).swap_bytes().to_ne_bytes()),
            8 => self
                .as_chunks_mut()
                .0
                .iter_mut()
                .for_each(|unit| *unit = u64::from_ne_bytes(*unit).swap_bytes().to_ne_bytes()),
            _ => self
                .chunks_exact_mut(width.max(1))
                .for_each(<[u8]>::reverse),
        }
        self
    }
}

macro_rules! element {
    ($($type:ty, $size:literal => $data_type:expr $(, or ($or:pat))?);* $(;)?) => {$(
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

            fn moved<C: Moving<Self>>(call: C) -> C::Output {
                call.run_on_bytes::<$size>()
            }
        }
    )*};
}
element! {
    i8, 1 => DataType::Int { bits: 8 }, or (DataType::Int { bits: 2 | 4 });
    i16, 2 => DataType::Int { bits: 16 };
    i32, 4 => DataType::Int { bits: 32 };
    i64, 8 => DataType::Int { bits: 64 };
    u8, 1 => DataType::UInt { bits: 8 }, or (DataType::UInt { bits: 2 | 4 } | DataType::SmallFloat(_));
    u16, 2 => DataType::UInt { bits: 16 };
    u32, 4 => DataType::UInt { bits: 32 };
    u64, 8 => DataType::UInt { bits: 64 };
    f16, 2 => DataType::Float { bits: 16 };
    f32, 4 => DataType::Float { bits: 32 };
    f64, 8 => DataType::Float { bits: 64 };
    bf16, 2 => DataType::BFloat16;
    Complex<f16>, 4 => DataType::ComplexOf(ComplexPart::Float16);
    Complex<bf16>, 4 => DataType::ComplexOf(ComplexPart::BFloat16);
    Complex<f32>, 8 => DataType::Complex { bits: 64 };
    Complex<f64>, 16 => DataType::Complex { bits: 128 };
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

    fn put(
        src: ArrayViewD<'_, Self>,
        mut dst: ArrayViewMutD<'_, Self>,
        swap: &Swap,
        streamed: bool,
    ) {
        match swap {
            Swap::None if streamed && stream(src.view(), dst.view_mut(), as_it_is) => {}
            Swap::None => assign(src, dst, same),
            // The compiler generates faster code for widths that it knows.
            Swap::Every(width) if *width == N => assign(src, dst, |element| element.swapped(N)),
            Swap::Every(width) if 2 * width == N => {
                assign(src, dst, |element| element.swapped(N / 2))
            }
            swap => {
                assign(src, dst.view_mut(), same);
                for mut row in dst.rows_mut() {
                    match row.as_slice_mut() {
                        Some(row) => swap.apply(row.as_flattened_mut()),
                        None => row.iter_mut().for_each(|element| swap.apply(element)),
                    }
                }
            }
        }
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
