//! Bounded, exact JSON: what all documents of all formats go through.
//!
//! Numbers keep their text (V2-013, V2-032), nesting is bounded (V2-012), and the tokens `NaN`, `Infinity` and
//! `-Infinity` can be let in where Python writes them. They become numbers of that very text, so that they are not
//! lost; writing them again is refused (V2-009). Of a member given twice the last one counts, as in every peer.

use bytes::Bytes;
use serde_json::{Map, Number, Value};

use crate::MetadataError;
use crate::json_spans::STRING_STOPS;

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
    /// Inside the value of the top-level member `attributes` (V3-008).
    InAttributes,
    /// Everywhere (V2-008).
    Accept,
}

/// The JSON value of a document, with nothing but white space around it; a byte order mark is skipped.
pub(crate) fn parse(key: &str, bytes: &[u8], non_finite: NonFinite) -> Result<Value, MetadataError> {
    if bytes.len() > MAX_LEN {
        return Err(MetadataError::invalid(key, format_args!("has more than {MAX_LEN} bytes")));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|e| MetadataError::invalid(key, format_args!("not UTF-8 at byte {}", e.valid_up_to())))?;
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut parser = Parser { text, at: start, depth: 0, non_finite, in_attributes: false };
    parser.document().map_err(|what| {
        MetadataError::invalid(key, format_args!("not valid JSON: {what} at byte {}", parser.at))
    })
}

/// The members of a document that has to be a JSON object.
pub(crate) fn parse_object(
    key: &str,
    bytes: &[u8],
    non_finite: NonFinite,
) -> Result<Map<String, Value>, MetadataError> {
    match parse(key, bytes, non_finite)? {
        Value::Object(members) => Ok(members),
        other => Err(MetadataError::invalid(key, format_args!("is {}, not a JSON object", kind(&other)))),
    }
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

/// An integer, written without fraction and exponent, exactly.
pub(crate) fn as_u64(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

/// As [`as_u64`], with a sign.
pub(crate) fn as_i128(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

/// An integer, be it written as `7` or as `7.0`: leniency that V2-062 and V3-063 ask for.
pub(crate) fn as_integral_i128(value: &Value) -> Option<i128> {
    as_i128(value).or_else(|| match value {
        Value::Number(number) => {
            let float: f64 = number.as_str().parse().ok()?;
            // Below 2^53 every integral float is the one integer that was meant; above, the digits decide.
            if float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0 {
                #[allow(clippy::cast_possible_truncation)]
                return Some(float as i128);
            }
            let (whole, fraction) = number.as_str().split_once('.')?;
            if fraction.bytes().all(|digit| digit == b'0') { whole.parse().ok() } else { None }
        }
        _ => None,
    })
}

/// A list of exact unsigned integers.
pub(crate) fn as_u64_list(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(as_u64).collect()
}

/// What a value is, for messages.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A value for messages: its JSON text, cut when long.
pub(crate) fn show(value: &Value) -> String {
    const MAX_CHARS: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    non_finite: NonFinite,
    in_attributes: bool,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<Value, &'static str> {
        let value = self.value()?;
        self.space();
        if self.at < self.text.len() {
            return Err("text after the value");
        }
        Ok(value)
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(token.as_bytes());
        if found {
            self.at += token.len();
        }
        found
    }

    fn value(&mut self) -> Result<Value, &'static str> {
        self.space();
        match self.peek() {
            None => Err("ends early"),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => {
                if self.text.as_bytes()[self.at..].starts_with(b"-I") {
                    return self.token("-Infinity");
                }
                self.number()
            }
            Some(b'N') => self.token("NaN"),
            Some(b'I') => self.token("Infinity"),
            Some(_) if self.eat("true") => Ok(Value::Bool(true)),
            Some(_) if self.eat("false") => Ok(Value::Bool(false)),
            Some(_) if self.eat("null") => Ok(Value::Null),
            Some(_) => Err("unexpected character"),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Value, &'static str>) -> Result<Value, &'static str> {
        if self.depth == MAX_DEPTH {
            return Err("nested deeper than 128 levels");
        }
        self.depth += 1;
        self.at += 1;
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, &'static str> {
        self.space();
        if self.eat("}") {
            return Ok(Value::Object(Map::new()));
        }
        // As many as most documents have, and most objects in them.
        let mut members = Map::with_capacity(if self.depth == 1 { 12 } else { 2 });
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err("a member name was expected");
            }
            let name = self.string()?;
            self.space();
            if !self.eat(":") {
                return Err("':' was expected");
            }
            let top = self.depth == 1;
            if top {
                self.in_attributes = name == "attributes";
            }
            let value = self.value()?;
            if top {
                self.in_attributes = false;
            }
            members.insert(name, value);
            self.space();
            if self.eat("}") {
                return Ok(Value::Object(members));
            }
            if !self.eat(",") {
                return Err("',' or '}' was expected");
            }
        }
    }

    fn array(&mut self) -> Result<Value, &'static str> {
        let mut items = Vec::new();
        self.space();
        if self.eat("]") {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.space();
            if self.eat("]") {
                return Ok(Value::Array(items));
            }
            if !self.eat(",") {
                return Err("',' or ']' was expected");
            }
        }
    }

    fn string(&mut self) -> Result<String, &'static str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let rest = &bytes[start + 1..];
        let plain = rest.iter().position(|&byte| STRING_STOPS[usize::from(byte)]).unwrap_or(rest.len());
        let mut end = start + 1 + plain;
        // Both ends are quotes, so the cut is between characters.
        if bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(self.text[start + 1..end].to_owned());
        }
        loop {
            match bytes.get(end) {
                None => return Err("a string ends early"),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        // Escapes, and what may not be in a string, are serde_json's business.
        let token = &self.text[start..=end];
        let string = serde_json::from_str(token).map_err(|_| "a string that JSON does not allow")?;
        self.at = end + 1;
        Ok(string)
    }

    fn number(&mut self) -> Result<Value, &'static str> {
        let rest = &self.text[self.at..];
        let end = rest
            .bytes()
            .position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .unwrap_or(rest.len());
        // Digits alone are a number, unless there is a zero before others.
        let is_plain =
            rest[..end].bytes().all(|b| b.is_ascii_digit()) && (end == 1 || !rest.starts_with('0'));
        if !is_plain {
            rest[..end].parse::<Number>().map_err(|_| "a number that JSON does not allow")?;
        }
        self.at += end;
        // Checked, but taken as it stands: parsing rewrites exponents.
        Ok(Value::Number(Number::from_string_unchecked(rest[..end].to_owned())))
    }

    fn token(&mut self, token: &'static str) -> Result<Value, &'static str> {
        let allowed = match self.non_finite {
            NonFinite::Refuse => false,
            NonFinite::InAttributes => self.in_attributes,
            NonFinite::Accept => true,
        };
        if !allowed {
            return Err("unexpected character (NaN and Infinity are not JSON)");
        }
        if !self.eat(token) {
            return Err("unexpected character");
        }
        // The only way to a number that is no JSON number; `check_writable` keeps it out of what is written.
        Ok(Value::Number(Number::from_string_unchecked(token.to_owned())))
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

    /// zarr-v2.md V2-012, V2-T59.
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

    /// zarr-v2.md V2-013, V2-032.
    #[test]
    fn v2_013_numbers_keep_their_text() {
        let text = "[18446744073709551615,18446744073709551616,1.10,1E5,-0,-0.0,1e400]";
        let value = accepts(text).expect("valid");
        assert_eq!(value.to_string(), text);
        assert_eq!(as_u64(&value[0]), Some(u64::MAX));
        assert_eq!(as_u64(&value[1]), None);
        assert_eq!(as_u64(&value[3]), None);
    }

    /// zarr-v2.md V2-014.
    #[test]
    fn v2_014_byte_order_mark_and_trailing_text() {
        assert!(accepts("\u{feff}{}").is_some());
        assert!(accepts("{}\n\t ").is_some());
        assert!(accepts("{}{}").is_none());
        assert!(parse("k", b"{\"a\":\"\xff\"}", NonFinite::Accept).is_err());
    }

    /// zarr-v2.md V2-008, V2-009; zarr-v3.md V3-008.
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
