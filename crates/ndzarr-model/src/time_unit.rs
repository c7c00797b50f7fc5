//! The units of dates and durations.

use std::fmt;

/// The unit that dates and durations count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TimeUnit {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Picosecond,
    Femtosecond,
    Attosecond,
    /// No unit (NumPy's `generic`).
    Generic,
}

impl TimeUnit {
    const NAMES: [(Self, &'static str); 14] = [
        (Self::Year, "Y"),
        (Self::Month, "M"),
        (Self::Week, "W"),
        (Self::Day, "D"),
        (Self::Hour, "h"),
        (Self::Minute, "m"),
        (Self::Second, "s"),
        (Self::Millisecond, "ms"),
        (Self::Microsecond, "us"),
        (Self::Nanosecond, "ns"),
        (Self::Picosecond, "ps"),
        (Self::Femtosecond, "fs"),
        (Self::Attosecond, "as"),
        (Self::Generic, "generic"),
    ];

    /// NumPy's name for the unit, as documents have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(unit, _)| *unit == self)
            .map_or("", |(_, name)| name)
    }

    /// The unit of this name. The microsecond is `us` and `μs` with the Greek letter; NumPy does
    /// not write the micro sign.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "\u{3bc}s" {
            return Some(Self::Microsecond);
        }
        Self::NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(unit, _)| *unit)
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
