//! Values as web servers send them: without a length, or compressed for the way.
//!
//! object_store and the readers above want the length before the bytes, and positions in the value itself.
//! Such a value is read whole, and gets the head that it should have had.

use std::io::Read;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::response::Parts;
use http::{StatusCode, Version};

use crate::told::Told;
use crate::unranged::Unranged;

/// How an answer has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// As it comes.
    Plainly,
    /// All of it, before its length is known.
    WithoutLength,
    /// All of it, through gzip.
    Gzipped,
}

impl Sent {
    /// # Errors
    /// It is compressed in a way that is not known.
    pub(crate) fn of(head: &Parts) -> Result<Self, Told> {
        match coding(&head.headers).as_deref() {
            None | Some("identity") => {}
            Some("gzip" | "x-gzip") => return Ok(Self::Gzipped),
            Some(other) => {
                return Err(Told::last(format!("the server sent it with Content-Encoding: {other}")));
            }
        }
        let has_length = head.headers.contains_key(CONTENT_LENGTH);
        // An answer that ends with its connection may be cut.
        let has_end = head.version >= Version::HTTP_2 || is_chunked(&head.headers);
        Ok(if head.status == StatusCode::OK && !has_length && has_end {
            Self::WithoutLength
        } else {
            Self::Plainly
        })
    }

    /// The value, of a body that came whole.
    ///
    /// # Errors
    /// It cannot be decompressed, or has too many bytes then.
    pub(crate) fn value(self, body: Bytes) -> Result<Bytes, Told> {
        if self != Self::Gzipped {
            return Ok(body);
        }
        let mut value = Vec::new();
        let limit = Unranged::LIMIT;
        flate2::read::MultiGzDecoder::new(&*body).take(limit + 1).read_to_end(&mut value).map_err(
            |error| {
                Told::last(format!(
                    "the server sent it with Content-Encoding: gzip, which it is not: {error}"
                ))
            },
        )?;
        if value.len() as u64 > limit {
            return Err(Told::last(format!(
                "a value sent with Content-Encoding: gzip has more than {limit} bytes"
            )));
        }
        Ok(value.into())
    }
}

/// Makes the head that of a plain answer with a value of this length.
pub(crate) fn make_plain(head: &mut Parts, byte_len: usize) {
    head.headers.remove(CONTENT_ENCODING);
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(byte_len));
}

/// `Content-Encoding` in small letters.
fn coding(headers: &HeaderMap) -> Option<String> {
    let all: Vec<&str> = headers.get_all(CONTENT_ENCODING).iter().filter_map(|it| it.to_str().ok()).collect();
    (!all.is_empty()).then(|| all.join(", ").trim().to_ascii_lowercase())
}

fn is_chunked(headers: &HeaderMap) -> bool {
    let last = headers.get_all(TRANSFER_ENCODING).iter().next_back();
    last.and_then(|it| it.to_str().ok()).is_some_and(|it| it.trim().to_ascii_lowercase().ends_with("chunked"))
}
