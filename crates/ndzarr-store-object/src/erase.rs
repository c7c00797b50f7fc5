//! Erases values, by the thousand where the service can.

use std::collections::HashSet;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_store::{Key, Precondition, Put, StoreError};
use object_store::Error as OsError;
use object_store::path::Path;

use crate::batch::Batch;
use crate::call::{CALL, Purpose};
use crate::requests::{Attempts, Failure};
use crate::store::{Inner, Service};
use crate::told::quoted;

/// The most keys of one request: "DeleteObjects".
const TOGETHER: usize = 1000;
/// Requests of one call where each has one key.
const AT_ONCE: usize = 64;

impl Inner {
    pub(crate) async fn erase(&self, key: &Key, only_if: &Precondition) -> Result<Put, StoreError> {
        match only_if {
            _ if self.service == Service::Http => Err(StoreError::Unsupported("erase")),
            Precondition::None => self.erase_one(key).await.map(|()| Put::Done(None)),
            Precondition::Absent | Precondition::Current(_) => Ok(Put::Unsupported),
        }
    }

    pub(crate) async fn erase_one(&self, key: &Key) -> Result<(), StoreError> {
        self.erase_together(std::slice::from_ref(key)).await
    }

    pub(crate) async fn erase_keys(&self, keys: &[Key]) -> Result<(), StoreError> {
        match self.service {
            Service::Http => Err(StoreError::Unsupported("erase")),
            Service::S3 => {
                for keys in keys.chunks(TOGETHER) {
                    self.erase_together(keys).await?;
                }
                Ok(())
            }
            Service::Gcs | Service::Azure => {
                let mut pending: FuturesUnordered<_> = FuturesUnordered::new();
                for key in keys {
                    pending.push(self.erase_one(key));
                    if pending.len() >= AT_ONCE {
                        pending.next().await.transpose()?;
                    }
                }
                pending.try_collect().await
            }
        }
    }

    /// Erases values by one request, which only on S3 has more than one key.
    async fn erase_together(&self, keys: &[Key]) -> Result<(), StoreError> {
        let purpose = match self.service {
            Service::S3 => Purpose::Erasure(Batch::S3),
            Service::Azure => Purpose::Erasure(Batch::Azure),
            Service::Gcs | Service::Http => Purpose::Values,
        };
        let mut paths = keys.iter().map(|key| self.path(key)).collect::<Result<Vec<_>, _>>()?;
        let mut attempts = Attempts::default();
        loop {
            let (result, answer) = self.attempt(&mut attempts, purpose, self.delete(paths.clone())).await;
            let refused: HashSet<_> = answer.refused.iter().cloned().collect();
            match self.ended(&attempts, result, answer) {
                Some(Ok(_)) => return Ok(()),
                Some(Err(failure)) if failure.answer.status == 404 && !self.is_no_bucket(&failure) => {
                    return Ok(());
                }
                Some(Err(failure)) => return Err(self.erase_error(keys, &failure)),
                // The others are gone, unless they were written again since.
                None if paths.iter().any(|path| refused.contains(path.as_ref())) => {
                    paths.retain(|path| refused.contains(path.as_ref()));
                }
                None => {}
            }
        }
    }

    fn erase_error(&self, keys: &[Key], failure: &Failure) -> StoreError {
        // One that was refused, else all of the request.
        let key = match (failure.answer.refused.first(), keys) {
            // The service may name another one, and a long one.
            (Some(name), _) => {
                match keys.iter().find(|key| name.strip_prefix(&self.prefix) == Some(key.as_str())) {
                    Some(key) => key.to_string(),
                    None => quoted(name),
                }
            }
            (None, [first, rest @ ..]) if !rest.is_empty() => {
                format!("{first} and {} other keys", rest.len())
            }
            (None, keys) => keys.first().map(ToString::to_string).unwrap_or_default(),
        };
        self.write_error("erase", key, failure)
    }

    async fn delete(&self, paths: Vec<Path>) -> object_store::Result<()> {
        let mut deleted = self.backend.store().delete_stream(stream::iter(paths.into_iter().map(Ok)).boxed());
        while let Some(one) = deleted.next().await {
            match one {
                Ok(_) | Err(OsError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // The status of the request was one of success, and became that of what was refused.
        match CALL.with(|call| call.answer().status) {
            ..300 => Ok(()),
            _ => Err(OsError::Generic { store: "http", source: "refused inside the answer".into() }),
        }
    }
}
