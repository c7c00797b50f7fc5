//! `AnyElements`: ndarrays whose element type is known only at run time.

use half::{bf16, f16};
use ndarray::{Array, ArrayD, ArrayViewMutD, CowArray, Dimension, Ix0, IxDyn, arr0};
use num_complex::Complex;
use serde_json::Value;

use crate::element_types::element::{Datetime64, Element, Timedelta64};
use crate::element_types::number::{Cast, Number};
use crate::error::{Error, ErrorKind, Result};
use crate::selections::resolved::into_dim;
use crate::tiles::output::blank;

/// Elements of an [`AnyArray`](crate::AnyArray): an ndarray of the Rust type that holds them exactly.
///
/// [`for_each_type!`](crate::for_each_type) runs the same code for whichever type it is. An ndarray
/// and a value become `AnyElements` by `from`.
///
/// ```
/// use ndarray::array;
/// use ndzarr::{AnyArray, AnyElements, DataType, MemoryStore, s};
///
/// let any = AnyArray::builder([2, 3]).data_type(DataType::Int { bits: 16 });
/// let any = any.create((MemoryStore::new(), "a"))?;
/// any.write(s![1, ..], &AnyElements::from(array![1i16, 2, 3]))?;
/// any.fill(s![0, ..2], -7i16)?;
///
/// let AnyElements::Int16(elements) = any.read(s![.., 1..])? else { panic!("they are int16") };
/// assert_eq!(elements, array![[-7, 0], [2, 3]]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnyElements<D: Dimension = IxDyn> {
    /// Of bool.
    Bool(Array<bool, D>),
    /// Of int2, int4 and int8.
    Int8(Array<i8, D>),
    /// Of int16.
    Int16(Array<i16, D>),
    /// Of int32.
    Int32(Array<i32, D>),
    /// Of int64.
    Int64(Array<i64, D>),
    /// Of uint2, uint4 and uint8.
    UInt8(Array<u8, D>),
    /// Of uint16.
    UInt16(Array<u16, D>),
    /// Of uint32.
    UInt32(Array<u32, D>),
    /// Of uint64.
    UInt64(Array<u64, D>),
    /// Of float16.
    Float16(Array<f16, D>),
    /// Of bfloat16.
    BFloat16(Array<bf16, D>),
    /// Of float32 and of floats of 4, 6 and 8 bits. Of the NaNs of the latter only one can be
    /// written.
    Float32(Array<f32, D>),
    /// Of float64.
    Float64(Array<f64, D>),
    /// Of complex64 and of complex numbers of smaller floats.
    Complex64(Array<Complex<f32>, D>),
    /// Of complex128.
    Complex128(Array<Complex<f64>, D>),
    /// Of dates; the data type has their unit.
    DateTime64(Array<Datetime64, D>),
    /// Of durations; the data type has their unit.
    TimeDelta64(Array<Timedelta64, D>),
    /// Of string and fixed_length_utf32, without the NULs behind it.
    String(Array<String, D>),
    /// Of bytes; of null_terminated_bytes, without the NULs behind it; lists of numbers in native byte
    /// order; the contents of other types of variable size.
    Bytes(Array<Vec<u8>, D>),
    /// Of the values of json2 and msgpack2.
    Json(Array<Value, D>),
    /// Of structures, raw bits and custom types of fixed size: their bytes, in native byte order,
    /// along one more axis, the last.
    Packed(Array<u8, D::Larger>),
}

/// Runs the same code for elements, or an array, of whichever type they are.
///
/// - `for_each_type!(elements, |array| …)`: for [`AnyElements`] of any type. `array` is the ndarray
///   in it, or a reference to it if `elements` is a reference.
/// - `for_each_type!(elements, |array: Number| …, other => …)`: for real numbers, whose type is a
///   [`Number`]; and what to do with all others, which a pattern receives.
/// - `for_each_type!(data_type, T: Number => …, other => …)`: for a reference to a
///   [`DataType`](crate::DataType), with `T` the type of its numbers.
///
/// The code is compiled once for each type, so a call of a generic function keeps it short.
///
/// ```
/// use ndarray::ArrayD;
/// use ndzarr::{AnyArray, Array, Cast, MemoryStore, Number, Result, for_each_type};
///
/// fn sum<T: Number>(array: &ArrayD<T>) -> Option<f64> {
///     Some(array.iter().map(|number| number.to_f64()).sum())
/// }
///
/// fn halve<T: Number>(array: &Array<T>) -> Result<()> {
///     let half = array.read(..)?.mapv(|number| number.to_f64() / 2.0);
///     array.write(.., &half.mapv(|number| T::from_f64(number, Cast::Checked).expect("it fits")))
/// }
///
/// let store = MemoryStore::new();
/// Array::<u16>::builder([2, 2]).fill_value(3).create((&store, "a"))?;
/// let any = AnyArray::open((&store, "a"))?;
///
/// let elements = any.read(..)?;
/// assert_eq!(for_each_type!(&elements, |array: Number| sum(array), _ => None), Some(12.0));
/// assert_eq!(for_each_type!(&elements, |array| format!("{:?}", array.first())), "Some(3)");
///
/// for_each_type!(any.data_type(), T: Number => halve::<T>(&any.clone().typed()?)?, other => {
///     println!("{other} has no half")
/// });
/// // 1.5 is as near to 1 as to 2, which is even.
/// assert_eq!(any.read_bytes(..)?, [2u16.to_ne_bytes(); 4].concat());
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[macro_export]
macro_rules! for_each_type {
    ($elements:expr, |$array:ident: Number| $body:expr, $other:pat => $else:expr $(,)?) => {
        match $elements {
            $crate::AnyElements::Int8($array) => $body,
            $crate::AnyElements::Int16($array) => $body,
            $crate::AnyElements::Int32($array) => $body,
            $crate::AnyElements::Int64($array) => $body,
            $crate::AnyElements::UInt8($array) => $body,
            $crate::AnyElements::UInt16($array) => $body,
            $crate::AnyElements::UInt32($array) => $body,
            $crate::AnyElements::UInt64($array) => $body,
            $crate::AnyElements::Float16($array) => $body,
            $crate::AnyElements::BFloat16($array) => $body,
            $crate::AnyElements::Float32($array) => $body,
            $crate::AnyElements::Float64($array) => $body,
            $other => $else,
        }
    };
    ($elements:expr, |$array:ident| $body:expr $(,)?) => {
        match $elements {
            $crate::AnyElements::Bool($array) => $body,
            $crate::AnyElements::Complex64($array) => $body,
            $crate::AnyElements::Complex128($array) => $body,
            $crate::AnyElements::DateTime64($array) => $body,
            $crate::AnyElements::TimeDelta64($array) => $body,
            $crate::AnyElements::String($array) => $body,
            $crate::AnyElements::Bytes($array) => $body,
            $crate::AnyElements::Json($array) => $body,
            $crate::AnyElements::Packed($array) => $body,
            elements => $crate::for_each_type!(elements, |$array: Number| $body, _ => {
                unreachable!("elements of a type of another version of this library")
            }),
        }
    };
    ($data_type:expr, $type:ident: Number => $body:expr, $other:pat => $else:expr $(,)?) => {
        match $data_type {
            $crate::DataType::Int { bits: 8 } => $crate::for_each_type!(@$type i8, $body),
            $crate::DataType::Int { bits: 16 } => $crate::for_each_type!(@$type i16, $body),
            $crate::DataType::Int { bits: 32 } => $crate::for_each_type!(@$type i32, $body),
            $crate::DataType::Int { bits: 64 } => $crate::for_each_type!(@$type i64, $body),
            $crate::DataType::UInt { bits: 8 } => $crate::for_each_type!(@$type u8, $body),
            $crate::DataType::UInt { bits: 16 } => $crate::for_each_type!(@$type u16, $body),
            $crate::DataType::UInt { bits: 32 } => $crate::for_each_type!(@$type u32, $body),
            $crate::DataType::UInt { bits: 64 } => $crate::for_each_type!(@$type u64, $body),
            $crate::DataType::Float { bits: 16 } => $crate::for_each_type!(@$type $crate::f16, $body),
            $crate::DataType::Float { bits: 32 } => $crate::for_each_type!(@$type f32, $body),
            $crate::DataType::Float { bits: 64 } => $crate::for_each_type!(@$type f64, $body),
            $crate::DataType::BFloat16 => $crate::for_each_type!(@$type $crate::bf16, $body),
            $other => $else,
        }
    };
    (@$name:ident $type:ty, $body:expr) => {{
        type $name = $type;
        $body
    }};
}

impl<D: Dimension> AnyElements<D> {
    /// Length along each axis, in elements.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        let shape = for_each_type!(self, |array| array.shape());
        match self {
            Self::Packed(_) => &shape[..shape.len() - 1],
            _ => shape,
        }
    }

    /// The numbers as another type, and bools as 0 and 1.
    ///
    /// # Errors
    /// [`WrongType`](ErrorKind::WrongType): the elements are not real numbers, or the first number
    /// that is out of range of `T`, and its index.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{AnyElements, Cast};
    ///
    /// let elements = AnyElements::from(array![1.5, 2.5, 300.0]);
    /// assert_eq!(elements.cast::<u8>(Cast::Saturating)?, array![2, 2, 255]);
    /// let error = elements.cast::<u8>(Cast::Checked).unwrap_err();
    /// assert_eq!(error.to_string(), "300.0 at [2] is out of range of uint8");
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn cast<T: Number>(&self, cast: Cast) -> Result<Array<T, D>> {
        if let Self::Bool(array) = self {
            return cast_all(&array.mapv(u8::from), cast);
        }
        for_each_type!(self, |array: Number| cast_all(array, cast), other => {
            let what = format!("the elements are {}, which are not real numbers", other.name());
            Err(Error::new(ErrorKind::WrongType, what))
        })
    }

    /// The same elements, with a number of dimensions known when the program runs.
    #[must_use]
    pub fn into_dyn(self) -> AnyElements {
        self.into_dim().expect("any number of dimensions is fine")
    }

    /// What the variant is called in messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "bool",
            Self::Int8(_) => "int8",
            Self::Int16(_) => "int16",
            Self::Int32(_) => "int32",
            Self::Int64(_) => "int64",
            Self::UInt8(_) => "uint8",
            Self::UInt16(_) => "uint16",
            Self::UInt32(_) => "uint32",
            Self::UInt64(_) => "uint64",
            Self::Float16(_) => "float16",
            Self::BFloat16(_) => "bfloat16",
            Self::Float32(_) => "float32",
            Self::Float64(_) => "float64",
            Self::Complex64(_) => "complex64",
            Self::Complex128(_) => "complex128",
            Self::DateTime64(_) => "dates",
            Self::TimeDelta64(_) => "durations",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Json(_) => "json",
            Self::Packed(_) => "packed bytes",
        }
    }
}

fn cast_all<S: Number, T: Number, D: Dimension>(from: &Array<S, D>, cast: Cast) -> Result<Array<T, D>> {
    let fits = |number: &S| T::narrow(number.widen()).1;
    // Looking at every number is faster than to stop at the first.
    if cast == Cast::Checked && !from.fold(true, |all, number| all & fits(number)) {
        let wrong = from.view().into_dyn();
        let wrong = wrong.indexed_iter().find(|(_, number)| !fits(number));
        let (index, number) = wrong.expect("one of them does not fit");
        let what = format!("{number:?} at {:?} is out of range of {}", index.slice(), T::data_type());
        return Err(Error::new(ErrorKind::WrongType, what));
    }
    let mut to = blank::<T>(from.shape())?.into_dimensionality().expect("the same shape");
    to.zip_mut_with(from, |to, number| *to = T::narrow(number.widen()).0);
    Ok(to)
}

/// The variants that hold an ndarray of one Rust type.
macro_rules! variants {
    ($($variant:ident($type:ty)),* $(,)?) => {
        impl<D: Dimension> AnyElements<D> {
            /// The same elements with another number of dimensions.
            pub(crate) fn into_dim<E: Dimension>(self) -> Result<AnyElements<E>> {
                Ok(match self {
                    $(Self::$variant(array) => AnyElements::$variant(into_dim(array.into_dyn())?),)*
                    Self::Packed(array) => AnyElements::Packed(into_dim(array.into_dyn())?),
                })
            }

            /// Takes the elements of others of the same type and shape.
            pub(crate) fn assign(&mut self, others: &AnyElements) {
                match (self, others) {
                    $((Self::$variant(to), AnyElements::$variant(from)) => {
                        to.view_mut().into_dyn().assign(from);
                    })*
                    (Self::Packed(to), AnyElements::Packed(from)) => to.view_mut().into_dyn().assign(from),
                    (to, from) => unreachable!("{} for {}", to.name(), from.name()),
                }
            }
        }

        $(
            impl<D: Dimension> From<Array<$type, D>> for AnyElements<D> {
                fn from(array: Array<$type, D>) -> Self {
                    Self::$variant(array)
                }
            }

            impl From<$type> for AnyElements<Ix0> {
                fn from(element: $type) -> Self {
                    Self::$variant(arr0(element))
                }
            }

            impl Held for $type {
                fn wrap(array: ArrayD<Self>) -> AnyElements {
                    AnyElements::$variant(array)
                }

                fn view<D: Dimension>(elements: &AnyElements<D>) -> Option<CowArray<'_, Self, IxDyn>> {
                    match elements {
                        AnyElements::$variant(array) => Some(array.view().into_dyn().into()),
                        _ => None,
                    }
                }

                fn view_mut<D: Dimension>(
                    elements: &mut AnyElements<D>,
                ) -> Option<ArrayViewMutD<'_, Self>> {
                    match elements {
                        AnyElements::$variant(array) => Some(array.view_mut().into_dyn()),
                        _ => None,
                    }
                }
            }
        )*
    };
}
variants! {
    Bool(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    UInt8(u8),
    UInt16(u16),
    UInt32(u32),
    UInt64(u64),
    Float16(f16),
    BFloat16(bf16),
    Float32(f32),
    Float64(f64),
    Complex64(Complex<f32>),
    Complex128(Complex<f64>),
    DateTime64(Datetime64),
    TimeDelta64(Timedelta64),
    String(String),
    Bytes(Vec<u8>),
    Json(Value),
}

impl From<&str> for AnyElements<Ix0> {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// A type that elements are read and written as, and the variant that they are part of.
pub(crate) trait Held: Element {
    fn wrap(array: ArrayD<Self>) -> AnyElements;

    fn view<D: Dimension>(elements: &AnyElements<D>) -> Option<CowArray<'_, Self, IxDyn>>;

    /// Their memory, if they lie there as this type.
    fn view_mut<D: Dimension>(_: &mut AnyElements<D>) -> Option<ArrayViewMutD<'_, Self>> {
        None
    }
}
