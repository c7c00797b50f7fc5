//! Conversions into JSON values.

use std::borrow::Cow;

use crate::{Json, JsonString, Members};

impl From<bool> for Json<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&bool> for Json<'_> {
    fn from(value: &bool) -> Self {
        Self::Bool(*value)
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Json<'_> {
            fn from(value: $integer) -> Self {
                Self::Number(Cow::Owned(value.to_string()))
            }
        }

        impl From<&$integer> for Json<'_> {
            fn from(value: &$integer) -> Self {
                Self::from(*value)
            }
        }
    )*};
}

from_integers!(u8, u32, u64, usize, i32, i64, i128);

/// The shortest text that parses to the same float; `null` where JSON has none.
impl From<f64> for Json<'_> {
    fn from(value: f64) -> Self {
        let number = serde_json::Number::from_f64(value);
        number.map_or(Self::Null, |number| {
            Self::Number(Cow::Owned(number.to_string()))
        })
    }
}

impl From<String> for Json<'_> {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<&String> for Json<'_> {
    fn from(value: &String) -> Self {
        Self::String(value.as_str().into())
    }
}

impl From<&str> for Json<'_> {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl<'a, T: Into<Json<'a>>> From<Vec<T>> for Json<'a> {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<'a, T: Into<Json<'a>>, const N: usize> From<[T; N]> for Json<'a> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<'a, T: Clone + Into<Json<'a>>> From<&[T]> for Json<'a> {
    fn from(items: &[T]) -> Self {
        items.iter().cloned().collect()
    }
}

impl<'a, T: Clone + Into<Json<'a>>> From<&Vec<T>> for Json<'a> {
    fn from(items: &Vec<T>) -> Self {
        items.as_slice().into()
    }
}

impl<'a, T: Into<Json<'a>>> From<Option<T>> for Json<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a, T: Clone + Into<Json<'a>>> From<&Option<T>> for Json<'a> {
    fn from(value: &Option<T>) -> Self {
        value.clone().into()
    }
}

impl<'a> From<&Json<'a>> for Json<'a> {
    fn from(value: &Json<'a>) -> Self {
        value.clone()
    }
}

impl<'a> From<Members<'a>> for Json<'a> {
    fn from(members: Members<'a>) -> Self {
        Self::Object(members)
    }
}

impl<'a, T: Into<Json<'a>>> FromIterator<T> for Json<'a> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<'a, N: Into<JsonString<'a>>> FromIterator<(N, Json<'a>)> for Members<'a> {
    fn from_iter<I: IntoIterator<Item = (N, Json<'a>)>>(items: I) -> Self {
        let items = items.into_iter();
        let mut members = Self::with_capacity(items.size_hint().0);
        members.extend(items);
        members
    }
}

impl<'a, N: Into<JsonString<'a>>> Extend<(N, Json<'a>)> for Members<'a> {
    fn extend<I: IntoIterator<Item = (N, Json<'a>)>>(&mut self, items: I) {
        items
            .into_iter()
            .for_each(|(name, value)| self.insert(name, value));
    }
}
