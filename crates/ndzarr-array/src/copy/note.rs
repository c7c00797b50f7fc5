//! The note that a copy leaves at its target until it is complete, so that another can go on.
//!
//! It is written before the first chunk, at a place without chunks, and says all that decides about
//! their content. A chunk is published as a whole. So where this note is, the chunks are those of a
//! copy like this one. Only the process has to be killed for that: after a power cut, a store that
//! does not sync may have chunks that are empty.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use ndzarr_metadata::{Creation, Existing, Node};
use ndzarr_store::{Key, Precondition, Put};
use serde_json::json;

use crate::copy::apart::removal;
use crate::copy::conversion::Numbers;
use crate::error::{Error, ErrorKind, Result};
use crate::occupied;
use crate::storage::Storage;

/// Its name, below the prefix of the chunks of an array or in the folder of a group.
const NAME: &str = ".ndzarr-copy";

/// What temporary arrays have before their name.
pub(super) const TEMPORARY: &str = ".ndzarr-temporary";

/// A note is smaller than this.
const LIMIT: u64 = 1 << 16;

#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) key: String,
    text: Bytes,
}

/// Where a copy begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// There was nothing.
    Now,
    /// There may be chunks, or nodes, of an earlier copy.
    Before,
}

impl Note {
    /// The note of a copy of a node to what has its chunks, or nodes, below a prefix. `made` says what
    /// it becomes.
    pub(super) fn new(source: (&Storage, &Node), prefix: String, made: String, numbers: &Numbers) -> Self {
        let documents = source.1.documents.iter().map(|(key, text)| (key, format!("{:016x}", hash(text))));
        let note = json!({
            "ndzarr_copy": 1,
            "source": [source.0.name(), source.1.path.as_str()],
            "documents": documents.collect::<Vec<_>>(),
            "target": format!("{:016x}", hash(made.as_bytes())),
            "numbers": format!("{numbers:?}"),
        });
        Self { key: prefix + NAME, text: note.to_string().into() }
    }

    /// A name that no other copy has.
    pub(super) fn id(&self) -> String {
        format!("{:016x}", hash(&self.text))
    }

    async fn found(&self, storage: &Storage) -> Result<Option<Bytes>> {
        Ok(storage.document(&self.key, LIMIT).await?.map(|(_, text)| text))
    }

    /// Whether it is there, from a copy that has not ended.
    pub(super) async fn begun(&self, storage: &Storage) -> Result<Begun> {
        Ok(if self.found(storage).await?.is_some_and(|there| there == self.text) {
            Begun::Before
        } else {
            Begun::Now
        })
    }

    /// Fails unless it is still there. Another call may have gone on with the copy and ended it; what
    /// lay between two passes is gone then, after the note.
    pub(super) async fn check_goes_on(&self, storage: &Storage) -> Result<()> {
        match self.begun(storage).await? {
            Begun::Before => Ok(()),
            Begun::Now => {
                let what = "another call went on with this copy and has ended it, or began another one";
                Err(Error::new(ErrorKind::Conflict, what)
                    .in_document(Some(&self.key))
                    .in_store(|| storage.name()))
            }
        }
    }

    /// Begins a copy: checks that nothing is there, removes what it replaces, and writes the note.
    pub(super) async fn begin(
        self,
        storage: Storage,
        creation: Creation,
        existing: Existing,
    ) -> Result<Begun> {
        let is_there = self.check(&storage, &creation, existing).await?;
        storage.remove(&removal(&creation)).await?;
        if is_there {
            storage.erase(&self.key).await?;
        }
        let key = storage.named(Key::new(&self.key))?;
        match storage.put(&key, self.text.clone(), Precondition::Absent).await? {
            Put::Done(_) => {}
            Put::Conflict => return Err(self.refused(&storage, "another copy has just begun here")),
            Put::Unsupported => drop(storage.put(&key, self.text, Precondition::None).await?),
        }
        Ok(Begun::Now)
    }

    /// Checks that nothing is there that may not be replaced. The result is whether there is a note of
    /// a copy.
    pub(super) async fn check(
        &self,
        storage: &Storage,
        creation: &Creation,
        existing: Existing,
    ) -> Result<bool> {
        let there = self.found(storage).await?;
        if let Some(there) = there.as_ref().filter(|_| existing != Existing::Replace) {
            return Err(self.refused(
                storage,
                match *there == self.text {
                    true => "a copy that has not ended began here, and can be resumed",
                    false => "a copy of another source, or with other options, began here and has not ended",
                },
            ));
        }
        occupied::check_replaced(storage, creation).await?;
        if let Some(spec) = creation.node.kind.array() {
            occupied::check(storage, creation, spec, existing).await?;
        }
        Ok(there.is_some())
    }

    fn refused(&self, storage: &Storage, what: &str) -> Error {
        Error::new(ErrorKind::AlreadyExists, what).in_document(Some(&self.key)).in_store(|| storage.name())
    }
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
