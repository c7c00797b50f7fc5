//! `ZipWriter`: a new archive as a store.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_store::{
    Can, DirListing, Fetch, Fetched, Key, Locked, Precondition, Prefix, Put, RangeMerging, Store,
    StoreError, Temporary, Wait,
};

use crate::new_archive::NewArchive;
use crate::new_value::{ZipLock, ZipTemporary};

/// A new ZIP archive as a store. Clones share it.
///
/// Values are appended to a temporary of the store that is to have the archive, uncompressed, since
/// chunks are compressed already. What was put can be read, replaced and erased; locks and
/// preconditions serialize the writers of this process, and there are no others. Nothing is visible
/// before [`finish`](Self::finish), which replaces an older archive of the same name as a whole.
/// Without it, nothing remains once the last clone is dropped; a killed process leaves the
/// temporary, which the next writer of the same archive reuses.
///
/// ```
/// use ndzarr::Array;
/// use ndzarr::store::ZipWriter;
///
/// # let folder = tempfile::tempdir().expect("the system has a folder for temporaries");
/// # let path = folder.path().join("a.zip");
/// let new = ZipWriter::create_file(&path)?;
/// let a = Array::<u8>::builder([4]).create((&new, "a"))?;
/// a.fill([0..4], 1)?;
/// a.fill([0..2], 2)?;
/// assert!(!path.exists());
/// new.finish()?;
///
/// let a = Array::<u8>::open(format!("{}|zip:a", path.display()))?;
/// assert_eq!(a.read([0..4])?.to_vec(), [2, 2, 1, 1]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone)]
pub struct ZipWriter(Arc<NewArchive>);

impl ZipWriter {
    /// Starts a new archive under a key of a store that has
    /// [temporaries](Store::temporary), such as the file system. How safe it is from a power cut
    /// once it is finished is up to that store.
    ///
    /// # Errors
    /// If the store has no temporaries, or fails.
    pub fn create(base: impl Store + 'static, key: Key) -> Result<Self, StoreError> {
        Ok(Self(Arc::new(NewArchive::create(Arc::new(base), key)?)))
    }

    /// Starts a new archive in this file, which it replaces when it is finished.
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    #[cfg(feature = "fs")]
    pub fn create_file(path: impl AsRef<std::path::Path>) -> Result<Self, StoreError> {
        let (folder, key) = crate::store::folder_and_key(path.as_ref())?;
        Self::create(folder, key)
    }

    /// Writes the directory and makes the archive visible. From then on nothing can be written;
    /// values can still be read.
    ///
    /// The directory has every `zarr.json` first, those of upper levels before those below, as
    /// OME-Zarr's RFC-9 recommends for `.ozx`; so do the values if more than a tenth of the archive
    /// is unused, since they are then copied.
    ///
    /// # Errors
    /// If it is finished already, a value could not be written before, or the store fails. An older
    /// archive stays as it was, and this one is lost.
    pub fn finish(&self) -> Result<(), StoreError> {
        self.finish_with_comment(b"")
    }

    /// Finishes the archive as [`finish`](Self::finish) does, with a comment of up to 65,535 bytes.
    ///
    /// # Errors
    /// As for [`finish`](Self::finish), and if the comment is too long.
    pub fn finish_with_comment(&self, comment: &[u8]) -> Result<(), StoreError> {
        self.0.finish(comment)
    }
}

impl fmt::Debug for ZipWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ZipWriter({}, {} values)",
            self.0.key(),
            self.0.n_values()
        )
    }
}

impl Store for ZipWriter {
    fn name(&self) -> String {
        self.0.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.0.read(&fetch.key, &fetch.of, &fetch.want)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        let _turn = self.0.turns().wait(key);
        if !self.0.precondition_holds(key, &only_if) {
            return Ok(Put::Conflict);
        }
        let pin = self.0.add(key, parts)?;
        Ok(Put::Done(Some(pin)))
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        let _turn = self.0.turns().wait(key);
        if !self.0.precondition_holds(key, &only_if) {
            return Ok(Put::Conflict);
        }
        self.0.remove(key)?;
        Ok(Put::Done(None))
    }

    /// Locks a key against other writers of this process.
    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        let Some(turn) = self.0.turns().take(key, wait) else {
            return Ok(Locked::Busy);
        };
        Ok(Locked::Held(Box::new(ZipLock::new(
            Arc::clone(&self.0),
            key.clone(),
            turn,
        ))))
    }

    /// A second temporary of the store that is to have the archive.
    fn temporary(&self, key: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        let Some(temporary) = self.0.base_temporary()? else {
            return Ok(None);
        };
        Ok(Some(Box::new(ZipTemporary::new(
            Arc::clone(&self.0),
            key.clone(),
            temporary,
        ))))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        Ok(self.0.list_dir(prefix))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        Ok(self.0.list_prefix(prefix))
    }

    fn can(&self) -> Can {
        Can {
            lock: true,
            ..Can::default()
        }
    }

    /// Replaced values stay in the temporary, where their pins can still be read.
    fn range_merging(&self) -> RangeMerging {
        self.0.range_merging()
    }
}
