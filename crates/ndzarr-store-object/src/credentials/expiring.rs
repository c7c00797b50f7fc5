//! Credentials of AWS that expire, and are fetched again before they do.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ndzarr_store::PerProcess;
use object_store::aws::AwsCredential;
use serde_json::Value;
use tokio::sync::Mutex;

/// How long before they expire credentials are fetched again, at most half of their time.
const EARLY: Duration = Duration::from_secs(300);

pub(crate) struct ExpiringCredential {
    pub(crate) credential: Arc<AwsCredential>,
    pub(crate) fetched: SystemTime,
    pub(crate) expires: Option<SystemTime>,
}

impl ExpiringCredential {
    /// Reads a document that was fetched at `now`. `what` names the document in errors, for
    /// instance "the answer", and `token` is the name of the session token in it.
    ///
    /// # Errors
    /// What is wrong with the document, without its contents.
    pub(crate) fn read(
        document: &Value,
        what: &str,
        token: &str,
        now: SystemTime,
    ) -> Result<Self, String> {
        let text = |name: &str| {
            document
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let needed = |name: &str| {
            text(name)
                .map(str::to_owned)
                .ok_or_else(|| format!("{what} has no {name}"))
        };
        let credential = AwsCredential {
            key_id: needed("AccessKeyId")?,
            secret_key: needed("SecretAccessKey")?,
            token: text(token).map(str::to_owned),
        };
        let expires = match document.get("Expiration") {
            None | Some(Value::Null) => None,
            Some(time) => {
                let time = time
                    .as_str()
                    .and_then(|text| chrono::DateTime::parse_from_rfc3339(text).ok());
                let time = time.ok_or_else(|| format!("the Expiration in {what} is not a time"))?;
                let seconds = u64::try_from(time.timestamp()).unwrap_or_default();
                Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            }
        };
        if expires.is_some_and(|expires| expires <= now) {
            return Err(format!("{what} has expired"));
        }
        Ok(Self {
            credential: Arc::new(credential),
            fetched: now,
            expires,
        })
    }

    pub(crate) fn is_fresh(&self, now: SystemTime) -> bool {
        let Some(expires) = self.expires else {
            return true;
        };
        let half = expires.duration_since(self.fetched).unwrap_or_default() / 2;
        now + half.min(EARLY) < expires
    }

    /// As if the credential had been fetched now, so that the next attempt comes after half of the
    /// remaining time; `None` if it has expired.
    fn renewed(self, now: SystemTime) -> Option<Self> {
        self.expires
            .is_none_or(|expires| now < expires)
            .then_some(Self {
                fetched: now,
                ..self
            })
    }
}

/// The credential that was fetched last. Locked while another one is fetched, by a thread that a
/// forked child does not have.
#[derive(Default)]
pub(crate) struct CredentialCache(PerProcess<Mutex<Option<ExpiringCredential>>>);

impl CredentialCache {
    pub(crate) fn cached(&self) -> &Mutex<Option<ExpiringCredential>> {
        self.0.get(|_| Mutex::default())
    }

    /// The cached credential while it is fresh, otherwise a new one. If none can be fetched, the
    /// cached one until it expires.
    pub(crate) async fn get<E>(
        &self,
        fetch: impl Future<Output = Result<ExpiringCredential, E>>,
    ) -> Result<Arc<AwsCredential>, E> {
        let mut cached = self.cached().lock().await;
        let now = SystemTime::now();
        if let Some(fresh) = cached.as_ref().filter(|cached| cached.is_fresh(now)) {
            return Ok(Arc::clone(&fresh.credential));
        }
        let new = match fetch.await {
            Ok(new) => new,
            Err(error) => match cached.take().and_then(|old| old.renewed(SystemTime::now())) {
                Some(renewed) => renewed,
                None => return Err(error),
            },
        };
        Ok(Arc::clone(&cached.insert(new).credential))
    }
}
