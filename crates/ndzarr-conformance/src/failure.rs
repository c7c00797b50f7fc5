//! The error of this program: one line with the whole chain of causes.

use std::error::Error;
use std::fmt;

/// Why a command failed, in one line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(what: impl fmt::Display) -> Self {
        Self(one_line(&what.to_string()))
    }

    /// A failed operation on a file.
    pub(crate) fn of_file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(format_args!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The whole chain of causes, without repetitions.
impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let what = error.to_string();
            if !text.contains(&what) {
                text = format!("{text}: {what}");
            }
            cause = error.source();
        }
        Self::new(text)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
