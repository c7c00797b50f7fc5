//! `AnyElements`: ndarrays whose element type is known only at run time.

use half::{bf16, f16};
use ndarray::{Array, ArrayD, ArrayViewMutD, CowArray, Dimension, Ix0, IxDyn, arr0};
use num_complex::Complex;
use serde_json::Value;

use crate::element_types::element::Element;
use crate::element_types::number::{Cast, Number};
use crate::error::{Error, ErrorKind, Result};
use crate::selections::resolved::into_dim;
use crate::tiles::output::blank;
use crate::{Datetime64, Timedelta64, element_types, for_each_type};

/// Elements of an [`AnyArray`](crate::AnyArray): an ndarray of the Rust type that holds them
/// exactly.
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
    /// Of bool.
    Bool(Array<bool, D>),
    /// Of complex64 and of complex numbers of smaller floats.
    Complex64(Array<Complex<f32>, D>),
    /// Of complex128.
    Complex128(Array<Complex<f64>, D>),
    /// Of dates; the data type has their unit.
    DateTime64(Array<Datetime64, D>),
    /// Of durations; the data type has their unit.
    TimeDelta64(Array<Timedelta64, D>),
    /// Of string and fixed_length_utf32, without its trailing NULs.
    String(Array<String, D>),
    /// Of bytes; of null_terminated_bytes, without its trailing NULs; lists of numbers in native
    /// byte order; the contents of other types of variable size.
    Bytes(Array<Vec<u8>, D>),
    /// Of the values of json2 and msgpack2.
    Json(Array<Value, D>),
    /// Of structures, raw bits and custom types of fixed size: their bytes, in native byte order,
    /// along one more axis, the last.
    Packed(Array<u8, D::Larger>),
}

// What the table has no row for, or another type, does not compile.
macro_rules! any_elements {
    (
        @variants ()
        $([$($variant:ident {
            $type:ty, $name:literal, $_exact:tt $(, $_wider:tt)?
        })*])*
    ) => {
        impl<D: Dimension> AnyElements<D> {
            /// What the variant is called in messages.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $($(Self::$variant(_) => $name,)*)*
                    Self::Packed(_) => "packed bytes",
                }
            }

            /// The elements with another number of dimensions.
            pub(crate) fn into_dim<E: Dimension>(self) -> Result<AnyElements<E>> {
                Ok(match self {
                    $($(Self::$variant(array) => AnyElements::$variant(into_dim(array.into_dyn())?),)*)*
                    Self::Packed(array) => AnyElements::Packed(into_dim(array.into_dyn())?),
                })
            }

            /// Takes the elements of others of the same type and shape.
            pub(crate) fn assign(&mut self, others: &AnyElements) {
                match (self, others) {
                    $($((Self::$variant(to), AnyElements::$variant(from)) => {
                        to.view_mut().into_dyn().assign(from);
                    })*)*
                    (Self::Packed(to), AnyElements::Packed(from)) => to.view_mut().into_dyn().assign(from),
                    (to, from) => unreachable!("{} for {}", to.name(), from.name()),
                }
            }
        }

        $($(
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

            impl VariantElement for $type {
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
        )*)*
    };
}
element_types!(any_elements, @variants ());

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

    /// The elements with a number of dimensions that is known when the program runs.
    #[must_use]
    pub fn into_dyn(self) -> AnyElements {
        self.into_dim().expect("any number of dimensions is fine")
    }
}

fn cast_all<S: Number, T: Number, D: Dimension>(
    from: &Array<S, D>,
    cast: Cast,
) -> Result<Array<T, D>> {
    let fits = |number: &S| T::narrow(number.widen()).1;
    // Looking at every number is faster than to stop at the first.
    if cast == Cast::Checked && !from.fold(true, |all, number| all & fits(number)) {
        let wrong = from.view().into_dyn();
        let wrong = wrong.indexed_iter().find(|(_, number)| !fits(number));
        let (index, number) = wrong.expect("one of them does not fit");
        let what = format!(
            "{number:?} at {:?} is out of range of {}",
            index.slice(),
            T::data_type()
        );
        return Err(Error::new(ErrorKind::WrongType, what));
    }
    let mut to = blank::<T>(from.shape())?
        .into_dimensionality()
        .expect("the same shape");
    to.zip_mut_with(from, |to, number| *to = T::narrow(number.widen()).0);
    Ok(to)
}

impl From<&str> for AnyElements<Ix0> {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// A type that elements are read and written as, and the variant that they are part of.
pub(crate) trait VariantElement: Element {
    fn wrap(array: ArrayD<Self>) -> AnyElements;

    fn view<D: Dimension>(elements: &AnyElements<D>) -> Option<CowArray<'_, Self, IxDyn>>;

    /// Their memory, if they lie there as this type.
    fn view_mut<D: Dimension>(_: &mut AnyElements<D>) -> Option<ArrayViewMutD<'_, Self>> {
        None
    }
}
