//! The HTTP client below object_store: keeps what it hides, follows redirects carefully, and bounds
//! what it reads.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryStreamExt};
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, HeaderName, HeaderValue,
    IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, RANGE, RETRY_AFTER,
};
use object_store::client::{
    HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody, HttpService,
};

use crate::call::{CALL, Call, Purpose};
use crate::client::Client;
use crate::page::{Page, element};
use crate::signing::Signing;
use crate::told::{self, Told, quoted};

/// The most bytes of an error, of a page of a list or the answer to an erasure, and of any other
/// answer but a value.
const ERROR_BYTES: usize = 64 << 10;
const PAGE_BYTES: usize = 32 << 20;
const OTHER_BYTES: usize = 4 << 20;
const REDIRECTS: usize = 5;

/// The headers that every host may see.
const PUBLIC: [HeaderName; 6] =
    [ACCEPT_ENCODING, RANGE, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE];

/// The headers of a signature.
const SIGNATURE: [HeaderName; 4] = [
    AUTHORIZATION,
    HeaderName::from_static("x-amz-content-sha256"),
    HeaderName::from_static("x-amz-date"),
    HeaderName::from_static("x-amz-security-token"),
];

#[derive(Debug)]
pub(crate) struct HttpLayer {
    pub(crate) client: Arc<Client>,
    pub(crate) headers: HeaderMap,
    pub(crate) signing: Signing,
}

impl HttpService for HttpLayer {
    fn call<'s, 'f>(&'s self, request: HttpRequest) -> BoxFuture<'f, Result<HttpResponse, HttpError>>
    where
        's: 'f,
        Self: 'f,
    {
        async move {
            let call = CALL.try_with(Clone::clone).unwrap_or_else(|_| Call::new(Purpose::default()));
            *call.answer() = crate::call::Answer { sent: true, ..Default::default() };
            let answered = self.answered(request, &call).await;
            answered.inspect_err(|error| {
                let (what, is_final) = told::transport(error);
                let mut answer = call.answer();
                answer.transport = Some(what);
                answer.is_late = error.kind() == HttpErrorKind::Timeout;
                answer.is_unconnected = error.kind() == HttpErrorKind::Connect;
                answer.is_final = is_final;
            })
        }
        .boxed()
    }
}

impl HttpLayer {
    async fn answered(&self, request: HttpRequest, call: &Call) -> Result<HttpResponse, HttpError> {
        let reads = request.method().is_safe();
        let response = self.send(request, call).await?;
        let (mut parts, body) = response.into_parts();
        mend(&mut parts);
        if reads && is_folder(&parts.headers) {
            parts.status = http::StatusCode::NOT_FOUND;
        }
        note(call, parts.status.as_u16(), &parts.headers);
        let body: HttpResponseBody = if !parts.status.is_success() {
            let text = read(body, ERROR_BYTES, Rest::Dropped).await.unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let named = |name| Some(quoted(&element(&text, name)?));
            let mut answer = call.answer();
            answer.code = named("Code").or_else(|| answer.code.take());
            answer.message = named("Message");
            String::new().into()
        } else if let Purpose::Page(instead) = call.purpose {
            let text = read(body, PAGE_BYTES, Rest::Refused).await?;
            let page = Page::read(&String::from_utf8_lossy(&text)).map_err(of_answer)?;
            call.answer().page = Some(page);
            instead.to_owned().into()
        } else if let Purpose::Erasure(batch) = call.purpose {
            let text = read(body, PAGE_BYTES, Rest::Refused).await?;
            if let Some(refused) = batch.refused(&String::from_utf8_lossy(&text)).map_err(of_answer)? {
                call.answer().is_refused(refused);
            }
            batch.stand_in(&mut parts.headers).to_owned().into()
        } else if !reads || !call.purpose.is_of_store() {
            read(body, OTHER_BYTES, Rest::Refused).await?.into()
        } else {
            body
        };
        Ok(HttpResponse::from_parts(parts, body))
    }

    /// Sends a request; one that reads follows redirects. Another host gets neither credentials nor
    /// headers that the caller set.
    async fn send(&self, mut request: HttpRequest, call: &Call) -> Result<HttpResponse, HttpError> {
        let is_of_store = call.purpose.is_of_store();
        // `is_empty` of object_store 0.14.2 is true of payloads that are not.
        let is_empty_write = !request.method().is_safe() && request.body().content_length() == 0;
        // Sizes and ranges are those of what is stored. Google inflates it for those who do not accept
        // gzip, and ignores ranges then; others might deflate it for those who do.
        let encoding = if call.inflates && request.method().is_safe() { "gzip" } else { "identity" };
        let headers = request.headers_mut();
        if is_empty_write {
            // Otherwise hyper says nothing, and some servers insist.
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(encoding));
        if is_of_store {
            if !self.signing.is_on() {
                SIGNATURE.iter().for_each(|name| drop(headers.remove(name)));
            }
            headers.extend(self.headers.clone());
        }
        let headers = headers.clone();
        let reads = request.method().is_safe();
        let (mut uri, method) = (request.uri().clone(), request.method().clone());
        let own = reqwest::Url::parse(&uri.to_string()).map_err(undecodable)?.origin();
        for n_redirects in 0.. {
            let mut response = self.client.call(request).await?;
            let to = response.headers().get(http::header::LOCATION);
            let is_moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            let follows = reads && is_of_store && is_moved;
            let Some(to) = to.and_then(|to| to.to_str().ok()).filter(|_| follows) else {
                return Ok(response);
            };
            let from = reqwest::Url::parse(&uri.to_string()).map_err(undecodable)?;
            let to = from.join(to).map_err(undecodable)?;
            // A folder is no value.
            if to.path().strip_suffix('/') == Some(from.path()) {
                *response.status_mut() = http::StatusCode::NOT_FOUND;
                return Ok(response);
            }
            if from.scheme() == "https" && to.scheme() != "https" {
                return Err(of_answer(Told::last("redirected from https to a host without it")));
            }
            if n_redirects == REDIRECTS {
                return Err(of_answer(Told::last(format!("redirected more than {REDIRECTS} times"))));
            }
            uri = to.as_str().parse().map_err(undecodable)?;
            request = HttpRequest::new(HttpRequestBody::empty());
            *request.method_mut() = method.clone();
            *request.uri_mut() = uri.clone();
            // Whatever else there is may be a secret or signed, and names the first host.
            let is_own = to.origin() == own;
            let kept = headers.iter().filter(|(name, _)| is_own || PUBLIC.contains(name));
            request.headers_mut().extend(kept.map(|(name, value)| (name.clone(), value.clone())));
        }
        unreachable!("the loop returns")
    }
}

/// Whether this is a folder of Azure with a hierarchical namespace, which answers as an empty value does.
fn is_folder(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    is("x-ms-resource-type", "directory") || is("x-ms-meta-hdi_isfolder", "true")
}

/// Changes the head of an answer so that object_store takes it.
fn mend(head: &mut http::response::Parts) {
    // It refuses all for one that describes the value in other letters.
    let odd = head.headers.iter().filter(|(_, value)| value.to_str().is_err());
    let odd: Vec<HeaderName> = odd.map(|(name, _)| name.clone()).collect();
    odd.iter().for_each(|name| drop(head.headers.remove(name)));
    // The length of a part follows from its range.
    if head.status == http::StatusCode::PARTIAL_CONTENT && !head.headers.contains_key(CONTENT_LENGTH) {
        let byte_len = head.headers.get(CONTENT_RANGE).and_then(|range| byte_len(range.to_str().ok()?));
        head.headers.extend(byte_len.map(|byte_len| (CONTENT_LENGTH, HeaderValue::from(byte_len))));
    }
}

/// The length of `bytes 2-4/10`, which is 3.
fn byte_len(range: &str) -> Option<u64> {
    let (first, last) = range.trim().strip_prefix("bytes ")?.split_once('/')?.0.split_once('-')?;
    last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
}

/// Notes the head of an answer.
fn note(call: &Call, status: u16, headers: &HeaderMap) {
    let header = |name: &str| Some(quoted(headers.get(name)?.to_str().ok()?));
    call.has_head(status);
    let mut answer = call.answer();
    answer.request_id =
        ["x-amz-request-id", "x-ms-request-id", "x-guploader-uploadid"].into_iter().find_map(header);
    answer.code = header("x-ms-error-code");
    answer.region = header("x-amz-bucket-region").filter(|_| matches!(status, 301 | 307 | 400));
    let seconds = header(RETRY_AFTER.as_str());
    answer.retry_after = seconds.and_then(|seconds| Some(Duration::from_secs(seconds.parse().ok()?)));
}

fn undecodable(error: impl std::error::Error + Send + Sync + 'static) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, error)
}

fn of_answer(told: Told) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, told)
}

/// The part of a body that is over the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Dropped,
    Refused,
}

async fn read(body: HttpResponseBody, limit: usize, rest: Rest) -> Result<Bytes, HttpError> {
    let mut stream = body.bytes_stream();
    let mut bytes = BytesMut::new();
    while let Some(part) = stream.try_next().await? {
        if bytes.len() + part.len() <= limit {
            bytes.extend_from_slice(&part);
        } else if rest == Rest::Refused {
            return Err(of_answer(Told::last(format!("the answer has more than {limit} bytes"))));
        } else {
            break;
        }
    }
    Ok(bytes.freeze())
}
