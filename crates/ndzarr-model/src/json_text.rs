//! Scans JSON text without building values.

/// Checks JSON text without building values, so that it takes no memory.
///
/// The tokens `NaN`, `Infinity` and `-Infinity`, which Python writes, are accepted; nesting is
/// bounded.
#[derive(Clone, Debug)]
pub struct JsonText<'a> {
    text: &'a str,
    at: usize,
}

/// An error in JSON text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON at byte {at}: {what}")]
pub struct JsonError {
    /// Where, in bytes.
    pub at: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// Deepest nesting of lists and objects.
const MAX_DEPTH: usize = 128;

impl<'a> JsonText<'a> {
    /// The start of some text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Whether the bytes are one value, with only space around it.
    #[must_use]
    pub fn is_json(bytes: &[u8]) -> bool {
        Self::canonical(bytes, &mut Vec::new()).is_ok()
    }

    /// Appends the value that the bytes contain, without space and with as few escapes as possible.
    ///
    /// # Errors
    /// They are not JSON, or more than one value.
    pub fn canonical(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), JsonError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| JsonError { at: error.valid_up_to(), what: "not UTF-8" })?;
        let mut text = JsonText::new(text);
        text.value(out)?;
        text.end()
    }

    /// Whether a text is exactly a JSON number.
    #[must_use]
    pub fn is_number(text: &str) -> bool {
        let mut digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
        let take = |digits: &mut &[u8]| {
            let n = digits.iter().take_while(|b| b.is_ascii_digit()).count();
            *digits = &digits[n..];
            n
        };
        let leading_zero = digits.first() == Some(&b'0');
        let whole = take(&mut digits);
        let mut ok = whole > 0 && !(leading_zero && whole > 1);
        if let Some(fraction) = digits.strip_prefix(b".") {
            digits = fraction;
            ok &= take(&mut digits) > 0;
        }
        if let Some(exponent) = digits.strip_prefix(b"e").or_else(|| digits.strip_prefix(b"E")) {
            digits = exponent.strip_prefix(b"+").or_else(|| exponent.strip_prefix(b"-")).unwrap_or(exponent);
            ok &= take(&mut digits) > 0;
        }
        ok && digits.is_empty()
    }

    /// The text of a JSON string, quotes included, that contains half a surrogate pair, as Python
    /// writes undecodable text: with U+FFFD in place of each half. `None` for anything else.
    ///
    /// ```
    /// use ndzarr_model::JsonText;
    ///
    /// assert_eq!(JsonText::unpaired(r#""a\udc80b""#).as_deref(), Some("a\u{fffd}b"));
    /// assert_eq!(JsonText::unpaired(r#""\ud83d\ude00""#), None);
    /// ```
    #[must_use]
    pub fn unpaired(token: &str) -> Option<String> {
        let bytes = token.as_bytes();
        let unit = |at: usize| {
            let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
            u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let (mut text, mut at, mut from) = (String::new(), 0, 0);
        while at < bytes.len() {
            if bytes[at] != b'\\' {
                at += 1;
                continue;
            }
            let len = match unit(at) {
                None => 2,
                Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
                Some(0xd800..=0xdfff) => {
                    text.push_str(&token[from..at]);
                    text.push_str("\\ufffd");
                    from = at + 6;
                    6
                }
                Some(_) => 6,
            };
            at += len;
        }
        if from == 0 {
            return None;
        }
        text.push_str(&token[from..]);
        serde_json::from_str(&text).ok()
    }

    /// Takes one value and appends it to `out`, without space and with as few escapes as possible.
    ///
    /// # Errors
    /// There is no value.
    pub fn value(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        self.nested_value(out, MAX_DEPTH)
    }

    /// Takes this character if it is the next one after space. Returns whether it was.
    pub fn eat(&mut self, character: u8) -> bool {
        self.space();
        let found = self.peek() == Some(character);
        self.at += usize::from(found);
        found
    }

    /// Takes a character.
    ///
    /// # Errors
    /// Another character is next.
    pub fn require(&mut self, character: u8, what: &'static str) -> Result<(), JsonError> {
        if self.eat(character) { Ok(()) } else { Err(self.error(what)) }
    }

    /// Checks that only space is left.
    ///
    /// # Errors
    /// Something else follows.
    pub fn end(&mut self) -> Result<(), JsonError> {
        self.space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.error("text after the value")) }
    }

    /// An error at this place.
    #[must_use]
    pub fn error(&self, what: &'static str) -> JsonError {
        JsonError { at: self.at, what }
    }

    fn nested_value(&mut self, out: &mut Vec<u8>, depth_left: usize) -> Result<(), JsonError> {
        self.space();
        match self.peek() {
            None => Err(self.error("ends early")),
            Some(open @ (b'[' | b'{')) => {
                let Some(depth_left) = depth_left.checked_sub(1) else {
                    return Err(self.error("nested too deep"));
                };
                self.at += 1;
                let close = if open == b'[' { b']' } else { b'}' };
                out.push(open);
                if !self.eat(close) {
                    loop {
                        if open == b'{' {
                            self.space();
                            self.string(out)?;
                            self.require(b':', "':' was expected")?;
                            out.push(b':');
                        }
                        self.nested_value(out, depth_left)?;
                        if self.eat(close) {
                            break;
                        }
                        self.require(b',', "',' was expected")?;
                        out.push(b',');
                    }
                }
                out.push(close);
                Ok(())
            }
            Some(b'"') => self.string(out),
            _ => {
                for token in ["true", "false", "null", "NaN", "Infinity", "-Infinity"] {
                    if self.text.as_bytes()[self.at..].starts_with(token.as_bytes()) {
                        self.at += token.len();
                        out.extend_from_slice(token.as_bytes());
                        return Ok(());
                    }
                }
                self.number(out)
            }
        }
    }

    fn string(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'"') {
            return Err(self.error("a string was expected"));
        }
        let mut end = self.at + 1;
        loop {
            match bytes.get(end) {
                None => return Err(self.error("a string ends early")),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        // Both ends are quotes, so the cut is between characters.
        let token = &self.text[self.at..=end];
        match serde_json::from_str::<String>(token) {
            Ok(text) => {
                serde_json::to_writer(out, &text)
                    .map_err(|_| self.error("a string that JSON cannot represent"))?;
            }
            // As it is written: no text can represent it.
            Err(_) if Self::unpaired(token).is_some() => out.extend_from_slice(token.as_bytes()),
            Err(_) => return Err(self.error("a string that JSON does not allow")),
        }
        self.at = end + 1;
        Ok(())
    }

    fn number(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        let rest = &self.text[self.at..];
        let len = rest
            .bytes()
            .position(|b| !matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            .unwrap_or(rest.len());
        if !Self::is_number(&rest[..len]) {
            return Err(self.error("unexpected character"));
        }
        out.extend_from_slice(&rest.as_bytes()[..len]);
        self.at += len;
        Ok(())
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// What Python's `json.dumps` writes for texts with half a surrogate pair.
    #[test]
    fn half_a_surrogate_pair_is_kept_as_it_is_written() {
        for (token, text) in [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""a\udc80\"b\\""#, "a\u{fffd}\"b\\"),
            (r#""\udc00\ud83d\ude00\ud83d""#, "\u{fffd}\u{1f600}\u{fffd}"),
            (r#""\\\ud800\ud800\udc00""#, "\\\u{fffd}\u{10000}"),
        ] {
            assert_eq!(JsonText::unpaired(token).as_deref(), Some(text), "{token}");
            let mut out = Vec::new();
            JsonText::canonical(format!("[{token} ]").as_bytes(), &mut out).expect("JSON");
            assert_eq!(String::from_utf8(out), Ok(format!("[{token}]")));
        }
        for token in
            [r#""a""#, r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\ud800"#, "\"\\ud800\n\"", r#""\ud800\x""#]
        {
            assert_eq!(JsonText::unpaired(token), None, "{token}");
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
