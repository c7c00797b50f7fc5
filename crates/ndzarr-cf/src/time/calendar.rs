//! `Calendar`: the calendars of the CF conventions, and the numbering of their days.

use std::fmt;

use jiff::SignedDuration;
use jiff::civil::Date;

/// A calendar of the
/// [CF conventions](https://cfconventions.org/cf-conventions/cf-conventions.html#calendar).
///
/// Years are those of astronomers: the year before 1 is 0. In `Standard` and `ProlepticGregorian`
/// they go from -9999 to 9999, in the others from -999,999 to 999,999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Calendar {
    /// `standard` or `gregorian`, and the calendar of times that state none: Gregorian from 15
    /// October 1582, and Julian until the day before, 4 October.
    #[default]
    Standard,
    /// `proleptic_gregorian`: Gregorian before 1582 too, as in jiff and NumPy.
    ProlepticGregorian,
    /// `julian`: every fourth year is a leap year.
    Julian,
    /// `noleap` or `365_day`: no year is a leap year.
    NoLeap,
    /// `all_leap` or `366_day`: every year is a leap year.
    AllLeap,
    /// `360_day`: every month has 30 days.
    Days360,
}

/// The day on which the Gregorian calendar begins in [`Calendar::Standard`], since 1970.
const REFORM: i64 = -141_427;

const EPOCH: Date = Date::constant(1970, 1, 1);

/// The greatest year of the calendars that are not jiff's.
const LAST_YEAR: i32 = 999_999;

impl Calendar {
    /// The calendar with this name in an attribute.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match &name.to_ascii_lowercase()[..] {
            "standard" | "gregorian" => Self::Standard,
            "proleptic_gregorian" => Self::ProlepticGregorian,
            "julian" => Self::Julian,
            "noleap" | "365_day" => Self::NoLeap,
            "all_leap" | "366_day" => Self::AllLeap,
            "360_day" => Self::Days360,
            _ => return None,
        })
    }

    /// The number of a day, counted from 1970-01-01: of the Gregorian calendar for calendars of the
    /// real world, otherwise of the calendar itself. `None` if the calendar has no such day.
    pub(crate) fn day(self, year: i32, month: u8, day: u8) -> Option<i64> {
        match self {
            Self::ProlepticGregorian => gregorian(year, month, day),
            Self::Standard => match gregorian(year, month, day).filter(|&day| day >= REFORM) {
                None => julian(year, month, day).filter(|&day| day < REFORM && year >= -9999),
                found => found,
            },
            Self::Julian => julian(year, month, day),
            Self::NoLeap => model(year, month, day, 365),
            Self::AllLeap => model(year, month, day, 366),
            Self::Days360 => model(year, month, day, 360),
        }
    }

    /// The year, month and day of the month; the reverse of [`day`](Self::day). `None` if the year
    /// is out of range.
    pub(crate) fn date(self, day: i64) -> Option<(i32, u8, u8)> {
        // Otherwise the computations below could overflow.
        if day.unsigned_abs() > 400 * u64::from(LAST_YEAR.unsigned_abs()) {
            return None;
        }
        let (year, month, day) = match self {
            Self::Standard if day < REFORM => {
                julian_date(day).filter(|&(year, ..)| year >= -9999)?
            }
            Self::ProlepticGregorian | Self::Standard => gregorian_date(day)?,
            Self::Julian => julian_date(day)?,
            Self::NoLeap => model_date(day, 365)?,
            Self::AllLeap => model_date(day, 366)?,
            Self::Days360 => model_date(day, 360)?,
        };
        (year.abs() <= LAST_YEAR).then_some((year, month, day))
    }
}

/// The name in the conventions.
impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::ProlepticGregorian => "proleptic_gregorian",
            Self::Julian => "julian",
            Self::NoLeap => "noleap",
            Self::AllLeap => "all_leap",
            Self::Days360 => "360_day",
        })
    }
}

fn gregorian(year: i32, month: u8, day: u8) -> Option<i64> {
    let date = Date::new(
        year.try_into().ok()?,
        month.try_into().ok()?,
        day.try_into().ok()?,
    )
    .ok()?;
    Some(date.duration_since(EPOCH).as_hours() / 24)
}

fn gregorian_date(day: i64) -> Option<(i32, u8, u8)> {
    let date = EPOCH
        .checked_add(SignedDuration::from_hours(24 * day))
        .ok()?;
    Some((
        date.year().into(),
        date.month().try_into().ok()?,
        date.day().try_into().ok()?,
    ))
}

/// The number of days before a month, in a year that begins in March.
fn days_before(month_since_march: i64) -> i64 {
    (153 * month_since_march + 2) / 5
}

/// Days from 0000-03-01 of the Julian calendar to 1970-01-01 of the Gregorian one.
const JULIAN_TO_EPOCH: i64 = 719_470;

fn julian(year: i32, month: u8, day: u8) -> Option<i64> {
    check_day(year, month, day, if year % 4 == 0 { 366 } else { 365 })?;
    // In a year that begins in March, a leap day is the last.
    let year = i64::from(year) - i64::from(month <= 2);
    let month = (i64::from(month) + 9) % 12;
    let leap_days = year.div_euclid(4);
    Some(365 * year + leap_days + days_before(month) + i64::from(day) - 1 - JULIAN_TO_EPOCH)
}

fn julian_date(day: i64) -> Option<(i32, u8, u8)> {
    let day = day + JULIAN_TO_EPOCH;
    let four_years = day.div_euclid(1461);
    let day = day.rem_euclid(1461);
    // The last of the four years has 366 days.
    let year = (day - day / 1460) / 365;
    let day = day - 365 * year;
    let month = (5 * day + 2) / 153;
    let day = day - days_before(month) + 1;
    let is_in_next_year = month >= 10;
    let month = if is_in_next_year {
        month - 9
    } else {
        month + 3
    };
    let year = 4 * four_years + year + i64::from(is_in_next_year);
    Some((
        year.try_into().ok()?,
        month.try_into().ok()?,
        day.try_into().ok()?,
    ))
}

/// The lengths of the months of a year.
fn months(days_of_year: i64) -> [u8; 12] {
    match days_of_year {
        360 => [30; 12],
        days => [
            31,
            if days == 366 { 29 } else { 28 },
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ],
    }
}

/// `None` if a calendar with years of this length has no such day.
fn check_day(year: i32, month: u8, day: u8, days_of_year: i64) -> Option<()> {
    let month = usize::from(month).checked_sub(1)?;
    let last = *months(days_of_year).get(month)?;
    (year.abs() <= LAST_YEAR && (1..=last).contains(&day)).then_some(())
}

/// The number of a day in a calendar whose years all have the same length.
fn model(year: i32, month: u8, day: u8, days_of_year: i64) -> Option<i64> {
    check_day(year, month, day, days_of_year)?;
    let before: i64 = months(days_of_year)[..usize::from(month) - 1]
        .iter()
        .map(|&days| i64::from(days))
        .sum();
    Some((i64::from(year) - 1970) * days_of_year + before + i64::from(day) - 1)
}

fn model_date(day: i64, days_of_year: i64) -> Option<(i32, u8, u8)> {
    let year = 1970 + day.div_euclid(days_of_year);
    let mut rest = day.rem_euclid(days_of_year);
    for (month, days) in (1..).zip(months(days_of_year)) {
        if rest < i64::from(days) {
            return Some((year.try_into().ok()?, month, u8::try_from(rest).ok()? + 1));
        }
        rest -= i64::from(days);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Calendar; 6] = [
        Calendar::Standard,
        Calendar::ProlepticGregorian,
        Calendar::Julian,
        Calendar::NoLeap,
        Calendar::AllLeap,
        Calendar::Days360,
    ];

    /// From cftime 1.6.6: `date2num` in days since 1970-01-01; for calendars of the real world,
    /// `toordinal` less that of 1970-01-01 in the Gregorian one.
    #[test]
    fn days_have_the_numbers_of_cftime() {
        for (calendar, date, day) in [
            (Calendar::Standard, (2000, 2, 29), 11_016),
            (Calendar::Standard, (1582, 10, 15), -141_427),
            (Calendar::Standard, (1582, 10, 4), -141_428),
            (Calendar::Standard, (1, 1, 1), -719_164),
            (Calendar::ProlepticGregorian, (1582, 10, 4), -141_438),
            (Calendar::ProlepticGregorian, (1, 1, 1), -719_162),
            (Calendar::Julian, (2000, 2, 29), 11_029),
            (Calendar::Julian, (1900, 2, 29), -25_496),
            (Calendar::NoLeap, (2000, 3, 1), 11_009),
            (Calendar::AllLeap, (2001, 2, 29), 11_405),
            (Calendar::Days360, (2001, 2, 30), 11_219),
        ] {
            let (year, month, day_of_month) = date;
            assert_eq!(
                calendar.day(year, month, day_of_month),
                Some(day),
                "{calendar} {date:?}"
            );
            assert_eq!(calendar.date(day), Some(date), "{calendar} {day}");
        }
    }

    #[test]
    fn days_that_do_not_exist() {
        for (calendar, year, month, day) in [
            (Calendar::Standard, 1582, 10, 5),
            (Calendar::Standard, 1582, 10, 14),
            (Calendar::Standard, 1900, 2, 29),
            (Calendar::NoLeap, 2000, 2, 29),
            (Calendar::Days360, 2000, 1, 31),
            (Calendar::Julian, 1901, 2, 29),
            (Calendar::AllLeap, 2000, 13, 1),
            (Calendar::AllLeap, 2000, 0, 1),
            (Calendar::AllLeap, 2000, 1, 0),
            (Calendar::ProlepticGregorian, 10_000, 1, 1),
            (Calendar::Julian, i32::MIN + 1, 1, 1),
        ] {
            assert_eq!(
                calendar.day(year, month, day),
                None,
                "{calendar} {year}-{month}-{day}"
            );
        }
    }

    #[test]
    fn every_day_has_one_date() {
        for calendar in ALL {
            let mut before = calendar.date(-800_000).expect("it is in range");
            for day in -799_999..800_000 {
                let date = calendar.date(day).expect("it is in range");
                assert!(date > before, "{calendar} {day}");
                assert_eq!(
                    calendar.day(date.0, date.1, date.2),
                    Some(day),
                    "{calendar} {date:?}"
                );
                before = date;
            }
            assert_eq!(calendar.date(i64::MIN), None);
            assert_eq!(calendar.date(i64::MAX), None);
        }
    }

    #[test]
    fn names_are_those_of_the_conventions() {
        for calendar in ALL {
            assert_eq!(Calendar::named(&calendar.to_string()), Some(calendar));
        }
        assert_eq!(Calendar::named("365_Day"), Some(Calendar::NoLeap));
        assert_eq!(Calendar::named("none"), None);
    }
}
