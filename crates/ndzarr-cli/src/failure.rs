//! Why a verb failed: its message, its exit status, and its form in JSON.

use std::fmt::Display;
use std::io;

use ndzarr::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::places::shown;

/// Why a verb failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments do not fit the node that they name.
    Usage(String),
    /// The verb could not do its work.
    Failed(Box<Failed>),
    /// The reader of standard output went away.
    Closed,
}

/// A failure of the work, and its place.
#[derive(Debug, Default)]
pub(crate) struct Failed {
    pub(crate) message: String,
    kind: Option<String>,
    store: Option<String>,
    key: Option<String>,
    chunk: Option<Vec<u64>>,
    inner_chunk: Vec<Vec<u64>>,
}

impl Failure {
    pub(crate) fn new(message: impl Display) -> Self {
        Self::Failed(Box::new(Failed {
            message: message.to_string(),
            ..Failed::default()
        }))
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Self::Usage(message.to_string())
    }

    /// Returns the failure with another message.
    pub(crate) fn map_message(mut self, map: impl Fn(String) -> String) -> Self {
        match &mut self {
            Self::Usage(message) => *message = map(std::mem::take(message)),
            Self::Failed(failed) => failed.message = map(std::mem::take(&mut failed.message)),
            Self::Closed => {}
        }
        self
    }

    /// Returns the failure with a hint after its message.
    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        if let Self::Failed(failed) = &mut self {
            failed.message = format!("{}; {hint}", failed.message);
        }
        self
    }

    /// A failed operation on a local file.
    pub(crate) fn of_file(path: &std::path::Path, error: &io::Error) -> Self {
        Self::new(format_args!("{}: {error}", shown(path)))
    }

    /// The exit status: clap uses 2 for bad usage, and a shell reports 141 for a program that a
    /// closed pipe has ended.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 3,
            Self::Closed => 141,
        }
    }

    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Usage(message) => message,
            Self::Failed(failed) => &failed.message,
            Self::Closed => "standard output was closed",
        }
    }

    pub(crate) fn json(&self) -> Value {
        let none = Failed::default();
        let (kind, failed) = match self {
            Self::Usage(_) => (Some("usage"), &none),
            Self::Failed(failed) => (failed.kind.as_deref(), &**failed),
            Self::Closed => (Some("closed"), &none),
        };
        json!({"error": {
            "message": self.message(),
            "kind": kind,
            "store": failed.store,
            "key": failed.key,
            "chunk": failed.chunk,
            "inner_chunk": failed.inner_chunk,
        }})
    }
}

/// The message has the whole chain of causes, without repetitions.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut message = chain(&error);
        if error.kind() == ErrorKind::NoLocking {
            message += "; --last-writer-wins lets it";
        }
        Self::Failed(Box::new(Failed {
            message,
            kind: Some(snake(&format!("{:?}", error.kind()))),
            store: error.store().map(str::to_owned),
            key: error.key().map(str::to_owned),
            chunk: error.chunk().map(<[u64]>::to_vec),
            inner_chunk: error.inner_chunk().to_vec(),
        }))
    }
}

/// Writing to standard output failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::new(format_args!("standard output: {error}")),
        }
    }
}

/// The text of an error of the library, with its causes.
pub(crate) fn chain(error: &Error) -> String {
    with_causes(error)
}

/// The text of any error, with its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let what = error.to_string();
        if !text.contains(&what) {
            text = format!("{text}: {what}");
        }
        cause = error.source();
    }
    text
}

/// `NotFound` as `not_found`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_snake_case() {
        assert_eq!(snake("NotFound"), "not_found");
        assert_eq!(snake("Store"), "store");
    }
}
