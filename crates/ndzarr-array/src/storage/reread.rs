//! Reads values again that are blank or cut because another program is writing them in place.

use ndzarr_engine::{AnyStore, Cancel};
use ndzarr_metadata::{Known, Limits, MetadataError, check_whole};
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, StoreError, Wait, Want};

use super::Storage;
use crate::error::Result;

/// How often a value is read that another program keeps writing in place.
pub(crate) const MAX_READINGS: usize = 64;

impl Storage {
    /// Reads a whole value. A blank one is read again if another program is writing it in place.
    pub(crate) async fn fetch_whole(&self, key: Key, limit: u64) -> Result<Fetched, StoreError> {
        let fetch = Fetch {
            key,
            of: Of::Any,
            want: Want::Whole { limit },
        };
        for _ in 0..MAX_READINGS {
            let fetched = self.fetch_raw(&fetch).await?;
            match &fetched {
                Fetched::Parts { pin, parts, .. }
                    if parts.iter().all(|part| is_blank(part))
                        && !self.stays(&fetch.key, pin)? => {}
                _ => return Ok(fetched),
            }
        }
        self.fetch_raw(&fetch).await
    }

    /// Waits for a program that writes a value in place, and returns `true` if the value stays
    /// although it makes no sense. A caller that was cancelled does not wait.
    pub(crate) fn stays(&self, key: &Key, seen: &Pin) -> Result<bool, StoreError> {
        let AnyStore::Blocking(store) = &self.store else {
            return Ok(true);
        };
        let call = Cancel::of_scope();
        store.stays(
            key,
            seen,
            Wait::While(&|| !call.as_ref().is_some_and(Cancel::is_cancelled)),
        )
    }

    /// Reads the document that an error is about once more, if it was blank or cut when it was
    /// read; returns whether it has another value by now.
    pub(super) async fn read_again(
        &self,
        known: &mut Known,
        limits: &Limits,
        error: &MetadataError,
    ) -> Result<bool> {
        let MetadataError::Invalid { key, .. } = error else {
            return Ok(false);
        };
        let Some(before) = known
            .value(key)
            .filter(|value| check_whole(key, value).is_err())
            .cloned()
        else {
            return Ok(false);
        };
        let path = self.named(Key::new(key))?;
        for _ in 0..MAX_READINGS {
            let now = self.pinned_value(key, limits.document_bytes).await?;
            if let Some((pin, value)) = &now
                && *value == before
            {
                if self.named(self.stays(&path, pin))? {
                    return Ok(false);
                }
                continue;
            }
            known.add_document(key.clone(), now.map(|(_, value)| value));
            return Ok(true);
        }
        Ok(false)
    }
}

fn is_blank(part: &[u8]) -> bool {
    part.iter().all(u8::is_ascii_whitespace)
}
