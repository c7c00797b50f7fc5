//! Erases values, up to a thousand with one request.

use std::collections::HashSet;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_store::{Key, Precondition, Put, StoreError};
use object_store::Error as OsError;
use object_store::path::Path;

use crate::answers::batch::Batch;
use crate::answers::call::{Answer, CALL, Purpose};
use crate::errors::message::quoted;
use crate::operations::send::{Attempts, Failure};
use crate::store::{Inner, Service};

/// The most requests of one call in flight, where each erases one key.
const MAX_REQUESTS: usize = 64;

impl Inner {
    pub(crate) async fn erase(&self, key: &Key, only_if: &Precondition) -> Result<Put, StoreError> {
        match only_if {
            _ if self.service == Service::Http => Err(StoreError::Unsupported("erase")),
            Precondition::None => self.erase_one(key).await.map(|()| Put::Done(None)),
            Precondition::Absent | Precondition::Current(_) => Ok(Put::Unsupported),
        }
    }

    pub(crate) async fn erase_one(&self, key: &Key) -> Result<(), StoreError> {
        self.erase_keys(std::slice::from_ref(key)).await
    }

    pub(crate) async fn erase_keys(&self, keys: &[Key]) -> Result<(), StoreError> {
        let max_keys = match self.service {
            Service::Http => return Err(StoreError::Unsupported("erase")),
            Service::Gcs => return self.erase_each(keys).await,
            // "DeleteObjects".
            Service::S3 => 1000,
            // "Blob Batch".
            Service::Azure => 256,
        };
        for keys in keys.chunks(max_keys) {
            if self.backend.is_without_batches() {
                self.erase_each(keys).await?;
                continue;
            }
            match self.erase_by_request(self.paths(keys)?, true).await {
                Err(failure)
                    if is_unknown_request(&failure.answer) && self.backend.end_batches() =>
                {
                    self.erase_each(keys).await?;
                }
                erased => erased.map_err(|failure| self.erase_error(keys, &failure))?,
            }
        }
        Ok(())
    }

    /// Erases values by a request for each.
    async fn erase_each(&self, keys: &[Key]) -> Result<(), StoreError> {
        let mut pending = FuturesUnordered::new();
        for key in keys.chunks(1) {
            pending.push(async move {
                let erased = self.erase_by_request(self.paths(key)?, false).await;
                erased.map_err(|failure| self.erase_error(key, &failure))
            });
            if pending.len() >= MAX_REQUESTS {
                pending.next().await.transpose()?;
            }
        }
        pending.try_collect().await
    }

    fn paths(&self, keys: &[Key]) -> Result<Vec<Path>, StoreError> {
        keys.iter().map(|key| self.path(key)).collect()
    }

    /// Erases values by one request: a batch, or the request for a single value.
    async fn erase_by_request(&self, mut paths: Vec<Path>, in_batch: bool) -> Result<(), Failure> {
        let mut attempts = Attempts::default();
        loop {
            let purpose = match self.service {
                Service::S3 if in_batch => Purpose::Erasure(Batch::S3),
                Service::Azure => Purpose::Erasure(Batch::Azure(paths.len())),
                _ => Purpose::Values,
            };
            let request = self.delete(paths.clone(), in_batch);
            let (result, mut answer) = self.attempt(&mut attempts, purpose, request).await;
            if self.service == Service::Azure {
                // Azure names values by their indices in the request.
                let name =
                    |at: &String| Some(paths.get(at.parse::<usize>().ok()?)?.as_ref().to_owned());
                answer.refused = answer.refused.iter().filter_map(name).collect();
            }
            let refused: HashSet<_> = answer.refused.iter().cloned().collect();
            match self.outcome(&attempts, result, answer) {
                Some(Ok(_)) => return Ok(()),
                Some(Err(failure))
                    if !in_batch && self.is_absent(&paths, &failure.answer).await =>
                {
                    return Ok(());
                }
                Some(Err(failure)) => return Err(failure),
                // Only these are erased again: others may have been written since.
                None if paths.iter().any(|path| refused.contains(path.as_ref())) => {
                    paths.retain(|path| refused.contains(path.as_ref()));
                }
                None => {}
            }
        }
    }

    /// Returns `true` if an answer to an erasure means that the values do not exist. A server that
    /// does not know such requests may answer with the same status: unless its answer says that a
    /// value is missing, each value is looked up.
    async fn is_absent(&self, paths: &[Path], answer: &Answer) -> bool {
        if answer.status != 404 || answer.is_no_bucket() {
            return false;
        }
        if matches!(
            answer.code.as_deref(),
            Some("NoSuchKey" | "NoSuchVersion" | "BlobNotFound")
        ) {
            return true;
        }
        for path in paths {
            if !matches!(self.state_and_mark(path).await, Ok(None)) {
                return false;
            }
        }
        true
    }

    fn erase_error(&self, keys: &[Key], failure: &Failure) -> StoreError {
        // The first that was refused, or else all of the request.
        let key = match (failure.answer.refused.first(), keys) {
            // The service may name a value that was not in the request, and a long name.
            (Some(name), _) => {
                match keys
                    .iter()
                    .find(|key| name.strip_prefix(&self.prefix) == Some(key.as_str()))
                {
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

    async fn delete(&self, paths: Vec<Path>, in_batch: bool) -> object_store::Result<()> {
        let mut deleted = self
            .backend
            .eraser(in_batch)
            .delete_stream(stream::iter(paths.into_iter().map(Ok)).boxed());
        while let Some(one) = deleted.next().await {
            match one {
                Ok(_) | Err(OsError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // The status was one of success, and was replaced by that of the values that were refused.
        match CALL.with(|call| call.answer().status) {
            ..300 => Ok(()),
            _ => Err(OsError::Generic {
                store: "http",
                source: "refused inside the answer".into(),
            }),
        }
    }
}

/// Returns `true` if an answer to a batch means that the server knows no batches.
fn is_unknown_request(answer: &Answer) -> bool {
    matches!(answer.status, 404 | 405 | 501) && !answer.is_no_bucket()
}
