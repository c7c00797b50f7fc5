//! Data types that users define, by name and memory layout.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;

use crate::DataType;

/// A custom data type: a name, and another type, its layout, that defines its representation in
/// memory and in files.
///
/// The [`layout`](Self::layout) determines the size of an element, the units that byte order
/// applies to, and how codecs treat it. Two are equal if name, configuration and layout are.
///
/// ```
/// use ndzarr::{CustomType, DataType};
///
/// // A colour of four bytes, and a fixed-point number that is stored as an integer.
/// let colour = CustomType::new("example.rgba", DataType::Raw { bytes: 4 });
/// let fixed = CustomType::new("example.fixed", DataType::Int { bits: 32 })
///     .with_configuration(serde_json::json!({"scale": 100}));
/// let data_type = DataType::from(fixed);
/// assert_eq!((data_type.elem_size(), data_type.swap_width()), (Some(4), 4));
/// assert_eq!(data_type.to_string(), "example.fixed");
/// assert_ne!(data_type, DataType::from(colour));
/// ```
#[derive(Clone)]
pub struct CustomType {
    name: String,
    configuration: Value,
    layout: DataType,
    rules: Option<Arc<dyn TypeRules>>,
}

/// How the elements of a [`CustomType`] differ from those of its layout. The rest is as in the
/// layout.
pub trait TypeRules: Send + Sync + 'static {
    /// True if every element of the layout is valid. If false, every element read is checked.
    fn is_any(&self) -> bool {
        true
    }

    /// True if an element of the layout, in this machine's byte order, is valid. Not called if
    /// [`is_any`](Self::is_any) returns true.
    fn is_element(&self, element: &[u8]) -> bool {
        let _ = element;
        true
    }

    /// The element that the JSON of a fill value stands for, in this machine's byte order;
    /// `Ok(None)` to use the layout's rule.
    ///
    /// # Errors
    /// Why the JSON is not a fill value.
    fn parse_fill(&self, json: &Value) -> Result<Option<Vec<u8>>, String> {
        let _ = json;
        Ok(None)
    }

    /// The JSON of a fill value; `None` to use the layout's rule.
    fn fill_json(&self, element: &[u8]) -> Option<Value> {
        let _ = element;
        None
    }
}

impl CustomType {
    /// A type with the layout of another one. Documents state its name, without a configuration.
    #[must_use]
    pub fn new(name: impl Into<String>, layout: DataType) -> Self {
        let layout = layout.layout().into_owned();
        Self {
            name: name.into(),
            configuration: Value::Object(Default::default()),
            layout,
            rules: None,
        }
    }

    /// Sets the configuration, an object.
    #[must_use]
    pub fn with_configuration(self, configuration: Value) -> Self {
        Self {
            configuration,
            ..self
        }
    }

    /// Sets the rules.
    #[must_use]
    pub fn with_rules(self, rules: impl TypeRules) -> Self {
        Self {
            rules: Some(Arc::new(rules)),
            ..self
        }
    }

    /// Its name in documents.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its configuration, an object; an empty one for none.
    #[must_use]
    pub fn configuration(&self) -> &Value {
        &self.configuration
    }

    /// The type that defines its representation: never a custom type.
    #[must_use]
    pub fn layout(&self) -> &DataType {
        &self.layout
    }

    /// Its rules, if it differs from its layout.
    #[must_use]
    pub fn rules(&self) -> Option<&dyn TypeRules> {
        self.rules.as_deref()
    }
}

impl From<CustomType> for DataType {
    fn from(custom: CustomType) -> Self {
        Self::Custom(Arc::new(custom))
    }
}

impl PartialEq for CustomType {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.configuration, &self.layout)
            == (&other.name, &other.configuration, &other.layout)
    }
}

impl Eq for CustomType {}

impl Hash for CustomType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, &self.layout).hash(state);
    }
}

impl fmt::Debug for CustomType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomType")
            .field("name", &self.name)
            .field("configuration", &self.configuration)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, FillValue, StructType};

    struct Even;

    impl TypeRules for Even {
        fn is_any(&self) -> bool {
            false
        }

        fn is_element(&self, element: &[u8]) -> bool {
            element[0].is_multiple_of(2)
        }
    }

    #[test]
    fn a_type_lies_like_its_layout() {
        let even =
            DataType::from(CustomType::new("even", DataType::UInt { bits: 4 }).with_rules(Even));
        // The layout of a type with this layout is the built-in type below.
        let above = CustomType::new("above", even.clone());
        assert_eq!(above.layout(), &DataType::UInt { bits: 4 });
        assert_eq!(even.leaves(), DataType::UInt { bits: 4 }.leaves());
        assert_eq!((even.elem_size(), even.swap_width()), (Some(1), 1));
        assert!(
            even.is_element(&[2]) && !even.is_element(&[3]),
            "its own rule"
        );
        assert!(
            !even.is_element(&[16]) && !even.is_element(&[2, 2]),
            "those of the layout"
        );
        assert_eq!(FillValue::zero(&even).bytes(), [0]);

        let fields = [
            Field::new("a", even),
            Field::new("b", DataType::Int { bits: 16 }),
        ];
        let fields = DataType::Struct(StructType::new(fields).expect("two names"));
        assert!(!fields.is_any_bits());
        assert!(!fields.is_element(&[3, 0, 0]) && fields.is_element(&[2, 0, 0]));
        assert_eq!(fields.layout().to_string(), "struct[a: uint4, b: int16]");
        assert!(matches!(
            DataType::Bool.layout(),
            std::borrow::Cow::Borrowed(DataType::Bool)
        ));
    }
}
