//! `Turn`: a writer that holds the lock of a key, until it publishes or is cancelled.

use std::ops::Range;

use ndzarr_store::{Fetched, Key, KeyLock, Locked, Of, Pin, Store, StoreError, Wait, Want};

use super::EngineCause;
use super::cache::with_files;
use super::cancel::{Cancel, Publishing, Under, check_cancel};
use super::revocable_lock::RevocableLock;

/// The reaction to a lock that another writer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// The attempt ends.
    Try,
    /// It waits until the lock is free or the work is stopped.
    Wait,
}

impl Patience {
    fn wait<'w>(self, goes_on: &'w (dyn Fn() -> bool + Sync)) -> Wait<'w> {
        match self {
            Self::Try => Wait::Try,
            Self::Wait => Wait::While(goes_on),
        }
    }

    /// Accepts that a lock is taken, at the end of an attempt.
    ///
    /// # Errors
    /// It was to be waited for: the store does not keep its promise.
    fn accept_busy(self, key: &Key) -> Result<(), EngineCause> {
        match self {
            Self::Try => Ok(()),
            Self::Wait => {
                let what = "the store does not wait for a lock".to_owned();
                Err(StoreError::Other {
                    action: "lock",
                    key: key.to_string(),
                    what,
                }
                .into())
            }
        }
    }
}

/// A writer's turn: holds the lock of a key until its work is stopped.
///
/// Publishing takes the lock itself, and [`Cancel::cancel`] takes it away. So stopped work can
/// neither publish nor keep others waiting, however long it continues to compute.
pub(crate) struct Turn {
    lock: RevocableLock,
    cancel: Option<Cancel>,
}

/// The result of [`Turn::take`].
pub(crate) enum Taken {
    Turn(Turn),
    /// Another writer holds the lock: the end of an attempt, never of a wait.
    Busy,
    /// The store has no locks.
    Unsupported,
}

impl Turn {
    pub(crate) fn take(
        store: &dyn Store,
        key: &Key,
        patience: Patience,
        cancel: Option<&Cancel>,
    ) -> Result<Taken, EngineCause> {
        let goes_on = || check_cancel(cancel).is_ok();
        match with_files(|| store.lock(key, patience.wait(&goes_on)))? {
            Locked::Held(lock) => Self::of(lock, cancel).map(Taken::Turn),
            Locked::Unsupported => Ok(Taken::Unsupported),
            Locked::Busy => {
                check_cancel(cancel)?;
                patience.accept_busy(key).map(|()| Taken::Busy)
            }
        }
    }

    /// Holds a lock for some work and for every whole that it is part of: each can take it away.
    fn of(lock: Box<dyn KeyLock>, cancel: Option<&Cancel>) -> Result<Self, EngineCause> {
        let turn = Self {
            lock: RevocableLock::new(lock),
            cancel: cancel.cloned(),
        };
        if let Some(cancel) = &turn.cancel {
            cancel.hold(&turn.lock)?;
        }
        Ok(turn)
    }

    /// Also keeps out programs that lock the value itself; `false` if one of them has it, at the
    /// end of an attempt. `key` is that of the turn.
    pub(crate) fn lock_value(
        &mut self,
        key: &Key,
        patience: Patience,
    ) -> Result<bool, EngineCause> {
        let cancel = self.cancel.clone();
        let goes_on = || check_cancel(cancel.as_ref()).is_ok();
        let is_held = self
            .lock
            .with(|lock| with_files(|| lock.lock_value(patience.wait(&goes_on))))?;
        check_cancel(cancel.as_ref())?;
        if !is_held {
            patience.accept_busy(key)?;
        }
        Ok(is_held)
    }

    pub(crate) fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, EngineCause> {
        self.lock
            .with(|lock| with_files(|| lock.fetch(of.clone(), want.clone())))
    }

    pub(crate) fn append(&mut self, part: &[u8]) -> Result<u64, EngineCause> {
        self.lock.with(|lock| lock.append(part))
    }

    pub(crate) fn copy_at(
        &mut self,
        at: u64,
        pin: &Pin,
        range: Range<u64>,
    ) -> Result<bool, EngineCause> {
        self.lock.with(|lock| lock.copy_at(at, pin, range.clone()))
    }

    pub(crate) fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), EngineCause> {
        self.lock.with(|lock| lock.write_at(at, part))
    }

    /// Makes what was written the value of the key.
    pub(crate) fn publish(self) -> Result<(), EngineCause> {
        self.end(|lock| lock.publish().map(drop))
    }

    /// Removes the value of the key.
    pub(crate) fn erase(self) -> Result<(), EngineCause> {
        self.end(|lock| lock.erase())
    }

    /// Ends the turn with an operation that consumes the lock and that others must see.
    pub(crate) fn end<T>(
        self,
        publish: impl FnOnce(Box<dyn KeyLock>) -> Result<T, StoreError>,
    ) -> Result<T, EngineCause> {
        let _publishing = Publishing::begin(self.cancel.as_ref(), Under::Lock)?;
        let lock = self.lock.take()?;
        Ok(publish(lock)?)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(cancel) = &self.cancel {
            cancel.forget_lock(&self.lock);
        }
        self.lock.revoke();
    }
}
