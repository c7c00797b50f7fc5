//! `Json`: a JSON value that keeps the text of numbers and the order of members.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::JsonString;

/// A JSON value that keeps the text of numbers and the order of members. One that was parsed
/// borrows from its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// The text: a JSON number or one of the tokens `NaN`, `Infinity` and `-Infinity`.
    Number(Cow<'a, str>),
    /// A string.
    String(JsonString<'a>),
    /// A list.
    Array(Vec<Json<'a>>),
    /// An object.
    Object(Members<'a>),
}

impl<'a> Json<'a> {
    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The nearest float to a number, if it is finite.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.number()?
            .parse()
            .ok()
            .filter(|float: &f64| float.is_finite())
    }

    /// The text of a number.
    #[must_use]
    pub fn number(&self) -> Option<&str> {
        match self {
            Self::Number(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list.
    #[must_use]
    pub fn as_array(&self) -> Option<&Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The items of a list, to change them.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members of an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Members<'a>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The members of an object, to change them.
    pub fn as_object_mut(&mut self) -> Option<&mut Members<'a>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// True if it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// True if it is a string.
    #[must_use]
    pub fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    /// A member, if this is an object that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    /// Like [`get`](Self::get), mutable.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        self.as_object_mut()?.get_mut(name)
    }

    /// The kind of value, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// True if it is a number that standard JSON cannot express.
    #[must_use]
    pub fn is_token(&self) -> bool {
        matches!(self.number(), Some("NaN" | "Infinity" | "-Infinity"))
    }

    /// Turns the tokens `NaN`, `Infinity` and `-Infinity` into strings, as documents spell them.
    pub fn quote_tokens(&mut self) {
        match self {
            Self::Number(text) if matches!(&**text, "NaN" | "Infinity" | "-Infinity") => {
                *self = Self::String(std::mem::take(text).into());
            }
            Self::Array(items) => items.iter_mut().for_each(Self::quote_tokens),
            Self::Object(members) => members.values_mut().for_each(Self::quote_tokens),
            _ => {}
        }
    }

    /// A copy that borrows nothing.
    #[must_use]
    pub fn to_owned(&self) -> Json<'static> {
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

/// The members of an object in their order, each name once.
#[derive(Clone, Debug, Default)]
pub struct Members<'a> {
    items: Vec<(JsonString<'a>, Json<'a>)>,
    /// Positions of the members of a large object; most objects are small and have none.
    #[allow(clippy::box_collection)]
    index: Option<Box<HashMap<JsonString<'a>, usize>>>,
}

/// Objects with more members than this use an index.
const MANY: usize = 24;

impl<'a> Members<'a> {
    /// What a member takes, with its place in the index, besides texts, in bytes.
    pub(crate) const MEMBER_BYTES: usize =
        size_of::<(JsonString<'_>, Json<'_>)>() + size_of::<(JsonString<'_>, usize)>();

    /// No members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No members, with memory for this number of them.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            items: Vec::with_capacity(capacity),
            index: None,
        }
    }

    /// The value of the member of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.position(name).map(|i| &self.items[i].1)
    }

    /// The value of the member of this name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json<'a>> {
        self.position(name).map(|i| &mut self.items[i].1)
    }

    /// True if there is a member of this name.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Names and values, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.items.iter().map(|(name, value)| (&**name, value))
    }

    /// Like [`iter`](Self::iter), with the names as the document spells them.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&JsonString<'a>, &Json<'a>)> {
        self.items.iter().map(|(name, value)| (name, value))
    }

    /// Names, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|(name, _)| &**name)
    }

    /// Values, in their order, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Json<'a>> {
        self.items.iter_mut().map(|(_, value)| value)
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// If a member occurs twice, the last value counts, at the position of the first.
    pub fn insert(&mut self, name: impl Into<JsonString<'a>>, value: Json<'a>) {
        let name = name.into();
        if let Some(i) = self.find(&name) {
            self.items[i].1 = value;
            return;
        }
        if let Some(index) = &mut self.index {
            index.insert(name.clone(), self.items.len());
        }
        self.items.push((name, value));
        if self.items.len() == MANY {
            self.make_index();
        }
    }

    /// The value of a member, created if it is missing.
    pub fn entry(&mut self, name: &str) -> &mut Json<'a> {
        let i = self.position(name).unwrap_or_else(|| {
            self.insert(name, Json::Null);
            self.items.len() - 1
        });
        &mut self.items[i].1
    }

    /// Removes a member; those behind it keep their order.
    pub fn remove(&mut self, name: &str) -> Option<Json<'a>> {
        let (_, value) = self.items.remove(self.position(name)?);
        self.make_index();
        Some(value)
    }

    /// Keeps the members that `keep` returns `true` for.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Json<'a>) -> bool) {
        self.items.retain(|(name, value)| keep(name, value));
        self.make_index();
    }

    /// Sorts the members by their names, byte by byte.
    pub fn sort_keys(&mut self) {
        self.items
            .sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        self.make_index();
    }

    /// A copy that borrows nothing.
    #[must_use]
    pub fn to_owned(&self) -> Members<'static> {
        self.items
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn make_index(&mut self) {
        let names = self
            .items
            .iter()
            .enumerate()
            .map(|(i, (name, _))| (name.clone(), i));
        self.index = (self.items.len() >= MANY).then(|| Box::new(names.collect()));
    }

    fn position(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => position_in(index, &JsonString::borrowed(name)),
            None => self
                .items
                .iter()
                .position(|(there, _)| there.unpaired().is_none() && **there == *name),
        }
    }

    fn find(&self, name: &JsonString<'a>) -> Option<usize> {
        match &self.index {
            Some(index) => position_in(index, name),
            None => self.items.iter().position(|(there, _)| there == name),
        }
    }
}

/// The borrowed index lives no longer than the name to look up.
fn position_in<'n>(index: &HashMap<JsonString<'n>, usize>, name: &JsonString<'n>) -> Option<usize> {
    index.get(name).copied()
}

/// Ignores the order.
impl PartialEq for Members<'_> {
    fn eq(&self, other: &Self) -> bool {
        let same = |(name, value): &(JsonString<'_>, Json<'_>)| {
            position_of(other, name).is_some_and(|i| other.items[i].1 == *value)
        };
        self.len() == other.len() && self.items.iter().all(same)
    }
}

fn position_of<'n>(members: &Members<'n>, name: &JsonString<'n>) -> Option<usize> {
    members.find(name)
}

impl<'a> IntoIterator for Members<'a> {
    type Item = (JsonString<'a>, Json<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}
