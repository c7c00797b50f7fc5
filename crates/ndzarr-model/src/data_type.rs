use std::fmt;

/// Type of one element in memory. The stored byte order is the business of the bytes codec.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataType {
    /// One byte, 0 or 1.
    Bool,
    /// Two's complement of 8, 16, 32 or 64 bits.
    Int {
        /// Width of the element in bits.
        bits: u8,
    },
    /// Unsigned of 8, 16, 32 or 64 bits.
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
    /// Two floats, real then imaginary.
    Complex {
        /// Width of the whole element in bits: 64 or 128.
        bits: u8,
    },
    /// Opaque bytes without an order.
    Raw {
        /// Size of the element in bytes, at least 1.
        bytes: usize,
    },
}

/// How the elements of a type lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElemKind {
    /// Every element has `size` bytes.
    Fixed {
        /// Size of an element in bytes.
        size: usize,
    },
    /// Each element has a length of its own.
    Vlen,
}

impl DataType {
    /// How the elements lie in memory.
    #[must_use]
    pub fn kind(&self) -> ElemKind {
        let size = match *self {
            Self::Bool => 1,
            Self::Int { bits } | Self::UInt { bits } | Self::Float { bits } | Self::Complex { bits } => {
                usize::from(bits) / 8
            }
            Self::BFloat16 => 2,
            Self::Raw { bytes } => bytes,
        };
        ElemKind::Fixed { size }
    }

    /// Size of an element in bytes; `None` for a type of variable size.
    #[must_use]
    pub fn elem_size(&self) -> Option<usize> {
        match self.kind() {
            ElemKind::Fixed { size } => Some(size),
            ElemKind::Vlen => None,
        }
    }

    /// Width in bytes of the units that byte order applies to; 1 where it does not matter.
    #[must_use]
    pub fn swap_width(&self) -> usize {
        match *self {
            Self::Bool | Self::Raw { .. } => 1,
            Self::Int { bits } | Self::UInt { bits } | Self::Float { bits } => usize::from(bits) / 8,
            Self::BFloat16 => 2,
            Self::Complex { bits } => usize::from(bits) / 16,
        }
    }

    /// The type with this Zarr v3 name: `"uint16"`, `"complex64"`, `"r24"` …; `None` for any other.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "int8" => Self::Int { bits: 8 },
            "int16" => Self::Int { bits: 16 },
            "int32" => Self::Int { bits: 32 },
            "int64" => Self::Int { bits: 64 },
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
            _ => {
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

/// The Zarr v3 name of the type.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int { bits } => write!(f, "int{bits}"),
            Self::UInt { bits } => write!(f, "uint{bits}"),
            Self::Float { bits } => write!(f, "float{bits}"),
            Self::BFloat16 => f.write_str("bfloat16"),
            Self::Complex { bits } => write!(f, "complex{bits}"),
            Self::Raw { bytes } => write!(f, "r{}", bytes.saturating_mul(8)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_types_and_back() {
        for name in ["bool", "int8", "uint64", "float16", "bfloat16", "complex64", "complex128", "r8", "r24"]
        {
            assert_eq!(DataType::from_name(name).map(|t| t.to_string()).as_deref(), Some(name));
        }
        for name in ["r", "r0", "r12", "r-8", "r08", "int4", "float8", "", "R8", "r+8"] {
            assert_eq!(DataType::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn complex_is_swapped_by_component() {
        assert_eq!(DataType::Complex { bits: 64 }.swap_width(), 4);
        assert_eq!(DataType::Complex { bits: 64 }.elem_size(), Some(8));
        assert_eq!(DataType::Raw { bytes: 3 }.swap_width(), 1);
    }
}
