//! Documents that are read to be changed.

use bytes::Bytes;
use ndzarr_engine::ConcurrentUpdate;
use ndzarr_metadata::Limits;
use ndzarr_store::{Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Put, StoreError, Wait, Want};

use super::{Kind, Storage};
use crate::error::{Error, ErrorKind, Result};

impl Storage {
    /// Reads a document to change it: under its lock, where the store has such.
    pub(crate) async fn hold(&self, key: &str, limits: &Limits) -> Result<HeldDocument<'_>> {
        let in_store = |error: StoreError| Error::from(error).in_store(|| self.name());
        let key = Key::new(key).map_err(in_store)?;
        let limit = limits.document_bytes;
        if let Kind::Blocking(store) = &self.0
            && let Locked::Held(mut lock) = store.lock(&key, Wait::Block).map_err(in_store)?
        {
            let value = match lock.fetch(Of::Any, Want::Whole { limit }).map_err(in_store)? {
                Fetched::Parts { parts, .. } => parts.into_iter().next(),
                Fetched::Missing | Fetched::Changed => None,
            };
            return Ok(HeldDocument { storage: self, key, value, guard: Guard::Lock(lock) });
        }
        let (pin, value) = self.document(key.as_str(), limit).await?.unzip();
        let only_if = pin.map_or(Precondition::Absent, Precondition::Current);
        Ok(HeldDocument { storage: self, key, value, guard: Guard::Condition(only_if) })
    }
}

/// A document that is about to be changed. As long as it is held, others cannot change it, or the change is refused if
/// they did.
pub(crate) struct HeldDocument<'s> {
    storage: &'s Storage,
    key: Key,
    value: Option<Bytes>,
    guard: Guard,
}

enum Guard {
    Lock(Box<dyn KeyLock>),
    Condition(Precondition),
}

/// Whether a changed document was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    Yes,
    /// Another writer came in between; nothing was stored.
    No,
}

impl HeldDocument<'_> {
    /// What it is; `None`: it is not there.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }

    /// As [`value`](Self::value), without a copy.
    pub(crate) fn bytes(&self) -> Option<Bytes> {
        self.value.clone()
    }

    /// Whether others wait until it is published or dropped. Else they go on, and publishing may come too late.
    pub(crate) fn excludes_others(&self) -> bool {
        matches!(self.guard, Guard::Lock(_))
    }

    /// Finds out whether [`publish`](Self::publish) is possible in this store, where much is done before it.
    pub(crate) async fn check(&self, policy: ConcurrentUpdate) -> Result<()> {
        if self.excludes_others() || policy == ConcurrentUpdate::LastWriterWins {
            return Ok(());
        }
        // A condition that holds of no value.
        let never = Precondition::Current(Pin::new(()));
        let value = self.value.clone().unwrap_or_default();
        let put = self.storage.put(&self.key, value, never).await;
        match put.map_err(|error| Error::from(error).in_store(|| self.storage.name()))? {
            Put::Unsupported => Err(self.cannot_take_turns()),
            Put::Done(_) | Put::Conflict => Ok(()),
        }
    }

    fn cannot_take_turns(&self) -> Error {
        let what = "this store has neither locks nor conditional writes, so that a change of a document could undo \
                    another's; ConcurrentUpdate::LastWriterWins makes it all the same";
        Error::new(ErrorKind::CannotMerge, what)
            .in_document(Some(self.key.as_str()))
            .in_store(|| self.storage.name())
    }

    /// Replaces it. `policy` says what happens in a store where writers cannot take turns.
    pub(crate) async fn publish(mut self, value: &Bytes, policy: ConcurrentUpdate) -> Result<Published> {
        let storage = self.storage;
        let in_store = |error: StoreError| Error::from(error).in_store(|| storage.name());
        let only_if = match std::mem::replace(&mut self.guard, Guard::Condition(Precondition::None)) {
            Guard::Lock(mut lock) => {
                lock.append(value).map_err(in_store)?;
                lock.publish().map_err(in_store)?;
                return Ok(Published::Yes);
            }
            Guard::Condition(only_if) => only_if,
        };
        let mut put = storage.put(&self.key, value.clone(), only_if).await.map_err(in_store)?;
        if matches!(put, Put::Unsupported) && policy == ConcurrentUpdate::LastWriterWins {
            put = storage.put(&self.key, value.clone(), Precondition::None).await.map_err(in_store)?;
        }
        match put {
            Put::Done(_) => Ok(Published::Yes),
            Put::Conflict => Ok(Published::No),
            Put::Unsupported => Err(self.cannot_take_turns()),
        }
    }
}
