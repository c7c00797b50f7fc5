//! `KeyChange`: what a write does with a key in the end, under its lock or on a condition.

use bytes::Bytes;
use ndzarr_store::{Key, Precondition, Put};

use crate::EngineCause;
use crate::threads::io::Io;
use crate::threads::turn::Turn;

/// The change to a key.
#[derive(Debug)]
pub(crate) enum KeyChange {
    /// Store the concatenation of these parts after the bytes written under the lock.
    Publish(Vec<Bytes>),
    /// Remove the value, if one exists.
    Erase,
    /// Nothing: it already has the right value.
    Keep,
}

impl KeyChange {
    /// Does it under the lock of the key, and frees the lock. The permit to compute ends when the
    /// store has all bytes.
    pub(crate) fn publish<P>(mut self, mut turn: Turn, permit: P) -> Result<(), EngineCause> {
        if let Self::Publish(parts) = &mut self {
            // The memory of each is free before the store waits for its disk, and the next thread
            // with a permit reuses it.
            for part in parts.drain(..) {
                turn.append(&part)?;
            }
        }
        drop(permit);
        match self {
            Self::Publish(_) => turn.publish(),
            Self::Erase => turn.erase(),
            Self::Keep => Ok(()),
        }
    }

    /// Does it without a lock.
    pub(crate) async fn put<I: Io>(
        &self,
        io: &I,
        key: &Key,
        only_if: Precondition,
    ) -> Result<Put, EngineCause> {
        match self {
            Self::Publish(parts) => io.put(key, parts, only_if).await,
            Self::Erase => io.erase(key, only_if).await,
            Self::Keep => Ok(Put::Done(None)),
        }
    }
}
