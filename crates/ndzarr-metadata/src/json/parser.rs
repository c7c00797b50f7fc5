//! Parses JSON text into trees, with a bound on nesting.

use std::borrow::Cow;

use ndzarr_model::Attributes;
use serde_json::Value;

use super::members::{Members, Text};
use super::{Json, view};
use crate::json_spans::STRING_STOPS;

/// Deepest nesting of lists and objects in a document.
pub(crate) const MAX_DEPTH: usize = 128;

/// Where the tokens `NaN`, `Infinity` and `-Infinity` are let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NonFinite {
    /// Inside the top-level members `attributes` and `fill_value`, where zarrita.py writes them.
    InValues,
    /// Everywhere.
    Accept,
}

/// What values are made of: our own, or those that users see.
pub(crate) trait Tree<'a>: Sized {
    type Members;

    fn null() -> Self;
    fn boolean(value: bool) -> Self;
    /// A number of this text.
    fn number(text: &'a str) -> Self;
    fn string(text: Text<'a>) -> Self;
    fn array(items: Vec<Self>) -> Self;
    fn object(members: Self::Members) -> Self;
    fn members(capacity: usize) -> Self::Members;
    /// Of a member given twice the last one counts, in the place of the first.
    fn insert(members: &mut Self::Members, name: Text<'a>, value: Self);
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

    fn string(text: Text<'a>) -> Self {
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

    fn insert(members: &mut Members<'a>, name: Text<'a>, value: Self) {
        members.insert(name, value);
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

    fn string(text: Text<'a>) -> Self {
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

    fn insert(members: &mut Attributes, name: Text<'a>, value: Self) {
        members.insert(name.into(), value);
    }
}

pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) at: usize,
    depth: usize,
    non_finite: NonFinite,
    /// Whether this is inside of a top-level member that may have non-finite numbers.
    in_values: bool,
    attributes_apart: bool,
    /// The member of this name, where it is read apart.
    pub(super) attributes: Option<Value>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, non_finite: NonFinite) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at, depth: 0, non_finite, in_values: false, attributes_apart: false, attributes: None }
    }

    /// Reads the top-level member `attributes` into a tree of its own.
    pub(super) fn with_attributes_apart(self) -> Self {
        Self { attributes_apart: true, ..self }
    }

    /// Before a value one level deep in a document, where non-finite numbers are let in.
    pub(super) fn at_member(text: &'a str, at: usize) -> Self {
        Self { at, depth: 1, ..Self::new(text, NonFinite::Accept) }
    }

    pub(super) fn document<T: Tree<'a>>(&mut self) -> Result<T, &'static str> {
        let value = self.value()?;
        self.space();
        if self.at < self.text.len() {
            return Err("text after the value");
        }
        Ok(value)
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(token.as_bytes());
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn value<T: Tree<'a>>(&mut self) -> Result<T, &'static str> {
        self.space();
        match self.peek() {
            None => Err("ends early"),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(T::string),
            Some(b'-' | b'0'..=b'9') => {
                if self.text.as_bytes()[self.at..].starts_with(b"-I") {
                    return self.token("-Infinity");
                }
                self.number()
            }
            Some(b'N') => self.token("NaN"),
            Some(b'I') => self.token("Infinity"),
            Some(_) if self.eat("true") => Ok(T::boolean(true)),
            Some(_) if self.eat("false") => Ok(T::boolean(false)),
            Some(_) if self.eat("null") => Ok(T::null()),
            Some(_) => Err("unexpected character"),
        }
    }

    fn nested<T>(&mut self, inner: fn(&mut Self) -> Result<T, &'static str>) -> Result<T, &'static str> {
        if self.depth == MAX_DEPTH {
            return Err("nested deeper than 128 levels");
        }
        self.depth += 1;
        self.at += 1;
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object<T: Tree<'a>>(&mut self) -> Result<T, &'static str> {
        self.space();
        if self.eat("}") {
            return Ok(T::object(T::members(0)));
        }
        // As many as most documents have, and most objects in them.
        let mut members = T::members(if self.depth == 1 { 12 } else { 2 });
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err("a member name was expected");
            }
            let name = self.string()?;
            self.space();
            if !self.eat(":") {
                return Err("':' was expected");
            }
            let top = self.depth == 1;
            if top {
                self.in_values = matches!(&*name, "attributes" | "fill_value");
            }
            let value = if top && self.attributes_apart && &*name == "attributes" {
                self.attributes = Some(self.value()?);
                T::null()
            } else {
                self.value()?
            };
            if top {
                self.in_values = false;
            }
            T::insert(&mut members, name, value);
            self.space();
            if self.eat("}") {
                return Ok(T::object(members));
            }
            if !self.eat(",") {
                return Err("',' or '}' was expected");
            }
        }
    }

    fn array<T: Tree<'a>>(&mut self) -> Result<T, &'static str> {
        let mut items = Vec::new();
        self.space();
        if self.eat("]") {
            return Ok(T::array(items));
        }
        loop {
            items.push(self.value()?);
            self.space();
            if self.eat("]") {
                return Ok(T::array(items));
            }
            if !self.eat(",") {
                return Err("',' or ']' was expected");
            }
        }
    }

    fn string(&mut self) -> Result<Text<'a>, &'static str> {
        let text = self.text;
        let bytes = text.as_bytes();
        let start = self.at;
        let rest = &bytes[start + 1..];
        let plain = rest.iter().position(|&byte| STRING_STOPS[usize::from(byte)]).unwrap_or(rest.len());
        let mut end = start + 1 + plain;
        // Both ends are quotes, so the cut is between characters.
        if bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Text::Plain(Cow::Borrowed(&text[start + 1..end])));
        }
        loop {
            match bytes.get(end) {
                None => return Err("a string ends early"),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        let string = Text::parse(&text[start..=end]).ok_or("a string that JSON does not allow")?;
        self.at = end + 1;
        Ok(string)
    }

    fn number<T: Tree<'a>>(&mut self) -> Result<T, &'static str> {
        let text = self.text;
        let rest = &text[self.at..];
        let end = rest
            .bytes()
            .position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .unwrap_or(rest.len());
        if !ndzarr_model::JsonText::is_number(&rest[..end]) {
            return Err("a number that JSON does not allow");
        }
        self.at += end;
        Ok(T::number(&rest[..end]))
    }

    fn token<T: Tree<'a>>(&mut self, token: &'static str) -> Result<T, &'static str> {
        let allowed = match self.non_finite {
            NonFinite::InValues => self.in_values,
            NonFinite::Accept => true,
        };
        if !allowed {
            return Err("unexpected character (NaN and Infinity are not JSON)");
        }
        if !self.eat(token) {
            return Err("unexpected character");
        }
        Ok(T::number(token))
    }
}
