//! Conversions to dates and durations of the crate jiff.

use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Timestamp};
use ndzarr_model::{DataType, TimeUnit};

use crate::element_types::times::{Datetime64, Timedelta64};
use crate::error::{Error, ErrorKind, Result};

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// With the feature `jiff`: converts counts by the unit and the scale of their array, as NumPy
/// does. Steps of years and months follow the calendar. A time that is not a whole number of steps
/// is rounded down to the earlier step.
impl Datetime64 {
    /// Converts an element of this type to a date and time; `None` for [`NAT`](Self::NAT).
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndzarr::{Array, DataType, Datetime64, MemoryStore, TimeUnit};
    ///
    /// let months = DataType::DateTime64 { unit: TimeUnit::Month, scale: 1 };
    /// let a = Array::<Datetime64>::builder([2]).data_type(months).create((MemoryStore::new(), "a"))?;
    /// a.write([0..2], &arr1(&[Datetime64(361), Datetime64::NAT]))?;
    /// let read = a.read([0..2])?;
    /// let date = jiff::civil::date(2000, 2, 1).at(0, 0, 0, 0);
    /// assert_eq!(read[0].to_datetime(a.data_type())?, Some(date));
    /// assert_eq!(read[1].to_datetime(a.data_type())?, None);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The time is before the year -9999 or after 9999; the type is not `datetime64`, or has no
    /// unit.
    pub fn to_datetime(self, data_type: &DataType) -> Result<Option<DateTime>> {
        let (unit, scale) = step_of_dates(data_type)?;
        if self.is_nat() {
            return Ok(None);
        }
        let beyond = || beyond(format_args!("{} steps of {data_type}", self.0));
        let steps = i128::from(self.0) * i128::from(scale);
        let months = match unit {
            TimeUnit::Year => steps * 12,
            TimeUnit::Month => steps,
            _ => {
                let nanos = nanoseconds(unit, steps)
                    .and_then(in_duration)
                    .ok_or_else(beyond)?;
                return EPOCH.checked_add(nanos).map(Some).map_err(|_| beyond());
            }
        };
        let year = i16::try_from(1970 + months.div_euclid(12)).map_err(|_| beyond())?;
        #[allow(clippy::cast_possible_truncation)]
        let month = months.rem_euclid(12) as i8 + 1;
        let date = Date::new(year, month, 1).map_err(|_| beyond())?;
        Ok(Some(date.to_datetime(Time::midnight())))
    }

    /// Converts an element of this type to an instant, taken as UTC; `None` for [`NAT`](Self::NAT).
    ///
    /// ```
    /// use ndzarr::{DataType, Datetime64, TimeUnit};
    ///
    /// let seconds = DataType::DateTime64 { unit: TimeUnit::Second, scale: 1 };
    /// let instant = Datetime64(1_000_000_000).to_timestamp(&seconds)?;
    /// assert_eq!(instant.map(|instant| instant.to_string()).as_deref(), Some("2001-09-09T01:46:40Z"));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The instant is out of range for jiff, or an error of [`to_datetime`](Self::to_datetime).
    pub fn to_timestamp(self, data_type: &DataType) -> Result<Option<Timestamp>> {
        let Some(datetime) = self.to_datetime(data_type)? else {
            return Ok(None);
        };
        Timestamp::from_nanosecond(datetime.duration_since(EPOCH).as_nanos())
            .map(Some)
            .map_err(beyond)
    }

    /// The element of this type for a date and time; [`NAT`](Self::NAT) for `None`.
    ///
    /// ```
    /// use ndzarr::{DataType, Datetime64, TimeUnit};
    ///
    /// let years = DataType::DateTime64 { unit: TimeUnit::Year, scale: 1 };
    /// let noon = jiff::civil::date(1969, 7, 20).at(12, 0, 0, 0);
    /// assert_eq!(Datetime64::from_datetime(noon, &years)?, Datetime64(-1));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The time is out of range for the type; the type is not `datetime64`, or has no unit.
    pub fn from_datetime(
        datetime: impl Into<Option<DateTime>>,
        data_type: &DataType,
    ) -> Result<Self> {
        let (unit, scale) = step_of_dates(data_type)?;
        let Some(datetime) = datetime.into() else {
            return Ok(Self::NAT);
        };
        let years = i128::from(datetime.year()) - 1970;
        let units = match unit {
            TimeUnit::Year => Some(years),
            TimeUnit::Month => Some(years * 12 + i128::from(datetime.month()) - 1),
            _ => units(unit, datetime.duration_since(EPOCH).as_nanos()),
        };
        count(units, scale)
            .map(Self)
            .ok_or_else(|| beyond(format_args!("{datetime} in {data_type}")))
    }

    /// The element of this type for an instant, in UTC; [`NAT`](Self::NAT) for `None`.
    ///
    /// ```
    /// use jiff::Timestamp;
    /// use ndzarr::{DataType, Datetime64, TimeUnit};
    ///
    /// let days = DataType::DateTime64 { unit: TimeUnit::Day, scale: 1 };
    /// assert_eq!(Datetime64::from_timestamp(Timestamp::UNIX_EPOCH, &days)?, Datetime64(0));
    /// assert!(Datetime64::from_timestamp(None, &days)?.is_nat());
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`from_datetime`](Self::from_datetime).
    pub fn from_timestamp(
        instant: impl Into<Option<Timestamp>>,
        data_type: &DataType,
    ) -> Result<Self> {
        let datetime = instant
            .into()
            .map(|instant| EPOCH.checked_add(instant.as_duration()).map_err(beyond));
        Self::from_datetime(datetime.transpose()?, data_type)
    }
}

/// With the feature `jiff`: converts counts by the unit and the scale of their array, as NumPy
/// does. A duration that is not a whole number of steps is rounded down to the lesser step. Years
/// and months have no fixed length, and are errors.
impl Timedelta64 {
    /// Converts an element of this type to a duration; `None` for [`NAT`](Self::NAT).
    ///
    /// ```
    /// use jiff::SignedDuration;
    /// use ndzarr::{DataType, TimeUnit, Timedelta64};
    ///
    /// let quarters = DataType::TimeDelta64 { unit: TimeUnit::Minute, scale: 15 };
    /// assert_eq!(Timedelta64(-3).to_duration(&quarters)?, Some(SignedDuration::from_mins(-45)));
    /// assert_eq!(Timedelta64::NAT.to_duration(&quarters)?, None);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The duration has more seconds than fit an `i64`; the type is not `timedelta64`, or its unit
    /// is years, months or missing.
    pub fn to_duration(self, data_type: &DataType) -> Result<Option<SignedDuration>> {
        let (unit, scale) = step_of_durations(data_type)?;
        if self.is_nat() {
            return Ok(None);
        }
        let nanos = nanoseconds(unit, i128::from(self.0) * i128::from(scale));
        let duration = nanos.and_then(in_duration);
        duration
            .map(Some)
            .ok_or_else(|| beyond(format_args!("{} steps of {data_type}", self.0)))
    }

    /// The element of this type for a duration; [`NAT`](Self::NAT) for `None`.
    ///
    /// ```
    /// use jiff::SignedDuration;
    /// use ndzarr::{DataType, TimeUnit, Timedelta64};
    ///
    /// let hours = DataType::TimeDelta64 { unit: TimeUnit::Hour, scale: 1 };
    /// assert_eq!(Timedelta64::from_duration(SignedDuration::from_mins(150), &hours)?, Timedelta64(2));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The duration is out of range for the type; the type is not `timedelta64`, or its unit is
    /// years, months or missing.
    pub fn from_duration(
        duration: impl Into<Option<SignedDuration>>,
        data_type: &DataType,
    ) -> Result<Self> {
        let (unit, scale) = step_of_durations(data_type)?;
        let Some(duration) = duration.into() else {
            return Ok(Self::NAT);
        };
        let count = count(units(unit, duration.as_nanos()), scale).map(Self);
        count.ok_or_else(|| beyond(format_args!("{duration} in {data_type}")))
    }
}

fn step_of_dates(data_type: &DataType) -> Result<(TimeUnit, u32)> {
    match data_type {
        DataType::DateTime64 { unit, scale } if *unit != TimeUnit::Generic => Ok((*unit, *scale)),
        other => Err(Error::new(
            ErrorKind::WrongType,
            format!("elements of {other} are not dates with a unit"),
        )),
    }
}

fn step_of_durations(data_type: &DataType) -> Result<(TimeUnit, u32)> {
    match data_type {
        DataType::TimeDelta64 { unit, scale }
            if !matches!(unit, TimeUnit::Generic | TimeUnit::Year | TimeUnit::Month) =>
        {
            Ok((*unit, *scale))
        }
        other => {
            let what = format!("elements of {other} are not durations with a unit of fixed length");
            Err(Error::new(ErrorKind::WrongType, what))
        }
    }
}

/// The number of nanoseconds in a unit, or of units in a nanosecond.
enum Length {
    Nanoseconds(i128),
    PerNanosecond(i128),
}

fn length(unit: TimeUnit) -> Option<Length> {
    const SECOND: i128 = 1_000_000_000;
    Some(Length::Nanoseconds(match unit {
        TimeUnit::Week => 7 * 86_400 * SECOND,
        TimeUnit::Day => 86_400 * SECOND,
        TimeUnit::Hour => 3600 * SECOND,
        TimeUnit::Minute => 60 * SECOND,
        TimeUnit::Second => SECOND,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
        TimeUnit::Picosecond => return Some(Length::PerNanosecond(1000)),
        TimeUnit::Femtosecond => return Some(Length::PerNanosecond(1_000_000)),
        TimeUnit::Attosecond => return Some(Length::PerNanosecond(1_000_000_000)),
        TimeUnit::Year | TimeUnit::Month | TimeUnit::Generic => return None,
    }))
}

/// Converts units to nanoseconds, rounded down.
fn nanoseconds(unit: TimeUnit, units: i128) -> Option<i128> {
    match length(unit)? {
        Length::Nanoseconds(n) => units.checked_mul(n),
        Length::PerNanosecond(n) => Some(units.div_euclid(n)),
    }
}

/// Converts nanoseconds to units, rounded down.
fn units(unit: TimeUnit, nanos: i128) -> Option<i128> {
    match length(unit)? {
        Length::Nanoseconds(n) => Some(nanos.div_euclid(n)),
        Length::PerNanosecond(n) => nanos.checked_mul(n),
    }
}

/// Converts units to steps, rounded down. The least count means "not a time".
fn count(units: Option<i128>, scale: u32) -> Option<i64> {
    let steps = units?.div_euclid(i128::from(scale.max(1)));
    i64::try_from(steps).ok().filter(|&count| count != i64::MIN)
}

fn in_duration(nanos: i128) -> Option<SignedDuration> {
    let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
    let rest = i32::try_from(nanos.rem_euclid(1_000_000_000)).ok()?;
    SignedDuration::from_secs(seconds).checked_add(SignedDuration::new(0, rest))
}

fn beyond(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("out of range: {what}"))
}
