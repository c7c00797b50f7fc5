//! Reads an extension point of Zarr v3: name, configuration and `must_understand`.

use serde_json::Value;

use crate::MetadataError;
use crate::json::{Json, Members, object, show};
use crate::shared::fields::{Fields, Place};

/// A data type, chunk grid, chunk key encoding, codec or storage transformer in a v3 document.
pub(crate) struct Extension<'a> {
    pub(crate) name: &'a str,
    /// True if readers that do not know it may ignore it.
    pub(crate) is_optional: bool,
    configuration: Option<&'a Members<'a>>,
}

impl<'a> Extension<'a> {
    /// Reads a string or an object of `name`, `configuration` and `must_understand`; `place` is for
    /// messages.
    pub(crate) fn parse(
        key: &str,
        place: Place<'_>,
        value: &'a Json<'a>,
    ) -> Result<Self, MetadataError> {
        let invalid =
            |what: String| Err(MetadataError::invalid(key, format_args!("{place}{what}")));
        let members = match value {
            Json::String(name) => {
                return Ok(Self {
                    name,
                    is_optional: false,
                    configuration: None,
                });
            }
            Json::Object(members) => members,
            other => return invalid(format!(" is {}, not a name or an object", other.kind())),
        };
        let mut name = None;
        let mut configuration = None;
        let mut is_optional = false;
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
            Some(name) => Ok(Self {
                name,
                is_optional,
                configuration,
            }),
            None => invalid(" has no name".to_owned()),
        }
    }

    /// The configuration, to be read member by member.
    pub(crate) fn configuration(&self, key: &'a str, place: Place<'a>) -> Fields<'a> {
        Fields::new(key, place, self.name, self.configuration)
    }

    /// The configuration as custom codecs, types and grids receive it: an object.
    pub(crate) fn raw_configuration(&self) -> Value {
        self.members().to_values().into()
    }

    /// The members of the configuration; empty if there is none.
    pub(crate) fn members(&self) -> Members<'a> {
        self.configuration.cloned().unwrap_or_default()
    }
}

/// An extension as documents state it.
pub(crate) fn named(name: &str, configuration: Json<'static>) -> Json<'static> {
    object([("name", name.into()), ("configuration", configuration)])
}
