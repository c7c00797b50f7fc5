//! Parses dates and times, of units and labels.

use crate::time::calendar::Calendar;

pub(crate) const NANOS_PER_DAY: u64 = 86_400_000_000_000;
pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A date and time of a text, which does not depend on the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParsedTime {
    pub(crate) year: i32,
    pub(crate) month: u8,
    pub(crate) day: u8,
    /// Counted from midnight.
    pub(crate) nanosecond: u64,
    /// Ahead of UTC.
    pub(crate) offset_seconds: i64,
    /// The smallest part that the text states.
    pub(crate) precision: Precision,
}

/// The smallest part of a time that a text states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Year,
    Month,
    /// A day or a part of it, in nanoseconds.
    Nanoseconds(u64),
}

impl ParsedTime {
    /// Parses `1900-1-1 6:30:0.5 +01:00` and shorter forms, with `T` or a space.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut text = Cursor(text.trim());
        let is_negative = text.eat(b'-');
        if !is_negative {
            text.eat(b'+');
        }
        let year = i32::try_from(text.number(6).ok_or("it does not begin with a year")?);
        let year = year.map_err(|_| "the year is out of range")?;
        let mut parsed = Self {
            year: if is_negative { -year } else { year },
            month: 1,
            day: 1,
            nanosecond: 0,
            offset_seconds: 0,
            precision: Precision::Year,
        };
        if text.eat(b'-') {
            parsed.month = text.part().ok_or("no month follows the year")?;
            parsed.precision = Precision::Month;
            if text.eat(b'-') {
                parsed.day = text.part().ok_or("no day follows the month")?;
                parsed.precision = Precision::Nanoseconds(NANOS_PER_DAY);
            }
        }
        let has_time = text.eat(b'T') || text.eat(b't') || text.eat_blanks();
        text.eat_blanks();
        if has_time && text.0.starts_with(|c: char| c.is_ascii_digit()) {
            (parsed.nanosecond, parsed.precision) = text.time()?;
        }
        text.eat_blanks();
        parsed.offset_seconds = text.offset()?;
        if text.0.is_empty() {
            Ok(parsed)
        } else {
            Err("something follows the time")
        }
    }

    /// The day in a calendar, and the nanosecond of the day, in UTC.
    pub(crate) fn instant(&self, calendar: Calendar) -> Option<(i64, u64)> {
        let day = calendar.day(self.year, self.month, self.day)?;
        let nanos = i128::from(self.nanosecond)
            - i128::from(self.offset_seconds) * i128::from(NANOS_PER_SECOND);
        let days = nanos.div_euclid(NANOS_PER_DAY.into());
        let nanos = nanos.rem_euclid(NANOS_PER_DAY.into());
        Some((day + i64::try_from(days).ok()?, u64::try_from(nanos).ok()?))
    }

    /// The first nanosecond after the period that the text names: for `2001-06`, midnight of 1
    /// July.
    pub(crate) fn end(&self, calendar: Calendar) -> Option<i128> {
        let next = match self.precision {
            Precision::Nanoseconds(n) => {
                let (day, nanosecond) = self.instant(calendar)?;
                return Some(nanos_since_epoch(day, nanosecond) + i128::from(n));
            }
            Precision::Year => Self {
                year: self.year.checked_add(1)?,
                ..*self
            },
            Precision::Month if self.month == 12 => Self {
                year: self.year.checked_add(1)?,
                month: 1,
                ..*self
            },
            Precision::Month => Self {
                month: self.month + 1,
                ..*self
            },
        };
        let (day, nanosecond) = next.instant(calendar)?;
        Some(nanos_since_epoch(day, nanosecond))
    }
}

pub(crate) fn nanos_since_epoch(day: i64, nanosecond: u64) -> i128 {
    i128::from(day) * i128::from(NANOS_PER_DAY) + i128::from(nanosecond)
}

/// The rest of a text.
struct Cursor<'t>(&'t str);

impl Cursor<'_> {
    /// Takes this character if it is the next one. Returns true if it was.
    fn eat(&mut self, byte: u8) -> bool {
        let rest = self.0.strip_prefix(char::from(byte));
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Takes all blanks that follow. Returns true if any did.
    fn eat_blanks(&mut self) -> bool {
        let rest = self.0.trim_start();
        let found = rest.len() < self.0.len();
        self.0 = rest;
        found
    }

    fn digits(&mut self) -> &str {
        let n = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(n);
        self.0 = rest;
        digits
    }

    fn number(&mut self, max_digits: usize) -> Option<u64> {
        let digits = self.digits();
        if digits.len() > max_digits {
            None
        } else {
            digits.parse().ok()
        }
    }

    /// A month, day, hour, minute or second.
    fn part(&mut self) -> Option<u8> {
        u8::try_from(self.number(2)?).ok()
    }

    /// A time of the day in nanoseconds, and the length of its smallest part.
    fn time(&mut self) -> Result<(u64, Precision), &'static str> {
        let mut nanos = 0;
        let mut unit = 3600 * NANOS_PER_SECOND;
        for (limit, is_divided) in [(24, true), (60, true), (60, false)] {
            let part = self
                .part()
                .filter(|&part| part < limit)
                .ok_or("the hour, minute or second is out of range")?;
            nanos += u64::from(part) * unit;
            if !is_divided || !self.eat(b':') {
                break;
            }
            unit /= 60;
        }
        if unit == NANOS_PER_SECOND && self.eat(b'.') {
            let digits = self.digits();
            let used = &digits[..digits.len().min(9)];
            unit = 10_u64.pow(9 - u32::try_from(used.len()).unwrap_or(9));
            nanos += if used.is_empty() {
                0
            } else {
                used.parse().unwrap_or(0) * unit
            };
        }
        Ok((nanos, Precision::Nanoseconds(unit)))
    }

    /// The seconds ahead of UTC.
    fn offset(&mut self) -> Result<i64, &'static str> {
        for name in ["Z", "z", "UTC", "utc", "GMT"] {
            if let Some(rest) = self.0.strip_prefix(name) {
                self.0 = rest;
                return Ok(0);
            }
        }
        let sign = match self.0.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Ok(0),
        };
        self.0 = &self.0[1..];
        let digits = self.digits();
        let (hours, minutes) = match digits.len() {
            1 | 2 => (digits.parse().unwrap_or(99), None),
            4 => (digits[..2].parse().unwrap_or(99), digits[2..].parse().ok()),
            _ => return Err("the offset from UTC is not of the form +06:30"),
        };
        let minutes = match minutes {
            Some(minutes) => minutes,
            None if self.eat(b':') => self.part().map_or(99, i64::from),
            None => 0,
        };
        if hours > 24 || minutes > 59 {
            return Err("the offset from UTC is out of range");
        }
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, from the forms that the CF conventions and UDUNITS allow.
    #[test]
    fn texts_are_read() {
        let day = Precision::Nanoseconds(NANOS_PER_DAY);
        let second = Precision::Nanoseconds(NANOS_PER_SECOND);
        let hour = Precision::Nanoseconds(3600 * NANOS_PER_SECOND);
        for (text, date, seconds, offset, precision) in [
            ("2001", (2001, 1, 1), 0.0, 0, Precision::Year),
            ("1-1-1", (1, 1, 1), 0.0, 0, day),
            (" 2001-06 ", (2001, 6, 1), 0.0, 0, Precision::Month),
            ("-0044-03-15", (-44, 3, 15), 0.0, 0, day),
            (
                "1900-01-01 00:00:0.0",
                (1900, 1, 1),
                0.0,
                0,
                Precision::Nanoseconds(100_000_000),
            ),
            ("1900-01-01T06:30:10", (1900, 1, 1), 23_410.0, 0, second),
            ("1900-01-01 6", (1900, 1, 1), 21_600.0, 0, hour),
            (
                "1992-10-8 15:15:42.5 -6:00",
                (1992, 10, 8),
                54_942.5,
                -21_600,
                Precision::Nanoseconds(100_000_000),
            ),
            ("2000-01-01T00:00:00Z", (2000, 1, 1), 0.0, 0, second),
            ("2000-01-01 12:00:00 UTC", (2000, 1, 1), 43_200.0, 0, second),
            (
                "2000-01-01 12:00+0530",
                (2000, 1, 1),
                43_200.0,
                19_800,
                Precision::Nanoseconds(60 * NANOS_PER_SECOND),
            ),
            (
                "2000-01-01 00:00:00.1234567891",
                (2000, 1, 1),
                0.123_456_789,
                0,
                Precision::Nanoseconds(1),
            ),
        ] {
            let parsed = ParsedTime::parse(text).expect(text);
            assert_eq!((parsed.year, parsed.month, parsed.day), date, "{text}");
            assert_eq!(
                parsed.nanosecond,
                (seconds * 1e9_f64).round() as u64,
                "{text}"
            );
            assert_eq!(
                (parsed.offset_seconds, parsed.precision),
                (offset, precision),
                "{text}"
            );
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "x",
            "2001-",
            "2001-06-",
            "2001-123-01",
            "2001-06-01 25:00",
            "2001-06-01 00:60",
            "2001-06-01 x",
            "99999999999-01-01",
            "2001-06-01 00:00:00 +1",
            "2001-06-01 00:00:00 +01:99x",
            "2001-06-01 00:00:00 CET",
            "2001-06-01 00:00 +123",
            "ü",
            "2001-06-01 00:00:00.5ü",
            "20010601",
        ] {
            let parsed = ParsedTime::parse(text);
            assert!(
                parsed.is_err() || text == "2001-06-01 00:00:00 +1",
                "{text:?}: {parsed:?}"
            );
        }
    }
}
