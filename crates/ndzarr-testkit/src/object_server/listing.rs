//! Pages of keys, as all three services cut them.

use std::ops::Bound;

use super::objects::{Bucket, Object};

/// The parameters of a list.
#[derive(Debug)]
pub(super) struct Wanted<'w> {
    pub(super) prefix: &'w str,
    pub(super) delimiter: &'w str,
    pub(super) from: From<'w>,
    pub(super) page_len: usize,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From<'w> {
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
pub(super) enum Entry<'b> {
    Object(&'b str, &'b Object),
    Prefix(&'b str),
}

impl<'b> Entry<'b> {
    pub(super) fn name(&self) -> &'b str {
        match self {
            Self::Object(name, _) | Self::Prefix(name) => name,
        }
    }
}

/// The entries of a page, in the order of their bytes, and whether there are more.
pub(super) fn page<'b>(bucket: &'b Bucket, wanted: &Wanted<'_>) -> (Vec<Entry<'b>>, bool) {
    let mut entries: Vec<Entry<'b>> = Vec::new();
    let first = match wanted.from {
        From::Start => "",
        From::AfterKey(name) | From::AtKey(name) | From::AfterEntry(name) => name,
    };
    for (key, object) in bucket.range::<str, _>((Bound::Included(first.max(wanted.prefix)), Bound::Unbounded))
    {
        let Some(rest) = key.strip_prefix(wanted.prefix) else { break };
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
        if is_before || entries.last().is_some_and(|last| last.name() == entry.name()) {
            continue;
        }
        if entries.len() == wanted.page_len {
            return (entries, wanted.page_len > 0);
        }
        entries.push(entry);
    }
    (entries, false)
}
