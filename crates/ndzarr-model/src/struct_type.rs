//! Structured types: packed fields with names, types and shapes.

use std::sync::Arc;

use crate::DataType;

/// The fields of a structured type. They are packed: each begins at the end of the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructType {
    fields: Arc<[Field]>,
    byte_len: usize,
    n_leaves: usize,
}

/// A field of a structured type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Field {
    /// The name; empty for padding, of which a structure may have several fields.
    pub name: String,
    /// Type of the field, or of its elements where it is a sub-array. Of fixed size.
    pub data_type: DataType,
    /// Shape of the sub-array; empty where the field is a single element.
    pub shape: Vec<usize>,
}

/// Why fields do not form a structured type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StructError {
    /// A structure without fields.
    #[error("has no fields")]
    Empty,
    /// Two fields of one name.
    #[error("has two fields named {0:?}")]
    Duplicate(String),
    /// A field whose elements vary in size.
    #[error("has the field {0:?} of variable size")]
    Vlen(String),
    /// More bytes than an element may have.
    #[error("has more than {} bytes per element", StructType::MAX_BYTES)]
    TooLarge,
    /// A field of sub-arrays of structures with an absurd number of parts.
    #[error("has more than {} parts", StructType::MAX_PARTS)]
    TooManyParts,
}

impl StructType {
    /// Greatest size of an element in bytes: one of them is held in memory as the fill value.
    pub const MAX_BYTES: usize = 64 << 20;

    /// Greatest number of parts that are not structures: of fields, and of the fields of every
    /// structure in a sub-array.
    pub const MAX_PARTS: usize = 1 << 16;

    /// A structure of these fields.
    ///
    /// # Errors
    /// No fields, two of one name, or one of variable size; the fields are too large together.
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Result<Self, StructError> {
        let fields: Arc<[Field]> = fields.into_iter().collect();
        if fields.is_empty() {
            return Err(StructError::Empty);
        }
        let mut names = std::collections::HashSet::new();
        let mut byte_len = 0usize;
        let mut n_leaves = 0usize;
        for field in fields.iter() {
            if !field.is_padding() && !names.insert(field.name.as_str()) {
                return Err(StructError::Duplicate(field.name.clone()));
            }
            let size = field
                .data_type
                .elem_size()
                .ok_or_else(|| StructError::Vlen(field.name.clone()))?;
            let len = field
                .shape
                .iter()
                .try_fold(size, |len, &n| len.checked_mul(n));
            byte_len = len
                .and_then(|len| byte_len.checked_add(len))
                .filter(|&len| len <= Self::MAX_BYTES)
                .ok_or(StructError::TooLarge)?;
            let repeated = if matches!(field.data_type, DataType::Struct(_)) {
                field.n_elements()
            } else {
                1
            };
            n_leaves = field
                .data_type
                .n_leaves()
                .checked_mul(repeated)
                .and_then(|n| n_leaves.checked_add(n))
                .filter(|&n| n <= Self::MAX_PARTS)
                .ok_or(StructError::TooManyParts)?;
        }
        Ok(Self {
            fields,
            byte_len,
            n_leaves,
        })
    }

    /// The fields in their order, padding among them.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Size of an element in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.byte_len
    }

    pub(crate) fn n_leaves(&self) -> usize {
        self.n_leaves
    }

    /// The fields, each with its start in bytes.
    pub fn places(&self) -> impl Iterator<Item = (usize, &Field)> {
        self.fields.iter().scan(0, |end, field| {
            let start = *end;
            *end += field.byte_len();
            Some((start, field))
        })
    }

    /// The start in bytes of the field of this name, and the field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<(usize, &Field)> {
        self.places()
            .find(|(_, field)| !field.is_padding() && field.name == name)
    }
}

impl Field {
    /// A field of a single element.
    #[must_use]
    pub fn new(name: impl Into<String>, data_type: DataType) -> Self {
        Self {
            name: name.into(),
            data_type,
            shape: Vec::new(),
        }
    }

    /// Makes it a sub-array of this shape.
    #[must_use]
    pub fn with_shape(mut self, shape: Vec<usize>) -> Self {
        self.shape = shape;
        self
    }

    /// True if its bytes have no meaning.
    #[must_use]
    pub fn is_padding(&self) -> bool {
        self.name.is_empty()
    }

    /// The number of elements: 1, or those of the sub-array.
    #[must_use]
    pub fn n_elements(&self) -> usize {
        self.shape.iter().fold(1, |n, &len| n.saturating_mul(len))
    }

    /// Size in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.data_type
            .elem_size()
            .unwrap_or(0)
            .saturating_mul(self.n_elements())
    }
}
