//! Where the members of a JSON object are in its text, without reading their values: documents within a document are cut
//! out as they are written, and read when they are asked for.

use std::ops::Range;

use crate::MetadataError;
use crate::json::Text;

/// A member: its name and where its value is, in bytes.
pub(crate) type Span<'a> = (Text<'a>, Range<usize>);

/// The members of the object that stands at `within` in the text, in their order, repeated ones too. Their values are not
/// checked to be valid, but for strings and brackets that close.
pub(crate) fn members<'a>(
    key: &str,
    text: &'a [u8],
    within: Range<usize>,
) -> Result<Vec<Span<'a>>, MetadataError> {
    let mut members = Vec::new();
    scan(key, text, within, |name, scanner| {
        members.push((name, scanner.value()?));
        Ok(())
    })?;
    Ok(members)
}

/// Where the values of the members of these names are, of the object that stands at `within`: of several the last.
pub(crate) fn values<const N: usize>(
    key: &str,
    text: &[u8],
    within: Range<usize>,
    names: [&str; N],
) -> Result<[Option<Range<usize>>; N], MetadataError> {
    let mut found = [const { None }; N];
    scan(key, text, within, |name, scanner| {
        let range = scanner.value()?;
        if let Some(i) = names.iter().position(|wanted| name == **wanted) {
            found[i] = Some(range);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The last member of this name: of several it counts.
pub(crate) fn last<'s>(members: &'s [Span<'_>], name: &str) -> Option<&'s Range<usize>> {
    members.iter().rev().find(|(member, _)| *member == *name).map(|(_, range)| range)
}

/// Goes through the object that stands at `within`: `member` is called in front of each value, and has to pass it.
pub(crate) fn scan<'a>(
    key: &str,
    text: &'a [u8],
    within: Range<usize>,
    member: impl FnMut(Text<'a>, &mut Scanner<'a>) -> Result<(), &'static str>,
) -> Result<(), MetadataError> {
    let mut scanner = Scanner { text: &text[..within.end], at: within.start };
    if within.start == 0 && text.starts_with("\u{feff}".as_bytes()) {
        scanner.at = 3;
    }
    match scanner.object(member) {
        Ok(_) => Ok(()),
        Err(what) => {
            let what = format_args!("not valid JSON: {what} at byte {}", scanner.at);
            Err(MetadataError::invalid(key, what))
        }
    }
}

/// A place in the text.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Passes an object, and says where it is.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(Text<'a>, &mut Self) -> Result<(), &'static str>,
    ) -> Result<Range<usize>, &'static str> {
        let start = self.at;
        self.space();
        self.require(b'{', "an object was expected")?;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(start..self.at);
        }
        loop {
            self.space();
            let name = self.name()?;
            self.space();
            self.require(b':', "':' was expected")?;
            self.space();
            member(name, self)?;
            self.space();
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                Some(b',') => self.at += 1,
                _ => return Err("',' or '}' was expected"),
            }
        }
    }

    /// Whether an object begins here.
    pub(crate) fn is_object(&self) -> bool {
        self.peek() == Some(b'{')
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

    fn name(&mut self) -> Result<Text<'a>, &'static str> {
        let start = self.at;
        let what = "a name that JSON does not allow";
        let rest = self.text.get(start + 1..).unwrap_or_default();
        let plain = rest.iter().position(|&byte| STRING_STOPS[usize::from(byte)]).unwrap_or(rest.len());
        if self.peek() == Some(b'"') && rest.get(plain) == Some(&b'"') {
            self.at += plain + 2;
            return std::str::from_utf8(&rest[..plain]).map(Text::borrowed).map_err(|_| what);
        }
        self.string()?;
        // A string may have skipped over the end with its last escape.
        let token = self.text.get(start..self.at).ok_or(what)?;
        let token = std::str::from_utf8(token).map_err(|_| what)?;
        Text::parse(token).ok_or(what)
    }

    fn string(&mut self) -> Result<(), &'static str> {
        self.require(b'"', "a string was expected")?;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            match rest.iter().position(|&byte| byte == b'"' || byte == b'\\') {
                None => return Err("a string ends early"),
                Some(n) if rest[n] == b'"' => {
                    self.at += n + 1;
                    return Ok(());
                }
                Some(n) => self.at += n + 2,
            }
        }
    }

    /// Passes a value, whatever it is, and says where it is.
    pub(crate) fn value(&mut self) -> Result<Range<usize>, &'static str> {
        let start = self.at;
        let mut depth = 0usize;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let stops = if depth == 0 { &ENDS } else { &BRACKETS };
            let passed = rest.iter().position(|&byte| stops[usize::from(byte)]).unwrap_or(rest.len());
            self.at += passed;
            match rest.get(passed) {
                Some(b'"') => self.string()?,
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(_) if depth == 0 => break,
                Some(_) => self.at += 1,
                None => break,
            }
        }
        let ends = depth == 0 && self.at > start;
        if ends { Ok(start..self.at) } else { Err("a value ends early") }
    }
}

/// What a value can end before, outside of strings and brackets, and what it can go on with.
const ENDS: [bool; 256] = table(b"\"{}[], \t\n\r");

/// What counts within brackets.
const BRACKETS: [bool; 256] = table(b"\"{}[]");

/// Bytes that end a string, or are not what they stand for.
pub(crate) const STRING_STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let mut byte = 0;
    while byte < b' ' as usize {
        stops[byte] = true;
        byte += 1;
    }
    stops[b'"' as usize] = true;
    stops[b'\\' as usize] = true;
    stops
};

const fn table(bytes: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] = true;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Option<Vec<(String, String)>> {
        let members = members("k", text.as_bytes(), 0..text.len()).ok()?;
        Some(members.into_iter().map(|(name, range)| (name.into(), text[range].to_owned())).collect())
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
    fn the_last_of_several_values_is_found() {
        let text = r#" {"a":1, "b":{"c":[2]}, "\u0061":[{"a":3}], "d":"a"}"#;
        let [a, c, b] = values("k", text.as_bytes(), 0..text.len(), ["a", "c", "b"]).expect("an object");
        assert_eq!(a.map(|range| &text[range]), Some(r#"[{"a":3}]"#));
        assert_eq!(c, None, "one level alone");
        assert_eq!(b.map(|range| &text[range]), Some(r#"{"c":[2]}"#));
        assert!(values("k", b"[]", 0..2, ["a"]).is_err());
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
