//! The table of the element types, `element_types!`, and the macros that run code for whichever of
//! them an array has.

/// The element types: a row for each variant of [`AnyElements`](crate::AnyElements) that holds
/// values of one Rust type. Calls `$macro` with the rows of real numbers, and then those of all
/// other types.
///
/// A row has the variant, the Rust type, its name in messages, the data type that has the
/// values of the Rust type, and others that it holds too.
#[doc(hidden)]
#[macro_export]
macro_rules! element_types {
    ($($macro:tt)::+, @$what:ident $given:tt) => {
        $($macro)::+! {
            @$what $given
            [
                Int8 {
                    i8, "int8", [Int { bits: 8 }], [Int { bits: 2 | 4 }]
                }
                Int16 {
                    i16, "int16", [Int { bits: 16 }]
                }
                Int32 {
                    i32, "int32", [Int { bits: 32 }]
                }
                Int64 {
                    i64, "int64", [Int { bits: 64 }]
                }
                UInt8 {
                    u8, "uint8", [UInt { bits: 8 }], [UInt { bits: 2 | 4 }]
                }
                UInt16 {
                    u16, "uint16", [UInt { bits: 16 }]
                }
                UInt32 {
                    u32, "uint32", [UInt { bits: 32 }]
                }
                UInt64 {
                    u64, "uint64", [UInt { bits: 64 }]
                }
                Float16 {
                    $crate::f16, "float16", [Float { bits: 16 }]
                }
                BFloat16 {
                    $crate::bf16, "bfloat16", [BFloat16]
                }
                Float32 {
                    f32, "float32", [Float { bits: 32 }]
                }
                Float64 {
                    f64, "float64", [Float { bits: 64 }]
                }
            ]
            [
                Bool {
                    bool, "bool", [Bool]
                }
                Complex64 {
                    num_complex::Complex<f32>, "complex64", [Complex { bits: 64 }]
                }
                Complex128 {
                    num_complex::Complex<f64>, "complex128", [Complex { bits: 128 }]
                }
                DateTime64 {
                    $crate::Datetime64, "dates", [DateTime64 { .. }]
                }
                TimeDelta64 {
                    $crate::Timedelta64, "durations", [TimeDelta64 { .. }]
                }
                String {
                    String, "string", [String], [FixedUtf32 { .. }]
                }
                Bytes {
                    Vec<u8>, "bytes", [Bytes], [FixedBytes { .. }]
                }
                Json {
                    serde_json::Value, "json", [Json]
                }
            ]
        }
    };
}

/// Runs the same code for elements, or an array, of whichever type they are.
///
/// - `for_each_type!(elements, |array| …)`: for [`AnyElements`](crate::AnyElements) of any type.
///   `array` is the ndarray in it, or a reference to it if `elements` is a reference.
/// - `for_each_type!(elements, |array: Number| …, other => …)`: for real numbers, whose type is a
///   [`Number`](crate::Number); and what to do with all others, which a pattern receives.
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
    (
        @numbers ($elements:expr, $array:ident, $body:expr, $other:pat => $else:expr)
        [$($number:ident $_row:tt)*] $_others:tt
    ) => {
        match $elements {
            $($crate::AnyElements::$number($array) => $body,)*
            $other => $else,
        }
    };
    (@all ($elements:expr, $array:ident, $body:expr) $([$($variant:ident $_row:tt)*])*) => {
        match $elements {
            $($($crate::AnyElements::$variant($array) => $body,)*)*
            $crate::AnyElements::Packed($array) => $body,
            #[allow(unreachable_patterns)]
            _ => unreachable!("elements of a type of another version of this library"),
        }
    };
    (
        @data_types ($data_type:expr, $type:ident, $body:expr, $other:pat => $else:expr)
        [$($_variant:ident {
            $number:ty, $_name:literal, [$($exact:tt)*] $(, $_wider:tt)?
        })*]
        $_others:tt
    ) => {
        match $data_type {
            $($crate::DataType::$($exact)* => {
                type $type = $number;
                $body
            })*
            $other => $else,
        }
    };
    ($elements:expr, |$array:ident: Number| $body:expr, $other:pat => $else:expr $(,)?) => {
        $crate::element_types!($crate::for_each_type, @numbers ($elements, $array, $body, $other => $else))
    };
    ($elements:expr, |$array:ident| $body:expr $(,)?) => {
        $crate::element_types!($crate::for_each_type, @all ($elements, $array, $body))
    };
    ($data_type:expr, $type:ident: Number => $body:expr, $other:pat => $else:expr $(,)?) => {
        $crate::element_types!($crate::for_each_type, @data_types ($data_type, $type, $body, $other => $else))
    };
}

/// Runs `$body` with `$t` the type that elements are read and written as, or `$packed` for those
/// that have none.
macro_rules! with_held {
    (
        @held ($data_type:expr, $t:ident, $body:expr, $packed:expr)
        $([$($_variant:ident {
            $type:ty, $_name:literal, [$($exact:tt)*] $(, [$($wider:tt)*])?
        })*])*
    ) => {
        match $data_type {
            $($($crate::DataType::$($exact)* $(| $crate::DataType::$($wider)*)? => {
                type $t = $type;
                $body
            })*)*
            $crate::DataType::SmallFloat(_) => {
                type $t = $crate::element_types::small_numbers::SmallReal;
                $body
            }
            $crate::DataType::ComplexOf(_) => {
                type $t = $crate::element_types::small_numbers::SmallComplex;
                $body
            }
            data_type if data_type.elem_size().is_none() => {
                type $t = Vec<u8>;
                $body
            }
            _ => $packed,
        }
    };
    ($data_type:expr, $t:ident => $body:expr, $packed:expr) => {
        $crate::element_types!($crate::element_types::type_table::with_held, @held ($data_type, $t, $body, $packed))
    };
}
pub(crate) use with_held;
