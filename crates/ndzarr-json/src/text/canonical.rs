//! Writes JSON text in one form: without space, and with as few escapes as possible.

use super::{JsonError, JsonText, JsonToken};
use crate::JsonString;

impl JsonText<'_> {
    /// True if the bytes are one value, with only space around it.
    #[must_use]
    pub fn is_json(bytes: &[u8]) -> bool {
        Self::canonical(bytes, &mut Vec::new()).is_ok()
    }

    /// Appends the value that the bytes contain, without space and with as few escapes as possible.
    ///
    /// # Errors
    /// The bytes are not JSON, or more than one value.
    pub fn canonical(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), JsonError> {
        let text = std::str::from_utf8(bytes).map_err(|error| JsonError {
            at: error.valid_up_to(),
            what: "not UTF-8",
        })?;
        let mut text = JsonText::new(text);
        text.value(out)?;
        text.end()
    }

    /// Takes one value and appends it to `out`, without space and with as few escapes as possible.
    ///
    /// # Errors
    /// No value follows.
    pub fn value(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        match self.token()? {
            JsonToken::Null => out.extend_from_slice(b"null"),
            JsonToken::Bool(true) => out.extend_from_slice(b"true"),
            JsonToken::Bool(false) => out.extend_from_slice(b"false"),
            JsonToken::Number(text) | JsonToken::NonFinite(text) => {
                out.extend_from_slice(text.as_bytes())
            }
            JsonToken::String(text) => self.append_string(&text, out)?,
            JsonToken::List => {
                out.push(b'[');
                while self.item()? {
                    separate(out, b'[');
                    self.value(out)?;
                }
                out.push(b']');
            }
            JsonToken::Object => {
                out.push(b'{');
                while let Some(name) = self.member()? {
                    separate(out, b'{');
                    self.append_string(&name, out)?;
                    out.push(b':');
                    self.value(out)?;
                }
                out.push(b'}');
            }
        }
        Ok(())
    }

    fn append_string(&self, text: &JsonString<'_>, out: &mut Vec<u8>) -> Result<(), JsonError> {
        match text.unpaired() {
            // A `str` cannot represent it, so it stays as written.
            Some(token) => out.extend_from_slice(token.as_bytes()),
            None => {
                serde_json::to_writer(out, &**text)
                    .map_err(|_| self.error("a string that JSON cannot represent"))?;
            }
        }
        Ok(())
    }
}

/// Puts a comma after everything but the opening bracket.
fn separate(out: &mut Vec<u8>, open: u8) {
    if out.last() != Some(&open) {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that is shown for a string with half a surrogate pair.
    fn unpaired(token: &str) -> Option<String> {
        let string = JsonString::parse(token)?;
        string.unpaired().map(|_| string.to_string())
    }

    #[test]
    fn values_lose_their_space_and_their_needless_escapes() {
        let text = " { \"a\\u00fc\" : [ 1 , -2.5e+3 , true,false , null, NaN , -Infinity ] , \"\" : { } } ";
        let mut out = Vec::new();
        JsonText::canonical(text.as_bytes(), &mut out).expect("JSON");
        assert_eq!(
            String::from_utf8(out).as_deref(),
            Ok("{\"aü\":[1,-2.5e+3,true,false,null,NaN,-Infinity],\"\":{}}")
        );
    }

    /// Tokens that Python's `json.dumps` writes for texts with half a surrogate pair.
    #[test]
    fn half_a_surrogate_pair_is_kept_as_it_is_written() {
        for (token, text) in [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""a\udc80\"b\\""#, "a\u{fffd}\"b\\"),
            (r#""\udc00\ud83d\ude00\ud83d""#, "\u{fffd}\u{1f600}\u{fffd}"),
            (r#""\\\ud800\ud800\udc00""#, "\\\u{fffd}\u{10000}"),
        ] {
            assert_eq!(unpaired(token).as_deref(), Some(text), "{token}");
            let mut out = Vec::new();
            JsonText::canonical(format!("[{token} ]").as_bytes(), &mut out).expect("JSON");
            assert_eq!(String::from_utf8(out), Ok(format!("[{token}]")));
        }
        for token in [
            r#""a""#,
            r#""\ud83d\ude00""#,
            r#""\\ud800""#,
            r#""\ud800"#,
            "\"\\ud800\n\"",
            r#""\ud800\x""#,
        ] {
            assert_eq!(unpaired(token), None, "{token}");
        }
    }

    #[test]
    fn what_is_no_value() {
        for text in [
            "",
            " ",
            "[",
            "]",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{1:2}",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "nan",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\ud80\"",
            "1 2",
            "tru",
            "--1",
            "\"a\nb\"",
        ] {
            assert!(!JsonText::is_json(text.as_bytes()), "{text}");
        }
        assert!(!JsonText::is_json(&[b'"', 0xff, b'"']));
        assert!(JsonText::is_json(
            "[".repeat(128)
                .as_bytes()
                .iter()
                .chain("]".repeat(128).as_bytes())
                .copied()
                .collect::<Vec<_>>()
                .as_slice()
        ));
        assert!(!JsonText::is_json("[".repeat(1 << 20).as_bytes()));
    }
}
