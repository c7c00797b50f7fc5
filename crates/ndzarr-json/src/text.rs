//! `JsonText`: the one scanner of JSON text, for trees, for the positions of members, and for text
//! that stays text.

mod canonical;
mod skip;
mod stops;

use std::ops::Range;

use self::stops::{NUMBER_STOPS, STRING_STOPS};
use crate::JsonString;

/// JSON text that is read from its start, value by value, without building values: it takes no
/// memory. A caller that builds values takes one [`token`](Self::token) after the other.
///
/// ```
/// use ndzarr_json::{JsonText, JsonToken};
///
/// let mut text = JsonText::new(r#"{"a": [1.50, NaN], "b": {"c": [[]]}}"#);
/// assert!(matches!(text.token()?, JsonToken::Object));
/// assert!(text.member()?.is_some_and(|name| *name == *"a"));
/// assert!(matches!(text.token()?, JsonToken::List));
/// assert!(text.item()?);
/// assert!(matches!(text.token()?, JsonToken::Number("1.50")));
/// assert!(text.item()?);
/// assert!(matches!(text.token()?, JsonToken::NonFinite("NaN")));
/// assert!(!text.item()?);
/// assert!(text.member()?.is_some_and(|name| *name == *"b"));
/// assert_eq!(text.skip()?, 24..35);
/// assert!(text.member()?.is_none());
/// text.end()?;
/// # Ok::<(), ndzarr_json::JsonError>(())
/// ```
#[derive(Clone, Debug)]
pub struct JsonText<'a> {
    bytes: &'a [u8],
    /// The bytes as text, if all of them are known to be UTF-8.
    text: Option<&'a str>,
    at: usize,
    depth: usize,
    /// True just after entering a list or object.
    is_start: bool,
}

/// A value of JSON, or the start of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonToken<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// The text of a number.
    Number(&'a str),
    /// `NaN`, `Infinity` or `-Infinity`, which Python writes and standard JSON does not have.
    NonFinite(&'static str),
    /// A string.
    String(JsonString<'a>),
    /// A list begins: continue with [`JsonText::item`].
    List,
    /// An object begins: continue with [`JsonText::member`].
    Object,
}

/// An error in JSON text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON at byte {at}: {what}")]
pub struct JsonError {
    /// The position in bytes.
    pub at: usize,
    /// The fault.
    pub what: &'static str,
}

impl<'a> JsonText<'a> {
    /// Deepest nesting of lists and objects.
    pub const MAX_DEPTH: usize = 128;

    /// The start of some text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self {
            bytes: text.as_bytes(),
            text: Some(text),
            at: 0,
            depth: 0,
            is_start: false,
        }
    }

    /// The start of text that need not be UTF-8, except for the strings and numbers that are taken.
    #[must_use]
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            text: None,
            at: 0,
            depth: 0,
            is_start: false,
        }
    }

    /// Continues at a position in the text, in bytes, before a value that is nested this deep.
    #[must_use]
    pub fn starting(self, at: usize, depth: usize) -> Self {
        Self { at, depth, ..self }
    }

    /// Skips a byte order mark, if the text begins with one.
    #[must_use]
    pub fn behind_mark(self) -> Self {
        let mark = "\u{feff}".as_bytes();
        if self.at == 0 && self.bytes.starts_with(mark) {
            Self {
                at: mark.len(),
                ..self
            }
        } else {
            self
        }
    }

    /// True if a text is exactly a JSON number.
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
        let mut is_valid = whole > 0 && !(leading_zero && whole > 1);
        if let Some(fraction) = digits.strip_prefix(b".") {
            digits = fraction;
            is_valid &= take(&mut digits) > 0;
        }
        if let Some(exponent) = digits
            .strip_prefix(b"e")
            .or_else(|| digits.strip_prefix(b"E"))
        {
            digits = exponent
                .strip_prefix(b"+")
                .or_else(|| exponent.strip_prefix(b"-"))
                .unwrap_or(exponent);
            is_valid &= take(&mut digits) > 0;
        }
        is_valid && digits.is_empty()
    }

    /// The position, in bytes from the start of the text.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The number of lists and objects around the position.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Takes a value, or enters the list or object that begins here.
    ///
    /// # Errors
    /// No value follows, or one that is nested too deeply.
    pub fn token(&mut self) -> Result<JsonToken<'a>, JsonError> {
        self.skip_space();
        match self.peek() {
            None => Err(self.error("ends early")),
            Some(b'{') => self.enter().map(|()| JsonToken::Object),
            Some(b'[') => self.enter().map(|()| JsonToken::List),
            Some(b'"') => self.string().map(JsonToken::String),
            Some(b'-') if self.bytes[self.at..].starts_with(b"-I") => self.non_finite("-Infinity"),
            Some(b'-' | b'0'..=b'9') => self.number().map(JsonToken::Number),
            Some(b'N') => self.non_finite("NaN"),
            Some(b'I') => self.non_finite("Infinity"),
            Some(_) if self.take("true") => Ok(JsonToken::Bool(true)),
            Some(_) if self.take("false") => Ok(JsonToken::Bool(false)),
            Some(_) if self.take("null") => Ok(JsonToken::Null),
            Some(_) => Err(self.error("unexpected character")),
        }
    }

    /// Continues in a list: returns true before its next item, which is to be taken, and false
    /// after the end of the list.
    ///
    /// # Errors
    /// Neither comes next.
    pub fn item(&mut self) -> Result<bool, JsonError> {
        let is_start = std::mem::take(&mut self.is_start);
        self.skip_space();
        match self.peek() {
            Some(b']') => {
                self.leave();
                Ok(false)
            }
            _ if is_start => Ok(true),
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.error("',' or ']' was expected")),
        }
    }

    /// Continues in an object: returns the name of its next member, whose value is to be taken, or
    /// `None` after the end of the object.
    ///
    /// # Errors
    /// Neither comes next.
    pub fn member(&mut self) -> Result<Option<JsonString<'a>>, JsonError> {
        let is_start = std::mem::take(&mut self.is_start);
        self.skip_space();
        match self.peek() {
            Some(b'}') => {
                self.leave();
                return Ok(None);
            }
            _ if is_start => {}
            Some(b',') => {
                self.at += 1;
                self.skip_space();
            }
            _ => return Err(self.error("',' or '}' was expected")),
        }
        if self.peek() != Some(b'"') {
            return Err(self.error("a member name was expected"));
        }
        let name = self.string()?;
        self.require(b':', "':' was expected")?;
        Ok(Some(name))
    }

    /// Enters an object.
    ///
    /// # Errors
    /// No object begins here.
    pub fn object(&mut self) -> Result<(), JsonError> {
        if self.is_object() {
            self.enter()
        } else {
            Err(self.error("an object was expected"))
        }
    }

    /// Skips space; returns true if an object begins after it.
    pub fn is_object(&mut self) -> bool {
        self.skip_space();
        self.peek() == Some(b'{')
    }

    /// Takes this character if it is the next one after space. Returns true if it was.
    pub fn eat(&mut self, character: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(character);
        self.at += usize::from(found);
        found
    }

    /// Takes a character.
    ///
    /// # Errors
    /// Another character is next.
    pub fn require(&mut self, character: u8, what: &'static str) -> Result<(), JsonError> {
        if self.eat(character) {
            Ok(())
        } else {
            Err(self.error(what))
        }
    }

    /// Checks that only space is left.
    ///
    /// # Errors
    /// Something else follows.
    pub fn end(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.error("text after the value"))
        }
    }

    fn error(&self, what: &'static str) -> JsonError {
        JsonError { at: self.at, what }
    }

    fn enter(&mut self) -> Result<(), JsonError> {
        if self.depth == Self::MAX_DEPTH {
            return Err(self.error("nested deeper than 128 levels"));
        }
        self.depth += 1;
        self.at += 1;
        self.is_start = true;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.at += 1;
    }

    fn string(&mut self) -> Result<JsonString<'a>, JsonError> {
        let start = self.at;
        self.at += 1;
        self.skip_to(&STRING_STOPS);
        // Both ends are quotes, so the cut is between characters.
        if self.peek() == Some(b'"') {
            self.at += 1;
            return match self.slice(start + 1..self.at - 1) {
                Some(text) => Ok(JsonString::borrowed(text)),
                None => Err(JsonError {
                    at: start,
                    what: "a string that is not UTF-8",
                }),
            };
        }
        self.at = start;
        self.skip_string()?;
        let string = self.slice(start..self.at).and_then(JsonString::parse);
        string.ok_or(JsonError {
            at: start,
            what: "a string that JSON does not allow",
        })
    }

    fn number(&mut self) -> Result<&'a str, JsonError> {
        let start = self.at;
        self.skip_to(&NUMBER_STOPS);
        let text = self
            .slice(start..self.at)
            .filter(|text| Self::is_number(text));
        text.ok_or(JsonError {
            at: start,
            what: "a number that JSON does not allow",
        })
    }

    fn non_finite(&mut self, token: &'static str) -> Result<JsonToken<'a>, JsonError> {
        if self.take(token) {
            Ok(JsonToken::NonFinite(token))
        } else {
            Err(self.error("unexpected character"))
        }
    }

    fn slice(&self, range: Range<usize>) -> Option<&'a str> {
        match self.text {
            Some(text) => text.get(range),
            None => std::str::from_utf8(self.bytes.get(range)?).ok(),
        }
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.bytes[self.at..].starts_with(token.as_bytes());
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}
