//! `FillValue`: the value of elements that are not stored.

use std::sync::Arc;

use crate::DataType;

/// The value of elements that are not stored, bit for bit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FillValue {
    bytes: Arc<[u8]>,
    defined: bool,
}

impl FillValue {
    /// A fill value that the document states; `bytes` is one element in this machine's byte order,
    /// or the content of an element of variable size.
    #[must_use]
    pub fn defined(bytes: impl AsRef<[u8]>) -> Self {
        Self {
            bytes: bytes.as_ref().into(),
            defined: true,
        }
    }

    /// The fill value of an array that states none (`null` in Zarr v2 and draft dialect B): zero,
    /// false, zero bytes, empty; "not a time" for dates and durations.
    #[must_use]
    pub fn undefined(data_type: &DataType) -> Self {
        let bytes = match data_type {
            DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => {
                i64::MIN.to_ne_bytes().as_slice().into()
            }
            DataType::Custom(custom) => return Self::undefined(custom.layout()),
            other => zero(other),
        };
        Self {
            bytes,
            defined: false,
        }
    }

    /// A stated fill value of zero bytes; for a type of variable size the empty value, or `null`.
    #[must_use]
    pub fn zero(data_type: &DataType) -> Self {
        Self {
            bytes: zero(data_type),
            defined: true,
        }
    }

    /// One element in this machine's byte order.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True if the document states it. Chunks equal to an undefined fill value must be stored.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        self.defined
    }

    /// True if every byte is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.bytes.iter().all(|&b| b == 0)
    }
}

fn zero(data_type: &DataType) -> Arc<[u8]> {
    match data_type {
        DataType::Json => b"null".as_slice().into(),
        DataType::Custom(custom) => zero(custom.layout()),
        other => vec![0; other.elem_size().unwrap_or(0)].into(),
    }
}
