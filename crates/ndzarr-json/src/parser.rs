//! Parses JSON text into trees.

use std::borrow::Cow;

use serde_json::Value;

use crate::room::Room;
use crate::{Json, JsonError, JsonString, JsonText, JsonToken, Members, ValueMembers, view};

/// Where the tokens `NaN`, `Infinity` and `-Infinity` are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonFinite {
    /// Inside the top-level members of these names.
    InMembers(&'static [&'static str]),
    /// Everywhere.
    Accept,
}

/// The kind of value to build: our own, or the users'.
pub trait Tree<'a>: Sized {
    /// The members of an object.
    type Members;

    /// `null`.
    fn null() -> Self;
    /// `true` or `false`.
    fn boolean(value: bool) -> Self;
    /// A number with this text.
    fn number(text: &'a str) -> Self;
    /// A string.
    fn string(text: JsonString<'a>) -> Self;
    /// A list.
    fn array(items: Vec<Self>) -> Self;
    /// An object.
    fn object(members: Self::Members) -> Self;
    /// No members, with memory for this number of them.
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
    type Members = ValueMembers;

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

    fn object(members: ValueMembers) -> Self {
        Self::Object(members)
    }

    fn members(_: usize) -> ValueMembers {
        ValueMembers::new()
    }

    fn insert(members: &mut ValueMembers, name: JsonString<'a>, value: Self) {
        members.insert(name.into(), value);
    }

    /// A node of the tree that the standard library makes has place for 11 members, and half of
    /// them are taken if there are more.
    fn member_bytes(number: usize) -> usize {
        match number {
            0 => 640,
            1..=10 => 0,
            _ => 112,
        }
    }
}

/// Builds trees from text.
#[derive(Debug)]
pub struct Parser<'a> {
    text: JsonText<'a>,
    room: Room,
    non_finite: NonFinite,
    /// True if the parser is inside a top-level member that may contain non-finite numbers.
    may_be_non_finite: bool,
    /// The top-level member that is read separately, and its value.
    separate: Option<&'static str>,
    separate_value: Option<Value>,
}

impl<'a> Parser<'a> {
    /// At the start of a document.
    #[must_use]
    pub fn new(text: &'a str, non_finite: NonFinite) -> Self {
        Self::before(JsonText::new(text).behind_mark(), non_finite)
    }

    /// At a value one level deep in a document, where non-finite numbers are allowed.
    #[must_use]
    pub fn at_member(text: &'a str, at: usize) -> Self {
        Self::before(JsonText::new(text).starting(at, 1), NonFinite::Accept)
    }

    fn before(text: JsonText<'a>, non_finite: NonFinite) -> Self {
        let room = Room::new();
        Self {
            text,
            room,
            non_finite,
            may_be_non_finite: false,
            separate: None,
            separate_value: None,
        }
    }

    /// Values may take no more than this number of bytes.
    #[must_use]
    pub fn within(self, byte_len: usize) -> Self {
        Self {
            room: Room::of(byte_len),
            ..self
        }
    }

    /// Reads the top-level member of this name as a separate value of serde_json, see
    /// [`take_separate`](Self::take_separate). In its place is `null`.
    #[must_use]
    pub fn with_separate(self, name: &'static str) -> Self {
        Self {
            separate: Some(name),
            ..self
        }
    }

    /// The value of the member that was read separately; `None` if there was none.
    pub fn take_separate(&mut self) -> Option<Value> {
        self.separate_value.take()
    }

    /// The only value of the text.
    ///
    /// # Errors
    /// It is not JSON, is nested too deeply, or takes too much memory.
    pub fn document<T: Tree<'a>>(&mut self) -> Result<T, JsonError> {
        let value = self.value()?;
        self.text.end()?;
        Ok(value)
    }

    /// The position, in bytes from the start of the text.
    #[must_use]
    pub fn at(&self) -> usize {
        self.text.at()
    }

    /// The value that begins here.
    ///
    /// # Errors
    /// It is not JSON, is nested too deeply, or takes too much memory.
    pub fn value<T: Tree<'a>>(&mut self) -> Result<T, JsonError> {
        self.take(size_of::<T>())?;
        Ok(match self.text.token()? {
            JsonToken::Null => T::null(),
            JsonToken::Bool(value) => T::boolean(value),
            JsonToken::Number(text) => T::number(text),
            JsonToken::NonFinite(token)
                if self.non_finite == NonFinite::Accept || self.may_be_non_finite =>
            {
                T::number(token)
            }
            JsonToken::NonFinite(token) => {
                let what = "unexpected character (NaN and Infinity are not JSON)";
                return Err(JsonError {
                    at: self.text.at() - token.len(),
                    what,
                });
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
        let Some(first) = self.text.member()? else {
            return Ok(T::object(T::members(0)));
        };
        // Enough for most documents and most objects in them.
        let mut members = T::members(if is_top { 12 } else { 2 });
        let mut next = Some(first);
        let mut n = 0;
        while let Some(name) = next {
            self.take(T::member_bytes(n) + name.len())?;
            n += 1;
            let value = if is_top {
                self.top_level(&name)?
            } else {
                self.value()?
            };
            T::insert(&mut members, name, value);
            next = self.text.member()?;
        }
        Ok(T::object(members))
    }

    /// The value of a member of the document itself.
    fn top_level<T: Tree<'a>>(&mut self, name: &str) -> Result<T, JsonError> {
        self.may_be_non_finite =
            matches!(self.non_finite, NonFinite::InMembers(names) if names.contains(&name));
        let value = if self.separate == Some(name) {
            self.separate_value = Some(self.value()?);
            T::null()
        } else {
            self.value()?
        };
        self.may_be_non_finite = false;
        Ok(value)
    }
}
