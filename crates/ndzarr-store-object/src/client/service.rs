//! The HTTP client below object_store: notes the parts of answers that object_store hides, follows
//! redirects carefully, and bounds what it reads.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryStreamExt};
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, HeaderName,
    HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, RANGE,
    RETRY_AFTER,
};
use http::{Method, StatusCode};
use object_store::client::{
    HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};

use crate::answers::call::{CALL, Call, Purpose};
use crate::answers::page::Page;
use crate::answers::xml::element;
use crate::client::per_process::Client;
use crate::client::signing::Signing;
use crate::client::web_value::{LargeReads, Transfer, make_plain};
use crate::errors::message::{self, OwnError, answer_error};
use crate::errors::secrets::Secrets;

/// The most bytes that are read of the answer to a request that failed.
const ERROR_BYTES: usize = 64 << 10;
/// The most bytes of a page of a list, or of the answer to an erasure.
const PAGE_BYTES: usize = 32 << 20;
/// The most bytes of any other answer but a value.
const OTHER_BYTES: usize = 4 << 20;
const MAX_REDIRECTS: usize = 5;

/// The headers that every host may see.
const PUBLIC: [HeaderName; 6] = [
    ACCEPT_ENCODING,
    RANGE,
    IF_MATCH,
    IF_NONE_MATCH,
    IF_MODIFIED_SINCE,
    IF_UNMODIFIED_SINCE,
];

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
    /// The secrets of the options.
    pub(crate) secrets: Vec<String>,
    /// How long the body of an error may take to come.
    pub(crate) error_timeout: Duration,
    pub(crate) signing: Signing,
    pub(crate) large_reads: LargeReads,
}

/// The parts of a request that a service may repeat in its answer.
struct SentRequest {
    headers: HeaderMap,
    uri: http::Uri,
    /// The body of a request for credentials.
    form: Bytes,
}

impl HttpService for HttpLayer {
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> BoxFuture<'f, Result<HttpResponse, HttpError>>
    where
        's: 'f,
        Self: 'f,
    {
        async move {
            let call = CALL
                .try_with(Clone::clone)
                .unwrap_or_else(|_| Call::new(Purpose::default()));
            *call.answer() = crate::answers::call::Answer {
                sent: true,
                ..Default::default()
            };
            let answered = self.answered(request, &call).await;
            answered.inspect_err(|error| {
                let (what, is_final) = message::transport_failure(error);
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
        let becomes_header = becomes_header(&request);
        let is_head = request.method() == Method::HEAD;
        let is_part = request.headers().contains_key(RANGE);
        let get_request = (call.is_web_value && is_head).then(|| as_get(&request));
        let (response, sent) = self.send(request, call).await?;
        let (mut head, mut body) = response.into_parts();
        repair_head(&mut head);
        let mut transfer = Transfer::Plain;
        if call.is_web_value && head.status.is_success() {
            transfer = Transfer::of(&head).map_err(answer_error)?;
            // Positions in the compressed bytes are not those in the value: all of it has to be
            // read.
            if is_part && transfer == Transfer::Gzipped {
                head.status = StatusCode::OK;
            }
            // This head does not tell the length of the value: only the value itself does.
            if transfer != Transfer::Plain
                && let Some(request) = get_request
            {
                let (response, _) = self.send(request, call).await?;
                (head, body) = response.into_parts();
                repair_head(&mut head);
                transfer = Transfer::Plain;
                if head.status.is_success() {
                    transfer = Transfer::of(&head).map_err(answer_error)?;
                }
            }
        }
        if reads && is_folder(&head.headers) {
            head.status = StatusCode::NOT_FOUND;
        }
        call.note_status(head.status.as_u16());
        let secrets = || Secrets::of(&self.secrets, &sent.headers, &sent.uri, &sent.form);
        let body: HttpResponseBody = if !head.status.is_success() {
            self.note_error(call, &head, body, &secrets()).await;
            String::new().into()
        } else if let Purpose::Page(instead) = call.purpose {
            let text = read(body, PAGE_BYTES).await?;
            let page = Page::read(&String::from_utf8_lossy(&text)).map_err(answer_error)?;
            call.answer().page = Some(page);
            instead.to_owned().into()
        } else if let Purpose::Erasure(batch) = call.purpose {
            let text = read(body, PAGE_BYTES).await?;
            let refused = batch
                .refused(&String::from_utf8_lossy(&text))
                .map_err(answer_error)?;
            if let Some(refused) = refused {
                let secrets = secrets();
                note_head(call, &head, &secrets);
                call.answer()
                    .note_refused(refused.without_secrets(&secrets));
            }
            batch.stand_in(&mut head.headers).to_owned().into()
        } else if !reads || !call.purpose.is_of_store() {
            let bytes = read(body, OTHER_BYTES).await?;
            if becomes_header && !is_printable(&bytes) {
                return Err(answer_error(OwnError::lasting(
                    "the answer is not that of a metadata service",
                )));
            }
            bytes.into()
        } else if transfer != Transfer::Plain && !is_part {
            let value = self.large_reads.read(transfer, body).await?;
            make_plain(&mut head, value.len());
            if is_head {
                Bytes::new().into()
            } else {
                value.into()
            }
        } else {
            body
        };
        Ok(HttpResponse::from_parts(head, body))
    }

    /// Notes what the answer to a request that failed says in its head and its body.
    async fn note_error(
        &self,
        call: &Call,
        head: &http::response::Parts,
        body: HttpResponseBody,
        secrets: &Secrets,
    ) {
        note_head(call, head, secrets);
        let text = read_error(body, self.error_timeout).await;
        let text = String::from_utf8_lossy(&text);
        let quoted_element = |name| Some(secrets.quoted(&element(&text, name)?));
        let mut answer = call.answer();
        answer.code = quoted_element("Code").or_else(|| answer.code.take());
        answer.message = quoted_element("Message");
    }

    /// Sets the headers that object_store does not set, or not as they should be.
    fn complete_headers(&self, request: &mut HttpRequest, call: &Call) {
        // `is_empty` of object_store 0.14.2 is true of payloads that are not.
        let is_empty_write = !request.method().is_safe() && request.body().content_length() == 0;
        // Sizes and ranges are those of the stored bytes. Google inflates them for clients that do
        // not accept gzip, and ignores ranges then; others might compress them for clients that do.
        let encoding = if call.inflates && request.method().is_safe() {
            "gzip"
        } else {
            "identity"
        };
        let headers = request.headers_mut();
        if is_empty_write {
            // hyper leaves it out, and some servers insist on it.
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(encoding));
        if call.purpose.is_of_store() {
            if !self.signing.is_on() {
                for name in &SIGNATURE {
                    headers.remove(name);
                }
            }
            headers.extend(self.headers.clone());
        }
    }

    /// Sends a request; one that reads follows redirects. Another host gets neither credentials nor
    /// headers that the caller set.
    async fn send(
        &self,
        mut request: HttpRequest,
        call: &Call,
    ) -> Result<(HttpResponse, SentRequest), HttpError> {
        self.complete_headers(&mut request, call);
        let is_of_store = call.purpose.is_of_store();
        let form = match call.purpose {
            Purpose::Credentials => request.body().as_bytes().cloned().unwrap_or_default(),
            _ => Bytes::new(),
        };
        let sent = SentRequest {
            headers: request.headers().clone(),
            uri: request.uri().clone(),
            form,
        };
        let reads = request.method().is_safe();
        let method = request.method().clone();
        let mut uri = request.uri().clone();
        let own_origin = reqwest::Url::parse(&uri.to_string())
            .map_err(undecodable)?
            .origin();
        for n_redirects in 0.. {
            let mut response = self.client.call(request).await?;
            let to = response.headers().get(http::header::LOCATION);
            let is_moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            let follows = reads && is_of_store && is_moved;
            let Some(to) = to.and_then(|to| to.to_str().ok()).filter(|_| follows) else {
                return Ok((response, sent));
            };
            let from = reqwest::Url::parse(&uri.to_string()).map_err(undecodable)?;
            let to = from.join(to).map_err(undecodable)?;
            // A redirect to a folder: there is no value of this name.
            if to.path().strip_suffix('/') == Some(from.path()) {
                *response.status_mut() = StatusCode::NOT_FOUND;
                return Ok((response, sent));
            }
            check_redirect(&from, &to).map_err(answer_error)?;
            if n_redirects == MAX_REDIRECTS {
                let what = format!("redirected more than {MAX_REDIRECTS} times");
                return Err(answer_error(OwnError::lasting(what)));
            }
            uri = to.as_str().parse().map_err(undecodable)?;
            request = HttpRequest::new(HttpRequestBody::empty());
            *request.method_mut() = method.clone();
            *request.uri_mut() = uri.clone();
            // Other headers may be secrets, or are signed for the first host.
            let is_own = to.origin() == own_origin;
            let allowed = sent
                .headers
                .iter()
                .filter(|(name, _)| is_own || PUBLIC.contains(name));
            request
                .headers_mut()
                .extend(allowed.map(|(name, value)| (name.clone(), value.clone())));
        }
        unreachable!("the loop returns")
    }
}

fn check_redirect(from: &reqwest::Url, to: &reqwest::Url) -> Result<(), OwnError> {
    if from.scheme() == "https" && to.scheme() != "https" {
        return Err(OwnError::lasting(
            "redirected from https to a host without it",
        ));
    }
    if !may_redirect(from, to) {
        return Err(OwnError::lasting(
            "redirected to this machine, or to the services of its network",
        ));
    }
    Ok(())
}

/// Returns `true` if a redirect from one URL to the other is allowed. Services of this machine, and
/// those of its own link, such as metadata services, trust every caller that reaches them: a server
/// elsewhere must not send requests there.
fn may_redirect(from: &reqwest::Url, to: &reqwest::Url) -> bool {
    let address = |url: &reqwest::Url| {
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        if host == "localhost" || host.ends_with(".localhost") {
            return Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        host.parse().ok().map(|ip: IpAddr| ip.to_canonical())
    };
    let is_this_machine = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    let is_own_link = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        // The second is the metadata service of EC2.
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.segments()[..2] == [0xfd00, 0xec2],
    };
    match address(to) {
        Some(ip) if is_this_machine(ip) => address(from).is_some_and(is_this_machine),
        Some(ip) if is_own_link(ip) => address(from) == Some(ip),
        _ => true,
    }
}

/// Returns `true` for a folder of Azure with a hierarchical namespace, which is otherwise answered
/// like an empty value.
fn is_folder(headers: &HeaderMap) -> bool {
    let has = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    has("x-ms-resource-type", "directory") || has("x-ms-meta-hdi_isfolder", "true")
}

/// The request for a value instead of its head.
fn as_get(request: &HttpRequest) -> HttpRequest {
    let mut get = HttpRequest::new(HttpRequestBody::empty());
    *get.uri_mut() = request.uri().clone();
    *get.headers_mut() = request.headers().clone();
    get
}

/// Changes the head of an answer so that object_store accepts it.
fn repair_head(head: &mut http::response::Parts) {
    // It refuses an answer for a single header that is not ASCII.
    let not_ascii = head
        .headers
        .iter()
        .filter(|(_, value)| value.to_str().is_err());
    let not_ascii: Vec<HeaderName> = not_ascii.map(|(name, _)| name.clone()).collect();
    for name in &not_ascii {
        head.headers.remove(name);
    }
    // The length of a part follows from its range.
    if head.status == StatusCode::PARTIAL_CONTENT && !head.headers.contains_key(CONTENT_LENGTH) {
        let byte_len = head
            .headers
            .get(CONTENT_RANGE)
            .and_then(|range| byte_len(range.to_str().ok()?));
        head.headers
            .extend(byte_len.map(|byte_len| (CONTENT_LENGTH, HeaderValue::from(byte_len))));
    }
}

/// The length of `bytes 2-4/10`, which is 3.
fn byte_len(range: &str) -> Option<u64> {
    let (first, last) = range
        .trim()
        .strip_prefix("bytes ")?
        .split_once('/')?
        .0
        .split_once('-')?;
    last.parse::<u64>()
        .ok()?
        .checked_sub(first.parse().ok()?)?
        .checked_add(1)
}

/// Notes what the head of an answer says about a failure.
fn note_head(call: &Call, head: &http::response::Parts, secrets: &Secrets) {
    let header = |name: &str| Some(secrets.quoted(head.headers.get(name)?.to_str().ok()?));
    let mut answer = call.answer();
    answer.request_id = [
        "x-amz-request-id",
        "x-ms-request-id",
        "x-guploader-uploadid",
    ]
    .into_iter()
    .find_map(header);
    answer.code = header("x-ms-error-code");
    answer.region =
        header("x-amz-bucket-region").filter(|_| matches!(head.status.as_u16(), 301 | 307 | 400));
    let seconds = header(RETRY_AFTER.as_str());
    answer.retry_after =
        seconds.and_then(|seconds| Some(Duration::from_secs(seconds.parse().ok()?)));
}

/// Returns `true` if object_store puts the answer to a request into a header or a URL: those of the
/// metadata service of EC2 to a request for a token, or for the name of a role.
fn becomes_header(request: &HttpRequest) -> bool {
    let path = request.uri().path();
    path.ends_with("/latest/api/token") || path.ends_with("/iam/security-credentials/")
}

fn is_printable(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_graphic)
}

fn undecodable(error: impl std::error::Error + Send + Sync + 'static) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, error)
}

/// Reads a body to its end.
async fn read(body: HttpResponseBody, limit: usize) -> Result<Bytes, HttpError> {
    let mut stream = body.bytes_stream();
    let mut bytes = BytesMut::new();
    while let Some(part) = stream.try_next().await? {
        if bytes.len() + part.len() > limit {
            return Err(answer_error(OwnError::lasting(format!(
                "the answer has more than {limit} bytes"
            ))));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes.freeze())
}

/// Reads as much of the body of an error as comes in this time. The status is known without it.
async fn read_error(body: HttpResponseBody, error_timeout: Duration) -> Bytes {
    let mut stream = body.bytes_stream();
    let mut bytes = BytesMut::new();
    let all = async {
        while let Ok(Some(part)) = stream.try_next().await {
            let n_left = ERROR_BYTES - bytes.len();
            bytes.extend_from_slice(&part[..part.len().min(n_left)]);
            if part.len() > n_left {
                break;
            }
        }
    };
    // On a timeout, what has come is used.
    let _ = tokio::time::timeout(error_timeout, all).await;
    bytes.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_do_not_lead_to_what_only_this_machine_reaches() {
        for (from, to, expected) in [
            ("http://a.example.org", "http://b.example.org", true),
            ("http://a.example.org", "http://192.0.2.1", true),
            ("http://a.example.org", "http://localhost:80", false),
            ("http://a.example.org", "http://127.0.0.1:80", false),
            ("http://a.example.org", "http://2130706433/", false),
            ("http://a.example.org", "http://[::1]/", false),
            ("http://a.example.org", "http://[::ffff:127.0.0.1]/", false),
            ("http://a.example.org", "http://0.0.0.0/", false),
            (
                "http://a.example.org",
                "http://169.254.169.254/latest/meta-data",
                false,
            ),
            ("http://a.example.org", "http://[fd00:ec2::254]/", false),
            ("http://a.example.org", "http://[fe80::1]/", false),
            ("http://127.0.0.1:1", "http://169.254.169.254/", false),
            ("http://127.0.0.1:1", "http://127.0.0.2:2", true),
            ("http://localhost:1", "http://[::1]:2", true),
            ("http://169.254.1.1", "http://169.254.1.1/b", true),
        ] {
            let [from, to] = [from, to].map(|url| reqwest::Url::parse(url).expect("a URL"));
            assert_eq!(may_redirect(&from, &to), expected, "{from} {to}");
        }
    }
}
