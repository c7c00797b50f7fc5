//! `Fields`: reads the members of an object one by one, with errors that say where they are.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;

use ndzarr_model::{
    BloscShuffle, ChecksumLocation, Endian, IndexLocation, OutOfRange, PaddingEncoding,
    PcodecDelta, PcodecMode,
};

use crate::MetadataError;
use crate::json::{Json, Members, as_i128, as_u64_list, show};

/// Location of an object in a document, for messages.
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

/// The configuration of a codec, data type or chunk grid.
pub(crate) struct Fields<'a> {
    key: &'a str,
    place: Place<'a>,
    name: &'a str,
    members: Option<&'a Members<'a>>,
    read: Vec<&'static str>,
    unwritable: Option<String>,
}

impl<'a> Fields<'a> {
    /// The members of what has this name.
    pub(crate) fn new(
        key: &'a str,
        place: Place<'a>,
        name: &'a str,
        members: Option<&'a Members<'a>>,
    ) -> Self {
        Self {
            key,
            place,
            name,
            members,
            read: Vec::new(),
            unwritable: None,
        }
    }

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
        self.optional(name, expected, read)?
            .ok_or_else(|| self.invalid(format_args!("has no {name}")))
    }

    /// A member that is an error if it is present and invalid.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        expected: impl Display,
        read: impl FnOnce(&'a Json<'a>) -> Option<T>,
    ) -> Result<Option<T>, MetadataError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match read(value) {
            Some(field) => Ok(Some(field)),
            None => Err(self.invalid(format_args!("has {name} {}, not {expected}", show(value)))),
        }
    }

    /// An integer that must be present and in a range.
    pub(crate) fn integer(
        &mut self,
        name: &'static str,
        range: RangeInclusive<i32>,
    ) -> Result<i32, MetadataError> {
        let expected = format_args!("an integer from {} to {}", range.start(), range.end());
        self.required(name, expected, |value| {
            as_i128(value)
                .and_then(|n| i32::try_from(n).ok())
                .filter(|n| range.contains(n))
        })
    }

    /// One of the names of a type; an error if it is present and not among them.
    pub(crate) fn named<T: Named>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<T>, MetadataError> {
        self.optional(name, Names(T::NAMES), T::read)
    }

    /// A member that affects only encoding: decoding works without it.
    pub(crate) fn steering<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&'a Json<'a>) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(name)?;
        let field = read(value);
        if field.is_none() {
            self.refuse(format_args!("{name} {}", show(value)));
        }
        field
    }

    /// An integer that affects only encoding, possibly in quotes; `default` if it is absent.
    pub(crate) fn steering_integer(
        &mut self,
        name: &'static str,
        default: i32,
        range: RangeInclusive<i32>,
    ) -> i32 {
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
    pub(crate) fn refuse(&mut self, what: impl Display) {
        let Self {
            key, place, name, ..
        } = self;
        self.unwritable
            .get_or_insert_with(|| format!("{key}: {place} {name:?} cannot encode with {what}"));
    }

    /// Why the codec cannot encode: its first invalid member.
    pub(crate) fn unwritable(self) -> Option<String> {
        self.unwritable
    }

    /// Ends reading: any member left is unknown.
    pub(crate) fn end(self) -> Result<(), MetadataError> {
        let unknown = self
            .members
            .and_then(|m| m.keys().find(|name| !self.read.contains(name)));
        match unknown {
            None => Ok(()),
            Some(name) => Err(self.invalid(format_args!(
                "has an unknown member {name:?} in its configuration"
            ))),
        }
    }

    pub(crate) fn invalid(&self, what: impl Display) -> MetadataError {
        MetadataError::invalid(
            self.key,
            format_args!("{} {:?} {what}", self.place, self.name),
        )
    }
}

/// Values with names in documents. A value may have several; the first is written.
pub(crate) trait Named: Copy + PartialEq + 'static {
    const NAMES: &'static [(&'static str, Self)];

    fn read(name: &Json<'_>) -> Option<Self> {
        let name = name.as_str()?;
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    /// The name; empty if it has none.
    fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, value)| *value == self)
            .map_or("", |(name, _)| name)
    }
}

/// Names, for messages: `"a", "b" or "c"`.
struct Names<T: 'static>(&'static [(&'static str, T)]);

impl<T> Display for Names<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, _)) in self.0.iter().enumerate() {
            let before = if i == 0 {
                ""
            } else if i + 1 == self.0.len() {
                " or "
            } else {
                ", "
            };
            write!(f, "{before}{name:?}")?;
        }
        Ok(())
    }
}

macro_rules! named {
    ($($type:ident { $($name:literal $value:ident),+ })+) => {
        $(impl Named for $type {
            const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$value)),+];
        })+
    };
}

named! {
    Endian { "little" Little, "big" Big }
    IndexLocation { "start" Start, "end" End }
    ChecksumLocation { "start" Start, "end" End }
    PaddingEncoding { "none" None, "first_byte" FirstByte, "last_byte" LastByte }
    OutOfRange { "clamp" Clamp, "wrap" Wrap }
    BloscShuffle { "noshuffle" None, "shuffle" Byte, "bitshuffle" Bit }
    PcodecMode { "auto" Auto, "classic" Classic }
    PcodecDelta {
        "auto" Auto, "none" None, "no_op" None, "try_consecutive" TryConsecutive, "try_lookback" TryLookback
    }
}

/// The shuffle with numcodecs' number.
pub(crate) fn numbered_shuffle(number: i128) -> Option<BloscShuffle> {
    SHUFFLES
        .iter()
        .find(|(known, _)| *known == number)
        .map(|(_, shuffle)| *shuffle)
}

/// numcodecs' number of a shuffle.
pub(crate) fn shuffle_number(shuffle: BloscShuffle) -> i128 {
    SHUFFLES
        .iter()
        .find(|(_, known)| *known == shuffle)
        .map_or(0, |(number, _)| *number)
}

/// The shuffle that is meant for elements of this size.
pub(crate) fn definite(shuffle: BloscShuffle, elem_size: usize) -> BloscShuffle {
    match shuffle {
        BloscShuffle::Auto if elem_size == 1 => BloscShuffle::Bit,
        BloscShuffle::Auto => BloscShuffle::Byte,
        shuffle => shuffle,
    }
}

const SHUFFLES: [(i128, BloscShuffle); 4] = [
    (0, BloscShuffle::None),
    (1, BloscShuffle::Byte),
    (2, BloscShuffle::Bit),
    (-1, BloscShuffle::Auto),
];

/// A required member of a document.
pub(crate) fn required<'a>(
    key: &str,
    document: &'a Members<'a>,
    name: &str,
) -> Result<&'a Json<'a>, MetadataError> {
    document
        .get(name)
        .ok_or_else(|| MetadataError::invalid(key, format_args!("has no {name}")))
}

/// A list of lengths at a place in a document.
pub(crate) fn lengths(key: &str, place: &str, value: &Json<'_>) -> Result<Vec<u64>, MetadataError> {
    as_u64_list(value).ok_or_else(|| {
        MetadataError::invalid(
            key,
            format_args!("{place} is {}, not a list of lengths", show(value)),
        )
    })
}

/// A separator that documents may state: `/` or `.`.
pub(crate) fn separator(text: &str) -> Option<char> {
    match text {
        "/" => Some('/'),
        "." => Some('.'),
        _ => None,
    }
}
