//! `DataType`: the type of an element in memory.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::{CustomType, Field, SmallFloat, StructType, TimeUnit};

mod leaves;
mod validity;

pub use leaves::{Leaf, LeafForm};

/// Type of one element in memory. The array→bytes codec defines the stored byte order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataType {
    /// One byte, 0 or 1.
    Bool,
    /// Two's complement of 2, 4, 8, 16, 32 or 64 bits; those below 8 in a byte, with their sign in
    /// its upper bits.
    Int {
        /// Width of the element in bits.
        bits: u8,
    },
    /// Unsigned of 2, 4, 8, 16, 32 or 64 bits; those below 8 in a byte.
    UInt {
        /// Width of the element in bits.
        bits: u8,
    },
    /// IEEE 754 of 16, 32 or 64 bits.
    Float {
        /// Width of the element in bits.
        bits: u8,
    },
    /// The upper half of a float32.
    BFloat16,
    /// A float of 4, 6 or 8 bits, in a byte.
    SmallFloat(SmallFloat),
    /// Two floats, real then imaginary.
    Complex {
        /// Width of the whole element in bits: 64 or 128.
        bits: u8,
    },
    /// Two floats of another type than those of [`Complex`](Self::Complex), real then imaginary.
    ComplexOf(ComplexPart),
    /// Opaque bytes without an order.
    Raw {
        /// Size of the element in bytes, at least 1.
        bytes: usize,
    },
    /// Bytes padded with NUL at the end (NumPy's `S`).
    FixedBytes {
        /// Size of the element in bytes, at least 1.
        bytes: usize,
    },
    /// Text of UTF-32 code units, padded with NUL at the end (NumPy's `U`).
    FixedUtf32 {
        /// The number of code units of an element, at least 1.
        chars: usize,
    },
    /// A count of units since 1970, or the least `i64` for no time (NumPy's `datetime64`).
    DateTime64 {
        /// The unit.
        unit: TimeUnit,
        /// The number of units of one step, from 1 to 2^31 - 1.
        scale: u32,
    },
    /// A count of units, or the least `i64` for no time (NumPy's `timedelta64`).
    TimeDelta64 {
        /// The unit.
        unit: TimeUnit,
        /// The number of units of one step, from 1 to 2^31 - 1.
        scale: u32,
    },
    /// Named fields, packed one after the other.
    Struct(StructType),
    /// Text of any length, UTF-8.
    String,
    /// Any number of bytes.
    Bytes,
    /// Any JSON value, as its text.
    Json,
    /// Any number of elements of a type of fixed size, one after the other.
    VlenArray(Arc<DataType>),
    /// The type `object` of N5: each block is one value that only its writer understands.
    Object,
    /// A custom type.
    Custom(Arc<CustomType>),
}

/// The component of a complex number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ComplexPart {
    /// IEEE 754 of 16 bits.
    Float16,
    /// The upper half of a float32.
    BFloat16,
    /// A float of 4, 6 or 8 bits, in a byte.
    Small(SmallFloat),
}

/// The memory layout of the elements of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElemKind {
    /// Every element has `size` bytes.
    Fixed {
        /// Size of an element in bytes.
        size: usize,
    },
    /// The length varies from element to element.
    Vlen,
}

impl ComplexPart {
    /// The type of a component.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Float16 => DataType::Float { bits: 16 },
            Self::BFloat16 => DataType::BFloat16,
            Self::Small(float) => DataType::SmallFloat(float),
        }
    }
}

impl DataType {
    /// The memory layout of the elements.
    #[must_use]
    pub fn kind(&self) -> ElemKind {
        let size = match self {
            Self::Bool | Self::SmallFloat(_) => 1,
            Self::Int { bits }
            | Self::UInt { bits }
            | Self::Float { bits }
            | Self::Complex { bits } => usize::from(*bits).div_ceil(8),
            Self::BFloat16 => 2,
            Self::ComplexOf(ComplexPart::Float16 | ComplexPart::BFloat16) => 4,
            Self::ComplexOf(ComplexPart::Small(_)) => 2,
            Self::Raw { bytes } | Self::FixedBytes { bytes } => *bytes,
            Self::FixedUtf32 { chars } => chars.saturating_mul(4),
            Self::DateTime64 { .. } | Self::TimeDelta64 { .. } => 8,
            Self::Struct(fields) => fields.byte_len(),
            Self::String | Self::Bytes | Self::Json | Self::VlenArray(_) | Self::Object => {
                return ElemKind::Vlen;
            }
            Self::Custom(custom) => return custom.layout().kind(),
        };
        ElemKind::Fixed { size }
    }

    /// The built-in type that defines the representation in memory and files: this type itself,
    /// unless it contains a custom type.
    #[must_use]
    pub fn layout(&self) -> Cow<'_, Self> {
        match self {
            Self::Custom(custom) => Cow::Borrowed(custom.layout()),
            Self::Struct(fields) => {
                let fields = fields.fields();
                let layouts: Vec<Cow<'_, Self>> = fields
                    .iter()
                    .map(|field| field.data_type.layout())
                    .collect();
                let is_unchanged = |(field, layout): (&Field, &Cow<'_, Self>)| match layout {
                    Cow::Borrowed(layout) => std::ptr::eq(*layout, &raw const field.data_type),
                    Cow::Owned(_) => false,
                };
                if fields.iter().zip(&layouts).all(is_unchanged) {
                    return Cow::Borrowed(self);
                }
                let field = |(field, layout): (&Field, Cow<'_, Self>)| Field {
                    data_type: layout.into_owned(),
                    ..field.clone()
                };
                // Names and sizes are those of a valid structure.
                StructType::new(fields.iter().zip(layouts).map(field))
                    .map_or(Cow::Borrowed(self), |fields| {
                        Cow::Owned(Self::Struct(fields))
                    })
            }
            Self::VlenArray(elements) => match elements.layout() {
                Cow::Borrowed(layout) if std::ptr::eq(layout, &raw const **elements) => {
                    Cow::Borrowed(self)
                }
                layout => Cow::Owned(Self::VlenArray(Arc::new(layout.into_owned()))),
            },
            _ => Cow::Borrowed(self),
        }
    }

    /// Size of an element in bytes; `None` for a type of variable size.
    #[must_use]
    pub fn elem_size(&self) -> Option<usize> {
        match self.kind() {
            ElemKind::Fixed { size } => Some(size),
            ElemKind::Vlen => None,
        }
    }

    /// Width in bytes of the units that byte order applies to; 1 where it does not matter. For a
    /// structure, that of its widest unit.
    #[must_use]
    pub fn swap_width(&self) -> usize {
        match self {
            Self::Int { bits } | Self::UInt { bits } | Self::Float { bits } => {
                usize::from(*bits).div_ceil(8)
            }
            Self::BFloat16 | Self::ComplexOf(ComplexPart::Float16 | ComplexPart::BFloat16) => 2,
            Self::Complex { bits } => usize::from(*bits) / 16,
            Self::FixedUtf32 { .. } => 4,
            Self::DateTime64 { .. } | Self::TimeDelta64 { .. } => 8,
            Self::Struct(fields) => fields
                .fields()
                .iter()
                .map(|field| field.data_type.swap_width())
                .max()
                .unwrap_or(1),
            Self::Custom(custom) => custom.layout().swap_width(),
            Self::Bool
            | Self::SmallFloat(_)
            | Self::ComplexOf(ComplexPart::Small(_))
            | Self::Raw { .. }
            | Self::FixedBytes { .. }
            | Self::String
            | Self::Bytes
            | Self::Json
            | Self::VlenArray(_)
            | Self::Object => 1,
        }
    }

    /// The type with this Zarr v3 name: `"uint16"`, `"complex64"`, `"r24"`, `"string"` …; `None`
    /// for any other, and for types that need more than a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "int2" => Self::Int { bits: 2 },
            "int4" => Self::Int { bits: 4 },
            "int8" => Self::Int { bits: 8 },
            "int16" => Self::Int { bits: 16 },
            "int32" => Self::Int { bits: 32 },
            "int64" => Self::Int { bits: 64 },
            "uint2" => Self::UInt { bits: 2 },
            "uint4" => Self::UInt { bits: 4 },
            "uint8" => Self::UInt { bits: 8 },
            "uint16" => Self::UInt { bits: 16 },
            "uint32" => Self::UInt { bits: 32 },
            "uint64" => Self::UInt { bits: 64 },
            "float16" => Self::Float { bits: 16 },
            "float32" => Self::Float { bits: 32 },
            "float64" => Self::Float { bits: 64 },
            "bfloat16" => Self::BFloat16,
            "complex64" => Self::Complex { bits: 64 },
            "complex128" => Self::Complex { bits: 128 },
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "json" => Self::Json,
            "object" => Self::Object,
            name => {
                if let Some(float) = SmallFloat::from_name(name) {
                    return Some(Self::SmallFloat(float));
                }
                if let Some(part) = name.strip_prefix("complex_") {
                    return match Self::from_name(part)? {
                        Self::Float { bits: 16 } => Some(Self::ComplexOf(ComplexPart::Float16)),
                        Self::Float { bits: 32 } => Some(Self::Complex { bits: 64 }),
                        Self::Float { bits: 64 } => Some(Self::Complex { bits: 128 }),
                        Self::BFloat16 => Some(Self::ComplexOf(ComplexPart::BFloat16)),
                        Self::SmallFloat(float) => Some(Self::ComplexOf(ComplexPart::Small(float))),
                        _ => None,
                    };
                }
                let digits = name.strip_prefix('r')?;
                if digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                let bits: usize = digits.parse().ok()?;
                (bits >= 8 && bits.is_multiple_of(8)).then_some(Self::Raw { bytes: bits / 8 })?
            }
        })
    }
}

/// The Zarr v3 name of the type, with its parameters in brackets if it has any.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = |f: &mut fmt::Formatter<'_>, name: &str, unit: &TimeUnit, scale: u32| match scale
        {
            1 => write!(f, "{name}[{unit}]"),
            scale => write!(f, "{name}[{scale}{unit}]"),
        };
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int { bits } => write!(f, "int{bits}"),
            Self::UInt { bits } => write!(f, "uint{bits}"),
            Self::Float { bits } => write!(f, "float{bits}"),
            Self::BFloat16 => f.write_str("bfloat16"),
            Self::SmallFloat(float) => f.write_str(float.name()),
            Self::Complex { bits } => write!(f, "complex{bits}"),
            Self::ComplexOf(part) => write!(f, "complex_{}", part.data_type()),
            Self::Raw { bytes } => write!(f, "r{}", bytes.saturating_mul(8)),
            Self::FixedBytes { bytes } => write!(f, "null_terminated_bytes[{bytes}]"),
            Self::FixedUtf32 { chars } => write!(f, "fixed_length_utf32[{chars}]"),
            Self::DateTime64 { unit, scale } => step(f, "numpy.datetime64", unit, *scale),
            Self::TimeDelta64 { unit, scale } => step(f, "numpy.timedelta64", unit, *scale),
            Self::Struct(fields) => {
                f.write_str("struct[")?;
                for (i, field) in fields.fields().iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {}", field.name, field.data_type)?;
                    if !field.shape.is_empty() {
                        write!(f, " x {:?}", field.shape)?;
                    }
                }
                f.write_str("]")
            }
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Json => f.write_str("json"),
            Self::VlenArray(elements) => write!(f, "vlen-array[{elements}]"),
            Self::Object => f.write_str("object"),
            Self::Custom(custom) => f.write_str(custom.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    #[test]
    fn names_lead_to_types_and_back() {
        for name in [
            "bool",
            "int2",
            "int8",
            "uint4",
            "uint64",
            "float16",
            "bfloat16",
            "complex64",
            "complex128",
            "r8",
            "r24",
            "string",
            "bytes",
            "float8_e4m3fn",
            "float4_e2m1fn",
            "complex_float16",
            "complex_bfloat16",
            "complex_float8_e5m2",
        ] {
            assert_eq!(
                DataType::from_name(name).map(|t| t.to_string()).as_deref(),
                Some(name)
            );
        }
        for name in [
            "r",
            "r0",
            "r12",
            "r-8",
            "r08",
            "int3",
            "float8",
            "",
            "R8",
            "r+8",
            "complex_",
            "complex_int8",
        ] {
            assert_eq!(DataType::from_name(name), None, "{name}");
        }
        assert_eq!(
            DataType::from_name("complex_float32"),
            Some(DataType::Complex { bits: 64 })
        );
    }

    #[test]
    fn complex_is_swapped_by_component() {
        assert_eq!(DataType::Complex { bits: 64 }.swap_width(), 4);
        assert_eq!(DataType::Complex { bits: 64 }.elem_size(), Some(8));
        assert_eq!(
            DataType::ComplexOf(ComplexPart::BFloat16).elem_size(),
            Some(4)
        );
        assert_eq!(DataType::Raw { bytes: 3 }.swap_width(), 1);
    }

    /// V2-T18: packed, whatever the alignment of the fields.
    #[test]
    fn fields_are_packed() {
        let mut floats = Field::new("c", DataType::Float { bits: 32 });
        floats.shape = vec![2];
        let fields = StructType::new([
            Field::new("a", DataType::Int { bits: 16 }),
            Field::new("b", DataType::FixedBytes { bytes: 2 }),
            floats,
        ]);
        let fields = fields.expect("fields of different names");
        assert_eq!(fields.byte_len(), 12);
        assert_eq!(
            fields.places().map(|(at, _)| at).collect::<Vec<_>>(),
            [0, 2, 4]
        );
        let data_type = DataType::Struct(fields);
        assert_eq!(
            (data_type.elem_size(), data_type.swap_width()),
            (Some(12), 4)
        );
        assert_eq!(
            data_type.to_string(),
            "struct[a: int16, b: null_terminated_bytes[2], c: float32 x [2]]"
        );
    }

    /// Descending twice at each level would take years.
    #[test]
    fn layouts_of_deep_structures_are_found_in_one_descent() {
        let nested = |innermost: DataType| {
            (0..60).fold(innermost, |inner, _| {
                DataType::Struct(StructType::new([Field::new("a", inner)]).expect("one field"))
            })
        };
        let plain = nested(DataType::Bool);
        assert!(
            matches!(plain.layout(), Cow::Borrowed(layout) if std::ptr::eq(layout, &raw const plain))
        );
        let custom = CustomType::new("own", DataType::UInt { bits: 16 });
        let custom = nested(DataType::Custom(Arc::new(custom)));
        assert_eq!(*custom.layout(), nested(DataType::UInt { bits: 16 }));
    }
}
