//! The types that elements can have.

pub(crate) mod any_elements;
pub(crate) mod element;
pub(crate) mod element_type;
pub(crate) mod fixed_elements;
#[cfg(feature = "jiff")]
pub(crate) mod jiff_times;
pub(crate) mod number;
pub(crate) mod plain_element;
pub(crate) mod small_floats;
pub(crate) mod small_numbers;
pub(crate) mod std_elements;
pub(crate) mod struct_field;
pub(crate) mod struct_plan;
#[doc(hidden)]
pub mod structured;
pub(crate) mod times;
#[macro_use]
pub(crate) mod type_table;
