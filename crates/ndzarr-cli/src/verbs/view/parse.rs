//! Arguments of `ndzarr view` that are pairs of numbers, or lengths.

/// A length and its unit.
pub(crate) type Size = (f64, Option<String>);

pub(crate) fn parse_pair(text: &str) -> Result<[f64; 2], String> {
    let (low, high) = text
        .split_once(',')
        .ok_or("two numbers with a comma are needed")?;
    let number = |text: &str| {
        text.trim()
            .parse::<f64>()
            .map_err(|_| format!("{text:?} is not a number"))
    };
    let low = number(low)?;
    let high = number(high)?;
    if low <= high {
        Ok([low, high])
    } else {
        Err(format!("{low} is not below {high}"))
    }
}

pub(crate) fn parse_size(text: &str) -> Result<Size, String> {
    let text = text.trim();
    let unit = text
        .find(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E'))
        .unwrap_or(text.len());
    let (size, unit) = text.split_at(unit);
    let size: f64 = size
        .trim()
        .parse()
        .map_err(|_| format!("{text:?} is not a length such as 1um"))?;
    if size > 0.0 {
        Ok((size, (!unit.is_empty()).then(|| unit.to_owned())))
    } else {
        Err("not above 0".to_owned())
    }
}

pub(crate) fn parse_percentiles(text: &str) -> Result<[f64; 2], String> {
    let pair = parse_pair(text)?;
    match pair
        .iter()
        .find(|percent| !(0.0..=100.0).contains(*percent))
    {
        Some(percent) => Err(format!("{percent} is not between 0 and 100")),
        None => Ok(pair),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_two_numbers() {
        assert_eq!(parse_pair("1,99"), Ok([1.0, 99.0]));
        assert_eq!(parse_pair("-0.5, 4e3"), Ok([-0.5, 4000.0]));
        for wrong in ["1", "2,1", "a,b", "1,NaN"] {
            assert!(parse_pair(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_percentiles("0,100"), Ok([0.0, 100.0]));
        assert!(parse_percentiles("1,101").is_err() && parse_percentiles("-1,50").is_err());
    }

    #[test]
    fn sizes_have_a_unit_or_that_of_the_axes() {
        assert_eq!(parse_size("1um"), Ok((1.0, Some("um".to_owned()))));
        assert_eq!(
            parse_size("2.5 \u{b5}m"),
            Ok((2.5, Some("\u{b5}m".to_owned())))
        );
        assert_eq!(parse_size("1e3nm"), Ok((1000.0, Some("nm".to_owned()))));
        assert_eq!(parse_size("0.5"), Ok((0.5, None)));
        for wrong in ["um", "", "-1um", "0", "NaN"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
