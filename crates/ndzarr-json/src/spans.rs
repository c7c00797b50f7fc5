//! Locates the members of a JSON object in its text without reading their values, so that documents
//! within a document can be cut out unchanged and read on demand.

use std::ops::Range;

use crate::room::Room;
use crate::{JsonError, JsonString, JsonText};

/// What a member takes here, and as a document that is known by its name, in bytes.
const MEMBER_BYTES: usize = 200;

/// A member: its name, and the position of its value in bytes.
pub type Span<'a> = (JsonString<'a>, Range<usize>);

/// The members of the object at `within` in the text, in order, including repeated ones. Their
/// values are not validated, except that strings and brackets must close.
///
/// # Errors
/// No object is at this place of the text.
pub fn members(text: &[u8], within: Range<usize>) -> Result<Vec<Span<'_>>, JsonError> {
    let mut text = JsonText::of_bytes(text.get(..within.end).unwrap_or(text))
        .starting(within.start, 0)
        .behind_mark();
    spans(&mut text)
}

/// The positions of the values of these members of the object at `within`: the last one of several.
///
/// # Errors
/// No object is at this place of the text.
pub fn values<const N: usize>(
    text: &[u8],
    within: Range<usize>,
    names: [&str; N],
) -> Result<[Option<Range<usize>>; N], JsonError> {
    let members = members(text, within)?;
    Ok(names.map(|name| last(&members, name).cloned()))
}

/// The members of the object that begins here.
///
/// # Errors
/// No object begins here, or it is not one.
pub fn spans<'a>(text: &mut JsonText<'a>) -> Result<Vec<Span<'a>>, JsonError> {
    let mut members = Vec::new();
    let mut room = Room::new();
    text.object()?;
    while let Some(name) = text.member()? {
        room.take(MEMBER_BYTES + name.len(), text.at())?;
        members.push((name, text.skip()?));
    }
    Ok(members)
}

/// The last member of this name: it counts if there are several.
#[must_use]
pub fn last<'s>(members: &'s [Span<'_>], name: &str) -> Option<&'s Range<usize>> {
    members
        .iter()
        .rev()
        .find(|(member, _)| *member == *name)
        .map(|(_, range)| range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Option<Vec<(String, String)>> {
        let members = members(text.as_bytes(), 0..text.len()).ok()?;
        Some(
            members
                .into_iter()
                .map(|(name, range)| (name.into(), text[range].to_owned()))
                .collect(),
        )
    }

    #[test]
    fn members_are_cut_out_as_they_are_written() {
        let text = "\u{feff} {\"a\" : {\"x\": [1, \"}\\\"\"]},\"b\\u0063\":\t-1.50 ,\"s\":\"[\",\"a\":null}";
        let expected = [
            ("a", "{\"x\": [1, \"}\\\"\"]}"),
            ("bc", "-1.50"),
            ("s", "\"[\""),
            ("a", "null"),
        ];
        let expected = expected
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        assert_eq!(cut(text), Some(expected));
        assert_eq!(cut("{}"), Some(vec![]));
    }

    #[test]
    fn the_last_of_several_values_is_found() {
        let text = r#" {"a":1, "b":{"c":[2]}, "\u0061":[{"a":3}], "d":"a"}"#;
        let [a, c, b] = values(text.as_bytes(), 0..text.len(), ["a", "c", "b"]).expect("an object");
        assert_eq!(a.map(|range| &text[range]), Some(r#"[{"a":3}]"#));
        assert_eq!(c, None, "one level alone");
        assert_eq!(b.map(|range| &text[range]), Some(r#"{"c":[2]}"#));
        assert!(values(b"[]", 0..2, ["a"]).is_err());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let whole = "{\"a\":{\"b\":[1,\"c\\\"\"]},\"d\":2}";
        for end in 0..whole.len() {
            assert_eq!(cut(&whole[..end]), None, "{end}");
        }
        for text in [
            "",
            "[]",
            "1",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1 2}",
            "{a:1}",
            "{\"a\":1,}",
            "{\"a\":\"\\",
        ] {
            assert_eq!(cut(text), None, "{text}");
        }
    }
}
