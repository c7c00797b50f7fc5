//! The members of a JSON object in their order, and the strings of a document.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;

use super::Json;

/// A string of a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Text<'a> {
    Plain(Cow<'a, str>),
    /// One with half a surrogate pair, which Python writes and no text in memory can hold.
    Unpaired(Box<Unpaired>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Unpaired {
    /// The text with U+FFFD in the place of each half.
    text: String,
    /// What the document has, quotes included.
    pub(super) token: String,
}

impl<'a> Text<'a> {
    /// The string that a token of JSON stands for, quotes included; `None` if it is none.
    pub(crate) fn parse(token: &str) -> Option<Self> {
        let text: Result<String, _> = serde_json::from_str(token);
        match text {
            Ok(text) => Some(text.into()),
            Err(_) => {
                let text = ndzarr_model::JsonText::unpaired(token)?;
                Some(Self::Unpaired(Box::new(Unpaired { text, token: token.to_owned() })))
            }
        }
    }

    /// One without anything that JSON writes otherwise.
    pub(crate) fn borrowed(text: &'a str) -> Self {
        Self::Plain(Cow::Borrowed(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        self
    }

    /// How the document has it, quotes included, if no text says what it is.
    pub(crate) fn token(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::Unpaired(unpaired) => Some(&unpaired.token),
        }
    }

    /// A copy that borrows from nothing.
    pub(crate) fn to_owned(&self) -> Text<'static> {
        match self {
            Self::Plain(text) => Text::Plain(Cow::Owned(text.clone().into_owned())),
            Self::Unpaired(unpaired) => Text::Unpaired(unpaired.clone()),
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Unpaired(unpaired) => &unpaired.text,
        }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        &**self == other
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Plain(Cow::Owned(text))
    }
}

impl From<Text<'_>> for String {
    fn from(text: Text<'_>) -> Self {
        match text {
            Text::Plain(text) => text.into_owned(),
            Text::Unpaired(unpaired) => unpaired.text,
        }
    }
}

impl From<&str> for Text<'_> {
    fn from(text: &str) -> Self {
        Self::Plain(Cow::Owned(text.to_owned()))
    }
}

/// The members of an object in their order, each name once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members<'a> {
    items: Vec<(Text<'a>, Json<'a>)>,
    /// Where each of many members is; most objects have few, and are small for that.
    #[allow(clippy::box_collection)]
    index: Option<Box<HashMap<Text<'a>, usize>>>,
}

/// More members than this are not looked through.
const MANY: usize = 24;

impl<'a> Members<'a> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { items: Vec::with_capacity(capacity), index: None }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.position(name).map(|i| &self.items[i].1)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Json<'a>> {
        self.position(name).map(|i| &mut self.items[i].1)
    }

    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.items.iter().map(|(name, value)| (&**name, value))
    }

    /// As [`iter`](Self::iter), with the names as the document has them.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&Text<'a>, &Json<'a>)> {
        self.items.iter().map(|(name, value)| (name, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Json<'a>> {
        self.items.iter_mut().map(|(_, value)| value)
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Spells the member `fill_value` as documents do, where tokens of Python stand in it.
    pub(crate) fn quote_fill_value(&mut self) {
        if let Some(value) = self.get_mut("fill_value") {
            value.quote_tokens();
        }
    }

    /// Of a member given twice the last value counts, in the place of the first.
    pub(crate) fn insert(&mut self, name: impl Into<Text<'a>>, value: Json<'a>) {
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

    /// The value of a member, which is made if it is missing.
    pub(crate) fn entry(&mut self, name: &str) -> &mut Json<'a> {
        let i = self.position(name).unwrap_or_else(|| {
            self.insert(name, Json::Null);
            self.items.len() - 1
        });
        &mut self.items[i].1
    }

    /// Takes a member out; those behind it keep their order.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Json<'a>> {
        let (_, value) = self.items.remove(self.position(name)?);
        self.make_index();
        Some(value)
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &Json<'a>) -> bool) {
        self.items.retain(|(name, value)| keep(name, value));
        self.make_index();
    }

    pub(crate) fn sort_keys(&mut self) {
        self.items.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        self.make_index();
    }

    pub(crate) fn to_owned(&self) -> Members<'static> {
        self.items.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn make_index(&mut self) {
        let names = self.items.iter().enumerate().map(|(i, (name, _))| (name.clone(), i));
        self.index = (self.items.len() >= MANY).then(|| Box::new(names.collect()));
    }

    fn position(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => position_in(index, &Text::Plain(Cow::Borrowed(name))),
            None => {
                self.items.iter().position(|(there, _)| matches!(there, Text::Plain(text) if text == name))
            }
        }
    }

    fn find(&self, name: &Text<'a>) -> Option<usize> {
        match &self.index {
            Some(index) => position_in(index, name),
            None => self.items.iter().position(|(there, _)| there == name),
        }
    }
}

/// An index that is looked into lives no longer than the name that is looked for.
fn position_in<'n>(index: &HashMap<Text<'n>, usize>, name: &Text<'n>) -> Option<usize> {
    index.get(name).copied()
}

/// In whatever order.
impl PartialEq for Members<'_> {
    fn eq(&self, other: &Self) -> bool {
        let same = |(name, value): &(Text<'_>, Json<'_>)| {
            position_of(other, name).is_some_and(|i| other.items[i].1 == *value)
        };
        self.len() == other.len() && self.items.iter().all(same)
    }
}

fn position_of<'n>(members: &Members<'n>, name: &Text<'n>) -> Option<usize> {
    members.find(name)
}

impl<'a, N: Into<Text<'a>>> FromIterator<(N, Json<'a>)> for Members<'a> {
    fn from_iter<I: IntoIterator<Item = (N, Json<'a>)>>(items: I) -> Self {
        let items = items.into_iter();
        let mut members = Self::with_capacity(items.size_hint().0);
        members.extend(items);
        members
    }
}

impl<'a, N: Into<Text<'a>>> Extend<(N, Json<'a>)> for Members<'a> {
    fn extend<I: IntoIterator<Item = (N, Json<'a>)>>(&mut self, items: I) {
        items.into_iter().for_each(|(name, value)| self.insert(name, value));
    }
}

impl<'a> IntoIterator for Members<'a> {
    type Item = (Text<'a>, Json<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}
