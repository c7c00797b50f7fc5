//! `TimeUnits`: the units of the counts of a time variable, such as `hours since 1900-01-01`.

use crate::time::Time;
use crate::time::calendar::Calendar;
use crate::time::time_text::ParsedTime;

/// The unit of counts, the time that they start from, and their calendar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeUnits {
    pub(crate) calendar: Calendar,
    /// In nanoseconds.
    unit: i128,
    /// In nanoseconds since 1970.
    reference: i128,
}

/// The first day of the Gregorian calendar in the standard one, in nanoseconds since 1970.
const REFORM: i128 = -141_427 * DAY;

pub(crate) const DAY: i128 = 86_400_000_000_000;
const MICROSECOND: i128 = 1000;

impl TimeUnits {
    /// Parses units; `None` if they are not those of a time.
    pub(crate) fn parse(units: &str, calendar: Calendar) -> Option<Result<Self, String>> {
        let (unit, reference) = units.split_once(" since ")?;
        let Some(unit_nanos) = unit_nanos(unit.trim(), calendar) else {
            let what = match unit.trim().to_ascii_lowercase().trim_end_matches('s') {
                "month" | "year" | "common_year" => "has no fixed length in the calendar",
                _ => "is not a unit of time; calendar",
            };
            return Some(Err(format!(
                "is {units:?}: {:?} {what} {calendar}",
                unit.trim()
            )));
        };
        let reference = ParsedTime::parse(reference)
            .map_err(str::to_owned)
            .and_then(|parsed| {
                let time = Time::from_parsed(&parsed, calendar);
                time.ok_or_else(|| format!("the calendar {calendar} has no such day"))
            });
        Some(match reference {
            Ok(time) => Ok(Self {
                calendar,
                unit: unit_nanos,
                reference: time.nanos(),
            }),
            Err(what) => Err(format!("is {units:?}: {what}")),
        })
    }

    /// The time of a whole count; `None` if its year is out of range.
    pub(crate) fn time(&self, count: i64) -> Option<Time> {
        Time::since_epoch(
            self.reference + i128::from(count) * self.unit,
            self.calendar,
        )
    }

    /// The time of a count; `None` if its year is out of range.
    ///
    /// It is truncated to nanoseconds if xarray has `datetime64[ns]`, and otherwise rounded to the
    /// nearest microsecond, as cftime does.
    pub(crate) fn time_at(&self, count: f64) -> Option<Time> {
        let nanos = count * self.unit as f64;
        // Far beyond any year, and well within the range of an `i128`.
        if nanos.is_nan() || nanos.abs() > 1e30 {
            return None;
        }
        let truncated = self.reference + nanos as i128;
        if self.is_datetime64(self.reference) && self.is_datetime64(truncated) {
            return Time::since_epoch(truncated, self.calendar);
        }
        if self.unit < MICROSECOND {
            return Time::since_epoch(
                self.reference + count.round_ties_even() as i128,
                self.calendar,
            );
        }
        let rest = count.fract() * (self.unit / MICROSECOND) as f64;
        let micros =
            count.trunc() as i128 * (self.unit / MICROSECOND) + rest.round_ties_even() as i128;
        Time::since_epoch(self.reference + micros * MICROSECOND, self.calendar)
    }

    /// True if xarray has a `datetime64[ns]` for a time, in nanoseconds since 1970.
    pub(crate) fn is_datetime64(&self, nanos: i128) -> bool {
        let is_gregorian = match self.calendar {
            Calendar::ProlepticGregorian => true,
            Calendar::Standard => nanos >= REFORM,
            _ => false,
        };
        is_gregorian && nanos > i128::from(i64::MIN) && nanos <= i128::from(i64::MAX)
    }

    /// The number of units from the reference to a time: whole ones, and the remaining fraction.
    pub(crate) fn count(&self, time: Time) -> (i128, f64) {
        let nanos = time.nanos() - self.reference;
        (
            nanos.div_euclid(self.unit),
            nanos.rem_euclid(self.unit) as f64 / self.unit as f64,
        )
    }
}

/// The length of a unit, by the names that UDUNITS and cftime know.
pub(crate) fn unit_nanos(name: &str, calendar: Calendar) -> Option<i128> {
    let second = 1_000_000_000;
    Some(match (&name.to_ascii_lowercase()[..], calendar) {
        ("nanosecond" | "nanoseconds" | "nanosec" | "nanosecs", _) => 1,
        ("microsecond" | "microseconds" | "microsec" | "microsecs", _) => MICROSECOND,
        (
            "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msec" | "msecs" | "ms",
            _,
        ) => 1_000_000,
        ("second" | "seconds" | "sec" | "secs" | "s", _) => second,
        ("minute" | "minutes" | "min" | "mins", _) => 60 * second,
        ("hour" | "hours" | "hr" | "hrs" | "h", _) => 3600 * second,
        ("day" | "days" | "d", _) => DAY,
        ("month" | "months", Calendar::Days360) => 30 * DAY,
        ("common_year" | "common_years", Calendar::NoLeap) => 365 * DAY,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(units: &str, calendar: Calendar, count: f64) -> String {
        let units = TimeUnits::parse(units, calendar)
            .expect("it has since")
            .expect("they are valid");
        let time = units.time_at(count).expect("it is in range");
        if count.fract() == 0.0 {
            assert_eq!(units.time(count as i64), Some(time));
        }
        time.to_string()
    }

    /// From `num2date` of cftime 1.6.6.
    #[test]
    fn counts_have_the_times_of_cftime() {
        for (units, calendar, count, expected) in [
            (
                "days since 2000-01-01",
                Calendar::Standard,
                59.5,
                "2000-02-29T12:00:00",
            ),
            (
                "days since 2000-01-01",
                Calendar::NoLeap,
                59.0,
                "2000-03-01T00:00:00",
            ),
            (
                "days since 2001-01-01",
                Calendar::AllLeap,
                59.0,
                "2001-02-29T00:00:00",
            ),
            (
                "months since 2000-01-01",
                Calendar::Days360,
                13.5,
                "2001-02-16T00:00:00",
            ),
            (
                "days since 0001-01-01",
                Calendar::Julian,
                700_000.0,
                "1917-07-01T00:00:00",
            ),
            (
                "days since 1582-10-04",
                Calendar::Standard,
                1.0,
                "1582-10-15T00:00:00",
            ),
            (
                "hours since 1900-01-01 06:00 +06:00",
                Calendar::Standard,
                -1.0,
                "1899-12-31T23:00:00",
            ),
            (
                "seconds since 1970-01-01",
                Calendar::ProlepticGregorian,
                0.1,
                "1970-01-01T00:00:00.1",
            ),
            (
                "seconds since 1970-01-01",
                Calendar::NoLeap,
                0.123_456_7,
                "1970-01-01T00:00:00.123457",
            ),
        ] {
            assert_eq!(
                time(units, calendar, count),
                expected,
                "{count} {units} in {calendar}"
            );
        }
    }

    #[test]
    fn other_units_are_refused() {
        assert_eq!(TimeUnits::parse("K", Calendar::Standard), None);
        for units in [
            "months since 2000-01-01",
            "fortnights since 2000-01-01",
            "days since then",
            "days since 2001-02-29",
        ] {
            let error = TimeUnits::parse(units, Calendar::Standard)
                .expect("it has since")
                .expect_err(units);
            assert!(error.contains(units), "{error}");
        }
    }

    #[test]
    fn counts_beyond_all_years_have_no_time() {
        let units =
            TimeUnits::parse("days since 2000-01-01", Calendar::NoLeap).expect("it has since");
        let units = units.expect("they are valid");
        for count in [f64::NAN, f64::INFINITY, 1e300, -1e15, 1e9] {
            assert_eq!(units.time_at(count), None, "{count}");
        }
        assert_eq!(units.time(i64::MAX), None);
        assert_eq!(units.time(i64::MIN), None);
    }
}
