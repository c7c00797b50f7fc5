//! Erases values, by the thousand where the service can.

use std::collections::HashSet;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_store::{Key, Precondition, Put, StoreError};
use object_store::Error as OsError;
use object_store::path::Path;

use crate::answers::batch::Batch;
use crate::answers::call::{Answer, CALL, Purpose};
use crate::errors::told::quoted;
use crate::operations::send::{Attempts, Failure};
use crate::store::{Inner, Service};

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
        self.erase_keys(std::slice::from_ref(key)).await
    }

    pub(crate) async fn erase_keys(&self, keys: &[Key]) -> Result<(), StoreError> {
        let together = match self.service {
            Service::Http => return Err(StoreError::Unsupported("erase")),
            Service::Gcs => return self.erase_each(keys).await,
            // "DeleteObjects".
            Service::S3 => 1000,
            // "Blob Batch".
            Service::Azure => 256,
        };
        for keys in keys.chunks(together) {
            if self.backend.is_without_batches() {
                self.erase_each(keys).await?;
                continue;
            }
            match self.erase_together(self.paths(keys)?, true).await {
                Err(failure) if is_unknown_request(&failure.answer) && self.backend.end_batches() => {
                    self.erase_each(keys).await?;
                }
                erased => erased.map_err(|failure| self.erase_error(keys, &failure))?,
            }
        }
        Ok(())
    }

    /// A request for each value.
    async fn erase_each(&self, keys: &[Key]) -> Result<(), StoreError> {
        let mut pending = FuturesUnordered::new();
        for key in keys.chunks(1) {
            pending.push(async move {
                let erased = self.erase_together(self.paths(key)?, false).await;
                erased.map_err(|failure| self.erase_error(key, &failure))
            });
            if pending.len() >= AT_ONCE {
                pending.next().await.transpose()?;
            }
        }
        pending.try_collect().await
    }

    fn paths(&self, keys: &[Key]) -> Result<Vec<Path>, StoreError> {
        keys.iter().map(|key| self.path(key)).collect()
    }

    /// Erases values by one request: a batch, or that of a single value.
    async fn erase_together(&self, mut paths: Vec<Path>, in_batch: bool) -> Result<(), Failure> {
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
                let name = |at: &String| Some(paths.get(at.parse::<usize>().ok()?)?.as_ref().to_owned());
                answer.refused = answer.refused.iter().filter_map(name).collect();
            }
            let refused: HashSet<_> = answer.refused.iter().cloned().collect();
            match self.ended(&attempts, result, answer) {
                Some(Ok(_)) => return Ok(()),
                Some(Err(failure)) if !in_batch && self.is_absent(&paths, &failure.answer).await => {
                    return Ok(());
                }
                Some(Err(failure)) => return Err(failure),
                // The others are gone, unless they were written again since.
                None if paths.iter().any(|path| refused.contains(path.as_ref())) => {
                    paths.retain(|path| refused.contains(path.as_ref()));
                }
                None => {}
            }
        }
    }

    /// Whether an answer to the erasure of each value says that there is none. A server that does not know
    /// such requests may answer so, too: if it does not name the value as what is missing, it is asked.
    async fn is_absent(&self, paths: &[Path], answer: &Answer) -> bool {
        if answer.status != 404 || answer.is_no_bucket() {
            return false;
        }
        if matches!(answer.code.as_deref(), Some("NoSuchKey" | "NoSuchVersion" | "BlobNotFound")) {
            return true;
        }
        for path in paths {
            if !matches!(self.marked(path).await, Ok(None)) {
                return false;
            }
        }
        true
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

    async fn delete(&self, paths: Vec<Path>, in_batch: bool) -> object_store::Result<()> {
        let mut deleted =
            self.backend.eraser(in_batch).delete_stream(stream::iter(paths.into_iter().map(Ok)).boxed());
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

/// Whether an answer to a batch says that the server knows no batches.
fn is_unknown_request(answer: &Answer) -> bool {
    matches!(answer.status, 404 | 405 | 501) && !answer.is_no_bucket()
}
