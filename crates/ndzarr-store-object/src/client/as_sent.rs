//! Values as web servers send them: without a length, or compressed for the way.
//!
//! object_store and the readers above want the length before the bytes, and positions in the value itself.
//! Such a value is read whole, and gets the head that it should have had.

use std::io::Read;

use bytes::Bytes;
use futures_util::TryStreamExt;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::response::Parts;
use http::{StatusCode, Version};
use ndzarr_store::PerProcess;
use object_store::client::{HttpError, HttpResponseBody};
use tokio::sync::Mutex;

use crate::errors::told::{Told, of_answer};

/// The most bytes that are read at the same time as others.
const LITTLE: usize = 1 << 20;
/// The most bytes of a value whose length is not known before it is read.
const MOST: usize = 64 << 20;

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
}

/// Whose turn it is to read more than a little, of the values of one store.
#[derive(Debug, Default)]
pub(crate) struct Turn(PerProcess<Mutex<()>>);

impl Turn {
    /// The value in a body, which is read to its end. Values of more than [`LITTLE`] bytes, and those that
    /// are decompressed, are read one at a time: no head said how large they are.
    pub(crate) async fn read(&self, sent: Sent, body: HttpResponseBody) -> Result<Bytes, HttpError> {
        let turn = self.0.get(|_| Mutex::default());
        let mut taken = if sent == Sent::Gzipped { Some(turn.lock().await) } else { None };
        let mut stream = body.bytes_stream();
        let mut value = Vec::new();
        while let Some(part) = stream.try_next().await? {
            let byte_len = value.len() + part.len();
            if byte_len > LITTLE && taken.is_none() {
                taken = Some(turn.lock().await);
            }
            extend(&mut value, &part)?;
        }
        if sent == Sent::Gzipped { inflated(&value).map(Bytes::from) } else { Ok(value.into()) }
    }
}

/// The content of a gzip stream.
fn inflated(body: &[u8]) -> Result<Vec<u8>, HttpError> {
    let mut decoder = flate2::read::MultiGzDecoder::new(body);
    let mut value = Vec::new();
    let mut part = [0; 16 << 10];
    loop {
        let n = decoder.read(&mut part).map_err(|error| {
            of_answer(Told::last(format!(
                "the server sent it with Content-Encoding: gzip, which it is not: {error}"
            )))
        })?;
        if n == 0 {
            return Ok(value);
        }
        extend(&mut value, &part[..n])?;
    }
}

/// Adds a part to a value, which takes no more memory than the most that it may have.
fn extend(value: &mut Vec<u8>, part: &[u8]) -> Result<(), HttpError> {
    let byte_len = value.len() + part.len();
    if byte_len > MOST {
        let what = format!("it has more than {MOST} bytes, and the server does not say how many");
        return Err(of_answer(Told::last(what)));
    }
    if byte_len > value.capacity() {
        let capacity = (2 * value.capacity()).clamp(byte_len, MOST);
        value.reserve_exact(capacity - value.len());
    }
    value.extend_from_slice(part);
    Ok(())
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
