//! Reads an extension point of Zarr v3: name, configuration and `must_understand`.

use std::fmt::{self, Display};

use serde_json::Value;

use crate::MetadataError;
use crate::json::{Json, Members, show};

/// A data type, chunk grid, chunk key encoding, codec or storage transformer in a v3 document.
pub(crate) struct Extension<'a> {
    pub(crate) name: &'a str,
    /// Whether readers that do not know it may ignore it.
    pub(crate) is_optional: bool,
    configuration: Option<&'a Members<'a>>,
}

/// Location of an extension in a document, for messages.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// A member with this name.
    Member(&'a str),
    /// An item of the list with this name.
    Item(&'a str, usize),
}

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => f.write_str(name),
            Self::Item(list, i) => write!(f, "{list}[{i}]"),
        }
    }
}

impl<'a> Extension<'a> {
    /// Reads a string or an object of `name`, `configuration` and `must_understand`; `place` is for
    /// messages.
    pub(crate) fn parse(key: &str, place: Place<'_>, value: &'a Json<'a>) -> Result<Self, MetadataError> {
        let invalid = |what: String| Err(MetadataError::invalid(key, format_args!("{place}{what}")));
        let members = match value {
            Json::String(name) => return Ok(Self { name, is_optional: false, configuration: None }),
            Json::Object(members) => members,
            other => return invalid(format!(" is {}, not a name or an object", other.kind())),
        };
        let mut name = None;
        let (mut configuration, mut is_optional) = (None, false);
        for (member, value) in members.iter() {
            match (member, value) {
                ("name", Json::String(text)) => name = Some(&**text),
                ("configuration", Json::Object(members)) => configuration = Some(members),
                ("must_understand", Json::Bool(must)) => is_optional = !must,
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

    /// The configuration, to be read member by member.
    pub(crate) fn configuration(&self, key: &'a str, place: Place<'a>) -> Configuration<'a> {
        Configuration { key, place, name: self.name, members: self.configuration, read: vec![] }
    }

    /// The configuration as custom codecs, types and grids receive it: an object.
    pub(crate) fn raw_configuration(&self) -> Value {
        self.members().to_attributes().into()
    }

    /// The members of the configuration; empty if there is none.
    pub(crate) fn members(&self) -> Members<'a> {
        self.configuration.cloned().unwrap_or_default()
    }
}

/// A configuration in which every member must be known.
pub(crate) struct Configuration<'a> {
    key: &'a str,
    place: Place<'a>,
    name: &'a str,
    members: Option<&'a Members<'a>>,
    read: Vec<&'static str>,
}

impl<'a> Configuration<'a> {
    /// A member, if present.
    pub(crate) fn get(&mut self, name: &'static str) -> Option<&'a Json<'a>> {
        self.read.push(name);
        self.members.and_then(|members| members.get(name))
    }

    /// A required member, as `read` interprets it; `expected` is for the message.
    pub(crate) fn required<T>(
        &mut self,
        name: &'static str,
        expected: impl Display,
        read: impl FnOnce(&'a Json<'a>) -> Option<T>,
    ) -> Result<T, MetadataError> {
        match self.get(name) {
            None => Err(self.invalid(format_args!("has no {name}"))),
            Some(value) => self.read_as(name, value, expected, read),
        }
    }

    /// An optional member.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        expected: impl Display,
        read: impl FnOnce(&'a Json<'a>) -> Option<T>,
    ) -> Result<Option<T>, MetadataError> {
        self.get(name).map(|value| self.read_as(name, value, expected, read)).transpose()
    }

    fn read_as<T>(
        &self,
        name: &str,
        value: &'a Json<'a>,
        expected: impl Display,
        read: impl FnOnce(&'a Json<'a>) -> Option<T>,
    ) -> Result<T, MetadataError> {
        read(value).ok_or_else(|| self.invalid(format_args!("has {name} {}, not {expected}", show(value))))
    }

    /// Ends reading: any member left is unknown.
    pub(crate) fn end(self) -> Result<(), MetadataError> {
        let unknown = self.members.and_then(|m| m.keys().find(|name| !self.read.contains(name)));
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
