//! Texts, lists and JSON as elements.

use ndzarr_json::JsonText;
use ndzarr_metadata::parse_json;
use ndzarr_model::DataType;
use serde_json::Value;

use crate::element_types::element::Element;
use crate::element_types::plain_element::PlainElement;

impl Element for String {
    fn accepts(stored: &DataType) -> bool {
        matches!(stored, DataType::String | DataType::FixedUtf32 { .. })
    }

    fn new_type() -> Option<DataType> {
        Some(DataType::String)
    }

    fn to_content(&self, stored: &DataType, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        let DataType::FixedUtf32 { chars } = stored else {
            out.extend_from_slice(self.as_bytes());
            return Ok(());
        };
        let end = out.len() + chars * 4;
        out.extend(self.chars().flat_map(|unit| u32::from(unit).to_ne_bytes()));
        if out.len() > end {
            return Err(format!("{self:?} has more than {chars} characters"));
        }
        out.resize(end, 0);
        Ok(())
    }

    fn from_content(content: &[u8], stored: &DataType) -> Option<Self> {
        if *stored == DataType::String {
            return std::str::from_utf8(content).ok().map(str::to_owned);
        }
        let units = content.as_chunks::<4>().0.iter();
        let text = units
            .map(|unit| char::from_u32(u32::from_ne_bytes(*unit)))
            .collect::<Option<String>>()?;
        Some(text.trim_end_matches('\0').to_owned())
    }
}

impl<T: PlainElement> Element for Vec<T> {
    fn accepts(stored: &DataType) -> bool {
        match stored {
            DataType::VlenArray(elements) => <T as PlainElement>::accepts(elements),
            DataType::Bytes | DataType::FixedBytes { .. } => {
                T::data_type() == DataType::UInt { bits: 8 }
            }
            _ => false,
        }
    }

    fn new_type() -> Option<DataType> {
        Some(match T::data_type() {
            DataType::UInt { bits: 8 } => DataType::Bytes,
            numbers => DataType::VlenArray(numbers.into()),
        })
    }

    fn to_content(&self, stored: &DataType, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        let start = out.len();
        out.reserve(self.len() * size_of::<T::Repr>());
        for item in self {
            out.extend_from_slice(bytemuck::bytes_of(&item.to_repr()));
        }
        if let DataType::FixedBytes { bytes } = stored {
            if out.len() - start > *bytes {
                return Err(format!("{} bytes are more than {bytes}", out.len() - start));
            }
            out.resize(start + bytes, 0);
        }
        Ok(())
    }

    fn from_content(content: &[u8], stored: &DataType) -> Option<Self> {
        let end = match stored {
            DataType::FixedBytes { .. } => content
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |at| at + 1),
            _ => content.len(),
        };
        let size = size_of::<T::Repr>().max(1);
        let mut items = vec![T::zeroed(); end / size];
        if let Some(reprs) = T::cast_slice_mut(&mut items).filter(|_| end.is_multiple_of(size)) {
            bytemuck::cast_slice_mut(reprs).copy_from_slice(&content[..end]);
            return Some(items);
        }
        content[..end]
            .chunks_exact(size)
            .map(|item| {
                let repr: T::Repr = bytemuck::try_pod_read_unaligned(item).ok()?;
                T::is_valid(&repr).then(|| T::from_repr(repr))
            })
            .collect()
    }
}

impl Element for Value {
    fn accepts(stored: &DataType) -> bool {
        *stored == DataType::Json
    }

    fn new_type() -> Option<DataType> {
        Some(DataType::Json)
    }

    fn to_content(&self, _: &DataType, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        JsonText::canonical(self.to_string().as_bytes(), out).map_err(|error| error.to_string())
    }

    fn from_content(content: &[u8], _: &DataType) -> Option<Self> {
        parse_json(content).ok()
    }
}
