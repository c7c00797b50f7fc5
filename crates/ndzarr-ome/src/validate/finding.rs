//! `Finding`: a place where metadata differ from the specification.

use std::fmt;

use serde_json::Value;

use crate::json::{MAX_MESSAGES, shown};

/// A place where metadata or arrays differ from the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How strongly the specification demands it.
    pub requirement: Requirement,
    /// The member of the attributes, such as `ome.multiscales[0].datasets`, or the path of an
    /// array.
    pub at: String,
    /// What it must or should do, as the end of a sentence.
    pub what: String,
}

/// How strongly the specification demands something, in the words of RFC 2119.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requirement {
    /// It is recommended.
    Should,
    /// Metadata without it are not valid.
    Must,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() {
            "the attributes"
        } else {
            &self.at
        };
        let how = match self.requirement {
            Requirement::Must => "must",
            Requirement::Should => "should",
        };
        write!(f, "{at} {how} {}", self.what)
    }
}

/// The findings so far, and the member that is being checked.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    at: String,
    pub(crate) list: Vec<Finding>,
}

impl Findings {
    /// Checks a member, which the keys of findings then begin with.
    pub(crate) fn within<T>(&mut self, key: &str, check: impl FnOnce(&mut Self) -> T) -> T {
        let len = self.at.len();
        self.at = self.place(key);
        let result = check(self);
        self.at.truncate(len);
        result
    }

    fn place(&self, key: &str) -> String {
        match (&self.at[..], key) {
            ("", key) => key.to_owned(),
            (at, "") => at.to_owned(),
            (at, key) if key.starts_with('[') => format!("{at}{key}"),
            (at, key) => format!("{at}.{key}"),
        }
    }

    fn add(&mut self, requirement: Requirement, key: &str, what: String) {
        if self.list.len() < MAX_MESSAGES {
            let at = self.place(key);
            self.list.push(Finding {
                requirement,
                at,
                what,
            });
        }
    }

    pub(crate) fn must(&mut self, key: &str, what: impl Into<String>) {
        self.add(Requirement::Must, key, what.into());
    }

    pub(crate) fn should(&mut self, key: &str, what: impl Into<String>) {
        self.add(Requirement::Should, key, what.into());
    }

    /// Reports the members that should exist and do not.
    pub(crate) fn should_have(&mut self, object: &Value, keys: &[&str]) {
        for key in keys.iter().filter(|key| object.get(**key).is_none()) {
            self.should(key, "be there");
        }
    }

    /// Checks that a member is `kind`, and that it exists if it is needed.
    pub(crate) fn member(
        &mut self,
        object: &Value,
        key: &str,
        needed: Needed,
        kind: &str,
        is_kind: impl Fn(&Value) -> bool,
    ) {
        match object.get(key) {
            None if needed == Needed::Yes => self.must(key, "be there"),
            Some(value) if !is_kind(value) => {
                self.must(key, format!("be {kind}, not {}", shown(value)))
            }
            _ => {}
        }
    }

    /// Checks that a member is a list of at least `least` items, and calls with each item. Returns
    /// their number.
    pub(crate) fn each(
        &mut self,
        object: &Value,
        key: &str,
        needed: Needed,
        least: usize,
        mut check: impl FnMut(&mut Self, &Value),
    ) -> usize {
        let list = match object.get(key) {
            Some(Value::Array(list)) => list,
            Some(other) => {
                self.must(key, format!("be a list, not {}", shown(other)));
                return 0;
            }
            None => {
                if needed == Needed::Yes {
                    self.must(key, "be there");
                }
                return 0;
            }
        };
        if list.len() < least {
            self.must(
                key,
                format!(
                    "have at least {least} item{}",
                    if least == 1 { "" } else { "s" }
                ),
            );
        }
        self.within(key, |findings| {
            for (at, item) in list.iter().enumerate() {
                findings.within(&format!("[{at}]"), |findings| check(findings, item));
            }
        });
        list.len()
    }

    /// Reports the first value that occurs twice.
    pub(crate) fn unique<'v>(&mut self, key: &str, values: impl Iterator<Item = &'v Value>) {
        let mut seen = std::collections::HashSet::new();
        for value in values {
            if !seen.insert(value.to_string()) {
                self.must(key, format!("not have {} twice", shown(value)));
                return;
            }
        }
    }
}

/// Tells if a member must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    Yes,
    No,
}
