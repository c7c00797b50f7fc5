//! The HTTP client below object_store: keeps what it hides, and follows redirects carefully.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{
    ACCEPT_ENCODING, CONTENT_RANGE, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, IF_UNMODIFIED_SINCE, RANGE, RETRY_AFTER,
};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use rustls::pki_types::CertificateDer;

use crate::call::CALL;
use crate::client::Client;
use crate::options::RemoteOptions;
use crate::page::{Page, element};

/// The most bytes of an error or of a page of a list.
const ERROR_BYTES: usize = 64 << 10;
const PAGE_BYTES: usize = 32 << 20;

/// The headers that every host may see.
const PUBLIC: [HeaderName; 6] =
    [ACCEPT_ENCODING, RANGE, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE];

/// Makes clients with rustls and ring, whatever provider the process has installed.
#[derive(Clone, Debug)]
pub(crate) struct Connector(pub(crate) RemoteOptions);

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> object_store::Error {
    object_store::Error::Generic { store: "http", source: Box::new(error) }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let options = &self.0;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = options.roots.iter().map(|der| CertificateDer::from(der.clone()));
        let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(roots, Arc::clone(&provider))
            .map_err(failed)?;
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        let (connect, read) = (options.connect_timeout, options.read_timeout);
        let make = move || {
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .http1_only()
                .user_agent(concat!("ndzarr/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(connect)
                // Since the last byte: a large value may take as long as it takes.
                .read_timeout(read)
                .pool_idle_timeout(Duration::from_secs(30))
                .redirect(reqwest::redirect::Policy::none())
                .build()
        };
        let client = Client::new(Box::new(make)).map_err(failed)?;
        Ok(HttpClient::new(Service { client, headers: options.headers.clone() }))
    }
}

#[derive(Debug)]
struct Service {
    client: Client,
    headers: HeaderMap,
}

impl HttpService for Service {
    fn call<'s, 'f>(&'s self, request: HttpRequest) -> BoxFuture<'f, Result<HttpResponse, HttpError>>
    where
        's: 'f,
        Self: 'f,
    {
        async move {
            let call = CALL.try_with(Clone::clone).unwrap_or_default();
            *call.answer() = crate::call::Answer { sent: true, ..Default::default() };
            let response = self.send(request, call.inflates).await.inspect_err(|error| {
                call.answer().transport = Some(causes(error));
            })?;
            let (parts, body) = response.into_parts();
            {
                let mut answer = call.answer();
                answer.status = parts.status.as_u16();
                let header = |name: &str| Some(parts.headers.get(name)?.to_str().ok()?.to_owned());
                answer.request_id = ["x-amz-request-id", "x-ms-request-id", "x-guploader-uploadid"]
                    .into_iter()
                    .find_map(header);
                answer.code = header("x-ms-error-code");
                answer.size = header(CONTENT_RANGE.as_str())
                    .and_then(|range| range.strip_prefix("bytes */")?.parse().ok());
                answer.retry_after = header(RETRY_AFTER.as_str())
                    .and_then(|seconds| Some(Duration::from_secs(seconds.parse().ok()?)));
            }
            if !parts.status.is_success() {
                let text = up_to(body, ERROR_BYTES).await.unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                let mut answer = call.answer();
                answer.code = element(&text, "Code").or_else(|| answer.code.take());
                answer.message = element(&text, "Message");
                return Ok(HttpResponse::from_parts(parts, String::new().into()));
            }
            if let Some(instead) = call.instead_of_list {
                let text = up_to(body, PAGE_BYTES).await?;
                call.answer().page = Some(Page::read(&String::from_utf8_lossy(&text)));
                return Ok(HttpResponse::from_parts(parts, instead.to_owned().into()));
            }
            Ok(HttpResponse::from_parts(parts, body))
        }
        .boxed()
    }
}

impl Service {
    /// Sends a request; one that reads follows redirects. Another host gets neither credentials nor
    /// headers that the caller set.
    async fn send(&self, mut request: HttpRequest, inflates: bool) -> Result<HttpResponse, HttpError> {
        // Sizes and ranges are those of what is stored. Google inflates it for those who do not accept
        // gzip, and ignores ranges then; others might deflate it for those who do.
        let encoding = if inflates && request.method().is_safe() { "gzip" } else { "identity" };
        let headers = request.headers_mut();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(encoding));
        headers.extend(self.headers.clone());
        let headers = headers.clone();
        let reads = request.method().is_safe();
        let (mut uri, method) = (request.uri().clone(), request.method().clone());
        let own = reqwest::Url::parse(&uri.to_string()).map_err(undecodable)?.origin();
        let mut response = self.client.call(request).await?;
        for _ in 0..5 {
            let to = response.headers().get(http::header::LOCATION);
            let is_moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            let Some(to) = to.and_then(|to| to.to_str().ok()).filter(|_| reads && is_moved) else {
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
                return Ok(response);
            }
            uri = to.as_str().parse().map_err(undecodable)?;
            let mut next = HttpRequest::new(object_store::client::HttpRequestBody::empty());
            *next.method_mut() = method.clone();
            *next.uri_mut() = uri.clone();
            // Whatever else there is may be a secret or signed, and names the first host.
            let is_own = to.origin() == own;
            let kept = headers.iter().filter(|(name, _)| is_own || PUBLIC.contains(name));
            next.headers_mut().extend(kept.map(|(name, value)| (name.clone(), value.clone())));
            response = self.client.call(next).await?;
        }
        Ok(response)
    }
}

fn undecodable(error: impl std::error::Error + Send + Sync + 'static) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, error)
}

/// The body, or its beginning.
async fn up_to(body: object_store::client::HttpResponseBody, limit: usize) -> Result<Bytes, HttpError> {
    use futures_util::TryStreamExt;
    let mut stream = body.bytes_stream();
    let mut bytes = BytesMut::new();
    while let Some(part) = stream.try_next().await? {
        if bytes.len() + part.len() > limit {
            break;
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes.freeze())
}

/// An error with its causes; object_store has cut the URL out.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}
