//! Rust types that can be fields of structured elements: numbers, times, strings and arrays of
//! them.

use half::{bf16, f16};
use ndzarr_model::DataType;
use num_complex::Complex;

use crate::element_types::element::Element;
use crate::element_types::fixed_elements::{FixedBytes, FixedUtf32};
use crate::element_types::plain_element::PlainElement;
use crate::element_types::small_floats::{
    Float4E2M1Fn, Float6E2M3Fn, Float6E3M2Fn, Float8E3M4, Float8E4M3, Float8E4M3B11Fnuz,
    Float8E4M3Fn, Float8E4M3Fnuz, Float8E5M2, Float8E5M2Fnuz, Float8E8M0Fnu,
};
use crate::element_types::struct_plan::{FieldMismatch, FieldPlan, StructField};
use crate::element_types::times::{Datetime64, Timedelta64};

macro_rules! plain_field {
    ($($type:ty $({ $($bytes:tt)* })?),* $(,)?) => {$(
        impl StructField for $type {
            fn field_type() -> Option<(DataType, Vec<usize>)> {
                Some((<Self as PlainElement>::data_type(), Vec::new()))
            }

            fn plan(data_type: &DataType, shape: &[usize]) -> Result<FieldPlan, FieldMismatch> {
                element_plan::<Self>(data_type, shape)
            }

            #[inline]
            fn read(bytes: &[u8], _: &FieldPlan) -> Option<Self> {
                let repr = bytemuck::try_pod_read_unaligned(bytes).ok()?;
                <Self as PlainElement>::is_valid(&repr).then(|| <Self as PlainElement>::from_repr(repr))
            }

            #[inline]
            fn write(&self, bytes: &mut [u8], _: &FieldPlan) -> Result<(), String> {
                bytes.copy_from_slice(bytemuck::bytes_of(&self.to_repr()));
                Ok(())
            }

            $($($bytes)*)?
        }
    )*};
}
plain_field! {
    bool, i8, i16, i32, i64, u16, u32, u64, f16, bf16, f32, f64,
    Complex<f16>, Complex<bf16>, Complex<f32>, Complex<f64>,
    u8 {
        fn is_row(data_type: &DataType, n: usize) -> bool {
            matches!(data_type, DataType::Raw { bytes } | DataType::FixedBytes { bytes } if *bytes == n)
        }

        fn row_type(n: usize) -> Option<(DataType, Vec<usize>)> {
            Some((DataType::Raw { bytes: n }, Vec::new()))
        }
    },
}

macro_rules! element_field {
    (@one [$($generic:tt)*] $type:ty) => {
        impl<$($generic)*> StructField for $type {
            fn field_type() -> Option<(DataType, Vec<usize>)> {
                let data_type = <Self as Element>::new_type()?;
                data_type.elem_size().is_some().then(|| (data_type, Vec::new()))
            }

            fn plan(data_type: &DataType, shape: &[usize]) -> Result<FieldPlan, FieldMismatch> {
                element_plan::<Self>(data_type, shape)
            }

            fn read(bytes: &[u8], plan: &FieldPlan) -> Option<Self> {
                Self::from_content(bytes, &plan.data_type)
            }

            fn write(&self, bytes: &mut [u8], plan: &FieldPlan) -> Result<(), String> {
                let mut content = Vec::with_capacity(bytes.len());
                self.to_content(&plan.data_type, &mut content)?;
                bytes.copy_from_slice(&content);
                Ok(())
            }
        }
    };
    ($($type:ty),* $(,)?) => {$(element_field!(@one [] $type);)*};
}
element_field!(@one [const N: usize] FixedBytes<N>);
element_field!(@one [const N: usize] FixedUtf32<N>);
element_field! {
    Datetime64, Timedelta64, String, Vec<u8>,
    Float4E2M1Fn, Float6E2M3Fn, Float6E3M2Fn, Float8E3M4, Float8E4M3, Float8E4M3B11Fnuz, Float8E4M3Fn,
    Float8E4M3Fnuz, Float8E5M2, Float8E5M2Fnuz, Float8E8M0Fnu,
}

fn element_plan<T: StructField + Element>(
    data_type: &DataType,
    shape: &[usize],
) -> Result<FieldPlan, FieldMismatch> {
    match shape {
        [] if T::accepts(data_type) && data_type.elem_size().is_some() => {
            Ok(FieldPlan::leaf(data_type))
        }
        _ => Err(FieldMismatch::other_type::<T>(data_type, shape)),
    }
}

impl<T: StructField, const N: usize> StructField for [T; N] {
    fn field_type() -> Option<(DataType, Vec<usize>)> {
        T::row_type(N)
    }

    fn plan(data_type: &DataType, shape: &[usize]) -> Result<FieldPlan, FieldMismatch> {
        let item = match shape {
            [] if T::is_row(data_type, N) => T::plan(&DataType::UInt { bits: 8 }, &[]),
            [n, rest @ ..] if *n == N => T::plan(data_type, rest),
            _ => Err(FieldMismatch::other_type::<Self>(data_type, shape)),
        };
        // A single element does not show whether it belongs to a row.
        let item = item.map_err(|_| FieldMismatch::other_type::<Self>(data_type, shape))?;
        Ok(FieldPlan::row(item, N))
    }

    fn read(bytes: &[u8], plan: &FieldPlan) -> Option<Self> {
        let item = plan.item()?;
        let len = item.byte_len();
        let values: [Option<T>; N] = std::array::from_fn(|i| {
            bytes
                .get(i * len..(i + 1) * len)
                .and_then(|bytes| T::read(bytes, item))
        });
        if values.iter().any(Option::is_none) {
            return None;
        }
        Some(values.map(|value| value.expect("none of them is missing")))
    }

    fn write(&self, bytes: &mut [u8], plan: &FieldPlan) -> Result<(), String> {
        let item = plan.item().ok_or("a sub-array without elements")?;
        let len = item.byte_len();
        for (i, value) in self.iter().enumerate() {
            let bytes = bytes
                .get_mut(i * len..(i + 1) * len)
                .ok_or("a sub-array that is too short")?;
            value.write(bytes, item)?;
        }
        Ok(())
    }
}
