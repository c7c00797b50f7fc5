/// JSON text that is looked through without being turned into values, so that it takes no memory of its own.
///
/// The tokens `NaN`, `Infinity` and `-Infinity`, which Python writes, are let in; nesting is bounded.
#[derive(Clone, Debug)]
pub struct JsonText<'a> {
    text: &'a str,
    at: usize,
}

/// Where JSON text is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no JSON at byte {at}: {what}")]
pub struct JsonError {
    /// Where, in bytes.
    pub at: usize,
    /// What is wrong there.
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

    /// Whether some bytes are one value with nothing but space around it.
    #[must_use]
    pub fn is_json(bytes: &[u8]) -> bool {
        Self::canonical(bytes, &mut Vec::new()).is_ok()
    }

    /// Appends the one value that some bytes are, without space and with as few escapes as possible.
    ///
    /// # Errors
    /// They are no JSON, or more than one value.
    pub fn canonical(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), JsonError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| JsonError { at: error.valid_up_to(), what: "not UTF-8" })?;
        let mut text = JsonText::new(text);
        text.value(out)?;
        text.end()
    }

    /// Takes one value and appends it to `out`, without space and with as few escapes as possible.
    ///
    /// # Errors
    /// There is none.
    pub fn value(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        self.nested_value(out, MAX_DEPTH)
    }

    /// Takes a character, if it is the next but for space. Returns whether it was.
    pub fn eat(&mut self, character: u8) -> bool {
        self.space();
        let found = self.peek() == Some(character);
        self.at += usize::from(found);
        found
    }

    /// Takes a character.
    ///
    /// # Errors
    /// Another one is next.
    pub fn expect(&mut self, character: u8, what: &'static str) -> Result<(), JsonError> {
        if self.eat(character) { Ok(()) } else { Err(self.error(what)) }
    }

    /// Checks that nothing but space is left.
    ///
    /// # Errors
    /// Something is.
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
                            self.expect(b':', "':' was expected")?;
                            out.push(b':');
                        }
                        self.nested_value(out, depth_left)?;
                        if self.eat(close) {
                            break;
                        }
                        self.expect(b',', "',' was expected")?;
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
        let text: String =
            serde_json::from_str(token).map_err(|_| self.error("a string that JSON does not allow"))?;
        serde_json::to_writer(out, &text).map_err(|_| self.error("a string that has no form"))?;
        self.at = end + 1;
        Ok(())
    }

    fn number(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        let rest = &self.text.as_bytes()[self.at..];
        let len = rest
            .iter()
            .position(|b| !matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            .unwrap_or(rest.len());
        let (mut digits, negative) = (&rest[..len], rest.first() == Some(&b'-'));
        digits = &digits[usize::from(negative)..];
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
        if !ok || !digits.is_empty() {
            return Err(self.error("unexpected character"));
        }
        out.extend_from_slice(&rest[..len]);
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
            "\"\\ud800\"",
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
