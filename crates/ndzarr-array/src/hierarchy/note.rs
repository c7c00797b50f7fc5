//! The note that a copy leaves at its target until it is complete, so that another call can go on.
//!
//! It is written before the first chunk, at a place without chunks, and says all that decides about
//! their content, and which call works on it. A chunk is published as a whole, and only while the
//! note is that of its call. So where a note is, the chunks are those of a copy like this one. Only
//! the process has to be killed for that: after a power cut, a store that does not sync may have
//! chunks that are empty.

mod fence;

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};

use bytes::Bytes;
use ndzarr_engine::ConcurrentUpdate;
use ndzarr_metadata::{CreateOptions, Creation, Existing, ExistingDocument, Limits, Node};
use ndzarr_store::{Key, Precondition, Put};
use serde_json::{Value, json};

use self::fence::fenced;
use crate::creating::occupied;
use crate::creating::replaces_source::removal;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::key_name::NOTE;
use crate::storage::{Published, Storage};

/// What temporary arrays have before their name.
pub(crate) const TEMPORARY: &str = ".ndzarr-temporary";

/// A note is smaller than this.
const LIMIT: u64 = 1 << 16;

#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) key: String,
    /// All that decides about the content of chunks.
    what: Value,
    /// The copy, whichever calls work on it. It names what the copy needs for a while.
    copy: String,
    /// The call that works on it.
    call: String,
}

/// Where a copy begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// There was nothing.
    Now,
    /// There may be chunks, or nodes, of an earlier copy.
    Before,
}

impl Note {
    /// The note of a copy of a node to what has its chunks, or nodes, below a prefix. `made` says
    /// what it becomes.
    pub(crate) fn new(
        (storage, node): (&Storage, &Node),
        prefix: &str,
        made: &str,
        numbers: &str,
    ) -> Self {
        let documents = node
            .documents
            .iter()
            .map(|(key, text)| (key, format!("{:016x}", hash(text))));
        let what = json!({
            "source": [storage.name(), node.path.as_str()],
            "documents": documents.collect::<Vec<_>>(),
            "target": format!("{:016x}", hash(made.as_bytes())),
            "numbers": numbers,
        });
        Self::begun_now(prefix, what)
    }

    /// The note of a new array whose elements come before its document.
    pub(crate) fn of_new(node: &Node) -> Self {
        let documents = format!("{:?}", node.documents);
        let what = json!({"new": format!("{:016x}", hash(documents.as_bytes()))});
        Self::begun_now(chunk_prefix(node), what)
    }

    /// The note of a copy that begins with this call.
    fn begun_now(prefix: &str, what: Value) -> Self {
        let id = new_id();
        Self {
            key: format!("{prefix}{NOTE}"),
            what,
            copy: id.clone(),
            call: id,
        }
    }

    fn text(&self) -> Bytes {
        let Self {
            what, copy, call, ..
        } = self;
        json!({"ndzarr_copy": 2, "what": what, "copy": copy, "call": call})
            .to_string()
            .into()
    }

    /// A name that no other copy has.
    pub(crate) fn id(&self) -> &str {
        &self.copy
    }

    async fn found(&self, storage: &Storage) -> Result<Option<Bytes>> {
        Ok(storage
            .pinned_value(&self.key, LIMIT)
            .await?
            .map(|(_, text)| text))
    }

    /// The copy that a note is of, if it is one like this.
    fn copy_of(&self, text: &[u8]) -> Option<String> {
        let found: Value = serde_json::from_slice(text).ok()?;
        if found.get("what") == Some(&self.what) {
            copy_in(&found)
        } else {
            None
        }
    }

    /// Looks for a copy like this one that has begun and not ended.
    pub(crate) async fn begun(&self, storage: &Storage) -> Result<Begun> {
        let found = self.found(storage).await?;
        let is_one = found.is_some_and(|text| self.copy_of(&text).is_some());
        Ok(if is_one { Begun::Before } else { Begun::Now })
    }

    /// Goes on with a copy like this one, if it has begun and not ended: the call that worked on it
    /// publishes nothing any more.
    pub(crate) async fn take_over(mut self, storage: &Storage) -> Result<(Self, Begun)> {
        if self.begun(storage).await? == Begun::Now {
            return Ok((self, Begun::Now));
        }
        let held = storage.hold(&self.key, &limits()).await?;
        let Some(copy) = held.value().and_then(|text| self.copy_of(text)) else {
            return Ok((self, Begun::Now));
        };
        self.copy = copy;
        match held
            .publish(&self.text(), ConcurrentUpdate::LastWriterWins)
            .await?
        {
            Published::Yes => Ok((self, Begun::Before)),
            Published::No => Err(self.lost(storage)),
        }
    }

    /// Fails unless the copy is still that of this call.
    pub(crate) async fn check_own(&self, storage: &Storage) -> Result<()> {
        if self.found(storage).await? == Some(self.text()) {
            Ok(())
        } else {
            Err(self.lost(storage))
        }
    }

    /// The storage, which is changed only while the copy is that of this call.
    pub(crate) fn fence(&self, storage: &Storage) -> Result<Storage> {
        let key = storage.named(Key::new(&self.key))?;
        Ok(storage.with_store(fenced(storage.store.clone(), &key, &self.text())))
    }

    fn lost(&self, storage: &Storage) -> Error {
        let what =
            "another call has gone on with this copy, or something else was put in its place";
        Error::new(ErrorKind::Conflict, what)
            .in_document(Some(&self.key))
            .in_store(|| storage.name())
    }

    /// Begins a copy: checks that nothing is in its way, removes what it replaces, and writes the
    /// note. The result is the copy that it replaces, if that one had not ended.
    pub(crate) async fn begin(
        &self,
        storage: &Storage,
        creation: &Creation,
        existing: Existing,
    ) -> Result<Option<String>> {
        let there = self.check(storage, creation, existing).await?;
        if there.is_some() {
            // A call that works on the old copy publishes nothing any more, even if the removal
            // takes long.
            storage.replace(&self.key, self.text()).await?;
        }
        storage.remove(&removal(creation)).await?;
        if there.is_some() {
            storage.erase(&self.key).await?;
        }
        let key = storage.named(Key::new(&self.key))?;
        match storage.put(&key, self.text(), Precondition::Absent).await? {
            Put::Done(_) => {}
            Put::Conflict => return Err(self.refused(storage, "another copy has just begun here")),
            Put::Unsupported => drop(storage.put(&key, self.text(), Precondition::None).await?),
        }
        Ok(there.and_then(|text| copy_in(&serde_json::from_slice(&text).ok()?)))
    }

    /// Checks that nothing exists that may not be replaced. The result is the note of an earlier
    /// copy.
    pub(crate) async fn check(
        &self,
        storage: &Storage,
        creation: &Creation,
        existing: Existing,
    ) -> Result<Option<Bytes>> {
        let there = self.found(storage).await?;
        if let Some(there) = there.as_ref().filter(|_| existing != Existing::Replace) {
            return Err(self.refused(
                storage,
                match self.copy_of(there) {
                    Some(_) => "a copy that has not ended began here, and can be resumed",
                    None => "a copy of another source, or with other options, began here and has not ended",
                },
            ));
        }
        occupied::check_replaced(storage, creation).await?;
        if let Some(spec) = creation.node.kind.array() {
            occupied::check(storage, creation, spec, existing).await?;
        }
        Ok(there)
    }

    /// Ends the copy with the documents of its node, while no other call can go on with it or take
    /// its place.
    pub(crate) async fn end(
        &self,
        storage: &Storage,
        creation: &Creation,
        policy: ConcurrentUpdate,
    ) -> Result<()> {
        self.check_own(storage).await?;
        let held = storage.hold(&self.key, &limits()).await?;
        if held.value() != Some(&self.text()) {
            return Err(self.lost(storage));
        }
        storage.create_noted(creation, policy).await?;
        held.erase().await
    }

    fn refused(&self, storage: &Storage, what: &str) -> Error {
        Error::new(ErrorKind::AlreadyExists, what)
            .in_document(Some(&self.key))
            .in_store(|| storage.name())
    }
}

/// What the keys of the chunks of a node begin with; empty for a group.
pub(crate) fn chunk_prefix(node: &Node) -> &str {
    node.kind
        .array()
        .map(|spec| &*spec.keys.prefix)
        .unwrap_or_default()
}

/// The creation of a node at the end of its copy: what was there was removed, and what another
/// writer has made meanwhile stays.
pub(crate) fn at_end(mut creation: Creation, create: &CreateOptions) -> Creation {
    if create.existing == Existing::Beside {
        return creation;
    }
    (creation.erase, creation.erase_prefixes) = Default::default();
    let document = creation.node.documents.first().map(|(key, _)| key);
    if let Some(put) = creation
        .put
        .iter_mut()
        .find(|put| Some(&put.key) == document)
    {
        put.existing = ExistingDocument::Refuse;
    }
    creation
}

fn limits() -> Limits {
    Limits::default().document_bytes(LIMIT)
}

/// A name that no other call makes.
fn new_id() -> String {
    let random = RandomState::new();
    // A forked child has the same keys.
    format!(
        "{:016x}{:016x}",
        random.hash_one(0),
        random.hash_one(process())
    )
}

/// WebAssembly has one process, and no number for it.
fn process() -> u32 {
    if cfg!(target_family = "wasm") {
        0
    } else {
        std::process::id()
    }
}

/// The name of the copy in a note, whose text may be anything.
fn copy_in(note: &Value) -> Option<String> {
    let id = note.get("copy")?.as_str()?;
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
