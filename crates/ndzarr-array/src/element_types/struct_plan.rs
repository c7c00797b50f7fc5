//! The trait `StructField`, and the positions of a Rust type's fields in a stored element.

use std::fmt;

use ndzarr_model::{DataType, Field, StructType};

/// A Rust type whose values are fields of structured elements.
///
/// It is implemented for [elements](crate::Element) of fixed size, for arrays `[T; N]` of them,
/// which are sub-arrays (`[u8; N]` also raw bits and byte strings), and for structures declared by
/// [`structured!`](crate::element_types::structured).
pub trait StructField: Clone + Send + Sync + 'static {
    /// The data type and sub-array shape of such a field in a new array, if they follow from the
    /// Rust type.
    fn field_type() -> Option<(DataType, Vec<usize>)>;

    /// Locates the value in a field with this data type and sub-array shape.
    ///
    /// # Errors
    /// The values of such a field are not of this type.
    fn plan(data_type: &DataType, shape: &[usize]) -> Result<FieldPlan, FieldMismatch>;

    /// Reads the value from the bytes of a field in native byte order; `None` if they are invalid.
    fn read(bytes: &[u8], plan: &FieldPlan) -> Option<Self>;

    /// Writes the value to the bytes of a field, in native byte order.
    ///
    /// # Errors
    /// Says why the value is not of the field's type.
    fn write(&self, bytes: &mut [u8], plan: &FieldPlan) -> Result<(), String>;

    /// Returns `true` if `n` values are also a single element of the type.
    #[doc(hidden)]
    fn is_row(data_type: &DataType, n: usize) -> bool {
        let _ = (data_type, n);
        false
    }

    /// The type of `n` values in a row.
    #[doc(hidden)]
    fn row_type(n: usize) -> Option<(DataType, Vec<usize>)> {
        let (data_type, mut shape) = Self::field_type()?;
        shape.insert(0, n);
        Some((data_type, shape))
    }
}

/// The position of a value in an element, and of its parts: computed once for many elements.
#[derive(Clone, Debug)]
pub struct FieldPlan {
    /// Its name in the enclosing structure.
    name: String,
    /// In bytes from the start of the enclosing value.
    start: usize,
    byte_len: usize,
    pub(crate) data_type: DataType,
    /// For a sub-array, one plan for all of its elements; for a structure, the fields in the order
    /// of the Rust type.
    parts: Vec<FieldPlan>,
}

/// Why a stored type does not match a Rust type, and in which field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldMismatch {
    path: String,
    what: String,
}

impl FieldMismatch {
    /// The stored type is not that of `T`.
    pub(crate) fn other_type<T: StructField>(data_type: &DataType, shape: &[usize]) -> Self {
        let own = match T::field_type() {
            Some((data_type, shape)) => described(&data_type, &shape),
            None => format!("of the Rust type {}", std::any::type_name::<T>()),
        };
        Self {
            path: String::new(),
            what: format!("is {}, not {own}", described(data_type, shape)),
        }
    }

    fn of_field(name: &str, what: impl Into<String>) -> Self {
        Self {
            path: name.to_owned(),
            what: what.into(),
        }
    }

    pub(crate) fn within(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for FieldMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "an element {}", self.what),
            path => write!(f, "the field {path:?} {}", self.what),
        }
    }
}

impl std::error::Error for FieldMismatch {}

fn described(data_type: &DataType, shape: &[usize]) -> String {
    match shape {
        [] => data_type.to_string(),
        shape => format!("{data_type} x {shape:?}"),
    }
}

/// Constructors of the plan of a field.
#[doc(hidden)]
pub type PlanOf = fn(&DataType, &[usize]) -> Result<FieldPlan, FieldMismatch>;

impl FieldPlan {
    /// The plan of a value without parts.
    pub(crate) fn leaf(data_type: &DataType) -> Self {
        let byte_len = data_type.elem_size().unwrap_or(0);
        Self {
            name: String::new(),
            start: 0,
            byte_len,
            data_type: data_type.clone(),
            parts: Vec::new(),
        }
    }

    /// The plan of `n` consecutive values of one kind.
    pub(crate) fn row(item: Self, n: usize) -> Self {
        let byte_len = item.byte_len.saturating_mul(n);
        Self {
            name: String::new(),
            start: 0,
            byte_len,
            data_type: item.data_type.clone(),
            parts: vec![item],
        }
    }

    /// The plan of a structure whose Rust type has these fields.
    #[doc(hidden)]
    pub fn structure<T: StructField>(
        data_type: &DataType,
        shape: &[usize],
        fields: &[(&str, PlanOf)],
    ) -> Result<Self, FieldMismatch> {
        let DataType::Struct(stored) = data_type else {
            return Err(FieldMismatch::other_type::<T>(data_type, shape));
        };
        if !shape.is_empty() {
            return Err(FieldMismatch::other_type::<T>(data_type, shape));
        }
        let mut parts = Vec::with_capacity(fields.len());
        for (name, plan) in fields {
            let (start, field) = stored.field(name).ok_or_else(|| {
                FieldMismatch::of_field(name, format!("is missing in {data_type}"))
            })?;
            let plan = plan(&field.data_type, &field.shape).map_err(|wrong| wrong.within(name))?;
            parts.push(Self {
                name: (*name).to_owned(),
                start,
                ..plan
            });
        }
        let more = stored.fields().iter().find(|field| {
            !field.is_padding() && fields.iter().all(|(name, _)| *name != field.name)
        });
        if let Some(field) = more {
            let own = std::any::type_name::<T>();
            return Err(FieldMismatch::of_field(
                &field.name,
                format!("is stored, but {own} has no such field"),
            ));
        }
        Ok(Self {
            parts,
            ..Self::leaf(data_type)
        })
    }

    /// Size of the value in an element, in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.byte_len
    }

    /// Reads the field with this number, in the order of the Rust type.
    #[doc(hidden)]
    pub fn read<T: StructField>(&self, bytes: &[u8], field: usize) -> Option<T> {
        let part = self.parts.get(field)?;
        T::read(bytes.get(part.start..part.start + part.byte_len)?, part)
    }

    /// Writes the field with this number, in the order of the Rust type.
    #[doc(hidden)]
    pub fn write<T: StructField>(
        &self,
        value: &T,
        bytes: &mut [u8],
        field: usize,
    ) -> Result<(), String> {
        let part = self.parts.get(field);
        let place = part
            .and_then(|part| Some((part, bytes.get_mut(part.start..part.start + part.byte_len)?)));
        let (part, bytes) = place.ok_or("an element without the field")?;
        value
            .write(bytes, part)
            .map_err(|what| format!("in the field {:?}: {what}", part.name))
    }

    /// The plan of each element of a sub-array.
    pub(crate) fn item(&self) -> Option<&Self> {
        self.parts.first()
    }
}

/// Type and shape of a field, if they follow from the Rust type.
type OwnType = Option<(DataType, Vec<usize>)>;

/// The type of a new structure; `None` if a field's type does not follow from its Rust type, or two
/// fields have one name.
#[doc(hidden)]
#[must_use]
pub fn new_structure(fields: &[(&str, OwnType)]) -> Option<DataType> {
    let fields = fields.iter().map(|(name, field)| {
        let (data_type, shape) = field.clone()?;
        Some(Field::new(*name, data_type).with_shape(shape))
    });
    StructType::new(fields.collect::<Option<Vec<_>>>()?)
        .ok()
        .map(DataType::Struct)
}
