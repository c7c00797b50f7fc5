//! Whether a service checks the conditions of puts. Those who made them say so; an endpoint of others is
//! tried out at the first such put, since some ignore conditions and overwrite.

use bytes::Bytes;
use ndzarr_store::{Key, PerProcess, StoreError};
use object_store::{PutMode, PutPayload};
use tokio::sync::OnceCell;

use crate::call::Purpose;
use crate::read::{Ask, Got};
use crate::state::State;
use crate::store::Inner;

/// The hosts of the services that promise it.
const PROVIDERS: [&str; 4] = [".amazonaws.com", ".amazonaws.com.cn", ".googleapis.com", ".core.windows.net"];
/// A larger value is not read for a trial: a later put of a smaller one has it.
const MOST: u64 = 64 << 20;

/// Whether conditions are checked, once it is known.
#[derive(Debug)]
pub(crate) struct Conditions {
    is_promised: bool,
    found: PerProcess<OnceCell<bool>>,
}

/// What a trial before a put came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    Checked,
    Ignored,
    /// The value is not the expected one.
    Changed,
}

impl Conditions {
    /// Of a service at this URL; `None` is the provider's own.
    pub(crate) fn of(endpoint: Option<&str>) -> Self {
        let host = |url: &str| reqwest::Url::parse(url).ok()?.host_str().map(|host| format!(".{host}"));
        let is_own = |url: &str| {
            let host = host(url).unwrap_or_default();
            PROVIDERS.iter().any(|provider| host.ends_with(provider))
        };
        Self { is_promised: endpoint.is_none_or(is_own), found: PerProcess::new() }
    }

    pub(crate) fn known(&self) -> Option<bool> {
        if self.is_promised { Some(true) } else { self.cell().get().copied() }
    }

    fn cell(&self) -> &OnceCell<bool> {
        self.found.get(|_| OnceCell::new())
    }

    /// An answer has shown it.
    pub(crate) fn are_checked(&self) {
        // It may be known.
        let _ = self.cell().set(true);
    }
}

impl Inner {
    /// Before a value is replaced on a condition: tries conditions out with the value as it is.
    pub(crate) async fn try_conditions(&self, key: &Key, pinned: &State) -> Result<Trial, StoreError> {
        let trial = |checked| if checked { Trial::Checked } else { Trial::Ignored };
        if let Some(checked) = self.conditions.known() {
            return Ok(trial(checked));
        }
        let ask = Ask::Whole { limit: u64::MAX, at_once: MOST };
        match self.get(key, ask, Some(pinned)).await? {
            Got::Part(_, _, value) => self.conditions_at(key, &[value]).await.map(trial),
            Got::Large(..) => Ok(Trial::Checked),
            _ => Ok(Trial::Changed),
        }
    }

    /// Whether the service refuses to create a value that is there, with these bytes. If it does not,
    /// nothing changes.
    pub(crate) async fn conditions_at(&self, key: &Key, value: &[Bytes]) -> Result<bool, StoreError> {
        if let Some(checked) = self.conditions.known() {
            return Ok(checked);
        }
        let path = &self.path(key)?;
        let payload: &PutPayload = &value.iter().cloned().collect();
        let create = || self.store.put_opts(path, payload.clone(), self.put_options(PutMode::Create));
        let tried = self.conditions.cell().get_or_try_init(|| async {
            match self.repeat(Purpose::Values, create).await {
                Ok(_) => Ok(false),
                Err(failure) => match failure.answer.status {
                    409 | 412 => Ok(true),
                    304 | 501 => Ok(false),
                    _ => Err(self.error("try the conditions of puts at", key, &failure)),
                },
            }
        });
        tried.await.copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_known_by_their_hosts() {
        for own in [
            None,
            Some("https://s3.eu-central-1.amazonaws.com"),
            Some("https://bucket.s3.cn-north-1.amazonaws.com.cn/"),
            Some("https://storage.googleapis.com"),
            Some("https://lab.blob.core.windows.net"),
        ] {
            assert_eq!(Conditions::of(own).known(), Some(true), "{own:?}");
        }
        for other in
            ["http://127.0.0.1:9000", "https://amazonaws.com.example.org", "https://xamazonaws.com", "?"]
        {
            assert_eq!(Conditions::of(Some(other)).known(), None, "{other}");
        }
    }
}
