//! Copies files byte for byte: those of other programs, and those of nodes that are copied as they
//! are.

use std::sync::Mutex;

use bytes::Bytes;
use ndzarr_engine::{AnyStore, n_threads, with_files};
use ndzarr_metadata::is_node_document;
use ndzarr_store::{Fetch, Fetched, Key, Locked, Of, Precondition, Put, StoreError, Wait, Want};

use crate::copy::Run;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::key_name::is_document;
use crate::hierarchy::note::{Begun, Note};
use crate::operations::each::{check_cancel, each_on_threads, lock};
use crate::storage::Storage;

/// Memory for files, unless the options say how much.
const MEMORY: u64 = 256 << 20;

/// How much of a large file is in memory.
const PIECE: u64 = 8 << 20;

/// The files of a copy.
pub(crate) struct Files<'f, 'o> {
    pub(crate) run: &'f Run<'o>,
    /// That of the copy, on which writing depends.
    pub(crate) note: Option<&'f Note>,
    /// Prefixes of the source, which become those of the target.
    pub(crate) from: &'f [String],
    pub(crate) to: &'f [String],
    /// The target may already have files, from an earlier attempt.
    pub(crate) begun: Begun,
}

impl Files<'_, '_> {
    /// Copies them: documents of nodes after all else, so that no node is seen before it is whole.
    pub(crate) async fn copy(&self, keys: &[String]) -> Result<()> {
        let is_document =
            |key: &&String| is_node_document(key.rsplit('/').next().unwrap_or(key), ".json");
        let (documents, others): (Vec<_>, Vec<_>) = keys.iter().partition(is_document);
        self.copy_all(others).await?;
        self.copy_all(documents).await
    }

    async fn copy_all(&self, keys: Vec<&String>) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let run = self.run;
        let target = match self.note {
            Some(note) => note.fence(&run.target)?,
            None => run.target.clone(),
        };
        let threads = n_threads(run.options.run.threads);
        let memory = run.options.memory.unwrap_or(MEMORY);
        let limit = memory / threads as u64;
        let large = Mutex::new(Vec::new());
        let copy = |key: &String| {
            let key = key.clone();
            let target = &target;
            let large = &large;
            async move {
                match self.whole(&key, limit).await? {
                    Some(value) => self.put(target, &key, value).await,
                    None => {
                        lock(large).push(key);
                        Ok(())
                    }
                }
            }
        };
        let stores = [&run.source, &run.target];
        each_on_threads(stores, &run.options.run, threads, keys, copy)?;
        let large = std::mem::take(&mut *lock(&large));
        for key in large {
            if !self.in_pieces(&target, &key).await? {
                let limit = if run.options.more_memory {
                    u64::MAX
                } else {
                    memory
                };
                let Some(value) = self.whole(&key, limit).await? else {
                    let what = format!(
                        "the file {key} is larger than the memory for the copy, {memory} bytes"
                    );
                    return Err(
                        Error::new(ErrorKind::OutOfMemory, what).in_store(|| run.source.name())
                    );
                };
                self.put(&target, &key, value).await?;
            }
        }
        Ok(())
    }

    /// The key of a file in the target.
    fn key(&self, key: &str) -> String {
        let at = (0..self.from.len()).filter(|&at| key.starts_with(&self.from[at]));
        let Some(at) = at.max_by_key(|&at| self.from[at].len()) else {
            return key.to_owned();
        };
        let to = if self.from.len() == self.to.len() {
            self.to.get(at)
        } else {
            self.to.last()
        };
        format!(
            "{}{}",
            to.map_or("", String::as_str),
            &key[self.from[at].len()..]
        )
    }

    /// The value of a file; `None` if it is larger.
    async fn whole(&self, key: &str, limit: u64) -> Result<Option<Bytes>> {
        let valid = self.run.source.named(Key::new(key))?;
        match self.run.source.fetch_whole(valid, limit).await {
            Ok(Fetched::Parts { parts, .. }) => {
                Ok(Some(parts.into_iter().next().unwrap_or_default()))
            }
            Ok(Fetched::Missing | Fetched::Changed) => Err(self.gone(key)),
            Err(StoreError::TooLarge { .. }) => Ok(None),
            Err(error) => self.run.source.named(Err(error)),
        }
    }

    fn gone(&self, key: &str) -> Error {
        let what =
            format!("the file {key} was removed or changed during the copy, which is not complete");
        Error::new(ErrorKind::Conflict, what)
            .in_document(Some(key))
            .in_store(|| self.run.source.name())
    }

    async fn put(&self, target: &Storage, key: &str, value: Bytes) -> Result<()> {
        let to = self.key(key);
        let only_if = match self.begun {
            Begun::Now => Precondition::Absent,
            Begun::Before => Precondition::None,
        };
        let target_key = target.named(Key::new(&to))?;
        let put = match target.put(&target_key, value.clone(), only_if).await? {
            Put::Unsupported if target.has(&to).await? => Put::Conflict,
            Put::Unsupported => {
                target
                    .put(&target_key, value.clone(), Precondition::None)
                    .await?
            }
            put => put,
        };
        if matches!(put, Put::Conflict) && target.value(&to, u64::MAX).await? != Some(value) {
            return Err(occupied(target, &target_key));
        }
        Ok(())
    }

    /// Copies a large file piece by piece, if the target is a store with temporaries and locks. No
    /// lock is held while the source is read.
    async fn in_pieces(&self, target: &Storage, key: &str) -> Result<bool> {
        let AnyStore::Blocking(store) = &target.store else {
            return Ok(false);
        };
        let to = target.named(Key::new(self.key(key)))?;
        if self.begun == Begun::Now && target.has(to.as_str()).await? {
            return Err(occupied(target, &to));
        }
        let Some(temporary) = target.named(with_files(|| store.temporary(&to)))? else {
            return Ok(false);
        };
        let from = self.run.source.named(Key::new(key))?;
        let mut at = 0;
        let mut of = Of::Any;
        let mut len = None;
        while len.is_none_or(|len| at < len) {
            check_cancel(&self.run.options.run)?;
            let want = match len {
                None => Want::Size,
                Some(len) => Want::Ranges(vec![at..(at + PIECE).min(len)]),
            };
            let fetch = Fetch {
                key: from.clone(),
                of,
                want,
            };
            let source = &self.run.source;
            let Fetched::Parts { pin, size, parts } =
                source.named(source.fetch_raw(&fetch).await)?
            else {
                return Err(self.gone(key));
            };
            for part in parts {
                target.named(temporary.append(&part))?;
                at += part.len() as u64;
            }
            len = Some(size);
            of = Of::Snapshot(pin);
        }
        let goes_on = || check_cancel(&self.run.options.run).is_ok();
        let locked = target.named(with_files(|| store.lock(&to, Wait::While(&goes_on))))?;
        let Locked::Held(lock) = locked else {
            check_cancel(&self.run.options.run)?;
            return Ok(false);
        };
        if self.begun == Begun::Now && target.has(to.as_str()).await? {
            return Err(occupied(target, &to));
        }
        target.named(temporary.publish(lock))?;
        Ok(true)
    }

    /// The documents among files of nodes that are copied as they are, under their keys in the
    /// target.
    pub(crate) async fn documents(
        &self,
        keys: &[String],
        nodes: &[String],
    ) -> Result<Vec<(String, Bytes)>> {
        let mut documents = Vec::new();
        let is_of_node = |key: &&String| {
            nodes.iter().any(|prefix| key.starts_with(prefix)) && is_document(key, ".json")
        };
        for key in keys.iter().filter(is_of_node) {
            let limit = self.run.create.limits.document_bytes;
            if let Some(value) = self.whole(key, limit).await? {
                documents.push((self.key(key), value));
            }
        }
        Ok(documents)
    }
}

fn occupied(target: &Storage, key: &Key) -> Error {
    let what = format!("another file is at {key}, where one of the source would be");
    Error::new(ErrorKind::AlreadyExists, what).in_store(|| target.name())
}
