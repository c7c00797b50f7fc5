//! The state of a value, as pins name it.

use std::sync::Arc;

use ndzarr_store::Pin;
use object_store::ObjectMeta;

/// A state of one value.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Scheme, endpoint, bucket, and key with its prefix: an ETag is often a hash of the content, so copies elsewhere
    /// have the same. Another store of the bucket, below another prefix, knows the value by the same name.
    pub(crate) value: Arc<str>,
    pub(crate) e_tag: Option<String>,
    pub(crate) version: Option<String>,
    /// Time of change in milliseconds, and size: where there is no ETag.
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

    /// Whether both are the same, as far as can be seen.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        let states = match (&self.e_tag, &other.e_tag) {
            (Some(a), Some(b)) => a == b && same(&self.version, &other.version),
            (None, None) => self.modified.is_some() && self.modified == other.modified,
            _ => false,
        };
        states && self.value == other.value
    }

    /// Whether it has anything that changes with the value, besides its size.
    pub(crate) fn is_telling(&self) -> bool {
        self.e_tag.is_some() || self.modified.is_some_and(|(time, _)| time != 0)
    }

    /// Names it. A cache that holds pins for long cannot use one that tells nothing: a later state may look
    /// the same.
    pub(crate) fn into_pin(self) -> Pin {
        if self.is_telling() { Pin::new(self) } else { Pin::holding(self, |_| None) }
    }

    /// The ETag to ask with: nothing matches a weak one.
    pub(crate) fn strong(&self) -> Option<String> {
        self.e_tag.clone().filter(|tag| !tag.starts_with("W/"))
    }
}
