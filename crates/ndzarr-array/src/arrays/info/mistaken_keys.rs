//! Looks for chunks under the separator that the document does not state.
//!
//! Old programs nested the chunks of Zarr v2 (`0/0`) and did not say so, others misspell the
//! member, and copies flatten or nest them. Such chunks would read as the fill value, and a write
//! would begin a second set of chunks. Chunks are looked for only while none was found under the
//! stated keys.

use futures_util::StreamExt;
use futures_util::future::join_all;
use ndzarr_engine::Doubt;
use ndzarr_metadata::is_node_document;
use ndzarr_model::KeyEncoding;
use ndzarr_store::Key;

use super::ArrayInfo;
use crate::arrays::chunks::Chunks;
use crate::creating::occupied::without_numbers;
use crate::error::{Error, ErrorKind, Result};

/// The number of pages of listings, at most, that are looked at.
const MOST_PAGES: usize = 16;

/// The key of the first chunk that was found.
enum FirstChunk {
    Stated,
    Mistaken(String),
}

impl ArrayInfo {
    /// The encoding that the keys of the chunks may have instead.
    fn mistaken_encoding(&self) -> Option<KeyEncoding> {
        self.spec().keys.encoding.mistaken(self.shape().len())
    }

    /// Returns `true` if a key below the prefix is, in this encoding, that of a chunk of the array.
    fn has_key(&self, all: &Chunks, encoding: KeyEncoding, below: &str) -> bool {
        encoding
            .decode(below, self.shape().len())
            .is_some_and(|chunk| all.has(&chunk))
    }

    /// Returns `true` for the key of a chunk under the separator that the document does not state.
    pub(super) fn is_mistaken(&self, all: &Chunks, key: &Key) -> bool {
        let below = key.as_str().strip_prefix(&self.spec().keys.prefix);
        self.mistaken_encoding()
            .zip(below)
            .is_some_and(|(other, below)| self.has_key(all, other, below))
    }

    /// An error if there is a chunk under this key.
    pub(super) fn check_mistaken(&self, key: Option<&str>) -> Result<()> {
        let Some(key) = key else { return Ok(()) };
        let encoding = self.spec().keys.encoding;
        let is_nested = encoding.with_separator('/') == Some(encoding);
        let (stated, other) = if is_nested { ('/', '.') } else { ('.', '/') };
        let what = format!(
            "no chunk lies under a key with the separator {stated:?}, as the metadata has it, but {key:?} \
             exists: open the array with the separator {other:?}"
        );
        Err(self.name(Error::new(ErrorKind::InvalidMetadata, what)))
    }

    /// After a read: an error if all chunks that were ever asked for are absent, and there are
    /// chunks under the other separator. Looks again after 1, 2, 4, 8, … reads.
    pub(crate) async fn check_presence(&self) -> Result<()> {
        let Some(Doubt { n, absent }) = self.data()?.presence().doubt() else {
            return Ok(());
        };
        if !self.storage.store.can().list {
            return self.ask_for_mistaken(&absent).await;
        }
        if !n.is_power_of_two() {
            return Ok(());
        }
        let presence = self.data()?.presence();
        match self.look().await {
            Ok(Some(FirstChunk::Mistaken(key))) => {
                presence.count_anew();
                self.check_mistaken(Some(&key))
            }
            Ok(Some(FirstChunk::Stated)) => {
                presence.confirm();
                Ok(())
            }
            Ok(None) => Ok(()),
            // It may be read, but not listed.
            Err(_) => {
                presence.count_anew();
                self.ask_for_mistaken(&absent).await
            }
        }
    }

    /// Returns `true` if [`confirm_keys`](Self::confirm_keys) has anything to do.
    pub(super) fn has_unconfirmed_keys(&self) -> bool {
        // Only documents of Zarr v2 can lack the separator. Other writers are not delayed.
        let may_lack = matches!(self.spec().keys.encoding, KeyEncoding::V2 { .. });
        let is_open = |info: &Self| {
            info.data()
                .is_ok_and(|data| !data.presence().is_confirmed())
        };
        self.scalar_fallback().is_some() || may_lack && is_open(self)
    }

    /// Before a write: an error if it would begin a second set of chunks.
    pub(crate) async fn confirm_keys(&self) -> Result<()> {
        if !self.has_unconfirmed_keys() {
            return Ok(());
        }
        self.move_scalar().await?;
        if let Ok(Some(FirstChunk::Mistaken(key))) = self.look().await {
            return self.check_mistaken(Some(&key));
        }
        self.data()?.presence().confirm();
        Ok(())
    }

    /// Looks for these chunks under the other separator, one by one.
    async fn ask_for_mistaken(&self, chunks: &[Vec<u64>]) -> Result<()> {
        let Some(other) = self.mistaken_encoding() else {
            return Ok(());
        };
        let prefix = &self.spec().keys.prefix;
        let keys: Vec<String> = chunks
            .iter()
            .map(|chunk| format!("{prefix}{}", other.encode(chunk)))
            .collect();
        let answers = join_all(keys.iter().map(|key| self.storage.has(key))).await;
        for (key, answer) in keys.iter().zip(answers) {
            if answer? {
                return self.check_mistaken(Some(key));
            }
        }
        Ok(())
    }

    /// A chunk that one request or a few listings show.
    async fn look(&self) -> Result<Option<FirstChunk>> {
        let Some(other) = self.mistaken_encoding() else {
            return Ok(None);
        };
        let keys = &self.spec().keys;
        let all = Chunks::new(self.unit_grid());
        let zeros = vec![0; self.shape().len()];
        // The first chunk is nearly always there, and folders of many chunks take long to list.
        if !all.has(&zeros) {
            return Ok(None);
        }
        if self.storage.has(&keys.key(&zeros)).await? {
            return Ok(Some(FirstChunk::Stated));
        }
        let patterns = [keys.encoding, other].map(|encoding| encoding.encode(&zeros));
        let mut pending = vec![String::new()];
        let mut n_pages = 0;
        while let Some(folder) = pending.pop() {
            let mut pages = self.storage.list_dir_pages(
                &format!("{}{folder}", keys.prefix),
                &self.node.context.limits,
            );
            while let Some(page) = pages.next().await {
                let page = page?;
                n_pages += 1;
                // The folder of another node.
                if !folder.is_empty()
                    && page.keys.iter().any(|name| is_node_document(name, ".json"))
                {
                    break;
                }
                for name in &page.keys {
                    let below = format!("{folder}{name}");
                    if self.has_key(&all, keys.encoding, &below) {
                        return Ok(Some(FirstChunk::Stated));
                    }
                    if self.has_key(&all, other, &below) {
                        return Ok(Some(FirstChunk::Mistaken(format!(
                            "{}{below}",
                            keys.prefix
                        ))));
                    }
                }
                let folders = page.prefixes.iter().map(|name| format!("{folder}{name}/"));
                let leads = |below: &String| {
                    let below = without_numbers(below);
                    patterns.iter().any(|pattern| pattern.starts_with(&below))
                };
                pending.extend(folders.filter(leads).take(MOST_PAGES));
                if n_pages == MOST_PAGES {
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }
}
