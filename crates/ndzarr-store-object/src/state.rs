//! The state of a value, which its pins contain.

use std::sync::Arc;

use ndzarr_store::Pin;
use object_store::ObjectMeta;

/// A state of one value.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Names the value by scheme, endpoint, bucket, and key with its prefix: an ETag is often a
    /// hash of the content, so that copies elsewhere have the same. Another store of the bucket,
    /// below another prefix, uses the same name.
    pub(crate) value: Arc<str>,
    pub(crate) e_tag: Option<String>,
    pub(crate) version: Option<String>,
    /// Time of change in milliseconds, and size in bytes: used where there is no ETag.
    pub(crate) modified: Option<(i64, u64)>,
}

impl State {
    pub(crate) fn of(value: Arc<str>, meta: &ObjectMeta) -> Self {
        Self {
            value,
            e_tag: meta.e_tag.clone(),
            version: meta.version.clone(),
            modified: Some((meta.last_modified.timestamp_millis(), meta.size)),
        }
    }

    /// Returns `true` if both are the same state, as far as is known.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let is_same_version =
            |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        let is_same_state = match (&self.e_tag, &other.e_tag) {
            (Some(a), Some(b)) => a == b && is_same_version(&self.version, &other.version),
            (None, None) => self.modified.is_some() && self.modified == other.modified,
            _ => false,
        };
        is_same_state && self.value == other.value
    }

    /// Returns `true` if it contains more than the size of the value: something that changes with
    /// each write.
    pub(crate) fn shows_changes(&self) -> bool {
        self.e_tag.is_some() || self.modified.is_some_and(|(time, _)| time != 0)
    }

    /// The pin of this state. If the state shows no changes, there is no light pin of it: a cache
    /// would mistake a later state for this one.
    pub(crate) fn into_pin(self) -> Pin {
        if self.shows_changes() {
            Pin::new(self)
        } else {
            Pin::holding(self, |_| None)
        }
    }

    /// The ETag for conditions, which never match a weak one.
    pub(crate) fn strong_e_tag(&self) -> Option<String> {
        self.e_tag.clone().filter(|tag| !tag.starts_with("W/"))
    }
}
