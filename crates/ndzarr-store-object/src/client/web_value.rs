//! Values that web servers send without a length, or compressed for the transfer.
//!
//! object_store and its callers need the length before the bytes, and positions in the value
//! itself. Such a value is read whole, and its answer gets the head that it should have had.

use std::io::Read;

use bytes::Bytes;
use futures_util::TryStreamExt;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::response::Parts;
use http::{StatusCode, Version};
use ndzarr_store::PerProcess;
use object_store::client::{HttpError, HttpResponseBody};
use tokio::sync::Mutex;

use crate::errors::message::{OwnError, answer_error};

/// The most bytes of a value that is read at the same time as others.
const SMALL_BYTES: usize = 1 << 20;
/// The most bytes of a value whose length is not known before it is read.
const MAX_BYTES: usize = 64 << 20;

/// How the body of an answer was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// It can be passed on as it comes.
    Plain,
    /// All of it must be read before its length is known.
    WithoutLength,
    /// All of it must be read and inflated.
    Gzipped,
}

impl Transfer {
    /// # Errors
    /// If it is compressed by an unknown method.
    pub(crate) fn of(head: &Parts) -> Result<Self, OwnError> {
        match coding(&head.headers).as_deref() {
            None | Some("identity") => {}
            Some("gzip" | "x-gzip") => return Ok(Self::Gzipped),
            Some(other) => {
                return Err(OwnError::lasting(format!(
                    "the server sent it with Content-Encoding: {other}"
                )));
            }
        }
        let has_length = head.headers.contains_key(CONTENT_LENGTH);
        // An answer that ends with its connection may have been cut off.
        let has_end = head.version >= Version::HTTP_2 || is_chunked(&head.headers);
        let is_plain = head.status != StatusCode::OK || has_length || !has_end;
        Ok(if is_plain {
            Self::Plain
        } else {
            Self::WithoutLength
        })
    }
}

/// The lock under which large values of one store are read one at a time.
#[derive(Debug, Default)]
pub(crate) struct LargeReads(PerProcess<Mutex<()>>);

impl LargeReads {
    /// The value in a body, which is read to its end. Values of more than [`SMALL_BYTES`] and those
    /// that are decompressed are read one at a time, since no head tells how large they are.
    pub(crate) async fn read(
        &self,
        transfer: Transfer,
        body: HttpResponseBody,
    ) -> Result<Bytes, HttpError> {
        let lock = self.0.get(|_| Mutex::default());
        let is_gzipped = transfer == Transfer::Gzipped;
        let mut guard = if is_gzipped {
            Some(lock.lock().await)
        } else {
            None
        };
        let mut stream = body.bytes_stream();
        let mut value = Vec::new();
        while let Some(part) = stream.try_next().await? {
            let byte_len = value.len() + part.len();
            if byte_len > SMALL_BYTES && guard.is_none() {
                guard = Some(lock.lock().await);
            }
            extend(&mut value, &part)?;
        }
        if is_gzipped {
            inflated(&value).map(Bytes::from)
        } else {
            Ok(value.into())
        }
    }
}

/// The content of a gzip stream.
fn inflated(body: &[u8]) -> Result<Vec<u8>, HttpError> {
    let mut decoder = flate2::read::MultiGzDecoder::new(body);
    let mut value = Vec::new();
    let mut part = [0; 16 << 10];
    loop {
        let n = decoder.read(&mut part).map_err(|error| {
            answer_error(OwnError::lasting(format!(
                "the server sent it with Content-Encoding: gzip, which it is not: {error}"
            )))
        })?;
        if n == 0 {
            return Ok(value);
        }
        extend(&mut value, &part[..n])?;
    }
}

/// Adds a part to a value, which never takes more memory than [`MAX_BYTES`].
fn extend(value: &mut Vec<u8>, part: &[u8]) -> Result<(), HttpError> {
    let byte_len = value.len() + part.len();
    if byte_len > MAX_BYTES {
        let what =
            format!("it has more than {MAX_BYTES} bytes, and the server does not say how many");
        return Err(answer_error(OwnError::lasting(what)));
    }
    if byte_len > value.capacity() {
        let capacity = (2 * value.capacity()).clamp(byte_len, MAX_BYTES);
        value.reserve_exact(capacity - value.len());
    }
    value.extend_from_slice(part);
    Ok(())
}

/// Changes a head into that of a plain answer with a value of this length.
pub(crate) fn make_plain(head: &mut Parts, byte_len: usize) {
    head.headers.remove(CONTENT_ENCODING);
    head.headers
        .insert(CONTENT_LENGTH, HeaderValue::from(byte_len));
}

/// The value of `Content-Encoding`, in small letters.
fn coding(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(CONTENT_ENCODING).iter();
    let all: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    (!all.is_empty()).then(|| all.join(", ").trim().to_ascii_lowercase())
}

fn is_chunked(headers: &HeaderMap) -> bool {
    let last = headers
        .get_all(TRANSFER_ENCODING)
        .iter()
        .next_back()
        .and_then(|value| value.to_str().ok());
    last.is_some_and(|codings| codings.trim().to_ascii_lowercase().ends_with("chunked"))
}
