//! Bounded, exact JSON: all documents of all formats go through it.
//!
//! Numbers keep their text, members keep their order, and nesting is bounded. The tokens `NaN`,
//! `Infinity` and `-Infinity` can be allowed where Python writes them. They become numbers with
//! that text, and are written as they were read; a value that a user provides has none. If a member
//! occurs twice the last one counts, as in all peers. Values of serde_json, which keeps neither
//! texts nor order, are only for users.

use std::fmt::Display;

use bytes::Bytes;
use ndzarr_json::{JsonText, Parser, TOO_LARGE, Tree};
use ndzarr_model::Attributes;
use serde_json::Value;

use crate::MetadataError;

pub(crate) mod spans;

#[cfg(test)]
mod either_tree;

pub(crate) use ndzarr_json::{
    Json, Members, NonFinite, as_i128, as_integral_i128, as_u64, as_u64_list, json,
};

/// Where zarrita.py writes the tokens `NaN`, `Infinity` and `-Infinity`, and documents within them.
pub(crate) const IN_VALUES: NonFinite =
    NonFinite::InMembers(&["attributes", "fill_value", "consolidated_metadata"]);

/// Maximum size of a document in bytes.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 256 << 20;

/// Parses a document; white space around the value and a byte order mark are skipped.
pub(crate) fn parse<'a>(
    key: &str,
    bytes: &'a [u8],
    non_finite: NonFinite,
) -> Result<Json<'a>, MetadataError> {
    parse_tree(key, bytes, non_finite)
}

/// The members of a document that must be a JSON object.
pub(crate) fn parse_object<'a>(
    key: &str,
    bytes: &'a [u8],
    non_finite: NonFinite,
) -> Result<Members<'a>, MetadataError> {
    match parse(key, bytes, non_finite)? {
        Json::Object(members) => Ok(members),
        other => Err(no_object(key, other.kind())),
    }
}

/// Parses a document into a value for users.
pub(crate) fn parse_value(
    key: &str,
    bytes: &[u8],
    non_finite: NonFinite,
) -> Result<Value, MetadataError> {
    parse_tree(key, bytes, non_finite)
}

/// Parses a document that is an object into attributes for users.
pub(crate) fn parse_attributes(key: &str, bytes: &[u8]) -> Result<Attributes, MetadataError> {
    match parse_value(key, bytes, NonFinite::Accept)? {
        Value::Object(members) => Ok(members),
        other => Err(no_object(key, Json::from(&other).kind())),
    }
}

/// Parses a document that is an object, for reading only: the member `attributes` is `null`, and
/// its value for users comes separately.
pub(crate) fn read_object<'a>(
    key: &str,
    bytes: &'a [u8],
) -> Result<(Members<'a>, Option<Value>), MetadataError> {
    let text = text(key, bytes)?;
    let mut parser = Parser::new(text, IN_VALUES).with_separate("attributes");
    match parser
        .document()
        .map_err(|error| MetadataError::json(key, &error))?
    {
        Json::Object(members) => Ok((members, parser.take_separate())),
        other => Err(no_object(key, other.kind())),
    }
}

/// The member of a document whose value starts at `at`, and where it ends; `None` if there is none.
pub(crate) fn parse_member<'a, T: Tree<'a>>(text: &'a str, at: usize) -> Option<(T, usize)> {
    let mut parser = Parser::at_member(text, at);
    let value = parser.value().ok()?;
    Some((value, parser.at()))
}

fn parse_tree<'a, T: Tree<'a>>(
    key: &str,
    bytes: &'a [u8],
    non_finite: NonFinite,
) -> Result<T, MetadataError> {
    let text = text(key, bytes)?;
    let mut parser = Parser::new(text, non_finite);
    parser
        .document()
        .map_err(|error| MetadataError::json(key, &error))
}

fn text<'a>(key: &str, bytes: &'a [u8]) -> Result<&'a str, MetadataError> {
    if bytes.len() > MAX_DOCUMENT_BYTES {
        return Err(MetadataError::invalid(
            key,
            format_args!("has more than {MAX_DOCUMENT_BYTES} bytes"),
        ));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(MetadataError::blank(key, bytes));
    }
    std::str::from_utf8(bytes).map_err(|e| {
        MetadataError::invalid(key, format_args!("not UTF-8 at byte {}", e.valid_up_to()))
    })
}

/// Checks that a document is whole: neither blank nor cut, as it is while another program writes it
/// in place. It may still mean nothing.
///
/// # Errors
/// It is blank, or not JSON.
pub fn check_whole(key: &str, bytes: &[u8]) -> Result<(), MetadataError> {
    parse(key, bytes, NonFinite::Accept).map(drop)
}

/// True if the values of a document take more than this number of bytes in memory.
pub(crate) fn takes_more(bytes: &[u8], limit: usize) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let read = Parser::new(text, NonFinite::Accept)
        .within(limit)
        .document::<Json<'_>>();
    read.is_err_and(|error| error.what == TOO_LARGE)
}

fn no_object(key: &str, kind: &str) -> MetadataError {
    MetadataError::invalid(key, format_args!("is {kind}, not a JSON object"))
}

/// A document as indented JSON.
///
/// # Errors
/// Nesting too deep to be read again; too long a text.
pub(crate) fn write(key: &str, value: &Json<'_>) -> Result<Bytes, MetadataError> {
    if is_deeper(value, JsonText::MAX_DEPTH) {
        let what = format_args!("nested deeper than {} levels", JsonText::MAX_DEPTH);
        return Err(MetadataError::invalid(key, what));
    }
    let text = value.pretty();
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(MetadataError::invalid(
            key,
            format_args!("would have more than {MAX_DOCUMENT_BYTES} bytes"),
        ));
    }
    Ok(text.into())
}

/// An object of these members as indented JSON.
///
/// # Errors
/// Those of [`write()`].
pub(crate) fn write_object(key: &str, members: Members<'_>) -> Result<Bytes, MetadataError> {
    write(key, &Json::Object(members))
}

/// Spells Python's tokens in the member `fill_value` as documents do.
pub(crate) fn quote_fill_value(document: &mut Members<'_>) {
    if let Some(value) = document.get_mut("fill_value") {
        value.quote_tokens();
    }
}

/// An object of these members.
pub(crate) fn object<'a, const N: usize>(members: [(&str, Json<'a>); N]) -> Json<'a> {
    Json::Object(members.into_iter().collect())
}

/// True if lists and objects are nested in more than this number of levels.
fn is_deeper(value: &Json<'_>, levels: usize) -> bool {
    match value {
        Json::Array(_) | Json::Object(_) if levels == 0 => true,
        Json::Array(items) => items.iter().any(|item| is_deeper(item, levels - 1)),
        Json::Object(members) => members.iter().any(|(_, item)| is_deeper(item, levels - 1)),
        _ => false,
    }
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

    fn accepts(text: &str) -> Option<Json<'_>> {
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
            let expected: Option<Value> = serde_json::from_str(text).ok();
            assert_eq!(
                accepts(text).map(|value| value.to_value()),
                expected,
                "{text}"
            );
            assert_eq!(
                parse_value("k", text.as_bytes(), NonFinite::Accept).ok(),
                expected,
                "{text}"
            );
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
            "\"\\ud80\"",
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
        assert!(accepts(&nested(JsonText::MAX_DEPTH)).is_some());
        assert!(accepts(&nested(JsonText::MAX_DEPTH + 1)).is_none());
        assert!(accepts(&"[".repeat(1_000_000)).is_none());
        assert!(accepts(&"{\"a\":".repeat(1_000_000)).is_none());
        let deepest = nested(JsonText::MAX_DEPTH);
        let deepest = accepts(&deepest).expect("just parsed");
        assert!(write("k", &deepest).is_ok());
        assert!(write("k", &Json::Array(vec![deepest])).is_err());
    }

    #[test]
    fn v2_013_numbers_keep_their_text() {
        let text = "[18446744073709551615,18446744073709551616,1.10,1E5,-0,-0.0,1e400]";
        let value = accepts(text).expect("valid");
        assert_eq!(value.to_string(), text);
        let items = value.as_array().expect("a list");
        assert_eq!(as_u64(&items[0]), Some(u64::MAX));
        assert_eq!(as_u64(&items[1]), None);
        assert_eq!(as_u64(&items[3]), None);
    }

    #[test]
    fn v2_014_byte_order_mark_and_trailing_text() {
        assert!(accepts("\u{feff}{}").is_some());
        assert!(accepts("{}\n\t ").is_some());
        assert!(accepts("{}{}").is_none());
        assert!(parse("k", b"{\"a\":\"\xff\"}", NonFinite::Accept).is_err());
    }

    #[test]
    fn v2_t39_non_finite_numbers_are_written_as_they_were_read() {
        for token in ["NaN", "Infinity", "-Infinity"] {
            let text = format!("{{\"a\": [{token}]}}");
            let mut value = accepts(&text).expect("let in");
            assert_eq!(value.to_value(), serde_json::json!({"a": [token]}));
            let written = write("x/.zattrs", &value).expect("what was read can be written");
            assert_eq!(written, format!("{{\n  \"a\": [\n    {token}\n  ]\n}}"));
            value.quote_tokens();
            assert_eq!(value.to_string(), format!("{{\"a\":[\"{token}\"]}}"));
        }
        let check = |text: &str| parse("k", text.as_bytes(), IN_VALUES).is_ok();
        assert!(check("{\"attributes\":{\"a\":[NaN]},\"b\":1}"));
        assert!(check("{\"fill_value\":[NaN,-Infinity],\"b\":1}"));
        assert!(check(
            "{\"consolidated_metadata\":{\"metadata\":{\"a\":{\"attributes\":{\"b\":NaN}}}}}"
        ));
        assert!(!check("{\"attributes\":{\"a\":1},\"b\":NaN}"));
        assert!(!check("{\"fill_value\":1,\"b\":NaN}"));
        assert!(!check("{\"b\":{\"attributes\":NaN}}"));
        assert!(!check("[NaN]"));
    }

    /// Numbers as users see them: 64-bit integers, otherwise the `f64` that Python reads.
    #[test]
    fn numbers_as_users_see_them() {
        for (text, expected) in [
            ("9223372036854775808", 9_223_372_036_854_775_808_u64.into()),
            ("18446744073709551615", u64::MAX.into()),
            ("-9223372036854775808", i64::MIN.into()),
            ("9007199254740993", 9_007_199_254_740_993_u64.into()),
            (
                "18446744073709551616",
                Value::from(18_446_744_073_709_551_616.0),
            ),
            ("-0", Value::from(-0.0)),
            ("0", 0.into()),
            ("1.0", Value::from(1.0)),
            ("1E2", Value::from(100.0)),
            // Parsers that do not round correctly are off by one here.
            ("9.5367431640625e-7", Value::from(9.536_743_164_062_5e-7)),
            ("0.325", Value::from(0.325)),
            ("8.41e21", Value::from(8.41e21)),
            ("1e400", "Infinity".into()),
            ("-1e400", "-Infinity".into()),
            ("1e-400", Value::from(0.0)),
        ] {
            let value = accepts(text).expect("valid").to_value();
            assert_eq!(value, expected, "{text}");
            assert_eq!(value.to_string(), expected.to_string(), "{text}");
            assert_eq!(
                parse_value("k", text.as_bytes(), IN_VALUES).ok(),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_written_is_what_serde_json_writes() {
        let value = serde_json::json!({
            "a": [1, -2.5, 1e300, 5e-324, true, null, [], {}, [{}]],
            "\u{1}\"\\\u{7f}\u{2028}é/": "\n\t\r\u{8}\u{c}\u{1f}😀",
        });
        let own = Json::from(&value);
        assert_eq!(own.to_string(), value.to_string());
        assert_eq!(
            own.pretty(),
            serde_json::to_string_pretty(&value).expect("a value")
        );
        assert_eq!(own.to_value(), value);
    }

    /// Python's `json.dumps({"a\udc80": "\ud800"})`.
    #[test]
    fn half_a_surrogate_pair_is_shown_replaced_and_kept() {
        let text = r#"{"a\udc80":"\ud800","a":[1.50,"\ud83d\ude00"]}"#;
        let value = accepts(text).expect("valid");
        assert_eq!(value.to_string(), text.replace(r"\ud83d\ude00", "😀"));
        let seen = serde_json::json!({"a\u{fffd}": "\u{fffd}", "a": [1.5, "😀"]});
        assert_eq!(value.to_value(), seen);
        assert_eq!(
            parse_value("k", text.as_bytes(), NonFinite::Accept).ok(),
            Some(seen.clone())
        );
        // A value given back as it was seen stays the same.
        assert_eq!(
            Json::in_place_of(Some(&value), &seen).to_string(),
            value.to_string()
        );
    }

    /// Comparing each with all would take a minute.
    #[test]
    fn any_number_of_names_may_have_half_a_surrogate_pair() {
        let names: Vec<String> = (0..100_000)
            .map(|i| format!(r#""\udc80{i:06}":{i}"#))
            .collect();
        let text = format!("{{{}}}", names.join(","));
        let value = accepts(&text).expect("valid");
        let seen = value.to_value();
        assert_eq!(seen["\u{fffd}099999"], 99_999);
        assert_eq!(
            Json::in_place_of(Some(&value), &seen).to_string(),
            value.to_string()
        );
    }

    #[test]
    fn what_a_user_leaves_alone_keeps_its_text() {
        let old = accepts(
            r#"{"z": 1.50, "n": [1E2, 12345678901234567890123], "a": {"x": 1e400, "y": NaN}, "gone": 1}"#,
        )
        .expect("valid");
        let mut new = old.to_value();
        let members = new.as_object_mut().expect("an object");
        members.remove("gone");
        members.insert("b".to_owned(), 2.into());
        members["n"][1] = serde_json::json!(3);
        let written = Json::in_place_of(Some(&old), &new).to_string();
        assert_eq!(
            written,
            r#"{"z":1.50,"n":[1E2,3],"a":{"x":1e400,"y":NaN},"b":2}"#
        );
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
            assert_eq!(
                as_integral_i128(&accepts(text).expect("valid")),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_member_named_like_serde_jsons_own_stays_a_member() {
        let text = "{\"$serde_json::private::Number\":\"1\"}";
        let value = accepts(text).expect("valid").to_value();
        assert_eq!(value.to_string(), text);
    }
}
