//! The region of a bucket at Amazon, if none is given: Amazon is asked for it, without credentials.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Method};
use ndzarr_store::PerProcess;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{HttpConnector, HttpRequest, HttpRequestBody};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::answers::call::{CALL, Call, Purpose};
use crate::client::connector::{Connector, client_options};

#[cfg(test)]
mod tests;

/// The region that requests go to while that of the bucket is not known.
pub(crate) const DEFAULT: &str = "us-east-1";
/// How long the answer may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The pause before another request, after an answer that names no region.
const PAUSE: Duration = Duration::from_secs(60);
/// The most bytes of a region's name. The longest known has 14.
const MAX_NAME_LEN: usize = 40;

/// The answer about a bucket, if there is one. Locked while it is requested.
type SharedAnswer = Arc<Mutex<Option<Answer>>>;

/// The buckets of this process, by URL. A forked child asks again, since the lock of a bucket may
/// stay with a thread of its parent.
static BUCKETS: PerProcess<std::sync::Mutex<BTreeMap<String, SharedAnswer>>> = PerProcess::new();

enum Answer {
    Region(String),
    /// It named no region, or there was no answer. Another request may be made from this time on.
    NoneUntil(Instant),
}

/// A bucket in a region that is not known yet.
pub(crate) struct Regional {
    /// The URL of the bucket in the default region.
    url: String,
    /// Makes the store of any region.
    builder: AmazonS3Builder,
    connector: Connector,
    limit: Duration,
    /// The store of the bucket's region; `None` if that is the default one.
    found: PerProcess<OnceLock<Option<Arc<AmazonS3>>>>,
}

impl Regional {
    pub(crate) fn new(bucket: &str, builder: AmazonS3Builder, connector: Connector) -> Self {
        // The bucket is not part of the host: there are no certificates for names with dots.
        let url = format!("https://s3.{DEFAULT}.amazonaws.com/{bucket}");
        Self {
            url,
            builder,
            connector,
            limit: LIMIT,
            found: PerProcess::new(),
        }
    }

    fn found(&self) -> &OnceLock<Option<Arc<AmazonS3>>> {
        self.found.get(|_| OnceLock::new())
    }

    /// The store of the bucket's region, if that is known and not the default one.
    pub(crate) fn store(&self) -> Option<&AmazonS3> {
        self.found().get()?.as_deref()
    }

    /// Requests the region, unless it is known. Without an answer the default one stays, whose
    /// errors say what to do.
    pub(crate) async fn find_store(&self) {
        if self.found().get().is_some() {
            return;
        }
        let Some(region) = self.region().await else {
            return;
        };
        let mut store = None;
        if region != DEFAULT {
            // It cannot fail: the same builder succeeded with the default region.
            store = self
                .builder
                .clone()
                .with_region(region)
                .build()
                .ok()
                .map(Arc::new);
        }
        // Another call may have been first.
        let _ = self.found().set(store);
    }

    async fn region(&self) -> Option<String> {
        let buckets = BUCKETS.get(|_| std::sync::Mutex::default());
        let shared = {
            let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(buckets.entry(self.url.clone()).or_default())
        };
        let Ok(mut answer) = timeout(2 * self.limit, shared.lock()).await else {
            // The lock is held by a call in a runtime of the caller's that does not run.
            return self.request_region().await;
        };
        match &*answer {
            Some(Answer::Region(region)) => return Some(region.clone()),
            Some(Answer::NoneUntil(time)) if Instant::now() < *time => return None,
            _ => {}
        }
        let region = self.request_region().await;
        *answer = Some(match &region {
            Some(region) => Answer::Region(region.clone()),
            None => Answer::NoneUntil(Instant::now() + PAUSE),
        });
        region
    }

    async fn request_region(&self) -> Option<String> {
        let client = self
            .connector
            .connect(&client_options(self.url.starts_with("http://")))
            .ok()?;
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = Method::HEAD;
        *request.uri_mut() = self.url.parse().ok()?;
        let answer = CALL.scope(Call::new(Purpose::Region), client.execute(request));
        let answer = timeout(self.limit, answer).await.ok()?.ok()?;
        region_in(answer.headers())
    }
}

/// The region in the head of an answer, whatever its status. Other text is refused, since the
/// region becomes a part of a host's name.
fn region_in(headers: &HeaderMap) -> Option<String> {
    let region = headers.get("x-amz-bucket-region")?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_region = (1..=MAX_NAME_LEN).contains(&region.len()) && region.bytes().all(is_plain);
    is_region.then(|| region.to_owned())
}
