//! `Range` and the conditions of reads, as in RFC 9110.

use std::ops::Range;

use crate::object_server::connections::request::Request;
use crate::object_server::dialects::dates::parse_http_date;
use crate::object_server::stored::objects::Object;

/// What a `Range` header selects of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Selected {
    /// All bytes: without a header, or with one that is not understood.
    Whole,
    Part(Range<usize>),
    Nothing,
}

/// The meaning of a suffix, `bytes=-5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suffixes {
    Supported,
    Unsupported,
}

/// Applies a `Range` header to a value of this length.
///
/// # Errors
///
/// A suffix where they are not supported.
pub(crate) fn select(
    header: Option<&str>,
    byte_len: usize,
    suffixes: Suffixes,
) -> Result<Selected, ()> {
    let Some((first, last)) = header
        .and_then(|header| header.strip_prefix("bytes="))
        .and_then(|range| range.split_once('-'))
    else {
        return Ok(Selected::Whole);
    };
    let number = |text: &str| {
        text.parse::<u64>()
            .ok()
            .map(|n| usize::try_from(n).unwrap_or(usize::MAX))
    };
    Ok(match (first, number(first), last, number(last)) {
        ("", _, _, Some(_)) if suffixes == Suffixes::Unsupported => return Err(()),
        ("", _, _, Some(0)) => Selected::Nothing,
        ("", _, _, Some(_)) if byte_len == 0 => Selected::Nothing,
        ("", _, _, Some(n)) => Selected::Part(byte_len.saturating_sub(n)..byte_len),
        (_, Some(first), _, Some(last)) if first > last => Selected::Whole,
        (_, Some(first), "", _) | (_, Some(first), _, Some(_)) if first >= byte_len => {
            Selected::Nothing
        }
        (_, Some(first), "", _) => Selected::Part(first..byte_len),
        (_, Some(first), _, Some(last)) => {
            Selected::Part(first..last.saturating_add(1).min(byte_len))
        }
        _ => Selected::Whole,
    })
}

/// The outcome of the conditions of a read for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    NotModified,
    Failed,
}

/// Checks `If-Match`, `If-Unmodified-Since`, `If-None-Match` and `If-Modified-Since`, in the order
/// of RFC 9110, section 13.2.2.
pub(crate) fn read_conditions(request: &Request, object: &Object) -> Verdict {
    let date = |name: &str| request.header(name).and_then(parse_http_date);
    match request.header("if-match") {
        Some(tags) if !matches(tags, &object.etag) => return Verdict::Failed,
        Some(_) => {}
        None if date("if-unmodified-since").is_some_and(|date| object.modified > date) => {
            return Verdict::Failed;
        }
        None => {}
    }
    match request.header("if-none-match") {
        Some(tags) if matches_weakly(tags, &object.etag) => Verdict::NotModified,
        Some(_) => Verdict::Holds,
        None if date("if-modified-since").is_some_and(|date| object.modified <= date) => {
            Verdict::NotModified
        }
        None => Verdict::Holds,
    }
}

/// Compares a list of tags with one by the strong comparison: weak tags match nothing.
pub(crate) fn matches(tags: &str, etag: &str) -> bool {
    tags == "*"
        || tags
            .split(',')
            .any(|tag| tag.trim() == etag && !etag.starts_with("W/"))
}

fn matches_weakly(tags: &str, etag: &str) -> bool {
    let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    tags == "*" || tags.split(',').any(|tag| strong(tag) == strong(etag))
}
