//! Rust structures as elements.

use ndzarr_model::DataType;

use crate::element_types::element::{Reader, Writer};
use crate::element_types::struct_plan::StructField;

#[doc(hidden)]
pub use crate::element_types::element::{Reader as ReaderOf, Writer as WriterOf};
#[doc(hidden)]
pub use crate::element_types::struct_plan::{PlanOf, new_structure};

/// Makes a `struct` an [`Element`](crate::Element) of structured arrays.
///
/// It lists the fields with their types, each a [`StructField`](crate::StructField). Write
/// `field as "name": type` if the field has another name in the array. The array's fields must
/// match these by name, type and sub-array shape, in any order; opening it otherwise fails with an
/// error that names the field that differs. Padding in stored elements is skipped on reading and
/// written as zeros. The `struct` may have any layout in memory.
///
/// ```
/// use ndarray::array;
/// use ndzarr::{Array, Format, MemoryStore, codec, structured};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Spin {
///     axis: [f32; 3],
///     up: bool,
/// }
/// structured!(Spin { axis: [f32; 3], up: bool });
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Particle {
///     id: u32,
///     kind: u8,
///     spin: Spin,
/// }
/// structured!(Particle { id: u32, kind as "type": u8, spin: Spin });
///
/// let store = MemoryStore::new();
/// let muon = Particle { id: 7, kind: 2, spin: Spin { axis: [0.0, 0.0, 1.0], up: true } };
/// let nothing = Particle { id: 0, kind: 0, spin: Spin { axis: [0.0; 3], up: false } };
/// // Zarr v2, because Zarr v3 has no sub-arrays.
/// let a = Array::<Particle>::builder([4])
///     .format(Format::Zarr2)
///     .codecs([codec::zstd(3)])
///     .fill_value(nothing)
///     .create((&store, "particles"))?;
/// a.write([2..3], &array![muon])?;
///
/// let a = Array::<Particle>::open((&store, "particles"))?;
/// assert_eq!(a.read([1..3])?, array![nothing, muon]);
///
/// #[derive(Clone, Debug)]
/// struct Other {
///     id: i64,
/// }
/// structured!(Other { id: i64 });
/// let error = Array::<Other>::open((&store, "particles")).unwrap_err();
/// assert!(error.to_string().contains(r#"the field "id" is uint32, not int64"#), "{error}");
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[macro_export]
macro_rules! structured {
    ($type:ident { $($field:ident $(as $name:literal)? : $of:ty),+ $(,)? }) => {
        impl $crate::StructField for $type {
            fn field_type() -> ::core::option::Option<($crate::DataType, ::std::vec::Vec<usize>)> {
                let data_type = $crate::structured::new_structure(&[
                    $(($crate::structured!(@name $field $($name)?), <$of as $crate::StructField>::field_type())),+
                ])?;
                ::core::option::Option::Some((data_type, ::std::vec::Vec::new()))
            }

            fn plan(
                data_type: &$crate::DataType,
                shape: &[usize],
            ) -> ::core::result::Result<$crate::FieldPlan, $crate::FieldMismatch> {
                $crate::FieldPlan::structure::<Self>(data_type, shape, &[$((
                    $crate::structured!(@name $field $($name)?),
                    <$of as $crate::StructField>::plan as $crate::structured::PlanOf,
                )),+])
            }

            fn read(bytes: &[u8], plan: &$crate::FieldPlan) -> ::core::option::Option<Self> {
                let mut fields = 0..;
                ::core::option::Option::Some(Self {
                    $($field: plan.read::<$of>(bytes, fields.next()?)?),+
                })
            }

            fn write(
                &self,
                bytes: &mut [u8],
                plan: &$crate::FieldPlan,
            ) -> ::core::result::Result<(), ::std::string::String> {
                let mut fields = 0usize;
                $(
                    plan.write::<$of>(&self.$field, bytes, fields)?;
                    fields += 1;
                )+
                let _ = fields;
                ::core::result::Result::Ok(())
            }
        }

        impl $crate::Element for $type {
            fn accepts(stored: &$crate::DataType) -> bool {
                <Self as $crate::StructField>::plan(stored, &[]).is_ok()
            }

            fn new_type() -> ::core::option::Option<$crate::DataType> {
                <Self as $crate::StructField>::field_type().map(|(data_type, _)| data_type)
            }

            fn to_content(
                &self,
                stored: &$crate::DataType,
                out: &mut ::std::vec::Vec<u8>,
            ) -> ::core::result::Result<(), ::std::string::String> {
                $crate::structured::writer::<Self>(stored)(self, out)
            }

            fn from_content(content: &[u8], stored: &$crate::DataType) -> ::core::option::Option<Self> {
                $crate::structured::reader::<Self>(stored)(content)
            }

            fn mismatch(stored: &$crate::DataType) -> ::core::option::Option<::std::string::String> {
                let plan = <Self as $crate::StructField>::plan(stored, &[]);
                plan.err().map(|mismatch| ::std::string::ToString::to_string(&mismatch))
            }

            fn reader(stored: &$crate::DataType) -> $crate::structured::ReaderOf<Self> {
                $crate::structured::reader(stored)
            }

            fn writer(stored: &$crate::DataType) -> $crate::structured::WriterOf<Self> {
                $crate::structured::writer(stored)
            }
        }
    };
    (@name $field:ident) => {
        ::core::stringify!($field).trim_start_matches("r#")
    };
    (@name $field:ident $name:literal) => {
        $name
    };
}

/// Reads elements of a stored type; the plan is made once.
#[doc(hidden)]
#[must_use]
pub fn reader<T: StructField>(stored: &DataType) -> Reader<T> {
    let plan = T::plan(stored, &[]).ok();
    let stored = stored.clone();
    let any_bits = stored.is_any_bits();
    Box::new(move |content| {
        let plan = plan
            .as_ref()
            .filter(|plan| plan.byte_len() == content.len())?;
        (any_bits || stored.is_element(content))
            .then(|| T::read(content, plan))
            .flatten()
    })
}

/// Writes elements of a stored type; the plan is made once.
#[doc(hidden)]
#[must_use]
pub fn writer<T: StructField>(stored: &DataType) -> Writer<T> {
    let plan = T::plan(stored, &[]);
    Box::new(move |value, out| {
        let plan = plan.as_ref().map_err(ToString::to_string)?;
        let start = out.len();
        // Padding is zero.
        out.resize(start + plan.byte_len(), 0);
        value.write(&mut out[start..], plan)
    })
}
