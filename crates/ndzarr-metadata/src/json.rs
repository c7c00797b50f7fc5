//! Bounded, exact JSON: what all documents of all formats go through.
//!
//! Numbers keep their text, nesting is bounded, and the tokens `NaN`, `Infinity` and
//! `-Infinity` can be let in where Python writes them. They become numbers of that very text, so that they are not
//! lost; writing them again is refused. Of a member given twice the last one counts, as in every peer.

use std::fmt::Display;

use bytes::Bytes;
use serde_json::{Map, Number, Value};

use crate::MetadataError;

mod parser;
mod text_tree;

use parser::{Parser, Tree};
pub(crate) use text_tree::{Json, Members};

/// Deepest nesting of lists and objects in a document.
pub(crate) const MAX_DEPTH: usize = 128;

/// Greatest size of a document in bytes; parsed values take a multiple of it in memory.
pub(crate) const MAX_LEN: usize = 256 << 20;

/// Where the tokens `NaN`, `Infinity` and `-Infinity` are let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NonFinite {
    /// Nowhere.
    #[allow(dead_code)]
    Refuse,
    /// Inside the value of the top-level member `attributes`.
    InAttributes,
    /// Everywhere.
    Accept,
}

/// The JSON value of a document, with nothing but white space around it; a byte order mark is skipped.
pub(crate) fn parse(key: &str, bytes: &[u8], non_finite: NonFinite) -> Result<Value, MetadataError> {
    let text = text(key, bytes)?;
    let mut parser = Parser::new(text, non_finite);
    parser.document().map_err(|what| invalid(key, what, &parser))
}

/// The members of a document that has to be a JSON object.
pub(crate) fn parse_object(
    key: &str,
    bytes: &[u8],
    non_finite: NonFinite,
) -> Result<Map<String, Value>, MetadataError> {
    match parse(key, bytes, non_finite)? {
        Value::Object(members) => Ok(members),
        other => Err(no_object(key, kind(&other))),
    }
}

/// As [`parse_object()`], for reading alone: texts stay where they are in the document, and no tree of strings is made of it. In
/// the place of the member `attributes`, where [`NonFinite::InAttributes`] counts, stands `null`; its value comes beside.
pub(crate) fn read_object<'a>(
    key: &str,
    bytes: &'a [u8],
) -> Result<(Members<'a>, Option<Value>), MetadataError> {
    let text = text(key, bytes)?;
    let mut parser = Parser::new(text, NonFinite::InAttributes);
    match parser.document().map_err(|what| invalid(key, what, &parser))? {
        Json::Object(members) => Ok((members, parser.attributes)),
        other => Err(no_object(key, other.kind())),
    }
}

/// The value of a member of a document, from where it stands in the text, and where it ends. `None`: there is none.
pub(crate) fn parse_member<'a, T: Tree<'a>>(text: &'a str, at: usize) -> Option<(T, usize)> {
    let mut parser = Parser::at_member(text, at);
    let value = parser.value().ok()?;
    Some((value, parser.at))
}

fn text<'a>(key: &str, bytes: &'a [u8]) -> Result<&'a str, MetadataError> {
    if bytes.len() > MAX_LEN {
        return Err(MetadataError::invalid(key, format_args!("has more than {MAX_LEN} bytes")));
    }
    std::str::from_utf8(bytes)
        .map_err(|e| MetadataError::invalid(key, format_args!("not UTF-8 at byte {}", e.valid_up_to())))
}

fn invalid(key: &str, what: &str, parser: &Parser<'_>) -> MetadataError {
    MetadataError::invalid(key, format_args!("not valid JSON: {what} at byte {}", parser.at))
}

fn no_object(key: &str, kind: &str) -> MetadataError {
    MetadataError::invalid(key, format_args!("is {kind}, not a JSON object"))
}

/// A document as indented standard JSON.
///
/// # Errors
/// A number that standard JSON has no form for, named by where it is; nesting that could not be read again.
pub(crate) fn write(key: &str, value: &Value) -> Result<Bytes, MetadataError> {
    check_writable(key, value)?;
    serde_json::to_vec_pretty(value).map(Bytes::from).map_err(|e| MetadataError::invalid(key, e))
}

/// As [`write()`], for the members of an object.
pub(crate) fn write_object(key: &str, members: Map<String, Value>) -> Result<Bytes, MetadataError> {
    write(key, &Value::Object(members))
}

/// An object of values that may hold numbers that standard JSON has no form for: `json!` panics on those.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Whether [`write()`] would accept the value.
pub(crate) fn check_writable(key: &str, value: &Value) -> Result<(), MetadataError> {
    find_unwritable(value, MAX_DEPTH).map_err(|problem| {
        let (what, mut steps) = problem;
        steps.reverse();
        let place = steps.concat();
        match what {
            Some(number) => {
                let place = place.trim_start_matches('.');
                MetadataError::invalid(key, format_args!("{place} is {number}, which JSON has no number for"))
            }
            None => MetadataError::invalid(key, format_args!("nested deeper than {MAX_DEPTH} levels")),
        }
    })
}

type Unwritable = (Option<Number>, Vec<String>);

fn below(step: String, (what, mut steps): Unwritable) -> Unwritable {
    steps.push(step);
    (what, steps)
}

/// The first number that standard JSON has no form for, or none where the nesting is too deep; and the steps to it, last
/// first. These are put together on the way back alone, so that a large value costs no more than to look at it.
fn find_unwritable(value: &Value, depth_left: usize) -> Result<(), Unwritable> {
    if depth_left == 0 && (value.is_array() || value.is_object()) {
        return Err((None, Vec::new()));
    }
    match value {
        Value::Number(number) if non_finite(number).is_some() => Err((Some(number.clone()), Vec::new())),
        Value::Array(items) => items.iter().enumerate().try_for_each(|(i, item)| {
            find_unwritable(item, depth_left - 1).map_err(|found| below(format!("[{i}]"), found))
        }),
        Value::Object(members) => members.iter().try_for_each(|(name, item)| {
            find_unwritable(item, depth_left - 1).map_err(|found| below(format!(".{name}"), found))
        }),
        _ => Ok(()),
    }
}

/// The value of a `NaN`, `Infinity` or `-Infinity` that was let in as a number.
pub(crate) fn non_finite(number: &Number) -> Option<f64> {
    match number.as_str() {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// A value of either tree, as far as numbers and lists of them are read.
pub(crate) trait Numeric: Sized {
    /// The text of a number.
    fn number(&self) -> Option<&str>;

    fn items(&self) -> Option<&[Self]>;
}

impl Numeric for Value {
    fn number(&self) -> Option<&str> {
        match self {
            Self::Number(number) => Some(number.as_str()),
            _ => None,
        }
    }

    fn items(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }
}

/// An integer, written without fraction and exponent, exactly.
pub(crate) fn as_u64(value: &impl Numeric) -> Option<u64> {
    value.number()?.parse().ok()
}

/// As [`as_u64`], with a sign.
pub(crate) fn as_i128(value: &impl Numeric) -> Option<i128> {
    value.number()?.parse().ok()
}

/// An integer, written as `7` or as `7.0`, since both are found in documents.
pub(crate) fn as_integral_i128(value: &impl Numeric) -> Option<i128> {
    as_i128(value).or_else(|| {
        let text = value.number()?;
        let float: f64 = text.parse().ok()?;
        // Below 2^53 every integral float is the one integer that was meant; above, the digits decide.
        if float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0 {
            #[allow(clippy::cast_possible_truncation)]
            return Some(float as i128);
        }
        let (whole, fraction) = text.split_once('.')?;
        if fraction.bytes().all(|digit| digit == b'0') { whole.parse().ok() } else { None }
    })
}

/// A list of exact unsigned integers.
pub(crate) fn as_u64_list(value: &impl Numeric) -> Option<Vec<u64>> {
    value.items()?.iter().map(as_u64).collect()
}

/// What a value is, for messages.
pub(crate) fn kind(value: &Value) -> &'static str {
    Json::from(value).kind()
}

/// A value for messages: its JSON text, cut when long.
pub(crate) fn show(value: &impl Display) -> String {
    const MAX_CHARS: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(text: &str) -> Option<Value> {
        parse("k", text.as_bytes(), NonFinite::Accept).ok()
    }

    #[test]
    fn values_are_those_of_serde_json() {
        for text in [
            "{}",
            "[]",
            " [1, -2.5 , \"a\\n\\u00e9\\ud83d\\ude00\", true,false,null] ",
            "{\"a\":{\"b\":[{}]},\"c\":\"\"}",
            "12345678901234567890123",
            "{\"z\":1,\"a\":2,\"z\":3}",
        ] {
            assert_eq!(accepts(text), serde_json::from_str(text).ok(), "{text}");
        }
        for text in [
            "",
            " ",
            "{",
            "[",
            "\"",
            "\"\\",
            "\"\\\"",
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "1e",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\" 1}",
            "tru",
            "nul",
            "'a'",
            "\"\u{1}\"",
            "\"\\ud800\"",
            "Na",
            "-Inf",
            "1 2",
            "{} x",
            "[1 2]",
            "{\"a\":1 \"b\":2}",
            "--1",
            "1-2",
            "\u{feff}\u{feff}1",
        ] {
            assert_eq!(accepts(text), None, "{text}");
        }
    }

    /// V2-T59.
    #[test]
    fn v2_012_depth_is_bounded_both_ways() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(accepts(&nested(MAX_DEPTH)).is_some());
        assert!(accepts(&nested(MAX_DEPTH + 1)).is_none());
        assert!(accepts(&"[".repeat(1_000_000)).is_none());
        assert!(accepts(&"{\"a\":".repeat(1_000_000)).is_none());
        let deepest = accepts(&nested(MAX_DEPTH)).expect("just parsed");
        assert!(write("k", &deepest).is_ok());
        assert!(write("k", &Value::Array(vec![deepest])).is_err());
    }

    #[test]
    fn v2_013_numbers_keep_their_text() {
        let text = "[18446744073709551615,18446744073709551616,1.10,1E5,-0,-0.0,1e400]";
        let value = accepts(text).expect("valid");
        assert_eq!(value.to_string(), text);
        assert_eq!(as_u64(&value[0]), Some(u64::MAX));
        assert_eq!(as_u64(&value[1]), None);
        assert_eq!(as_u64(&value[3]), None);
    }

    #[test]
    fn v2_014_byte_order_mark_and_trailing_text() {
        assert!(accepts("\u{feff}{}").is_some());
        assert!(accepts("{}\n\t ").is_some());
        assert!(accepts("{}{}").is_none());
        assert!(parse("k", b"{\"a\":\"\xff\"}", NonFinite::Accept).is_err());
    }

    #[test]
    fn v2_t39_non_finite_numbers_are_kept_but_not_written() {
        for (text, bits) in [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)]
        {
            let value = accepts(&format!("{{\"a\": [{text}]}}")).expect("let in");
            let Value::Number(number) = &value["a"][0] else { panic!("no number") };
            assert_eq!(non_finite(number).map(f64::to_bits), Some(bits.to_bits()));
            let error = write("x/.zattrs", &value).expect_err("not JSON").to_string();
            assert!(error.contains("x/.zattrs") && error.contains("a[0]") && error.contains(text), "{error}");
        }
        let check = |text: &str| parse("k", text.as_bytes(), NonFinite::InAttributes).is_ok();
        assert!(check("{\"attributes\":{\"a\":[NaN]},\"b\":1}"));
        assert!(!check("{\"attributes\":{\"a\":1},\"b\":NaN}"));
        assert!(!check("{\"b\":{\"attributes\":NaN}}"));
        assert!(!check("[NaN]"));
        assert!(parse("k", b"[NaN]", NonFinite::Refuse).is_err());
    }

    #[test]
    fn integral_floats() {
        for (text, expected) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("7e0", Some(7)),
            ("-1.0", Some(-1)),
            ("7.5", None),
            ("\"7\"", None),
            ("1e300", None),
            ("18446744073709551615.0", Some(i128::from(u64::MAX))),
        ] {
            assert_eq!(as_integral_i128(&accepts(text).expect("valid")), expected, "{text}");
        }
    }

    #[test]
    fn a_member_named_like_serde_jsons_own_stays_a_member() {
        let value = accepts("{\"$serde_json::private::Number\":\"1\"}").expect("valid");
        assert!(value.is_object());
    }
}
