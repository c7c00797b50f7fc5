//! Dates and durations from and to the types of jiff. The tables are from NumPy 2 (`astype`).

use jiff::civil::{DateTime, date};
use jiff::{SignedDuration, Timestamp};
use ndzarr::TimeUnit::{
    Attosecond, Day, Femtosecond, Generic, Hour, Microsecond, Millisecond, Minute, Month,
    Nanosecond, Picosecond, Second, Week, Year,
};
use ndzarr::{DataType, Datetime64, ErrorKind, TimeUnit, Timedelta64};

/// Unit, scale, count; year to nanosecond, if jiff has it.
#[rustfmt::skip]
const DATES: &[(TimeUnit, u32, i64, Option<[i32; 7]>)] = &[
    (Year, 1, -1, Some([1969, 1, 1, 0, 0, 0, 0])),
    (Year, 7, 0, Some([1970, 1, 1, 0, 0, 0, 0])),
    (Year, 7, 1, Some([1977, 1, 1, 0, 0, 0, 0])),
    (Year, 7, -1, Some([1963, 1, 1, 0, 0, 0, 0])),
    (Year, 7, 31, Some([2187, 1, 1, 0, 0, 0, 0])),
    (Year, 7, -1000, Some([-5030, 1, 1, 0, 0, 0, 0])),
    (Month, 1, -1, Some([1969, 12, 1, 0, 0, 0, 0])),
    (Month, 7, 0, Some([1970, 1, 1, 0, 0, 0, 0])),
    (Month, 7, 1, Some([1970, 8, 1, 0, 0, 0, 0])),
    (Month, 7, -1, Some([1969, 6, 1, 0, 0, 0, 0])),
    (Month, 7, 31, Some([1988, 2, 1, 0, 0, 0, 0])),
    (Month, 7, -1000, Some([1386, 9, 1, 0, 0, 0, 0])),
    (Month, 7, 123_456, None),
    (Week, 1, -1, Some([1969, 12, 25, 0, 0, 0, 0])),
    (Week, 7, -1, Some([1969, 11, 13, 0, 0, 0, 0])),
    (Week, 7, -1000, Some([1835, 11, 5, 0, 0, 0, 0])),
    (Week, 7, 123_456, None),
    (Day, 1, -1, Some([1969, 12, 31, 0, 0, 0, 0])),
    (Day, 7, -1, Some([1969, 12, 25, 0, 0, 0, 0])),
    (Day, 7, -1000, Some([1950, 11, 2, 0, 0, 0, 0])),
    (Day, 7, 123_456, Some([4336, 1, 30, 0, 0, 0, 0])),
    (Hour, 1, -1, Some([1969, 12, 31, 23, 0, 0, 0])),
    (Hour, 7, -1, Some([1969, 12, 31, 17, 0, 0, 0])),
    (Hour, 7, -1000, Some([1969, 3, 15, 8, 0, 0, 0])),
    (Hour, 7, 123_456, Some([2068, 8, 2, 0, 0, 0, 0])),
    (Minute, 1, -1, Some([1969, 12, 31, 23, 59, 0, 0])),
    (Minute, 7, -1, Some([1969, 12, 31, 23, 53, 0, 0])),
    (Minute, 7, -1000, Some([1969, 12, 27, 3, 20, 0, 0])),
    (Minute, 7, 123_456, Some([1971, 8, 24, 3, 12, 0, 0])),
    (Second, 1, -1, Some([1969, 12, 31, 23, 59, 59, 0])),
    (Second, 7, -1, Some([1969, 12, 31, 23, 59, 53, 0])),
    (Second, 7, -1000, Some([1969, 12, 31, 22, 3, 20, 0])),
    (Second, 7, 123_456, Some([1970, 1, 11, 0, 3, 12, 0])),
    (Millisecond, 1, -1, Some([1969, 12, 31, 23, 59, 59, 999_000_000])),
    (Millisecond, 7, -1, Some([1969, 12, 31, 23, 59, 59, 993_000_000])),
    (Millisecond, 7, -1000, Some([1969, 12, 31, 23, 59, 53, 0])),
    (Millisecond, 7, 123_456, Some([1970, 1, 1, 0, 14, 24, 192_000_000])),
    (Microsecond, 1, -1, Some([1969, 12, 31, 23, 59, 59, 999_999_000])),
    (Microsecond, 7, -1, Some([1969, 12, 31, 23, 59, 59, 999_993_000])),
    (Microsecond, 7, -1000, Some([1969, 12, 31, 23, 59, 59, 993_000_000])),
    (Microsecond, 7, 123_456, Some([1970, 1, 1, 0, 0, 0, 864_192_000])),
    (Nanosecond, 1, -1, Some([1969, 12, 31, 23, 59, 59, 999_999_999])),
    (Nanosecond, 7, -1, Some([1969, 12, 31, 23, 59, 59, 999_999_993])),
    (Nanosecond, 7, -1000, Some([1969, 12, 31, 23, 59, 59, 999_993_000])),
    (Nanosecond, 7, 123_456, Some([1970, 1, 1, 0, 0, 0, 864_192])),
    (Picosecond, 1, -1, Some([1969, 12, 31, 23, 59, 59, 999_999_999])),
    (Picosecond, 7, -1, Some([1969, 12, 31, 23, 59, 59, 999_999_999])),
    (Picosecond, 7, -1000, Some([1969, 12, 31, 23, 59, 59, 999_999_993])),
    (Picosecond, 7, 123_456, Some([1970, 1, 1, 0, 0, 0, 864])),
    (Femtosecond, 1, -1, Some([1969, 12, 31, 23, 59, 59, 999_999_999])),
    (Femtosecond, 7, -1, Some([1969, 12, 31, 23, 59, 59, 999_999_999])),
    (Femtosecond, 7, -1000, Some([1969, 12, 31, 23, 59, 59, 999_999_999])),
    (Femtosecond, 7, 123_456, Some([1970, 1, 1, 0, 0, 0, 0])),
];

const TIMES: [([i32; 7], i128); 4] = [
    (
        [2000, 2, 29, 12, 34, 56, 123_456_789],
        951_827_696_123_456_789,
    ),
    ([1969, 12, 31, 23, 59, 59, 999_999_999], -1),
    ([1970, 1, 1, 0, 0, 0, 1], 1),
    ([1901, 6, 15, 1, 2, 3, 0], -2_163_193_077_000_000_000),
];

/// Which of the times, unit, scale; count.
#[rustfmt::skip]
const COUNTS: &[(usize, TimeUnit, u32, i64)] = &[
    (0, Year, 1, 30),
    (0, Year, 7, 4),
    (0, Month, 1, 361),
    (0, Month, 7, 51),
    (0, Week, 1, 1573),
    (0, Week, 7, 224),
    (0, Day, 7, 1573),
    (0, Hour, 7, 37_770),
    (0, Minute, 7, 2_266_256),
    (0, Second, 7, 135_975_385),
    (0, Millisecond, 7, 135_975_385_160),
    (0, Microsecond, 7, 135_975_385_160_493),
    (0, Nanosecond, 7, 135_975_385_160_493_827),
    (1, Year, 1, -1),
    (1, Year, 7, -1),
    (1, Month, 1, -1),
    (1, Month, 7, -1),
    (1, Week, 1, -1),
    (1, Week, 7, -1),
    (1, Day, 7, -1),
    (1, Hour, 7, -1),
    (1, Minute, 7, -1),
    (1, Second, 7, -1),
    (1, Millisecond, 7, -1),
    (1, Microsecond, 7, -1),
    (1, Nanosecond, 7, -1),
    (2, Year, 1, 0),
    (2, Year, 7, 0),
    (2, Month, 1, 0),
    (2, Month, 7, 0),
    (2, Week, 1, 0),
    (2, Week, 7, 0),
    (2, Day, 7, 0),
    (2, Hour, 7, 0),
    (2, Minute, 7, 0),
    (2, Second, 7, 0),
    (2, Millisecond, 7, 0),
    (2, Microsecond, 7, 0),
    (2, Nanosecond, 7, 0),
    (3, Year, 1, -69),
    (3, Year, 7, -10),
    (3, Month, 1, -823),
    (3, Month, 7, -118),
    (3, Week, 1, -3577),
    (3, Week, 7, -511),
    (3, Day, 7, -3577),
    (3, Hour, 7, -85_841),
    (3, Minute, 7, -5_150_460),
    (3, Second, 7, -309_027_583),
    (3, Millisecond, 7, -309_027_582_429),
    (3, Microsecond, 7, -309_027_582_428_572),
    (3, Nanosecond, 7, -309_027_582_428_571_429),
    (2, Picosecond, 7, 142),
    (2, Femtosecond, 7, 142_857),
    (2, Attosecond, 7, 142_857_142),
    (1, Picosecond, 7, -143),
];

/// Unit, scale, count; nanoseconds.
#[rustfmt::skip]
const DURATIONS: &[(TimeUnit, u32, i64, i128)] = &[
    (Week, 1, 3, 1_814_400_000_000_000),
    (Week, 7, -5, -21_168_000_000_000_000),
    (Week, 1, -1001, -605_404_800_000_000_000),
    (Day, 1, 3, 259_200_000_000_000),
    (Day, 7, -5, -3_024_000_000_000_000),
    (Day, 1, -1001, -86_486_400_000_000_000),
    (Hour, 1, 3, 10_800_000_000_000),
    (Hour, 7, -5, -126_000_000_000_000),
    (Hour, 1, -1001, -3_603_600_000_000_000),
    (Minute, 1, 3, 180_000_000_000),
    (Minute, 7, -5, -2_100_000_000_000),
    (Minute, 1, -1001, -60_060_000_000_000),
    (Second, 1, 3, 3_000_000_000),
    (Second, 7, -5, -35_000_000_000),
    (Second, 1, -1001, -1_001_000_000_000),
    (Millisecond, 1, 3, 3_000_000),
    (Millisecond, 7, -5, -35_000_000),
    (Millisecond, 1, -1001, -1_001_000_000),
    (Microsecond, 1, 3, 3000),
    (Microsecond, 7, -5, -35_000),
    (Microsecond, 1, -1001, -1_001_000),
    (Nanosecond, 1, 3, 3),
    (Nanosecond, 7, -5, -35),
    (Nanosecond, 1, -1001, -1001),
    (Picosecond, 1, 3, 0),
    (Picosecond, 7, -5, -1),
    (Picosecond, 1, -1001, -2),
    (Femtosecond, 1, 3, 0),
    (Femtosecond, 7, -5, -1),
    (Femtosecond, 1, -1001, -1),
    (Attosecond, 1, 3, 0),
    (Attosecond, 7, -5, -1),
    (Attosecond, 1, -1001, -1),
];

/// Nanoseconds, unit, scale; count.
#[rustfmt::skip]
const OF_DURATIONS: &[(i64, TimeUnit, u32, i64)] = &[
    (1, Week, 7, 0),
    (1, Day, 7, 0),
    (1, Hour, 7, 0),
    (1, Minute, 7, 0),
    (1, Second, 7, 0),
    (1, Millisecond, 7, 0),
    (1, Microsecond, 7, 0),
    (1, Nanosecond, 7, 0),
    (-1, Week, 7, -1),
    (-1, Day, 7, -1),
    (-1, Hour, 7, -1),
    (-1, Minute, 7, -1),
    (-1, Second, 7, -1),
    (-1, Millisecond, 7, -1),
    (-1, Microsecond, 7, -1),
    (-1, Nanosecond, 7, -1),
    (90_061_000_000_001, Week, 7, 0),
    (90_061_000_000_001, Day, 7, 0),
    (90_061_000_000_001, Hour, 7, 3),
    (90_061_000_000_001, Minute, 7, 214),
    (90_061_000_000_001, Second, 7, 12_865),
    (90_061_000_000_001, Millisecond, 7, 12_865_857),
    (90_061_000_000_001, Microsecond, 7, 12_865_857_142),
    (90_061_000_000_001, Nanosecond, 7, 12_865_857_142_857),
    (-604_800_000_000_001, Week, 7, -1),
    (-604_800_000_000_001, Day, 7, -2),
    (-604_800_000_000_001, Hour, 7, -25),
    (-604_800_000_000_001, Minute, 7, -1441),
    (-604_800_000_000_001, Second, 7, -86_401),
    (-604_800_000_000_001, Millisecond, 7, -86_400_001),
    (-604_800_000_000_001, Microsecond, 7, -86_400_000_001),
    (-604_800_000_000_001, Nanosecond, 7, -86_400_000_000_001),
];

fn dates(unit: TimeUnit, scale: u32) -> DataType {
    DataType::DateTime64 { unit, scale }
}

fn durations(unit: TimeUnit, scale: u32) -> DataType {
    DataType::TimeDelta64 { unit, scale }
}

fn datetime(parts: [i32; 7]) -> DateTime {
    let [year, month, day, hour, minute, second, nanosecond] = parts;
    date(year as i16, month as i8, day as i8).at(hour as i8, minute as i8, second as i8, nanosecond)
}

#[test]
fn counts_are_dates() {
    for &(unit, scale, count, expected) in DATES {
        let found = Datetime64(count).to_datetime(&dates(unit, scale));
        match expected {
            Some(parts) => {
                assert_eq!(
                    found.expect("a date"),
                    Some(datetime(parts)),
                    "{count} x {scale} {unit}"
                )
            }
            None => {
                assert_eq!(
                    found.expect_err("has to be refused").kind(),
                    ErrorKind::InvalidArgument,
                    "{count} x {scale} {unit}"
                )
            }
        }
    }
}

#[test]
fn dates_are_counts() {
    for &(time, unit, scale, count) in COUNTS {
        let (parts, nanos) = TIMES[time];
        let data_type = dates(unit, scale);
        let found = Datetime64::from_datetime(datetime(parts), &data_type).expect("a count");
        assert_eq!(found, Datetime64(count), "{parts:?} in {scale} {unit}");
        let instant = Timestamp::from_nanosecond(nanos).expect("an instant");
        assert_eq!(
            Datetime64::from_timestamp(instant, &data_type).expect("a count"),
            found
        );
        assert_eq!(
            found
                .to_timestamp(&data_type)
                .expect("an instant")
                .map(|instant| instant.as_nanosecond()),
            found.to_datetime(&data_type).expect("a date").map(|date| {
                date.to_zoned(jiff::tz::TimeZone::UTC)
                    .expect("UTC")
                    .timestamp()
                    .as_nanosecond()
            })
        );
    }
}

#[test]
fn counts_are_durations_and_back() {
    for &(unit, scale, count, nanos) in DURATIONS {
        let found = Timedelta64(count)
            .to_duration(&durations(unit, scale))
            .expect("a duration");
        assert_eq!(
            found.map(|duration| duration.as_nanos()),
            Some(nanos),
            "{count} x {scale} {unit}"
        );
    }
    for &(nanos, unit, scale, count) in OF_DURATIONS {
        let found =
            Timedelta64::from_duration(SignedDuration::from_nanos(nanos), &durations(unit, scale));
        assert_eq!(
            found.expect("a count"),
            Timedelta64(count),
            "{nanos} ns in {scale} {unit}"
        );
    }
}

#[test]
fn no_time_is_none() {
    for unit in [Year, Month, Day, Attosecond] {
        let data_type = dates(unit, 3);
        assert_eq!(Datetime64::NAT.to_datetime(&data_type).expect("none"), None);
        assert_eq!(
            Datetime64::NAT.to_timestamp(&data_type).expect("none"),
            None
        );
        assert!(
            Datetime64::from_datetime(None, &data_type)
                .expect("none")
                .is_nat()
        );
        assert!(
            Datetime64::from_timestamp(None, &data_type)
                .expect("none")
                .is_nat()
        );
    }
    assert_eq!(
        Timedelta64::NAT
            .to_duration(&durations(Day, 1))
            .expect("none"),
        None
    );
    assert!(
        Timedelta64::from_duration(None, &durations(Day, 1))
            .expect("none")
            .is_nat()
    );
}

#[test]
fn what_is_out_of_range_is_an_error() {
    let is_beyond = |kind: ErrorKind| assert_eq!(kind, ErrorKind::InvalidArgument);
    for unit in [
        Year,
        Month,
        Week,
        Day,
        Hour,
        Minute,
        Second,
        Millisecond,
        Microsecond,
    ] {
        for count in [i64::MAX, i64::MIN + 1] {
            is_beyond(
                Datetime64(count)
                    .to_datetime(&dates(unit, 0x7fff_ffff))
                    .expect_err("has to be refused")
                    .kind(),
            );
            is_beyond(
                Datetime64(count)
                    .to_timestamp(&dates(unit, 0x7fff_ffff))
                    .expect_err("has to be refused")
                    .kind(),
            );
        }
    }
    // The last day is in the calendar, but is not an instant of jiff.
    let last = Datetime64::from_datetime(DateTime::MAX, &dates(Day, 1)).expect("a day");
    assert_eq!(
        last.to_datetime(&dates(Day, 1)).expect("a date"),
        Some(date(9999, 12, 31).at(0, 0, 0, 0))
    );
    is_beyond(
        last.to_timestamp(&dates(Day, 1))
            .expect_err("has to be refused")
            .kind(),
    );
    // Attosecond counts overflow after nine seconds.
    let times = |nanos: i128| Timestamp::from_nanosecond(nanos).expect("an instant");
    assert!(Datetime64::from_timestamp(times(9_223_372_036), &dates(Attosecond, 1)).is_ok());
    is_beyond(
        Datetime64::from_timestamp(times(9_223_372_037), &dates(Attosecond, 1))
            .expect_err("has to be refused")
            .kind(),
    );
    is_beyond(
        Datetime64::from_datetime(DateTime::MIN, &dates(Femtosecond, 1))
            .expect_err("has to be refused")
            .kind(),
    );
    is_beyond(
        Timedelta64(i64::MAX)
            .to_duration(&durations(Week, 1))
            .expect_err("has to be refused")
            .kind(),
    );
    is_beyond(
        Timedelta64::from_duration(SignedDuration::MAX, &durations(Picosecond, 1))
            .expect_err("has to be refused")
            .kind(),
    );
    // The smallest count means "not a time", so it is not a duration in nanoseconds either.
    let least = SignedDuration::from_nanos(i64::MIN);
    is_beyond(
        Timedelta64::from_duration(least, &durations(Nanosecond, 1))
            .expect_err("has to be refused")
            .kind(),
    );
}

#[test]
fn what_has_no_length_is_an_error() {
    let is_wrong = |kind: ErrorKind| assert_eq!(kind, ErrorKind::WrongType);
    is_wrong(
        Datetime64(1)
            .to_datetime(&dates(Generic, 1))
            .expect_err("has to be refused")
            .kind(),
    );
    is_wrong(
        Datetime64(1)
            .to_datetime(&durations(Day, 1))
            .expect_err("has to be refused")
            .kind(),
    );
    for unit in [Year, Month, Generic] {
        is_wrong(
            Timedelta64(1)
                .to_duration(&durations(unit, 1))
                .expect_err("has to be refused")
                .kind(),
        );
        is_wrong(
            Timedelta64::from_duration(SignedDuration::ZERO, &durations(unit, 1))
                .expect_err("has to be refused")
                .kind(),
        );
    }
    is_wrong(
        Timedelta64(1)
            .to_duration(&dates(Second, 1))
            .expect_err("has to be refused")
            .kind(),
    );
    is_wrong(
        Timedelta64(1)
            .to_duration(&DataType::Int { bits: 64 })
            .expect_err("has to be refused")
            .kind(),
    );
}
