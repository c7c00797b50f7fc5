//! Credentials of AWS that expire, and are fetched again before.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ndzarr_store::PerProcess;
use object_store::aws::AwsCredential;
use serde_json::Value;
use tokio::sync::Mutex;

/// So long before they expire credentials are fetched again, or at half of their time.
const EARLY: Duration = Duration::from_secs(300);

/// What was fetched.
pub(crate) struct Kept {
    pub(crate) credential: Arc<AwsCredential>,
    pub(crate) fetched: SystemTime,
    pub(crate) expires: Option<SystemTime>,
}

impl Kept {
    /// Reads a document, such as "the answer", that was fetched at `now` and calls the session token by
    /// this name.
    ///
    /// # Errors
    /// What is wrong with it, without what is in it.
    pub(crate) fn read(document: &Value, what: &str, token: &str, now: SystemTime) -> Result<Self, String> {
        let text = |name: &str| document.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let needed =
            |name: &str| text(name).map(str::to_owned).ok_or_else(|| format!("{what} has no {name}"));
        let credential = AwsCredential {
            key_id: needed("AccessKeyId")?,
            secret_key: needed("SecretAccessKey")?,
            token: text(token).map(str::to_owned),
        };
        let expires = match document.get("Expiration") {
            None | Some(Value::Null) => None,
            Some(time) => {
                let time = time.as_str().and_then(|text| chrono::DateTime::parse_from_rfc3339(text).ok());
                let time = time.ok_or_else(|| format!("the Expiration in {what} is not a time"))?;
                let seconds = u64::try_from(time.timestamp()).unwrap_or_default();
                Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            }
        };
        if expires.is_some_and(|expires| expires <= now) {
            return Err(format!("{what} has expired"));
        }
        Ok(Self { credential: Arc::new(credential), fetched: now, expires })
    }

    pub(crate) fn is_fresh(&self, now: SystemTime) -> bool {
        let Some(expires) = self.expires else { return true };
        let half = expires.duration_since(self.fetched).unwrap_or_default() / 2;
        now + half.min(EARLY) < expires
    }

    /// The same as if it had been fetched now, so that the next time comes after half of the time that is
    /// left; `None` if it has expired.
    fn renewed(self, now: SystemTime) -> Option<Self> {
        self.expires.is_none_or(|expires| now < expires).then_some(Self { fetched: now, ..self })
    }
}

/// What was fetched last. Locked while something is fetched, by a thread that a forked child does not
/// have.
#[derive(Default)]
pub(crate) struct Keeper(PerProcess<Mutex<Option<Kept>>>);

impl Keeper {
    pub(crate) fn kept(&self) -> &Mutex<Option<Kept>> {
        self.0.get(|_| Mutex::default())
    }

    /// What is kept, if it is fresh or nothing can be fetched; otherwise what is fetched now.
    pub(crate) async fn get<E>(
        &self,
        fetch: impl Future<Output = Result<Kept, E>>,
    ) -> Result<Arc<AwsCredential>, E> {
        let mut kept = self.kept().lock().await;
        let now = SystemTime::now();
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_fresh(now)) {
            return Ok(Arc::clone(&kept.credential));
        }
        let new = match fetch.await {
            Ok(new) => new,
            Err(error) => match kept.take().and_then(|kept| kept.renewed(SystemTime::now())) {
                Some(kept) => kept,
                None => return Err(error),
            },
        };
        Ok(Arc::clone(&kept.insert(new).credential))
    }
}
