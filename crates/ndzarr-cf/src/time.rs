//! `Time`: a date and time in any calendar of the CF conventions.

pub(crate) mod calendar;
pub(crate) mod time_text;
pub(crate) mod time_units;

use std::cmp::Ordering;
use std::fmt;

use jiff::civil::{Date, DateTime};

use crate::error::{Error, Result};
use crate::time::calendar::Calendar;
use crate::time::time_text::{NANOS_PER_DAY, NANOS_PER_SECOND, ParsedTime, nanos_since_epoch};

/// A date and time of the day, to the nanosecond, in a [`Calendar`].
///
/// It has no time zone: times of the conventions are in UTC.
///
/// ```
/// use ndzarr_cf::{Calendar, Time};
///
/// let time = Time::parse("2001-02-30 06:00", Calendar::Days360)?;
/// assert_eq!(time.to_string(), "2001-02-30T06:00:00");
/// assert_eq!(time.to_datetime(), None);
/// assert!(time > Time::parse("2001-02-29T18", Calendar::Days360)?);
///
/// let time = Time::from(jiff::civil::date(2001, 2, 28).at(12, 30, 0, 0));
/// assert_eq!((time.calendar(), time.date()), (Calendar::ProlepticGregorian, (2001, 2, 28)));
/// # Ok::<(), ndzarr_cf::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Time {
    calendar: Calendar,
    /// A day of the calendar, counted from the first of 1970.
    day: i64,
    /// Counted from midnight.
    nanosecond: u64,
}

impl Time {
    /// Parses `2001-06-01T12:30:00.5` and shorter forms, such as `2001-6-1 12` and `2001`: a
    /// missing month or day is the first, a missing time is midnight. An offset such as `Z`, `UTC`
    /// or `+06:30` may follow.
    ///
    /// # Errors
    /// [`Error::Time`]: the text has another form, or the calendar has no such day.
    pub fn parse(text: &str, calendar: Calendar) -> Result<Self> {
        let wrong = |what: String| Error::Time {
            text: text.to_owned(),
            what,
        };
        let parsed = ParsedTime::parse(text).map_err(|what| wrong(what.to_owned()))?;
        Self::from_parsed(&parsed, calendar)
            .ok_or_else(|| wrong(format!("the calendar {calendar} has no such day")))
    }

    pub(crate) fn from_parsed(parsed: &ParsedTime, calendar: Calendar) -> Option<Self> {
        let (day, nanosecond) = parsed.instant(calendar)?;
        calendar.date(day).map(|_| Self {
            calendar,
            day,
            nanosecond,
        })
    }

    /// The time that is this long after the start of 1970; `None` if its year is out of range.
    pub(crate) fn since_epoch(nanos: i128, calendar: Calendar) -> Option<Self> {
        let day = i64::try_from(nanos.div_euclid(NANOS_PER_DAY.into())).ok()?;
        let nanosecond = u64::try_from(nanos.rem_euclid(NANOS_PER_DAY.into())).ok()?;
        calendar.date(day).map(|_| Self {
            calendar,
            day,
            nanosecond,
        })
    }

    /// Nanoseconds since the start of 1970.
    pub(crate) fn nanos(self) -> i128 {
        nanos_since_epoch(self.day, self.nanosecond)
    }

    /// The calendar.
    #[must_use]
    pub fn calendar(self) -> Calendar {
        self.calendar
    }

    /// The year, the month from 1, and the day of the month from 1.
    #[must_use]
    pub fn date(self) -> (i32, u8, u8) {
        self.calendar
            .date(self.day)
            .expect("it was checked when the time was made")
    }

    /// The time of the day, in nanoseconds since midnight.
    #[must_use]
    pub fn nanosecond_of_day(self) -> u64 {
        self.nanosecond
    }

    /// The same year, month, day and time of the day in another calendar; `None` if it has no such
    /// day.
    #[must_use]
    pub fn in_calendar(self, calendar: Calendar) -> Option<Self> {
        let (year, month, day) = self.date();
        Some(Self {
            calendar,
            day: calendar.day(year, month, day)?,
            nanosecond: self.nanosecond,
        })
    }

    /// The same year, month, day and time of the day in jiff, whose calendar is Gregorian; `None`
    /// if it has no such day.
    #[must_use]
    pub fn to_datetime(self) -> Option<DateTime> {
        let (year, month, day) = self.date();
        let seconds = self.nanosecond / NANOS_PER_SECOND;
        let nanos = self.nanosecond % NANOS_PER_SECOND;
        let part = |number: u64| i8::try_from(number).ok();
        DateTime::new(
            year.try_into().ok()?,
            part(month.into())?,
            part(day.into())?,
            part(seconds / 3600)?,
            part(seconds / 60 % 60)?,
            part(seconds % 60)?,
            nanos.try_into().ok()?,
        )
        .ok()
    }
}

/// The time in [`Calendar::ProlepticGregorian`], the calendar of jiff.
impl From<DateTime> for Time {
    fn from(datetime: DateTime) -> Self {
        let midnight = datetime.date().at(0, 0, 0, 0);
        let days = midnight
            .duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0))
            .as_hours()
            / 24;
        let nanosecond =
            u64::try_from(datetime.duration_since(midnight).as_nanos()).unwrap_or_default();
        Self {
            calendar: Calendar::ProlepticGregorian,
            day: days,
            nanosecond,
        }
    }
}

/// Midnight at the start of a day.
impl From<Date> for Time {
    fn from(date: Date) -> Self {
        date.at(0, 0, 0, 0).into()
    }
}

/// `None` for times of different calendars.
impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.calendar == other.calendar).then(|| self.nanos().cmp(&other.nanos()))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let seconds = self.nanosecond / NANOS_PER_SECOND;
        let nanos = self.nanosecond % NANOS_PER_SECOND;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let sign = if year < 0 { "-" } else { "" };
        write!(
            f,
            "{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}",
            year.unsigned_abs()
        )?;
        if nanos > 0 {
            write!(f, ".{}", format!("{nanos:09}").trim_end_matches('0'))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({})", self.calendar)
    }
}
