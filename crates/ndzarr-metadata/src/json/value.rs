//! `Json`: a JSON value that keeps the text of numbers.

use std::borrow::Cow;

use super::members::{Members, Text};

/// A JSON value: numbers are kept as their text and the members of objects in their order. One that was read from a text
/// borrows from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Json<'a> {
    #[default]
    Null,
    Bool(bool),
    /// The text, a number of JSON or one of the tokens `NaN`, `Infinity` and `-Infinity`.
    Number(Cow<'a, str>),
    String(Text<'a>),
    Array(Vec<Json<'a>>),
    Object(Members<'a>),
}

impl<'a> Json<'a> {
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The nearest float to a number, if that is finite.
    pub(crate) fn as_f64(&self) -> Option<f64> {
        self.number()?.parse().ok().filter(|float: &f64| float.is_finite())
    }

    /// The text of a number.
    pub(crate) fn number(&self) -> Option<&str> {
        match self {
            Self::Number(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&Members<'a>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(crate) fn as_object_mut(&mut self) -> Option<&mut Members<'a>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    /// A member, if this is an object that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    /// As [`get`](Self::get), to change it.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        self.as_object_mut()?.get_mut(name)
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// Whether it is a number that standard JSON has no form for.
    pub(crate) fn is_token(&self) -> bool {
        matches!(self.number(), Some("NaN" | "Infinity" | "-Infinity"))
    }

    /// Whether such a number is in it.
    pub(crate) fn has_tokens(&self) -> bool {
        match self {
            Self::Array(items) => items.iter().any(Self::has_tokens),
            Self::Object(members) => members.iter().any(|(_, value)| value.has_tokens()),
            other => other.is_token(),
        }
    }

    /// Turns the tokens `NaN`, `Infinity` and `-Infinity` into strings, which is how documents spell them.
    pub(crate) fn quote_tokens(&mut self) {
        match self {
            Self::Number(text) if matches!(&**text, "NaN" | "Infinity" | "-Infinity") => {
                *self = Self::String(Text::Plain(std::mem::take(text)));
            }
            Self::Array(items) => items.iter_mut().for_each(Self::quote_tokens),
            Self::Object(members) => members.values_mut().for_each(Self::quote_tokens),
            _ => {}
        }
    }

    /// A copy that borrows from nothing.
    pub(crate) fn to_owned(&self) -> Json<'static> {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(text) => Json::Number(Cow::Owned(text.clone().into_owned())),
            Self::String(text) => Json::String(text.to_owned()),
            Self::Array(items) => Json::Array(items.iter().map(Self::to_owned).collect()),
            Self::Object(members) => Json::Object(members.to_owned()),
        }
    }
}

impl From<bool> for Json<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&bool> for Json<'_> {
    fn from(value: &bool) -> Self {
        Self::Bool(*value)
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Json<'_> {
            fn from(value: $integer) -> Self {
                Self::Number(Cow::Owned(value.to_string()))
            }
        }

        impl From<&$integer> for Json<'_> {
            fn from(value: &$integer) -> Self {
                Self::from(*value)
            }
        }
    )*};
}

from_integers!(u8, u32, u64, usize, i32, i64, i128);

/// The shortest text that is the float again; `null` where JSON has none.
impl From<f64> for Json<'_> {
    fn from(value: f64) -> Self {
        let number = serde_json::Number::from_f64(value);
        number.map_or(Self::Null, |number| Self::Number(Cow::Owned(number.to_string())))
    }
}

impl From<String> for Json<'_> {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<&String> for Json<'_> {
    fn from(value: &String) -> Self {
        Self::String(value.as_str().into())
    }
}

impl From<&str> for Json<'_> {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl<'a, T: Into<Json<'a>>> From<Vec<T>> for Json<'a> {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<'a, T: Into<Json<'a>>, const N: usize> From<[T; N]> for Json<'a> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<'a, T: Clone + Into<Json<'a>>> From<&[T]> for Json<'a> {
    fn from(items: &[T]) -> Self {
        items.iter().cloned().collect()
    }
}

impl<'a, T: Clone + Into<Json<'a>>> From<&Vec<T>> for Json<'a> {
    fn from(items: &Vec<T>) -> Self {
        items.as_slice().into()
    }
}

impl<'a, T: Into<Json<'a>>> From<Option<T>> for Json<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a, T: Clone + Into<Json<'a>>> From<&Option<T>> for Json<'a> {
    fn from(value: &Option<T>) -> Self {
        value.clone().into()
    }
}

impl<'a> From<&Json<'a>> for Json<'a> {
    fn from(value: &Json<'a>) -> Self {
        value.clone()
    }
}

impl<'a> From<Members<'a>> for Json<'a> {
    fn from(members: Members<'a>) -> Self {
        Self::Object(members)
    }
}

impl<'a, T: Into<Json<'a>>> FromIterator<T> for Json<'a> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{NonFinite, parse, parse_object, read_object};

    /// Texts that are JSON or nearly so.
    fn text() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("NaN".to_owned()),
            Just("-Infinity".to_owned()),
            Just("1.50e+3".to_owned()),
            Just("01".to_owned()),
            Just("\"\\u00e9\\n\"".to_owned()),
            Just("\"\\ud800\"".to_owned()),
            Just("\"\\ud8x\"".to_owned()),
            any::<bool>().prop_map(|value| value.to_string()),
            any::<i64>().prop_map(|value| value.to_string()),
            "\"[a-c\\[{é]{0,3}\"",
        ];
        let name = prop_oneof![
            Just("\"attributes\"".to_owned()),
            Just("\"\\u0061\"".to_owned()),
            "\"[a-c]{0,2}\"".prop_map(|name| name),
        ];
        let value = leaf.prop_recursive(4, 60, 30, move |inner| {
            let member = (name.clone(), inner.clone()).prop_map(|(name, value)| format!("{name} :{value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
                prop::collection::vec(member, 0..30).prop_map(|members| format!("{{{}}}", members.join(","))),
            ]
        });
        (value, prop_oneof![9 => Just(""), 1 => Just(","), 1 => Just(" \n"), 1 => Just("]")])
            .prop_map(|(value, end)| value + end)
    }

    proptest! {
        /// Both trees of a document are the same, or neither is there and the errors are the same.
        #[test]
        fn either_tree_says_the_same(text in text()) {
            let whole = parse_object("k", text.as_bytes(), NonFinite::InValues);
            let read = read_object("k", text.as_bytes());
            match (whole, read) {
                (Ok(whole), Ok((members, attributes))) => {
                    let names: Vec<&str> = members.keys().collect();
                    prop_assert_eq!(&names, &whole.keys().collect::<Vec<_>>());
                    prop_assert_eq!(members.len(), whole.len());
                    prop_assert_eq!(attributes, whole.get("attributes").map(Json::to_value));
                    for (name, value) in whole.iter() {
                        let member = members.get(name).expect("it has the name");
                        if name != "attributes" {
                            prop_assert_eq!(member, value);
                            prop_assert_eq!(&member.to_owned(), value);
                        }
                        let text = value.to_string();
                        let again = parse("k", text.as_bytes(), NonFinite::Accept).ok();
                        prop_assert_eq!(again.as_ref(), Some(value));
                    }
                    prop_assert!(members.get("d").is_none());
                }
                (Err(whole), Err(read)) => prop_assert_eq!(whole.to_string(), read.to_string()),
                (whole, read) => prop_assert!(false, "{:?} but {:?}", whole, read),
            }
        }
    }

    #[test]
    fn numbers_are_read_from_their_text() {
        let tree = parse("k", b"[1.5, 7, true, null, \"a\"]", NonFinite::InValues).expect("valid");
        let items = tree.as_array().expect("a list");
        assert_eq!(
            (items[0].as_f64(), items[1].as_f64(), items[2].as_bool()),
            (Some(1.5), Some(7.0), Some(true))
        );
        assert_eq!((items[3].is_null(), items[4].as_str(), items[4].is_string()), (true, Some("a"), true));
        assert_eq!((items[2].as_f64(), items[0].as_str(), tree.get("a").is_none()), (None, None, true));
    }
}
