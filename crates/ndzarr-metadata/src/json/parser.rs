//! Parses JSON text into trees.

use std::borrow::Cow;

use ndzarr_model::{Attributes, JsonError, JsonString, JsonText, JsonToken};
use serde_json::Value;

use super::room::Room;
use super::value::{Json, Members};
use super::view;

/// Where the tokens `NaN`, `Infinity` and `-Infinity` are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NonFinite {
    /// Inside the top-level members `attributes` and `fill_value`, where zarrita.py writes them.
    InValues,
    /// Everywhere.
    Accept,
}

/// The kind of value to build: our own, or the users'.
pub(crate) trait Tree<'a>: Sized {
    type Members;

    fn null() -> Self;
    fn boolean(value: bool) -> Self;
    /// A number with this text.
    fn number(text: &'a str) -> Self;
    fn string(text: JsonString<'a>) -> Self;
    fn array(items: Vec<Self>) -> Self;
    fn object(members: Self::Members) -> Self;
    fn members(capacity: usize) -> Self::Members;
    /// If a member occurs twice, the last value counts, at the position of the first.
    fn insert(members: &mut Self::Members, name: JsonString<'a>, value: Self);
    /// What the member of this number adds to the memory of its object, besides texts, in bytes.
    fn member_bytes(number: usize) -> usize;
}

impl<'a> Tree<'a> for Json<'a> {
    type Members = Members<'a>;

    fn null() -> Self {
        Self::Null
    }

    fn boolean(value: bool) -> Self {
        Self::Bool(value)
    }

    fn number(text: &'a str) -> Self {
        Self::Number(Cow::Borrowed(text))
    }

    fn string(text: JsonString<'a>) -> Self {
        Self::String(text)
    }

    fn array(items: Vec<Self>) -> Self {
        Self::Array(items)
    }

    fn object(members: Members<'a>) -> Self {
        Self::Object(members)
    }

    fn members(capacity: usize) -> Members<'a> {
        Members::with_capacity(capacity)
    }

    fn insert(members: &mut Members<'a>, name: JsonString<'a>, value: Self) {
        members.insert(name, value);
    }

    /// At least what the same member takes among the users' values, into which it may be turned.
    fn member_bytes(number: usize) -> usize {
        let own = match number {
            0 => 2 * Members::MEMBER_BYTES,
            1 => 0,
            _ => Members::MEMBER_BYTES,
        };
        own.max(Value::member_bytes(number))
    }
}

impl<'a> Tree<'a> for Value {
    type Members = Attributes;

    fn null() -> Self {
        Self::Null
    }

    fn boolean(value: bool) -> Self {
        Self::Bool(value)
    }

    fn number(text: &'a str) -> Self {
        view::number(text)
    }

    fn string(text: JsonString<'a>) -> Self {
        Self::String(text.into())
    }

    fn array(items: Vec<Self>) -> Self {
        Self::Array(items)
    }

    fn object(members: Attributes) -> Self {
        Self::Object(members)
    }

    fn members(_: usize) -> Attributes {
        Attributes::new()
    }

    fn insert(members: &mut Attributes, name: JsonString<'a>, value: Self) {
        members.insert(name.into(), value);
    }

    /// A node of the tree that the standard library makes has place for 11 members, and half of them
    /// are taken if there are more.
    fn member_bytes(number: usize) -> usize {
        match number {
            0 => 640,
            1..=10 => 0,
            _ => 112,
        }
    }
}

pub(super) struct Parser<'a> {
    text: JsonText<'a>,
    room: Room,
    non_finite: NonFinite,
    /// Whether the parser is inside a top-level member that may contain non-finite numbers.
    in_values: bool,
    attributes_apart: bool,
    /// The member `attributes`, where it is read separately.
    pub(super) attributes: Option<Value>,
}

impl<'a> Parser<'a> {
    /// At the start of a document.
    pub(super) fn new(text: &'a str, non_finite: NonFinite) -> Self {
        Self::before(JsonText::new(text).behind_mark(), non_finite)
    }

    /// At a value one level deep in a document, where non-finite numbers are allowed.
    pub(super) fn at_member(text: &'a str, at: usize) -> Self {
        Self::before(JsonText::new(text).starting(at, 1), NonFinite::Accept)
    }

    fn before(text: JsonText<'a>, non_finite: NonFinite) -> Self {
        let room = Room::new();
        Self { text, room, non_finite, in_values: false, attributes_apart: false, attributes: None }
    }

    /// Values may take no more than this number of bytes.
    pub(super) fn within(self, byte_len: usize) -> Self {
        Self { room: Room::of(byte_len), ..self }
    }

    /// Reads the top-level member `attributes` into a separate tree.
    pub(super) fn with_attributes_apart(self) -> Self {
        Self { attributes_apart: true, ..self }
    }

    pub(super) fn document<T: Tree<'a>>(&mut self) -> Result<T, JsonError> {
        let value = self.value()?;
        self.text.end()?;
        Ok(value)
    }

    /// The position, in bytes from the start of the text.
    pub(super) fn at(&self) -> usize {
        self.text.at()
    }

    pub(super) fn value<T: Tree<'a>>(&mut self) -> Result<T, JsonError> {
        self.take(size_of::<T>())?;
        Ok(match self.text.token()? {
            JsonToken::Null => T::null(),
            JsonToken::Bool(value) => T::boolean(value),
            JsonToken::Number(text) => T::number(text),
            JsonToken::NonFinite(token) if self.non_finite == NonFinite::Accept || self.in_values => {
                T::number(token)
            }
            JsonToken::NonFinite(token) => {
                let what = "unexpected character (NaN and Infinity are not JSON)";
                return Err(JsonError { at: self.text.at() - token.len(), what });
            }
            JsonToken::String(text) => {
                self.take(text.len())?;
                T::string(text)
            }
            JsonToken::List => {
                let mut items = Vec::new();
                while self.text.item()? {
                    if items.is_empty() {
                        // The first of four places.
                        self.take(3 * size_of::<T>())?;
                    }
                    items.push(self.value()?);
                }
                T::array(items)
            }
            JsonToken::Object => self.object()?,
        })
    }

    fn take(&mut self, byte_len: usize) -> Result<(), JsonError> {
        self.room.take(byte_len, self.text.at())
    }

    fn object<T: Tree<'a>>(&mut self) -> Result<T, JsonError> {
        let is_top = self.text.depth() == 1;
        let Some(first) = self.text.member()? else { return Ok(T::object(T::members(0))) };
        // Enough for most documents and most objects in them.
        let mut members = T::members(if is_top { 12 } else { 2 });
        let mut next = Some(first);
        let mut n = 0;
        while let Some(name) = next {
            self.take(T::member_bytes(n) + name.len())?;
            n += 1;
            let value = if is_top { self.top_level(&name)? } else { self.value()? };
            T::insert(&mut members, name, value);
            next = self.text.member()?;
        }
        Ok(T::object(members))
    }

    /// The value of a member of the document itself.
    fn top_level<T: Tree<'a>>(&mut self, name: &str) -> Result<T, JsonError> {
        self.in_values = matches!(name, "attributes" | "fill_value" | "consolidated_metadata");
        let value = if self.attributes_apart && name == "attributes" {
            self.attributes = Some(self.value()?);
            T::null()
        } else {
            self.value()?
        };
        self.in_values = false;
        Ok(value)
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
        /// Both trees of a document are equal, or both fail with the same error.
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
