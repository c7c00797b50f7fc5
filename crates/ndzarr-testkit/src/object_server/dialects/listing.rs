//! Pages of keys, as all three services cut them.

use std::ops::Bound;

use crate::object_server::stored::md5::hex;
use crate::object_server::stored::objects::{Bucket, Object};

/// The parameters of a list.
#[derive(Debug)]
pub(crate) struct Wanted<'w> {
    pub(crate) prefix: &'w str,
    pub(crate) delimiter: &'w str,
    pub(crate) from: From<'w>,
    pub(crate) page_len: usize,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From<'w> {
    Start,
    /// At the first key after this one.
    AfterKey(&'w str),
    /// At this key or the first after it.
    AtKey(&'w str),
    /// At the first entry after this one; a common prefix stands for all its keys.
    AfterEntry(&'w str),
}

/// An entry of a page.
#[derive(Debug)]
pub(crate) enum Entry<'b> {
    Object(&'b str, &'b Object),
    Prefix(&'b str),
}

impl<'b> Entry<'b> {
    pub(crate) fn name(&self) -> &'b str {
        match self {
            Self::Object(name, _) | Self::Prefix(name) => name,
        }
    }
}

/// The entries of a page, in the order of their bytes, and true if there are more.
pub(crate) fn page<'b>(bucket: &'b Bucket, wanted: &Wanted<'_>) -> (Vec<Entry<'b>>, bool) {
    let mut entries: Vec<Entry<'b>> = Vec::new();
    let first = match wanted.from {
        From::Start => "",
        From::AfterKey(name) | From::AtKey(name) | From::AfterEntry(name) => name,
    };
    for (key, object) in
        bucket.range::<str, _>((Bound::Included(first.max(wanted.prefix)), Bound::Unbounded))
    {
        let Some(rest) = key.strip_prefix(wanted.prefix) else {
            break;
        };
        let entry = match rest.find(wanted.delimiter) {
            Some(at) if !wanted.delimiter.is_empty() => {
                Entry::Prefix(&key[..wanted.prefix.len() + at + wanted.delimiter.len()])
            }
            _ => Entry::Object(key, object),
        };
        let is_before = match wanted.from {
            From::Start | From::AtKey(_) => false,
            From::AfterKey(after) => key == after,
            From::AfterEntry(after) => entry.name() == after,
        };
        if is_before
            || entries
                .last()
                .is_some_and(|last| last.name() == entry.name())
        {
            continue;
        }
        if entries.len() == wanted.page_len {
            return (entries, wanted.page_len > 0);
        }
        entries.push(entry);
    }
    (entries, false)
}

/// A name as a token from which clients learn nothing.
pub(crate) fn hidden(name: &str) -> String {
    hex(name.as_bytes())
}

/// The reverse of [`hidden`].
pub(crate) fn unhidden(token: &str) -> Option<String> {
    let digit = |byte: &u8| {
        char::from(*byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let (pairs, rest) = token.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> = pairs
        .iter()
        .map(|[a, b]| Some(digit(a)? * 16 + digit(b)?))
        .collect();
    String::from_utf8(bytes.filter(|_| rest.is_empty())?).ok()
}
