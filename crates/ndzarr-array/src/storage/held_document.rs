//! Reads documents in order to change them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ndzarr_engine::{
    AnyStore, Cancel, ConcurrentUpdate, Condition, EngineCause, EngineError, in_scope, publishing,
    with_files,
};
use ndzarr_metadata::{Limits, MetadataError, Node, check_whole};
use ndzarr_store::{
    Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Put, Store, StoreError, Wait, Want,
};

use super::{MAX_READINGS, Storage, of_document};
use crate::error::{Error, ErrorKind, Result};

impl Storage {
    /// Reads a document to change it, under its lock if the store has locks. Cancelling the current
    /// call ends a wait for the lock.
    pub(crate) async fn hold(&self, key: &str, limits: &Limits) -> Result<HeldDocument> {
        self.named(check_scope())?;
        let key = self.named(Key::new(key))?;
        let limit = limits.document_bytes;
        let locked = match &self.store {
            AnyStore::Blocking(store) => self.named(take(&**store, &key, limit))?,
            AnyStore::Async(_) => None,
        };
        let (value, guard) = match locked {
            Some(locked) => locked,
            None => {
                let (pin, value) = self.pinned_value(key.as_str(), limit).await?.unzip();
                let only_if = pin.map_or(Precondition::Absent, Precondition::Current);
                (value, Guard::Condition(only_if))
            }
        };
        Ok(HeldDocument {
            storage: self.clone(),
            key,
            value,
            limits: *limits,
            guard,
            undo: None,
        })
    }

    /// Checks whether a node still exists before its first lock is taken, so that no folder is made
    /// for the lock of a removed one. The caller holds no lock.
    ///
    /// NFS and FUSE rename a file that is open out of the way before they replace it, so that for a
    /// moment there is none. Under its lock it is not replaced.
    pub(crate) async fn check_there_first(&self, node: &Node, key: &str) -> Result<()> {
        match self.check_there(node, key).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let held = self.hold(key, &node.context.limits).await?;
                if held.value().is_some() {
                    Ok(())
                } else {
                    Err(error)
                }
            }
            checked => checked,
        }
    }

    /// Checks by its document whether a node still exists.
    pub(crate) async fn check_there(&self, node: &Node, key: &str) -> Result<()> {
        if self.has(key).await? {
            return Ok(());
        }
        let gone = MetadataError::Gone {
            path: node.path.to_string(),
            key: key.to_owned(),
        };
        Err(Error::from(gone).in_store(|| self.name()))
    }

    /// Changes a document of a node without losing concurrent changes.
    pub(crate) async fn update<E: Into<Error>>(
        &self,
        node: &Node,
        key: &str,
        policy: ConcurrentUpdate,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Bytes, E>,
    ) -> Result<Bytes> {
        let mut lost = LostLocks::default();
        let document = node.documents.first().map(|(document, _)| document);
        if let Some(document) = document {
            self.check_there_first(node, document).await?;
        }
        loop {
            let held = self.hold(key, &node.context.limits).await?;
            // The node may have been removed during the wait for the lock; the document that is
            // held needs no second check.
            if let Some(document) = document.filter(|document| *document != key) {
                self.check_there(node, document).await?;
            }
            let value =
                change(held.value()).map_err(|error| error.into().in_store(|| self.name()))?;
            match held.publish(&value, policy).await {
                Ok(Published::Yes) => return Ok(value),
                Ok(Published::No) => {}
                Err(error) if lost.forgive(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Fails if the call that this thread works for was cancelled.
fn check_scope() -> Result<(), EngineError> {
    match Cancel::of_scope() {
        Some(cancel) if cancel.is_cancelled() => Err(EngineCause::Cancelled.into()),
        _ => Ok(()),
    }
}

/// Changes a blocking store, unless the call that this thread works for was cancelled.
fn unless_cancelled<T>(change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, EngineError> {
    Ok(publishing(Cancel::of_scope().as_ref(), change)?)
}

/// The value of a document, and its lock.
type LockedDocument = (Option<Bytes>, Guard);

/// Takes the lock of a document and reads it; `None` if the store has no locks.
fn take(store: &dyn Store, key: &Key, limit: u64) -> Result<Option<LockedDocument>> {
    let goes_on = || check_scope().is_ok();
    // What stays blank or cut is left to the caller, who makes an error of it.
    let mut readings = MAX_READINGS;
    loop {
        check_scope()?;
        let mut lock = match with_files(|| store.lock(key, Wait::While(&goes_on)))? {
            Locked::Held(lock) => lock,
            Locked::Unsupported => return Ok(None),
            Locked::Busy => return Err(not_waited_for(key)),
        };
        if !lock.lock_value(Wait::While(&goes_on))? {
            return Err(not_waited_for(key));
        }
        let (pin, taken) = read(lock, key, limit)?;
        let is_broken = |value: &Bytes| readings > 0 && check_whole(key.as_str(), value).is_err();
        let (Some(pin), true) = (pin, taken.0.as_ref().is_some_and(is_broken)) else {
            return Ok(Some(taken));
        };
        // Another program may be writing it: not under this lock.
        drop(taken);
        if store.stays(key, &pin, Wait::While(&goes_on))? {
            readings = 0
        } else {
            readings -= 1
        }
    }
}

/// The error after a wait for a lock that ended without it: the call was cancelled, or the store
/// does not keep its promise.
fn not_waited_for(key: &Key) -> Error {
    let refused = StoreError::Other {
        action: "lock",
        key: key.to_string(),
        what: "the store does not wait for a lock".to_owned(),
    };
    check_scope().map_or_else(Error::from, |()| refused.into())
}

fn read(
    mut lock: Box<dyn KeyLock>,
    key: &Key,
    limit: u64,
) -> Result<(Option<Pin>, LockedDocument)> {
    let fetched = with_files(|| lock.fetch(Of::Any, Want::Whole { limit }));
    let fetched = fetched.map_err(|error| of_document(error, limit))?;
    let (pin, value) = match fetched {
        Fetched::Parts { pin, parts, .. } => (Some(pin), parts.into_iter().next()),
        Fetched::Missing => (None, None),
        Fetched::Changed => {
            let changed = Error::from(EngineError::from(EngineCause::KeepsChanging));
            return Err(changed.in_document(Some(key.as_str())));
        }
    };
    Ok((pin, (value, Guard::Lock(SharedLock::new(lock)))))
}

/// A document that is about to be changed. While it is held, either others cannot change it, or
/// changes by others make publishing fail.
pub(crate) struct HeldDocument {
    storage: Storage,
    key: Key,
    value: Option<Bytes>,
    limits: Limits,
    guard: Guard,
    undo: Option<Undo>,
}

/// Takes back what was done in view of a new value.
type Undo = Box<dyn FnOnce(&HeldDocument) + Send>;

enum Guard {
    Lock(SharedLock),
    Condition(Precondition),
}

/// The lock of a document. Its condition looks at it while it is held. The lock is gone once it was
/// used to publish.
struct SharedLock(Arc<Mutex<Option<Box<dyn KeyLock>>>>);

impl SharedLock {
    fn new(lock: Box<dyn KeyLock>) -> Self {
        Self(Arc::new(Mutex::new(Some(lock))))
    }

    fn get(&self) -> MutexGuard<'_, Option<Box<dyn KeyLock>>> {
        // A panic leaves nothing guarded here half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails once the lock may have been lost.
    fn check(&self) -> Result<(), StoreError> {
        self.get().as_mut().map_or(Ok(()), |lock| lock.check())
    }

    /// The check, for work that may outlast the lock.
    fn condition(&self) -> Condition {
        // Work that was given up must not keep the lock.
        let lock = Arc::downgrade(&self.0);
        Box::new(move || match lock.upgrade() {
            Some(lock) => Self(lock).check(),
            None => Ok(()),
        })
    }

    /// Adds to the new value.
    fn append(&self, value: &[u8]) -> Result<(), StoreError> {
        self.get()
            .as_mut()
            .map_or(Ok(()), |lock| lock.append(value).map(drop))
    }

    /// Replaces the document by the new value.
    fn publish(&self) -> Result<(), StoreError> {
        self.take().map_or(Ok(()), |lock| lock.publish().map(drop))
    }

    fn erase(&self) -> Result<(), StoreError> {
        self.take().map_or(Ok(()), KeyLock::erase)
    }

    fn take(&self) -> Option<Box<dyn KeyLock>> {
        self.get().take()
    }
}

/// The end of a change of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    Yes,
    /// Another writer intervened; nothing was stored.
    No,
}

/// How often a change may be repeated because its lock was lost. Each attempt took longer than a
/// lease.
pub(crate) struct LostLocks {
    retries_left: u32,
}

impl Default for LostLocks {
    fn default() -> Self {
        Self { retries_left: 2 }
    }
}

impl LostLocks {
    /// Returns `true` if the caller may try again after publishing failed because the lock was
    /// lost, so that nothing was written.
    pub(crate) fn forgive(&mut self, error: &Error) -> bool {
        let forgiven = error.kind() == ErrorKind::Conflict && self.retries_left > 0;
        self.retries_left -= u32::from(forgiven);
        forgiven
    }
}

impl HeldDocument {
    /// Its value; `None` if it does not exist.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }

    /// Its value, shared.
    pub(crate) fn bytes(&self) -> Option<Bytes> {
        self.value.clone()
    }

    /// Returns `true` if others wait until it is published or dropped. Otherwise they proceed, and
    /// publishing may come too late.
    pub(crate) fn excludes_others(&self) -> bool {
        matches!(self.guard, Guard::Lock(_))
    }

    /// Returns `true` if calls of the store block.
    pub(crate) fn is_of_blocking_store(&self) -> bool {
        self.storage.is_blocking()
    }

    /// Fails once the lock may have been lost, so that others may hold the document.
    pub(crate) fn condition(&self) -> Option<Condition> {
        match &self.guard {
            Guard::Lock(lock) => Some(lock.condition()),
            Guard::Condition(_) => None,
        }
    }

    /// Does this unless a new value is published. It runs on the thread that drops the document,
    /// before others can hold it; after a publication that failed in the store, others may hold it
    /// by then.
    pub(crate) fn unless_published(&mut self, undo: impl FnOnce(&Self) + Send + 'static) {
        self.undo = Some(Box::new(undo));
    }

    /// Checks that [`publish`](Self::publish) is possible in this store, before extensive work.
    pub(crate) async fn check(&mut self, policy: ConcurrentUpdate) -> Result<()> {
        if self.excludes_others() || policy == ConcurrentUpdate::LastWriterWins {
            return Ok(());
        }
        // A condition that no value satisfies.
        let never = Precondition::Current(Pin::new(()));
        let value = self.value.clone().unwrap_or_default();
        match self.storage.put(&self.key, value, never).await? {
            Put::Unsupported => Err(self.cannot_take_turns()),
            Put::Done(_) | Put::Conflict => Ok(()),
        }
    }

    fn cannot_take_turns(&self) -> Error {
        let what = "this store has neither locks nor conditional writes, so that a change of a document could undo \
                    another's: it is made only if the last writer may win";
        Error::new(ErrorKind::NoLocking, what)
            .in_document(Some(self.key.as_str()))
            .in_store(|| self.storage.name())
    }

    /// Refuses a new value that could not be opened again.
    fn check_limits(&self, value: &[u8]) -> Result<()> {
        let key = self.key.as_str();
        self.limits.check_document(key, value).map_err(|error| {
            let what = "nothing was stored, since the new document could not be opened again";
            Error::from(error)
                .after(what)
                .in_store(|| self.storage.name())
        })
    }

    fn publish_locked(mut self, value: &[u8]) -> Result<(), EngineError> {
        if let Guard::Lock(lock) = &self.guard {
            lock.append(value)?;
        }
        unless_cancelled(|| {
            match std::mem::replace(&mut self.guard, Guard::Condition(Precondition::None)) {
                Guard::Lock(lock) => lock.publish(),
                Guard::Condition(_) => Ok(()),
            }
        })?;
        self.undo = None;
        Ok(())
    }

    /// Removes it; without a lock only what was read, where the store can tell.
    pub(crate) async fn erase(mut self) -> Result<()> {
        let storage = self.storage.clone();
        match std::mem::replace(&mut self.guard, Guard::Condition(Precondition::None)) {
            Guard::Lock(lock) => storage.named(unless_cancelled(|| lock.erase())),
            Guard::Condition(only_if) => match storage.erase_if(&self.key, only_if).await? {
                Put::Unsupported => storage.erase(self.key.as_str()).await,
                Put::Done(_) | Put::Conflict => Ok(()),
            },
        }
    }

    /// Replaces it, unless the new value exceeds the limits that the old one was read with.
    /// `policy` applies to a store that cannot serialize writers.
    pub(crate) async fn publish(
        mut self,
        value: &Bytes,
        policy: ConcurrentUpdate,
    ) -> Result<Published> {
        let storage = self.storage.clone();
        self.check_limits(value)?;
        let only_if = match &self.guard {
            Guard::Lock(_) => {
                storage.named(self.publish_locked(value))?;
                return Ok(Published::Yes);
            }
            Guard::Condition(only_if) => only_if.clone(),
        };
        let mut put = storage.put(&self.key, value.clone(), only_if).await?;
        if matches!(put, Put::Unsupported) && policy == ConcurrentUpdate::LastWriterWins {
            put = storage
                .put(&self.key, value.clone(), Precondition::None)
                .await?;
        }
        match put {
            Put::Done(_) => {
                self.undo = None;
                Ok(Published::Yes)
            }
            Put::Conflict => Ok(Published::No),
            Put::Unsupported => Err(self.cannot_take_turns()),
        }
    }
}

impl Drop for HeldDocument {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            // This has to be done although the call was cancelled. A second panic on a thread that
            // unwinds would end the process. The first one matters.
            let undone = in_scope(None, || catch_unwind(AssertUnwindSafe(|| undo(self))));
            if let Err(panic) = undone
                && !std::thread::panicking()
            {
                resume_unwind(panic);
            }
        }
    }
}
