use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use crate::json::{MAX_DEPTH, NonFinite};
use crate::json_spans::STRING_STOPS;

/// What values are made of.
pub(crate) trait Tree<'a>: Sized {
    type Members;

    /// Whether the member `attributes` of a document is read into a tree of its own.
    const ATTRIBUTES_APART: bool;

    fn null() -> Self;
    fn boolean(value: bool) -> Self;
    /// A number of this text.
    fn number(text: &'a str) -> Self;
    fn string(text: Cow<'a, str>) -> Self;
    fn array(items: Vec<Self>) -> Self;
    fn object(members: Self::Members) -> Self;
    fn members(capacity: usize) -> Self::Members;
    /// Of a member given twice the last one counts, in the place of the first.
    fn insert(members: &mut Self::Members, name: Cow<'a, str>, value: Self);
}

impl<'a> Tree<'a> for Value {
    type Members = Map<String, Self>;

    const ATTRIBUTES_APART: bool = false;

    fn null() -> Self {
        Self::Null
    }

    fn boolean(value: bool) -> Self {
        Self::Bool(value)
    }

    fn number(text: &'a str) -> Self {
        // Checked, but taken as it stands: parsing rewrites exponents. This is also the only way to a number that is no JSON
        // number; `check_writable` keeps it out of what is written.
        Self::Number(Number::from_string_unchecked(text.to_owned()))
    }

    fn string(text: Cow<'a, str>) -> Self {
        Self::String(text.into_owned())
    }

    fn array(items: Vec<Self>) -> Self {
        Self::Array(items)
    }

    fn object(members: Self::Members) -> Self {
        Self::Object(members)
    }

    fn members(capacity: usize) -> Self::Members {
        Map::with_capacity(capacity)
    }

    fn insert(members: &mut Self::Members, name: Cow<'a, str>, value: Self) {
        members.insert(name.into_owned(), value);
    }
}

pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) at: usize,
    depth: usize,
    non_finite: NonFinite,
    in_attributes: bool,
    /// The member of this name, where it is read apart.
    pub(super) attributes: Option<Value>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, non_finite: NonFinite) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at, depth: 0, non_finite, in_attributes: false, attributes: None }
    }

    /// Before a value one level deep in a document, where non-finite numbers are let in.
    pub(super) fn at_member(text: &'a str, at: usize) -> Self {
        let non_finite = NonFinite::Accept;
        Self { text, at, depth: 1, non_finite, in_attributes: false, attributes: None }
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
                self.in_attributes = name == "attributes";
            }
            let value = if T::ATTRIBUTES_APART && top && self.in_attributes {
                self.attributes = Some(self.value()?);
                T::null()
            } else {
                self.value()?
            };
            if top {
                self.in_attributes = false;
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

    fn string(&mut self) -> Result<Cow<'a, str>, &'static str> {
        let text = self.text;
        let bytes = text.as_bytes();
        let start = self.at;
        let rest = &bytes[start + 1..];
        let plain = rest.iter().position(|&byte| STRING_STOPS[usize::from(byte)]).unwrap_or(rest.len());
        let mut end = start + 1 + plain;
        // Both ends are quotes, so the cut is between characters.
        if bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Cow::Borrowed(&text[start + 1..end]));
        }
        loop {
            match bytes.get(end) {
                None => return Err("a string ends early"),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        // Escapes, and what may not be in a string, are serde_json's business.
        let token = &text[start..=end];
        let string = serde_json::from_str(token).map_err(|_| "a string that JSON does not allow")?;
        self.at = end + 1;
        Ok(Cow::Owned(string))
    }

    fn number<T: Tree<'a>>(&mut self) -> Result<T, &'static str> {
        let text = self.text;
        let rest = &text[self.at..];
        let end = rest
            .bytes()
            .position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .unwrap_or(rest.len());
        // Digits alone are a number, unless there is a zero before others.
        let is_plain =
            rest[..end].bytes().all(|b| b.is_ascii_digit()) && (end == 1 || !rest.starts_with('0'));
        if !is_plain {
            rest[..end].parse::<Number>().map_err(|_| "a number that JSON does not allow")?;
        }
        self.at += end;
        Ok(T::number(&rest[..end]))
    }

    fn token<T: Tree<'a>>(&mut self, token: &'static str) -> Result<T, &'static str> {
        let allowed = match self.non_finite {
            NonFinite::Refuse => false,
            NonFinite::InAttributes => self.in_attributes,
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
