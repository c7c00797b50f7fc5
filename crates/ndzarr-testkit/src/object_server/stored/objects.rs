//! The state of a server: buckets of objects, and uploads that are not complete.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::object_server::dialects::dialect::Dialect;
use crate::object_server::stored::gzip::deflated;
use crate::object_server::stored::md5::{hex, md5};

/// The bucket that every server has.
pub const BUCKET: &str = "bucket";

/// The objects of a server, for tests to look at and to change without the clients' knowledge.
#[derive(Clone, Debug)]
pub struct Objects {
    dialect: Dialect,
    state: Arc<Mutex<State>>,
}

/// The state of a server, under its lock.
#[derive(Debug)]
pub(crate) struct State {
    dialect: Dialect,
    pub(crate) buckets: BTreeMap<String, Bucket>,
    pub(crate) uploads: BTreeMap<String, Upload>,
    /// Keys that may not be removed.
    pub(crate) protected: BTreeSet<String>,
    /// The most entries of a page of a list.
    pub(crate) page_len: usize,
    clock: Clock,
    /// Counts writes.
    generation: u64,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    seconds: u64,
    held: bool,
}

pub(crate) type Bucket = BTreeMap<String, Object>;

/// A stored value.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) data: Bytes,
    /// With its quotes.
    pub(crate) etag: String,
    pub(crate) generation: u64,
    /// Seconds since 1970.
    pub(crate) modified: u64,
    /// Headers that come back with the value: content type, user metadata.
    pub(crate) headers: Vec<(String, String)>,
}

/// A value that is being uploaded in parts.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) headers: Vec<(String, String)>,
    /// The parts by number or block id, with their ETags.
    pub(crate) parts: BTreeMap<String, (Bytes, String)>,
}

impl Objects {
    pub(crate) fn new(dialect: Dialect) -> Self {
        let state = State {
            dialect,
            buckets: BTreeMap::from([(BUCKET.to_owned(), Bucket::new())]),
            uploads: BTreeMap::new(),
            protected: BTreeSet::new(),
            page_len: match dialect {
                Dialect::Azure => 5000,
                _ => 1000,
            },
            clock: Clock {
                seconds: 1_700_000_000,
                held: false,
            },
            generation: 1_700_000_000_000_000,
        };
        Self {
            dialect,
            state: Arc::new(Mutex::new(state)),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Stores a value under a key of [`BUCKET`].
    pub fn put(&self, key: &str, data: impl Into<Bytes>) {
        self.put_with(key, data, &[]);
    }

    /// Stores a value with headers that come back with it, such as `Content-Encoding`.
    pub fn put_with(&self, key: &str, data: impl Into<Bytes>, headers: &[(&str, &str)]) {
        let data = data.into();
        let hash = content_hash(self.dialect, &data);
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let mut state = self.lock();
        let object = state.object(data, hash, headers);
        state
            .buckets
            .entry(BUCKET.to_owned())
            .or_default()
            .insert(key.to_owned(), object);
    }

    /// Stores a text as gzip, with `Content-Encoding: gzip`.
    ///
    /// # Panics
    ///
    /// If the text has more than 65,535 bytes.
    pub fn put_gzip(&self, key: &str, text: &str) {
        let stream = deflated(text.as_bytes()).expect("it fits into one block");
        self.put_with(key, stream, &[("Content-Encoding", "gzip")]);
    }

    /// Makes a folder, as Azure has them with a hierarchical namespace.
    pub fn make_folder(&self, name: &str) {
        self.put_with(name, "", &[FOLDER]);
    }

    /// The value of a key of [`BUCKET`].
    pub fn get(&self, key: &str) -> Option<Bytes> {
        self.lock()
            .buckets
            .get(BUCKET)?
            .get(key)
            .map(|object| object.data.clone())
    }

    /// Removes a key of [`BUCKET`].
    pub fn erase(&self, key: &str) {
        if let Some(bucket) = self.lock().buckets.get_mut(BUCKET) {
            bucket.remove(key);
        }
    }

    /// The keys of [`BUCKET`] in order.
    pub fn keys(&self) -> Vec<String> {
        self.lock()
            .buckets
            .get(BUCKET)
            .into_iter()
            .flat_map(|bucket| bucket.keys().cloned())
            .collect()
    }

    /// How many multipart uploads were begun, and neither completed nor aborted.
    pub fn n_uploads(&self) -> usize {
        self.lock().uploads.len()
    }

    /// Makes another, empty bucket.
    pub fn make_bucket(&self, name: &str) {
        self.lock().buckets.entry(name.to_owned()).or_default();
    }

    /// Protects this key: the service denies its removal.
    pub fn protect(&self, key: &str) {
        self.lock().protected.insert(key.to_owned());
    }

    /// Shortens the pages of lists.
    pub fn limit_pages(&self, page_len: usize) {
        self.lock().page_len = page_len;
    }

    /// Stops the clock, which ticks a second at each write: all values then have one time.
    pub fn hold_clock(&self) {
        self.lock().clock.held = true;
    }
}

/// The header of a folder.
const FOLDER: (&str, &str) = ("x-ms-resource-type", "directory");

impl Object {
    pub(crate) fn is_folder(&self) -> bool {
        self.headers
            .iter()
            .any(|(name, value)| (&**name, &**value) == FOLDER)
    }
}

impl State {
    /// A value that is written now. `hash` is its [`content_hash`].
    pub(crate) fn object(
        &mut self,
        data: Bytes,
        hash: String,
        headers: Vec<(String, String)>,
    ) -> Object {
        self.generation += 1;
        self.clock.seconds += u64::from(!self.clock.held);
        let generation = self.generation;
        let modified = self.clock.seconds;
        let etag = match self.dialect {
            Dialect::S3 | Dialect::Gcs => format!("\"{hash}\""),
            Dialect::Azure => format!("\"0x8D{generation:X}\""),
            // As nginx makes them: the second of the change, and the size.
            Dialect::Http => format!("\"{modified:x}-{:x}\"", data.len()),
        };
        Object {
            data,
            etag,
            generation,
            modified,
            headers,
        }
    }

    /// Begins an upload. Returns its name.
    pub(crate) fn begin(&mut self, upload: Upload) -> String {
        self.generation += 1;
        let id = format!("upload-{}", self.generation);
        self.uploads.insert(id.clone(), upload);
        id
    }
}

/// The hash in an ETag: MD5 where the service uses it.
pub(crate) fn content_hash(dialect: Dialect, data: &[u8]) -> String {
    match dialect {
        Dialect::S3 | Dialect::Gcs => hex(&md5(data)),
        Dialect::Azure | Dialect::Http => String::new(),
    }
}
