//! Writes values.

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use ndzarr_store::{Key, Precondition, Put, StoreError};
use object_store::path::Path;
use object_store::{Attribute, GetOptions, PutMode, PutOptions, PutPayload, UpdateVersion};
use tokio::time::Instant;

use crate::answers::call::Purpose;
use crate::operations::send::{Attempts, Failure};
use crate::requests::backoff::random;
use crate::state::State;
use crate::store::{Inner, Service};

/// The name of the mark in an object's metadata. It has only letters: Azure refuses a hyphen, and
/// some servers drop an underscore.
const MARK: &str = "ndzarrput";

/// The most bytes that the provider accepts in one request: "Amazon S3 multipart upload limits",
/// "Scalability and performance targets for Blob storage", "Cloud Storage quotas and limits".
pub(crate) fn max_value_bytes(service: Service) -> Option<u64> {
    match service {
        Service::S3 => Some(5 << 30),
        Service::Azure => Some(5000 << 20),
        Service::Gcs => Some(5 << 40),
        Service::Http => None,
    }
}

impl Inner {
    pub(crate) async fn put(
        &self,
        key: &Key,
        parts: &[Bytes],
        only_if: &Precondition,
    ) -> Result<Put, StoreError> {
        if self.service == Service::Http {
            return Err(StoreError::Unsupported("write"));
        }
        self.check_size(key, parts.iter().map(|part| part.len() as u64).sum())?;
        let path = self.path(key)?;
        let mode = match self.put_mode(&path, only_if).await? {
            ControlFlow::Continue(mode) => mode,
            ControlFlow::Break(put) => return Ok(put),
        };
        let mark = (mode != PutMode::Overwrite).then(|| format!("{:016x}", random()));
        let mut options = self.put_options(mode);
        if let Some(mark) = &mark {
            options
                .attributes
                .insert(Attribute::Metadata(MARK.into()), mark.clone().into());
        }
        let payload: PutPayload = parts.iter().cloned().collect();
        let mut attempts = Attempts::default();
        loop {
            // The time of the request without the wait for a permit.
            let mut took = Duration::ZERO;
            let request = async {
                let sent = Instant::now();
                let put = self
                    .backend
                    .store()
                    .put_opts(&path, payload.clone(), options.clone())
                    .await;
                took = sent.elapsed();
                put
            };
            let (result, answer) = self.attempt(&mut attempts, Purpose::Values, request).await;
            let error = match result {
                Ok(put) => {
                    let state = State {
                        value: self.value_name(&path),
                        e_tag: put.e_tag,
                        version: put.version,
                        modified: None,
                    };
                    self.conflicts.clear(key);
                    return Ok(Put::Done(state.e_tag.is_some().then(|| state.into_pin())));
                }
                Err(error) => error,
            };
            let may_be_done = attempts.may_be_done;
            let failure = Failure {
                error,
                answer,
                attempts: attempts.n_made,
                may_be_done,
            };
            let answer = &failure.answer;
            let Some(mark) = &mark else {
                // object_store refused the answer because it has no ETag, so no pin can name the
                // value.
                if answer.is_success() {
                    return Ok(Put::Done(None));
                }
                if (answer.is_passing() || answer.status == 409)
                    && self.may_retry(&attempts, answer)
                {
                    continue;
                }
                return Err(self.write_error("write", key, &failure));
            };
            if answer.status == 501 || answer.code.as_deref() == Some("NotImplemented") {
                return Ok(Put::Unsupported);
            }
            let refused = matches!(answer.status, 409 | 412 | 304)
                || (answer.status == 404
                    && matches!(only_if, Precondition::Current(_))
                    && !answer.is_no_bucket());
            if !refused && !answer.is_passing() {
                return Err(self.error("write", key, &failure));
            }
            // If the condition of the first attempt did not hold, another writer was first. That of
            // a later one may not hold because of an earlier attempt, whose answer was lost.
            if matches!(answer.status, 412 | 404 | 304) && attempts.n_made == 1 {
                return self.conflict(key, took).await;
            }
            let unknown = || {
                let what = failure.answer.describe();
                StoreError::Unknown {
                    action: "write",
                    key: key.to_string(),
                    what,
                }
            };
            match (
                self.state_and_mark(&path).await.map_err(|_| unknown())?,
                only_if,
            ) {
                (Some((state, found)), _) if found.as_deref() == Some(mark) => {
                    self.conflicts.clear(key);
                    return Ok(Put::Done(Some(state.into_pin())));
                }
                (None, Precondition::Absent) => {}
                (Some((state, _)), Precondition::Current(pin))
                    if pin
                        .get::<State>()
                        .is_some_and(|pinned| pinned.is_same_as(&state)) => {}
                // No attempt can have been carried out and replaced since: another writer was
                // first.
                _ if refused && !attempts.may_come_late => return self.conflict(key, took).await,
                // An attempt may have been carried out, and its value may have been replaced since.
                _ => return Err(unknown()),
            }
            if !self.may_retry(&attempts, &failure.answer) {
                if attempts.may_come_late {
                    return Err(unknown());
                }
                return Err(self.error("write", key, &failure));
            }
        }
    }

    /// The mode of a put on this condition, or its outcome if that is certain without a request.
    async fn put_mode(
        &self,
        path: &Path,
        only_if: &Precondition,
    ) -> Result<ControlFlow<Put, PutMode>, StoreError> {
        let mode = match only_if {
            Precondition::None => return Ok(ControlFlow::Continue(PutMode::Overwrite)),
            Precondition::Absent => PutMode::Create,
            Precondition::Current(pin) => match pin.get::<State>() {
                Some(state) if state.value == self.value_name(path) => {
                    let Some(e_tag) = state.strong_e_tag() else {
                        return Ok(ControlFlow::Break(Put::Unsupported));
                    };
                    PutMode::Update(UpdateVersion {
                        e_tag: Some(e_tag),
                        version: state.version.clone(),
                    })
                }
                // Callers find out with such a pin if the store checks conditions.
                _ => {
                    let is_checked = self.checks_conditions().await?;
                    return Ok(ControlFlow::Break(if is_checked {
                        Put::Conflict
                    } else {
                        Put::Unsupported
                    }));
                }
            },
        };
        if !self.checks_conditions().await? {
            return Ok(ControlFlow::Break(Put::Unsupported));
        }
        Ok(ControlFlow::Continue(mode))
    }

    /// Refuses a value that the service would refuse after gigabytes were sent. Values are not
    /// uploaded in parts: object_store cannot complete such an upload on a condition.
    fn check_size(&self, key: &Key, size: u64) -> Result<(), StoreError> {
        match self.max_value_bytes {
            Some(max) if size > max => {
                let what = format!(
                    "the value has {size} bytes, and the service takes at most {max} at once: use smaller chunks \
                     or shards"
                );
                Err(StoreError::Other {
                    action: "write",
                    key: key.to_string(),
                    what,
                })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn put_options(&self, mode: PutMode) -> PutOptions {
        let mut options = PutOptions::from(mode);
        // Google's caches keep public objects for an hour otherwise.
        if self.service == Service::Gcs {
            options
                .attributes
                .insert(Attribute::CacheControl, "no-cache, max-age=0".into());
        }
        options
    }

    /// Another writer was first. Waits a while, since the caller will try again.
    async fn conflict(&self, key: &Key, took: Duration) -> Result<Put, StoreError> {
        tokio::time::sleep(self.conflicts.record(key, took)).await;
        Ok(Put::Conflict)
    }

    /// The current state of a value, and the mark of the put that made it; `None` if there is no
    /// value.
    pub(crate) async fn state_and_mark(
        &self,
        path: &Path,
    ) -> Result<Option<(State, Option<String>)>, Failure> {
        let head = || {
            self.backend
                .store()
                .get_opts(path, GetOptions::new().with_head(true))
        };
        match self.repeat(Purpose::Values, head).await {
            Ok((found, _)) => {
                let mark = found.attributes.get(&Attribute::Metadata(MARK.into()));
                let mark = mark.map(|mark| mark.as_ref().to_owned());
                Ok(Some((State::of(self.value_name(path), &found.meta), mark)))
            }
            Err(failure) if failure.answer.status == 404 => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

#[cfg(all(test, feature = "s3", feature = "gcs", feature = "azure"))]
mod tests {
    use std::sync::Arc;

    use ndzarr_store::{AsyncStore, block_on};
    use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};

    use super::*;
    use crate::{ObjectStore, RemoteOptions};

    #[test]
    fn a_value_that_no_request_can_carry_is_refused_before_it_is_sent() -> Result<(), StoreError> {
        let server = ObjectServer::start(Dialect::S3);
        let mut store = ObjectStore::s3(BUCKET, "", &RemoteOptions::new().endpoint(server.url()))?;
        Arc::get_mut(&mut store.0)
            .expect("it is new")
            .max_value_bytes = Some(4);
        let key = Key::new("a")?;
        let parts = [Bytes::from("abc"), Bytes::from("de")];
        for only_if in [Precondition::None, Precondition::Absent] {
            let error = block_on(store.put(&key, &parts, only_if))
                .expect_err("it is larger")
                .to_string();
            assert!(
                error.contains("write a: the value has 5 bytes") && error.contains("at most 4"),
                "{error}"
            );
        }
        assert_eq!(server.traffic().requests, 0);
        assert!(matches!(
            block_on(store.put(&key, &[Bytes::from("abcd")], Precondition::None))?,
            Put::Done(_)
        ));
        Ok(())
    }

    #[test]
    fn the_limits_are_those_of_the_providers_themselves() -> Result<(), StoreError> {
        let options = RemoteOptions::new().account("lab");
        let limits = |options: &RemoteOptions| -> Result<_, StoreError> {
            let s3 = ObjectStore::s3(BUCKET, "", options)?;
            let gcs = ObjectStore::gcs(BUCKET, "", options)?;
            let azure = ObjectStore::azure(BUCKET, "", options)?;
            Ok([s3, gcs, azure].map(|store| store.0.max_value_bytes))
        };
        // 5 GiB, 5 TiB and 5,000 MiB.
        assert_eq!(
            limits(&options)?,
            [
                Some(5_368_709_120),
                Some(5_497_558_138_880),
                Some(5_242_880_000)
            ]
        );
        // MinIO accepts more.
        assert_eq!(
            limits(&options.endpoint("http://127.0.0.1:9000"))?,
            [None; 3]
        );
        Ok(())
    }
}
