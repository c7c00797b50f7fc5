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
        let (together, at_once) = match self.service {
            Service::Http => return Err(StoreError::Unsupported("erase")),
            // "DeleteObjects".
            Service::S3 => (1000, 1),
            // "Blob Batch".
            Service::Azure => (256, 1),
            Service::Gcs => (1, AT_ONCE),
        };
        let mut pending = FuturesUnordered::new();
        for keys in keys.chunks(together) {
            pending.push(self.erase_together(keys));
            if pending.len() >= at_once {
                pending.next().await.transpose()?;
            }
        }
        pending.try_collect().await
    }

    /// Erases values by one request.
    async fn erase_together(&self, keys: &[Key]) -> Result<(), StoreError> {
        let mut paths = keys.iter().map(|key| self.path(key)).collect::<Result<Vec<_>, _>>()?;
        let mut attempts = Attempts::default();
        loop {
            let purpose = match self.service {
                Service::S3 => Purpose::Erasure(Batch::S3),
                Service::Azure => Purpose::Erasure(Batch::Azure(paths.len())),
                Service::Gcs | Service::Http => Purpose::Values,
            };
            let (result, mut answer) = self.attempt(&mut attempts, purpose, self.delete(paths.clone())).await;
            if self.service == Service::Azure {
                let name = |at: &String| Some(paths.get(at.parse::<usize>().ok()?)?.as_ref().to_owned());
                answer.refused = answer.refused.iter().filter_map(name).collect();
            }
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
