//! Checks that bytes are a valid element of a type.

use super::{ComplexPart, DataType};
use ndzarr_json::JsonText;

impl DataType {
    /// True if any bytes of the right length are an element.
    #[must_use]
    pub fn is_any_bits(&self) -> bool {
        match self {
            Self::Bool
            | Self::FixedUtf32 { .. }
            | Self::String
            | Self::Json
            | Self::VlenArray(_) => false,
            Self::Int { bits } | Self::UInt { bits } => *bits >= 8,
            Self::SmallFloat(float) | Self::ComplexOf(ComplexPart::Small(float)) => {
                float.bits() == 8
            }
            Self::Struct(fields) => fields
                .fields()
                .iter()
                .all(|field| field.data_type.is_any_bits()),
            Self::Custom(custom) => {
                custom.layout().is_any_bits() && custom.rules().is_none_or(|rules| rules.is_any())
            }
            _ => true,
        }
    }

    /// True if these bytes, in this machine's byte order, are an element: of the right length, a
    /// bool 0 or 1, small numbers within their range, text that is Unicode.
    #[must_use]
    pub fn is_element(&self, bytes: &[u8]) -> bool {
        if self.elem_size().is_some_and(|size| size != bytes.len()) {
            return false;
        }
        match self {
            Self::Bool => bytes[0] <= 1,
            Self::Int { bits } if *bits < 8 => {
                let high = 1i8 << (bits - 1);
                (-high..high).contains(&bytes[0].cast_signed())
            }
            Self::UInt { bits } if *bits < 8 => bytes[0] >> bits == 0,
            Self::SmallFloat(float) | Self::ComplexOf(ComplexPart::Small(float))
                if float.bits() < 8 =>
            {
                bytes.iter().all(|byte| byte >> float.bits() == 0)
            }
            Self::FixedUtf32 { .. } => bytes
                .as_chunks::<4>()
                .0
                .iter()
                .all(|unit| char::from_u32(u32::from_ne_bytes(*unit)).is_some()),
            Self::Struct(fields) => fields.places().all(|(at, field)| {
                let bytes = &bytes[at..at + field.byte_len()];
                field.data_type.is_any_bits()
                    || bytes
                        .chunks_exact(field.data_type.elem_size().unwrap_or(1).max(1))
                        .all(|element| field.data_type.is_element(element))
            }),
            Self::String => std::str::from_utf8(bytes).is_ok(),
            Self::Json => JsonText::is_json(bytes),
            Self::VlenArray(elements) => {
                let size = elements.elem_size().unwrap_or(1).max(1);
                bytes.len().is_multiple_of(size)
                    && (elements.is_any_bits()
                        || bytes
                            .chunks_exact(size)
                            .all(|element| elements.is_element(element)))
            }
            Self::Custom(custom) => {
                custom.layout().is_element(bytes)
                    && custom
                        .rules()
                        .is_none_or(|rules| rules.is_any() || rules.is_element(bytes))
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, SmallFloat, StructType};

    #[test]
    fn elements_and_others() {
        let text = DataType::FixedUtf32 { chars: 1 };
        let fields = StructType::new([
            Field::new("", DataType::Raw { bytes: 1 }),
            Field::new("b", DataType::Bool),
        ]);
        let fields = DataType::Struct(fields.expect("one name"));
        let numbers = DataType::VlenArray(DataType::Int { bits: 16 }.into());
        for (data_type, bytes, is_element) in [
            (&DataType::Bool, &[1][..], true),
            (&DataType::Bool, &[2], false),
            (&DataType::Bool, &[], false),
            (&DataType::Int { bits: 4 }, &[0xf8], true),
            (&DataType::Int { bits: 4 }, &[0x08], false),
            (&DataType::Int { bits: 2 }, &[1], true),
            (&DataType::Int { bits: 2 }, &[2], false),
            (&DataType::UInt { bits: 2 }, &[3], true),
            (&DataType::UInt { bits: 2 }, &[4], false),
            (&DataType::SmallFloat(SmallFloat::E2M3Fn), &[0x3f], true),
            (&DataType::SmallFloat(SmallFloat::E2M3Fn), &[0x40], false),
            (&text, &0x1d11eu32.to_ne_bytes(), true),
            (&text, &0xd800u32.to_ne_bytes(), false),
            (&text, &0x11_0000u32.to_ne_bytes(), false),
            (&fields, &[9, 1], true),
            (&fields, &[9, 9], false),
            (&DataType::String, "ü".as_bytes(), true),
            (&DataType::String, &[0xff], false),
            (&DataType::Json, b"[NaN]", true),
            (&DataType::Json, b"[", false),
            (&numbers, &[1, 2, 3, 4], true),
            (&numbers, &[1, 2, 3], false),
        ] {
            assert_eq!(
                data_type.is_element(bytes),
                is_element,
                "{data_type} {bytes:?}"
            );
        }
    }
}
