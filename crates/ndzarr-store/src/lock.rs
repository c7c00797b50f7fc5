//! Locks of keys, and values that are written before they are published.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;

use crate::{Fetched, Of, Pin, StoreError, Want};

/// How long to wait for a lock that is taken.
#[derive(Clone, Copy)]
pub enum Wait<'w> {
    /// Not at all: the answer is [`Locked::Busy`].
    Try,
    /// As long as it takes.
    Block,
    /// As long as this returns `true`; then the answer is [`Locked::Busy`]. The store calls it
    /// every few milliseconds.
    While(&'w (dyn Fn() -> bool + Sync)),
}

impl Wait<'_> {
    /// Waits by retrying, with pauses that grow from 50 µs to 5 ms: for stores whose locks can only
    /// be tried. `attempt` returns `None` while the lock is taken. `None` when the wait has ended.
    ///
    /// # Errors
    /// The error of an attempt.
    pub fn by_trying<T, E>(
        self,
        mut attempt: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(taken) = attempt()? {
                return Ok(Some(taken));
            }
            match self {
                Self::Block => {}
                Self::While(goes_on) if goes_on() => {}
                Self::Try | Self::While(_) => return Ok(None),
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }
}

impl fmt::Debug for Wait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Try => "Try",
            Self::Block => "Block",
            Self::While(_) => "While",
        })
    }
}

/// The answer to [`Store::lock`](crate::Store::lock).
pub enum Locked {
    /// The lock is held until the value is dropped, published or erased.
    Held(Box<dyn KeyLock>),
    /// Another writer holds it.
    Busy,
    /// The store, or the system below it, has no locks.
    Unsupported,
}

impl fmt::Debug for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held(_) => "Held",
            Self::Busy => "Busy",
            Self::Unsupported => "Unsupported",
        })
    }
}

/// A write lock, held by the owner of this value, which may move to another thread. Dropping it
/// keeps the old value and unlocks.
pub trait KeyLock: Send {
    /// Reads the value of the locked key.
    ///
    /// # Errors
    /// As for [`Store::fetch`](crate::Store::fetch).
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError>;

    /// Also locks out programs that write the present value in place under a lock of the value
    /// itself, as Java N5 does, so that what is read under this lock from now on is what is
    /// replaced. `false` when the wait has ended. By default there are no such programs.
    ///
    /// # Errors
    /// As for [`Store::lock`](crate::Store::lock).
    fn lock_value(&mut self, wait: Wait<'_>) -> Result<bool, StoreError> {
        let _ = wait;
        Ok(true)
    }

    /// Appends to the new value, which is not visible yet. Returns where the part starts, in bytes.
    ///
    /// # Errors
    /// If the store fails; the old value stays.
    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError>;

    /// Writes into the new value at a position, which may be beyond its end (the gap is zero).
    ///
    /// # Errors
    /// If the store fails; the old value stays.
    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError>;

    /// Copies a range of bytes of the key's present value into the new value, as
    /// [`write_at`](Self::write_at) would. `pin` comes from an answer of [`fetch`](Self::fetch).
    /// Returns `false`, the default, if the store cannot do this better than the caller; nothing
    /// was written then. Some file systems let both values share blocks.
    ///
    /// # Errors
    /// If the store fails; the old value stays.
    fn copy_at(&mut self, at: u64, pin: &Pin, range: Range<u64>) -> Result<bool, StoreError> {
        let _ = (at, pin, range);
        Ok(false)
    }

    /// Checks that the lock is still held, as far as this costs no request: other values may be
    /// changed under it. By default it always is.
    ///
    /// # Errors
    /// [`LockLost`](StoreError::LockLost).
    fn check(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Makes the new value the value of the key, and unlocks. Without a part the value is empty.
    ///
    /// # Errors
    /// As for [`Store::put`](crate::Store::put); if a part could not be written.
    fn publish(self: Box<Self>) -> Result<Pin, StoreError>;

    /// Removes the value of the key, and unlocks. What was appended is dropped.
    ///
    /// # Errors
    /// If the store fails.
    fn erase(self: Box<Self>) -> Result<(), StoreError>;
}

/// A new value that is written before it replaces the value of its key. Several threads may write
/// to it. Dropping it leaves no trace; what a killed process leaves is reused by the next temporary
/// for the same key.
pub trait Temporary: fmt::Debug + Send + Sync {
    /// Appends a part. Returns where it starts, in bytes.
    ///
    /// # Errors
    /// If the store fails; the temporary can then no longer be published.
    fn append(&self, part: &[u8]) -> Result<u64, StoreError>;

    /// Writes over bytes that were appended before.
    ///
    /// # Errors
    /// As for [`append`](Self::append).
    fn write_at(&self, at: u64, part: &[u8]) -> Result<(), StoreError>;

    /// Reads bytes that were appended before.
    ///
    /// # Errors
    /// If the store fails.
    fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError>;

    /// Makes it the value of its key. `lock` is the key's lock, which this releases.
    ///
    /// # Errors
    /// As for [`Store::put`](crate::Store::put).
    fn publish(self: Box<Self>, lock: Box<dyn KeyLock>) -> Result<Pin, StoreError>;

    /// [`publish`](Self::publish) as it was when it could keep the value before.
    ///
    /// # Errors
    /// As for [`publish`](Self::publish).
    #[doc(hidden)]
    #[deprecated(note = "the library writes no value again, and does not call it")]
    fn exchange(
        self: Box<Self>,
        lock: Box<dyn KeyLock>,
        _old: &Pin,
    ) -> Result<(Pin, Option<Box<dyn Temporary>>), StoreError> {
        Ok((self.publish(lock)?, None))
    }

    /// Keeps only the first `len` bytes of a value that [`exchange`](Self::exchange) returned:
    /// `false`, since it returned none.
    ///
    /// # Errors
    /// None.
    #[doc(hidden)]
    #[deprecated(note = "the library writes no value again, and does not call it")]
    fn shorten(&self, _len: u64) -> Result<bool, StoreError> {
        Ok(false)
    }
}

/// The answer of the former `Temporary::exchange`.
#[doc(hidden)]
#[deprecated(note = "the library writes no value again")]
pub type Exchanged = (Pin, Option<Box<dyn Temporary>>);
