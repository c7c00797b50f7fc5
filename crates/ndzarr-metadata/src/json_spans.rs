//! Where the members of a JSON object are in its text, without reading their values: documents within a document are cut
//! out as they are written, and read when they are asked for.

use std::ops::Range;

use crate::MetadataError;

/// A member: its name and where its value is, in bytes.
pub(crate) type Span = (String, Range<usize>);

/// The members of the object that stands at `within` in the text, in their order, repeated ones too. Their values are not
/// checked to be valid, but for strings and brackets that close.
pub(crate) fn members(key: &str, text: &[u8], within: Range<usize>) -> Result<Vec<Span>, MetadataError> {
    let mut scanner = Scanner { text: &text[..within.end], at: within.start };
    if within.start == 0 && text.starts_with("\u{feff}".as_bytes()) {
        scanner.at = 3;
    }
    scanner.object().map_err(|what| {
        MetadataError::invalid(key, format_args!("not valid JSON: {what} at byte {}", scanner.at))
    })
}

/// The last member of this name: of several it counts.
pub(crate) fn last<'a>(members: &'a [Span], name: &str) -> Option<&'a Range<usize>> {
    members.iter().rev().find(|(member, _)| member == name).map(|(_, range)| range)
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn object(&mut self) -> Result<Vec<Span>, &'static str> {
        let mut members = Vec::new();
        self.space();
        self.require(b'{', "an object was expected")?;
        self.space();
        if self.peek() == Some(b'}') {
            return Ok(members);
        }
        loop {
            self.space();
            let start = self.at;
            self.string()?;
            let name = serde_json::from_slice(&self.text[start..self.at])
                .map_err(|_| "a name that JSON does not allow")?;
            self.space();
            self.require(b':', "':' was expected")?;
            self.space();
            let start = self.at;
            self.value()?;
            members.push((name, start..self.at));
            self.space();
            match self.peek() {
                Some(b'}') => return Ok(members),
                Some(b',') => self.at += 1,
                _ => return Err("',' or '}' was expected"),
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn require(&mut self, byte: u8, otherwise: &'static str) -> Result<(), &'static str> {
        if self.peek() != Some(byte) {
            return Err(otherwise);
        }
        self.at += 1;
        Ok(())
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<(), &'static str> {
        self.require(b'"', "a string was expected")?;
        loop {
            match self.peek() {
                None => return Err("a string ends early"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
    }

    /// Moves behind a value, whatever it is.
    fn value(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        let mut depth = 0usize;
        loop {
            match self.peek() {
                Some(b'"') => self.string()?,
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r') if depth == 0 => break,
                Some(_) => self.at += 1,
                None => break,
            }
        }
        // A string may have skipped over the end with its last escape.
        let ends = depth == 0 && self.at <= self.text.len() && self.at > start;
        if ends { Ok(()) } else { Err("a value ends early") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Option<Vec<(String, String)>> {
        let members = members("k", text.as_bytes(), 0..text.len()).ok()?;
        Some(members.into_iter().map(|(name, range)| (name, text[range].to_owned())).collect())
    }

    #[test]
    fn members_are_cut_out_as_they_are_written() {
        let text = "\u{feff} {\"a\" : {\"x\": [1, \"}\\\"\"]},\"b\\u0063\":\t-1.50 ,\"s\":\"[\",\"a\":null}";
        let expected = [("a", "{\"x\": [1, \"}\\\"\"]}"), ("bc", "-1.50"), ("s", "\"[\""), ("a", "null")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(cut(text), Some(expected));
        assert_eq!(cut("{}"), Some(vec![]));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let whole = "{\"a\":{\"b\":[1,\"c\\\"\"]},\"d\":2}";
        for end in 0..whole.len() {
            assert_eq!(cut(&whole[..end]), None, "{end}");
        }
        for text in
            ["", "[]", "1", "{\"a\"}", "{\"a\":}", "{\"a\":1 2}", "{a:1}", "{\"a\":1,}", "{\"a\":\"\\"]
        {
            assert_eq!(cut(text), None, "{text}");
        }
    }
}
