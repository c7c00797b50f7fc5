//! Times in the two spellings of the services. The clock of a server is not real: it ticks with
//! writes, so that tests repeat.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Seconds since 1970 as in RFC 9110: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http_date(seconds: u64) -> String {
    let (year, month, day) = date(seconds / 86_400);
    let weekday = DAYS[(seconds / 86_400 % 7) as usize];
    format!(
        "{weekday}, {day:02} {} {year:04} {} GMT",
        MONTHS[month as usize - 1],
        time(seconds)
    )
}

/// Seconds since 1970 as in ISO 8601: `1994-11-06T08:49:37.000Z`.
pub(crate) fn iso_date(seconds: u64) -> String {
    let (year, month, day) = date(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}T{}.000Z", time(seconds))
}

/// The reverse of [`http_date`].
pub(crate) fn parse_http_date(text: &str) -> Option<u64> {
    let mut words = text.split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut parts = words
        .next()?
        .split(':')
        .map(|part| part.parse::<u64>().ok());
    let seconds = parts.next()?? * 3600 + parts.next()?? * 60 + parts.next()??;
    let days = (1970..year).map(days_of).sum::<u64>()
        + (1..month).map(|m| days_in(year, m)).sum::<u64>()
        + day
        - 1;
    Some(days * 86_400 + seconds)
}

fn time(seconds: u64) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60
    )
}

fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    let mut month = 1;
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

fn days_of(year: u64) -> u64 {
    365 + u64::from(is_leap(year))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}
