use std::fmt::Display;

use serde_json::{Map, Value};

use crate::MetadataError;
use crate::json::{kind, show};

/// A data type, chunk grid, chunk key encoding, codec or storage transformer as v3 documents have it (V3-050 ff).
pub(crate) struct Extension<'a> {
    pub(crate) name: &'a str,
    /// Whether it says that who does not know it may go on without it.
    pub(crate) is_optional: bool,
    configuration: Option<&'a Map<String, Value>>,
}

impl<'a> Extension<'a> {
    /// Reads a string or an object of `name`, `configuration` and `must_understand`; `place` is for messages.
    pub(crate) fn parse(key: &str, place: &str, value: &'a Value) -> Result<Self, MetadataError> {
        let invalid = |what: String| Err(MetadataError::invalid(key, format_args!("{place}{what}")));
        let members = match value {
            Value::String(name) => return Ok(Self { name, is_optional: false, configuration: None }),
            Value::Object(members) => members,
            other => return invalid(format!(" is {}, not a name or an object", kind(other))),
        };
        let mut name = None;
        let (mut configuration, mut is_optional) = (None, false);
        for (member, value) in members {
            match (member.as_str(), value) {
                ("name", Value::String(text)) => name = Some(text.as_str()),
                ("configuration", Value::Object(members)) => configuration = Some(members),
                ("must_understand", Value::Bool(must)) => is_optional = !must,
                ("name" | "configuration" | "must_understand", other) => {
                    return invalid(format!(".{member} is {}", show(other)));
                }
                _ => return invalid(format!(" has an unknown member {member:?}")),
            }
        }
        match name {
            Some(name) => Ok(Self { name, is_optional, configuration }),
            None => invalid(" has no name".to_owned()),
        }
    }

    /// The configuration, to be taken apart member by member.
    pub(crate) fn configuration(&self, key: &'a str, place: &'a str) -> Configuration<'a> {
        Configuration { key, place, name: self.name, members: self.configuration, read: vec![] }
    }

    /// The configuration as the document has it; an object.
    pub(crate) fn raw_configuration(&self) -> Value {
        Value::Object(self.configuration.cloned().unwrap_or_default())
    }
}

/// A configuration of which every member must be known (V3-057).
pub(crate) struct Configuration<'a> {
    key: &'a str,
    place: &'a str,
    name: &'a str,
    members: Option<&'a Map<String, Value>>,
    read: Vec<&'static str>,
}

impl<'a> Configuration<'a> {
    /// A member, if it is there.
    pub(crate) fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.read.push(name);
        self.members.and_then(|members| members.get(name))
    }

    /// A member that must be there, as `read` understands it; `expected` is for the message.
    pub(crate) fn required<T>(
        &mut self,
        name: &'static str,
        expected: impl Display,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, MetadataError> {
        match self.get(name) {
            None => Err(self.invalid(format_args!("has no {name}"))),
            Some(value) => self.read_as(name, value, expected, read),
        }
    }

    /// A member that may be absent.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        expected: impl Display,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, MetadataError> {
        self.get(name).map(|value| self.read_as(name, value, expected, read)).transpose()
    }

    fn read_as<T>(
        &self,
        name: &str,
        value: &'a Value,
        expected: impl Display,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, MetadataError> {
        read(value).ok_or_else(|| self.invalid(format_args!("has {name} {}, not {expected}", show(value))))
    }

    /// Says that all has been read: a member that is left is unknown.
    pub(crate) fn end(self) -> Result<(), MetadataError> {
        let unknown = self.members.and_then(|m| m.keys().find(|name| !self.read.contains(&name.as_str())));
        match unknown {
            None => Ok(()),
            Some(name) => {
                Err(self.invalid(format_args!("has an unknown member {name:?} in its configuration")))
            }
        }
    }

    pub(crate) fn invalid(&self, what: impl Display) -> MetadataError {
        MetadataError::invalid(self.key, format_args!("{} {:?} {what}", self.place, self.name))
    }
}
