//! Values of serde_json, as users see and provide them.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::HashSet;

use serde_json::{Number, Value};

use crate::{Json, Members, ValueMembers};

/// The value that users see for a number: a 64-bit integer exactly, otherwise the nearest float. A
/// float that is not finite becomes the string `"NaN"`, `"Infinity"` or `"-Infinity"`.
pub(crate) fn number(text: &str) -> Value {
    match (text.parse::<i64>(), text.parse::<u64>()) {
        // An integer has no negative zero.
        (Ok(integer), _) if text != "-0" => return integer.into(),
        (_, Ok(integer)) => return integer.into(),
        _ => {}
    }
    let float: f64 = text.parse().unwrap_or(f64::NAN);
    match Number::from_f64(float) {
        Some(number) => Value::Number(number),
        None if float.is_nan() => "NaN".into(),
        None if float > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

impl<'a> Json<'a> {
    /// The value that users see.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(text) => number(text),
            Self::String(text) => Value::String(text.to_string()),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(members) => Value::Object(members.to_values()),
        }
    }

    /// The value that a user provides in place of `old`. Parts that do not differ for the user keep
    /// their text.
    #[must_use]
    pub fn in_place_of(old: Option<&Self>, new: &Value) -> Self {
        match (new, old) {
            (Value::Object(new), Some(Self::Object(old))) => {
                Self::Object(Members::in_place_of(old, new))
            }
            (Value::Array(new), Some(Self::Array(old))) => {
                let items = new
                    .iter()
                    .enumerate()
                    .map(|(i, new)| Self::in_place_of(old.get(i), new));
                Self::Array(items.collect())
            }
            (new, Some(old)) if old.to_value() == *new => old.clone(),
            (new, _) => Json::from(new),
        }
    }
}

impl<'a> Members<'a> {
    /// The members as users see them.
    #[must_use]
    pub fn to_values(&self) -> ValueMembers {
        self.iter()
            .map(|(name, value)| (name.to_owned(), value.to_value()))
            .collect()
    }

    /// Like [`Json::in_place_of`]: existing members keep their positions, new ones follow.
    #[must_use]
    pub fn in_place_of(old: &Self, new: &ValueMembers) -> Self {
        let mut members = Self::with_capacity(new.len());
        for (name, old) in old.texts() {
            if let Some(new) = new.get(&**name) {
                members.insert(name.clone(), Json::in_place_of(Some(old), new));
            }
        }
        // A name that the document can only escape is compared in its form for users.
        let shown = LazyCell::new(|| {
            old.keys()
                .filter(|name| name.contains('\u{fffd}'))
                .collect::<HashSet<_>>()
        });
        let is_there = |name: &str| name.contains('\u{fffd}') && shown.contains(name);
        for (name, value) in new {
            if !members.contains_key(name) && !is_there(name) {
                members.insert(name.as_str(), Json::from(value));
            }
        }
        members
    }
}

impl From<&Value> for Json<'_> {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(Cow::Owned(number.to_string())),
            Value::String(text) => text.into(),
            Value::Array(items) => items.iter().collect(),
            Value::Object(members) => Self::Object(members.into()),
        }
    }
}

impl From<&ValueMembers> for Members<'_> {
    fn from(attributes: &ValueMembers) -> Self {
        attributes
            .iter()
            .map(|(name, value)| (name.as_str(), value.into()))
            .collect()
    }
}

impl From<&ValueMembers> for Json<'_> {
    fn from(attributes: &ValueMembers) -> Self {
        Self::Object(attributes.into())
    }
}
