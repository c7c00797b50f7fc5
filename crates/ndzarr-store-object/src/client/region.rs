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

/// Where requests go whose bucket may be anywhere.
pub(crate) const DEFAULT: &str = "us-east-1";
/// How long the answer may take.
const LIMIT: Duration = Duration::from_secs(10);
/// For so long nothing is asked again after an answer that names no region.
const PAUSE: Duration = Duration::from_secs(60);
/// The most letters of a name. The longest known has 14.
const LETTERS: usize = 40;

type Asked = Arc<Mutex<Option<Answer>>>;

/// The buckets of this process, by URL. A forked child asks again: the lock of one may stay with a
/// thread of its parent.
static BUCKETS: PerProcess<std::sync::Mutex<BTreeMap<String, Asked>>> = PerProcess::new();

enum Answer {
    Region(String),
    /// It named none, or there was none. It may be asked again then.
    Nothing(Instant),
}

/// A bucket in a region that is not known yet.
pub(crate) struct Regional {
    /// Of the bucket in the default region.
    url: String,
    /// Makes the store of any region.
    builder: AmazonS3Builder,
    connector: Connector,
    limit: Duration,
    /// The store of the region; `None` if that is the default one.
    settled: PerProcess<OnceLock<Option<Arc<AmazonS3>>>>,
}

impl Regional {
    pub(crate) fn new(bucket: &str, builder: AmazonS3Builder, connector: Connector) -> Self {
        // A bucket whose name has dots has no certificate as a host.
        let url = format!("https://s3.{DEFAULT}.amazonaws.com/{bucket}");
        Self { url, builder, connector, limit: LIMIT, settled: PerProcess::new() }
    }

    fn settled(&self) -> &OnceLock<Option<Arc<AmazonS3>>> {
        self.settled.get(|_| OnceLock::new())
    }

    /// The store, if it is not that of the default region.
    pub(crate) fn store(&self) -> Option<&AmazonS3> {
        self.settled().get()?.as_deref()
    }

    /// Asks for the region, unless it is known. Without an answer the default one stays, whose errors
    /// say what to do.
    pub(crate) async fn settle(&self) {
        if self.settled().get().is_some() {
            return;
        }
        let Some(region) = self.region().await else { return };
        let store = match region == DEFAULT {
            true => None,
            // It was built before with another name.
            false => self.builder.clone().with_region(region).build().ok().map(Arc::new),
        };
        // Another call may have been first.
        let _ = self.settled().set(store);
    }

    async fn region(&self) -> Option<String> {
        let buckets = BUCKETS.get(|_| std::sync::Mutex::default());
        let asked = {
            let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(buckets.entry(self.url.clone()).or_default())
        };
        let Ok(mut asked) = timeout(2 * self.limit, asked.lock()).await else {
            // A runtime of the caller's that stands still holds the lock.
            return self.ask().await;
        };
        match &*asked {
            Some(Answer::Region(region)) => return Some(region.clone()),
            Some(Answer::Nothing(until)) if Instant::now() < *until => return None,
            _ => {}
        }
        let region = self.ask().await;
        *asked = Some(match &region {
            Some(region) => Answer::Region(region.clone()),
            None => Answer::Nothing(Instant::now() + PAUSE),
        });
        region
    }

    async fn ask(&self) -> Option<String> {
        let client = self.connector.connect(&client_options(self.url.starts_with("http://"))).ok()?;
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = Method::HEAD;
        *request.uri_mut() = self.url.parse().ok()?;
        let answer = CALL.scope(Call::new(Purpose::Region), client.execute(request));
        let answer = timeout(self.limit, answer).await.ok()?.ok()?;
        named(answer.headers())
    }
}

/// The region in the head of an answer, whatever its status: it becomes a part of a host's name.
fn named(headers: &HeaderMap) -> Option<String> {
    let region = headers.get("x-amz-bucket-region")?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    ((1..=LETTERS).contains(&region.len()) && region.bytes().all(is_plain)).then(|| region.to_owned())
}
