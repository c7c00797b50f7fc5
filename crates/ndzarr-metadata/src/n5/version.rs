//! The version of a container: the root's `n5`.

use ndzarr_model::DataType;

use crate::MetadataError;
use crate::json::Json;

/// Version of containers of numeric blocks, which every peer reads.
const NUMERIC: &str = "2.0.0";

/// Version of containers with blocks of strings or objects: readers of 3.0 and below fail on them.
const VARIABLE: &str = "4.0.0";

/// The minimum version of a container with such elements.
pub(crate) fn needed_by(data_type: &DataType) -> &'static str {
    match data_type.elem_size() {
        Some(_) => NUMERIC,
        None => VARIABLE,
    }
}

/// The version of a container with only groups.
pub(crate) fn of_groups() -> &'static str {
    NUMERIC
}

/// True if the version of a container has to be raised to `needed`: one that readers of numbers
/// made stays, however old.
pub(crate) fn is_too_low(current: Option<&Json<'_>>, needed: &str) -> bool {
    match current {
        None => true,
        Some(current) => needed == VARIABLE && parse(current) < [MAX_MAJOR, 0, 0],
    }
}

/// Maximum major version that is read.
const MAX_MAJOR: u64 = 4;

/// Major, minor and patch number, read as Java does: the first run of digits anywhere is the major
/// number, anything after the patch number is a suffix, and missing numbers are 0. Without digits,
/// or if it is not a string: 0.0.0.
pub(crate) fn parse(value: &Json<'_>) -> [u64; 3] {
    let text = match value {
        Json::String(text) => &**text,
        Json::Number(number) => number,
        _ => "",
    };
    let mut numbers = [0; 3];
    let Some(start) = text.find(|c: char| c.is_ascii_digit()) else {
        return numbers;
    };
    let mut rest = &text[start..];
    for (i, number) in numbers.iter_mut().enumerate() {
        let digits = if i == 0 {
            Some(rest)
        } else {
            rest.strip_prefix('.')
        };
        let Some(digits) = digits.filter(|d| d.starts_with(|c: char| c.is_ascii_digit())) else {
            break;
        };
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        // A number with more digits than fit is always too high.
        *number = digits[..end].parse().unwrap_or(u64::MAX);
        rest = &digits[end..];
    }
    numbers
}

/// Checks that a container of this version can be read, as Java does: by the major number only.
pub(crate) fn check(key: &str, value: &Json<'_>) -> Result<(), MetadataError> {
    if parse(value)[0] > MAX_MAJOR {
        return Err(MetadataError::unsupported(
            key,
            "N5 version",
            crate::json::show(value),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::json::json;

    use super::*;

    #[test]
    fn n5_versions_follow_javas_pattern() {
        for (value, expected) in [
            (json!("x1.2.3"), [1, 2, 3]),
            (json!("2.1.3-SNAPSHOT"), [2, 1, 3]),
            (json!("4"), [4, 0, 0]),
            (json!("4.0"), [4, 0, 0]),
            (json!(4), [4, 0, 0]),
            (json!("2.x"), [2, 0, 0]),
            (json!("1.2.x.3"), [1, 2, 0]),
            (json!("abc"), [0, 0, 0]),
            (json!(""), [0, 0, 0]),
            (json!({"v": 1}), [0, 0, 0]),
            (json!(null), [0, 0, 0]),
        ] {
            assert_eq!(parse(&value), expected, "{value}");
        }
    }

    #[test]
    fn n5_only_the_major_number_counts() {
        for good in ["4.9.9", "1.5.0", "2.5.1", "4.0.0", "abc"] {
            assert!(check("attributes.json", &json!(good)).is_ok(), "{good}");
        }
        for bad in ["5.0.0", "5", "v17.0", "99999999999999999999999.0.0"] {
            let error = check("attributes.json", &json!(bad))
                .expect_err(bad)
                .to_string();
            assert!(
                error.contains("attributes.json") && error.contains(bad),
                "{error}"
            );
        }
    }
}
