//! Names of a bucket that no key can have. Lists leave them out, and remember them here, so that
//! no other request is needed to know them.

use std::collections::VecDeque;
use std::sync::Mutex;

use ndzarr_store::{PerProcess, Prefix};

/// The most names that one list remembers.
const MAX_NAMES: usize = 1000;
/// The most names that all lists remember together.
const MAX_NAMES_OF_ALL: usize = 16 * MAX_NAMES;
/// The most characters that are remembered of a name. Services accept names of 1,024 bytes.
const MAX_CHARS: usize = 1024;

/// The first names that one list has left out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut(Vec<String>);

impl LeftOut {
    pub(crate) fn add(&mut self, name: &str) {
        if self.0.len() < MAX_NAMES {
            self.0.push(name.chars().take(MAX_CHARS).collect());
        }
    }

    /// Adds those of another part of the list.
    pub(crate) fn join(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.truncate(MAX_NAMES);
    }
}

/// The names that the last lists have left out, the latest at the end.
#[derive(Debug, Default)]
pub(crate) struct UnlistedNames(PerProcess<Mutex<VecDeque<String>>>);

impl UnlistedNames {
    /// Replaces what is known below a prefix by what a whole list of it has left out.
    pub(crate) fn replace(&self, prefix: &Prefix, left_out: LeftOut) {
        let mut names = self.0.lock();
        names.retain(|name| !name.starts_with(prefix.as_str()));
        names.extend(left_out.0);
        let excess = names.len().saturating_sub(MAX_NAMES_OF_ALL);
        names.drain(..excess);
    }

    /// The names below a prefix, in order.
    pub(crate) fn below(&self, prefix: &Prefix) -> Vec<String> {
        let names = self.0.lock();
        let is_below = |name: &&String| name.starts_with(prefix.as_str());
        let mut below: Vec<String> = names.iter().filter(is_below).cloned().collect();
        below.sort_unstable();
        below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(names: &[impl AsRef<str>]) -> LeftOut {
        let mut left_out = LeftOut::default();
        for name in names {
            left_out.add(name.as_ref());
        }
        left_out
    }

    #[test]
    fn a_list_replaces_only_the_names_below_its_prefix() {
        let names = UnlistedNames::default();
        let prefix = |text| Prefix::new(text).expect("a prefix");
        names.replace(&Prefix::root(), left_out(&["b//1", "a//1"]));
        names.replace(&prefix("a/"), left_out(&["a//2"]));
        assert_eq!(names.below(&Prefix::root()), ["a//2", "b//1"]);
        assert_eq!(names.below(&prefix("a/")), ["a//2"]);
        names.replace(&Prefix::root(), LeftOut::default());
        assert!(names.below(&Prefix::root()).is_empty());
    }

    #[test]
    fn the_names_and_their_lengths_are_limited() {
        let names = UnlistedNames::default();
        let many = |folder: &str| {
            let found: Vec<String> = (0..800).map(|n| format!("{folder}//{n}")).collect();
            left_out(&found)
        };
        let mut joined = many("a");
        joined.join(many("a"));
        assert_eq!(joined.0.len(), MAX_NAMES);
        names.replace(&Prefix::root(), joined);
        for folder in 0..20 {
            let prefix = Prefix::new(format!("{folder}/")).expect("a prefix");
            names.replace(&prefix, many(&folder.to_string()));
            assert_eq!(names.below(&prefix).len(), 800);
        }
        assert_eq!(names.below(&Prefix::root()).len(), MAX_NAMES_OF_ALL);
        let long = left_out(&["é".repeat(MAX_CHARS + 1)]);
        assert_eq!(long.0[0].chars().count(), MAX_CHARS);
    }
}
