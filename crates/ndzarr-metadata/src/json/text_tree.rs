use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde_json::{Number, Value};

use super::Numeric;
use super::parser::Tree;

/// A JSON value whose strings and numbers are those of the text that it was read from: a tree to look into, of which nothing
/// is kept. What is kept of it is a [`Value`].
#[derive(Clone, Debug)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// The text, be it JSON's or one of the tokens that were let in.
    Number(&'a str),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Members<'a>),
}

/// The members of an object in their order, each name once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members<'a> {
    items: Vec<(Cow<'a, str>, Json<'a>)>,
    /// Where each of many members is; most objects have few, and are small for that.
    #[allow(clippy::box_collection)]
    index: Option<Box<HashMap<Cow<'a, str>, usize>>>,
}

/// More members than this are not looked through.
const MANY: usize = 24;

impl<'a> Members<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.position(name).map(|i| &self.items[i].1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.items.iter().map(|(name, value)| (&**name, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    fn position(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(name).copied(),
            None => self.items.iter().position(|(there, _)| *there == name),
        }
    }

    fn insert(&mut self, name: Cow<'a, str>, value: Json<'a>) {
        if let Some(i) = self.position(&name) {
            self.items[i].1 = value;
            return;
        }
        if let Some(index) = &mut self.index {
            index.insert(name.clone(), self.items.len());
        }
        self.items.push((name, value));
        if self.items.len() == MANY {
            let names = self.items.iter().enumerate().map(|(i, (name, _))| (name.clone(), i));
            self.index = Some(Box::new(names.collect()));
        }
    }
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

    pub(crate) fn as_f64(&self) -> Option<f64> {
        self.to_value().as_f64()
    }

    pub(crate) fn as_array(&self) -> Option<&Vec<Self>> {
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

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    /// A member, if it is an object that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
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

    /// A copy that stands alone.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(text) => Value::Number(Number::from_string_unchecked((*text).to_owned())),
            Self::String(text) => Value::String(text.clone().into_owned()),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(members) => members.to_value(),
        }
    }
}

impl Members<'_> {
    /// A copy that stands alone.
    pub(crate) fn to_value(&self) -> Value {
        Value::Object(self.iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect())
    }
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.as_str()),
            Value::String(text) => Self::String(Cow::Borrowed(text)),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(members) => {
                let mut tree = Members::default();
                for (name, value) in members {
                    tree.insert(Cow::Borrowed(name), value.into());
                }
                Self::Object(tree)
            }
        }
    }
}

/// The compact JSON text.
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_value().fmt(f)
    }
}

impl Numeric for Json<'_> {
    fn number(&self) -> Option<&str> {
        match self {
            Self::Number(text) => Some(text),
            _ => None,
        }
    }

    fn items(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }
}

impl<'a> Tree<'a> for Json<'a> {
    type Members = Members<'a>;

    const ATTRIBUTES_APART: bool = true;

    fn null() -> Self {
        Self::Null
    }

    fn boolean(value: bool) -> Self {
        Self::Bool(value)
    }

    fn number(text: &'a str) -> Self {
        Self::Number(text)
    }

    fn string(text: Cow<'a, str>) -> Self {
        Self::String(text)
    }

    fn array(items: Vec<Self>) -> Self {
        Self::Array(items)
    }

    fn object(members: Members<'a>) -> Self {
        Self::Object(members)
    }

    fn members(capacity: usize) -> Members<'a> {
        Members { items: Vec::with_capacity(capacity), index: None }
    }

    fn insert(members: &mut Members<'a>, name: Cow<'a, str>, value: Self) {
        members.insert(name, value);
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
            let whole = parse_object("k", text.as_bytes(), NonFinite::InAttributes);
            let read = read_object("k", text.as_bytes());
            match (whole, read) {
                (Ok(whole), Ok((members, attributes))) => {
                    let names: Vec<&str> = members.keys().collect();
                    prop_assert_eq!(&names, &whole.keys().collect::<Vec<_>>());
                    prop_assert_eq!(members.len(), whole.len());
                    prop_assert_eq!(attributes.as_ref(), whole.get("attributes"));
                    for (name, value) in &whole {
                        let member = members.get(name).expect("it has the name");
                        if name != "attributes" {
                            prop_assert_eq!(&member.to_value(), value);
                            prop_assert_eq!(member.to_string(), value.to_string());
                            prop_assert_eq!(Json::from(value).to_value(), value.clone());
                        }
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
        let value = parse("k", b"[1.5, 7, true, null, \"a\"]", NonFinite::Refuse).expect("valid");
        let tree = Json::from(&value);
        let items = tree.as_array().expect("a list");
        assert_eq!(
            (items[0].as_f64(), items[1].as_f64(), items[2].as_bool()),
            (Some(1.5), Some(7.0), Some(true))
        );
        assert_eq!((items[3].is_null(), items[4].as_str(), items[4].is_string()), (true, Some("a"), true));
        assert_eq!((items[2].as_f64(), items[0].as_str(), tree.get("a").is_none()), (None, None, true));
    }
}
