//! `JsonString`: a string of JSON text, which may contain half a surrogate pair.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A string of JSON text. It is borrowed from the text if it has the same form in memory.
///
/// Python writes half a surrogate pair for a byte that it could not decode, which a `str` cannot
/// contain: it is shown as U+FFFD, and the token is kept as written.
///
/// ```
/// use ndzarr_json::JsonString;
///
/// let halved = JsonString::parse(r#""a\udc80b""#).expect("a string");
/// assert_eq!((&*halved, halved.unpaired()), ("a\u{fffd}b", Some(r#""a\udc80b""#)));
/// let whole = JsonString::parse(r#""\ud83d\ude00""#).expect("a string");
/// assert_eq!((&*whole, whole.unpaired()), ("\u{1f600}", None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonString<'a>(Form<'a>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Form<'a> {
    Plain(Cow<'a, str>),
    Unpaired(Box<Unpaired>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Unpaired {
    /// The string, with U+FFFD in place of each half.
    text: String,
    /// The string as written, quotes included.
    token: String,
}

impl<'a> JsonString<'a> {
    /// The string that a token of JSON stands for, quotes included; `None` if it is not one.
    #[must_use]
    pub fn parse(token: &str) -> Option<Self> {
        let text: Result<String, _> = serde_json::from_str(token);
        match text {
            Ok(text) => Some(text.into()),
            Err(_) => {
                let text = unpaired(token)?;
                Some(Self(Form::Unpaired(Box::new(Unpaired {
                    text,
                    token: token.to_owned(),
                }))))
            }
        }
    }

    /// A string that borrows this text.
    #[must_use]
    pub fn borrowed(text: &'a str) -> Self {
        Self(Form::Plain(Cow::Borrowed(text)))
    }

    /// The string as written, quotes included, if it contains half a surrogate pair.
    #[must_use]
    pub fn unpaired(&self) -> Option<&str> {
        match &self.0 {
            Form::Plain(_) => None,
            Form::Unpaired(unpaired) => Some(&unpaired.token),
        }
    }

    /// A copy that borrows from nothing.
    #[must_use]
    pub fn to_owned(&self) -> JsonString<'static> {
        JsonString(match &self.0 {
            Form::Plain(text) => Form::Plain(Cow::Owned(text.clone().into_owned())),
            Form::Unpaired(unpaired) => Form::Unpaired(unpaired.clone()),
        })
    }
}

/// The text of a JSON string, quotes included, that contains half a surrogate pair, as Python
/// writes undecodable text: with U+FFFD in place of each half. `None` for any other text.
fn unpaired(token: &str) -> Option<String> {
    let bytes = token.as_bytes();
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut text = String::new();
    let mut at = 0;
    // The end of what is copied to `text`.
    let mut copied = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let len = match unit(at) {
            None => 2,
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                text.push_str(&token[copied..at]);
                text.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            Some(_) => 6,
        };
        at += len;
    }
    if copied == 0 {
        return None;
    }
    text.push_str(&token[copied..]);
    serde_json::from_str(&text).ok()
}

impl Deref for JsonString<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Form::Plain(text) => text,
            Form::Unpaired(unpaired) => &unpaired.text,
        }
    }
}

impl fmt::Display for JsonString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq<str> for JsonString<'_> {
    fn eq(&self, other: &str) -> bool {
        &**self == other
    }
}

impl<'a> From<Cow<'a, str>> for JsonString<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self(Form::Plain(text))
    }
}

impl From<String> for JsonString<'_> {
    fn from(text: String) -> Self {
        Self(Form::Plain(Cow::Owned(text)))
    }
}

impl From<&str> for JsonString<'_> {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<JsonString<'_>> for String {
    fn from(text: JsonString<'_>) -> Self {
        match text.0 {
            Form::Plain(text) => text.into_owned(),
            Form::Unpaired(unpaired) => unpaired.text,
        }
    }
}
