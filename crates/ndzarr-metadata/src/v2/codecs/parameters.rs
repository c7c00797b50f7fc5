//! Reads the parameters of a numcodecs codec one by one.

use std::ops::RangeInclusive;

use crate::MetadataError;
use crate::json::{Json, Members, as_i128, show};

/// The configuration of one codec, being read.
pub(super) struct Parameters<'a> {
    key: &'a str,
    place: &'a str,
    id: &'a str,
    members: &'a Members<'a>,
    unwritable: Option<String>,
}

impl<'a> Parameters<'a> {
    pub(super) fn new(key: &'a str, place: &'a str, id: &'a str, members: &'a Members<'a>) -> Self {
        Self { key, place, id, members, unwritable: None }
    }

    /// Why the codec cannot encode: its first invalid parameter.
    pub(super) fn unwritable(self) -> Option<String> {
        self.unwritable
    }

    /// A parameter that decoding needs: an error if present and invalid.
    pub(super) fn needed<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'a Json<'a>) -> Option<T>,
    ) -> Result<Option<T>, MetadataError> {
        let Some(value) = self.members.get(name) else { return Ok(None) };
        match read(value) {
            Some(parameter) => Ok(Some(parameter)),
            None => Err(self.invalid(format_args!("has {name} {}, not {expected}", show(value)))),
        }
    }

    /// Like [`Self::needed`], for a required one.
    pub(super) fn required<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'a Json<'a>) -> Option<T>,
    ) -> Result<T, MetadataError> {
        self.needed(name, expected, read)?.ok_or_else(|| self.invalid(format_args!("has no {name}")))
    }

    /// A parameter that affects only encoding: decoding works without it.
    pub(super) fn steering<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'a Json<'a>) -> Option<T>,
    ) -> Option<T> {
        let value = self.members.get(name)?;
        let parameter = read(value);
        if parameter.is_none() {
            self.refuse(format_args!("{name} {}", show(value)));
        }
        parameter
    }

    /// Like [`Self::steering`], for an integer, possibly in quotes.
    pub(super) fn integer(&mut self, name: &str, default: i32, range: RangeInclusive<i32>) -> i32 {
        let read = |value: &Json<'_>| {
            let integer = match value {
                Json::String(text) => text.parse().ok()?,
                value => i32::try_from(as_i128(value)?).ok()?,
            };
            range.contains(&integer).then_some(integer)
        };
        self.steering(name, read).unwrap_or(default)
    }

    /// Notes that the codec cannot encode.
    pub(super) fn refuse(&mut self, what: impl std::fmt::Display) {
        let Self { key, place, id, .. } = self;
        self.unwritable.get_or_insert_with(|| format!("{key}: {place} {id:?} cannot encode with {what}"));
    }

    pub(super) fn invalid(&self, what: impl std::fmt::Display) -> MetadataError {
        MetadataError::invalid(self.key, format_args!("{} {:?} {what}", self.place, self.id))
    }
}
