//! Reads the documents that a machine over known facts needs.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use bytes::Bytes;
use ndzarr_engine::{AnyStore, in_parallel};
use ndzarr_metadata::{Known, Limits, Listing, MetadataError, Need, Resolved};
use ndzarr_store::DirListing;

use super::Storage;
use super::reread::MAX_READINGS;
use crate::error::{Error, ErrorKind, Result};

/// Documents that could not be read, and why.
pub(crate) type Unread = BTreeMap<String, Error>;

impl Storage {
    /// Reads documents that may be needed, in one round. One that cannot be read stays unknown: it
    /// is an error only if it turns out to be needed, and is not asked for again then.
    pub(crate) async fn guess(
        &self,
        known: &mut Known,
        limits: &Limits,
        keys: &[String],
    ) -> Unread {
        self.read_into(known, limits, keys, None).await
    }

    async fn read_into(
        &self,
        known: &mut Known,
        limits: &Limits,
        keys: &[String],
        threads: Option<NonZeroUsize>,
    ) -> Unread {
        let values = self.values(keys, limits.document_bytes, threads).await;
        let mut unread = Unread::new();
        for (key, value) in keys.iter().zip(values) {
            match value {
                Ok(value) => known.add_document(key.clone(), value),
                Err(error) => drop(unread.insert(key.clone(), error)),
            }
        }
        unread
    }

    /// Reads the documents that a machine over known facts needs until it reaches its conclusion.
    pub(crate) async fn conclude<T>(
        &self,
        known: &mut Known,
        limits: &Limits,
        conclude: impl Fn(&Known) -> Result<Resolved<T>, MetadataError>,
    ) -> Result<T> {
        self.conclude_after(&mut Unread::new(), known, limits, conclude)
            .await
    }

    /// Goes on after a [`guess`](Self::guess). After an error, what was read is known, and calling
    /// it again goes on.
    pub(crate) async fn conclude_after<T>(
        &self,
        unread: &mut Unread,
        known: &mut Known,
        limits: &Limits,
        conclude: impl Fn(&Known) -> Result<Resolved<T>, MetadataError>,
    ) -> Result<T> {
        let mut last = None;
        let mut readings = 0;
        loop {
            let need = match conclude(known) {
                Ok(Resolved::Done(conclusion)) => return Ok(conclusion),
                Ok(Resolved::Need(need)) => need,
                Err(error) => {
                    readings += 1;
                    if readings < MAX_READINGS
                        && Box::pin(self.read_again(known, limits, &error)).await?
                    {
                        continue;
                    }
                    return Err(Error::from(error).in_store(|| self.name()));
                }
            };
            if last.as_ref() == Some(&need) {
                return Err(Error::new(
                    ErrorKind::InvalidMetadata,
                    format!("{need:?} is unexpected"),
                ));
            }
            match &need {
                Need::Documents(keys) => self.read_needed(keys, unread, known, limits).await?,
                Need::Presence(keys) => self.look_for_needed(keys, known).await?,
                Need::Listings(prefixes) => self.list_needed(prefixes, known, limits).await?,
            }
            last = Some(need);
        }
    }

    async fn read_needed(
        &self,
        keys: &[String],
        unread: &mut Unread,
        known: &mut Known,
        limits: &Limits,
    ) -> Result<()> {
        if !keys.iter().any(|key| unread.contains_key(key)) {
            unread.extend(
                self.read_into(known, limits, keys, Some(NonZeroUsize::MIN))
                    .await,
            );
        }
        match keys.iter().find_map(|key| unread.remove(key)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    async fn look_for_needed(&self, keys: &[String], known: &mut Known) -> Result<()> {
        let answers = futures_util::future::join_all(keys.iter().map(|key| self.has(key))).await;
        for (key, exists) in keys.iter().zip(answers) {
            known.add_presence(key.clone(), exists?);
        }
        Ok(())
    }

    async fn list_needed(
        &self,
        prefixes: &[String],
        known: &mut Known,
        limits: &Limits,
    ) -> Result<()> {
        for prefix in prefixes {
            let DirListing { keys, prefixes } = self.list_dir(prefix, limits).await?;
            known.add_listing(prefix.clone(), Listing { keys, prefixes });
        }
        Ok(())
    }

    /// The values under keys: several threads ask a blocking store, and an asynchronous one gets
    /// all requests at once.
    async fn values(
        &self,
        keys: &[String],
        limit: u64,
        threads: Option<NonZeroUsize>,
    ) -> Vec<Result<Option<Bytes>>> {
        match &self.store {
            _ if keys.len() == 1 => vec![self.value(&keys[0], limit).await],
            AnyStore::Blocking(_) => {
                let read = |key: &String| self.wait_within(None, self.value(key, limit));
                in_parallel(keys.iter().collect(), threads, read)
            }
            AnyStore::Async(_) => {
                futures_util::future::join_all(keys.iter().map(|key| self.value(key, limit))).await
            }
        }
    }
}
