//! Values that each process has of its own. A forked child does not have its parent's threads, and
//! a lock that one of them held stays locked in the child.

use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use once_cell::race::OnceBox;

/// A value that is made once in each process.
///
/// It is made without a lock, which a child could find locked for ever: if several threads come
/// first at the same time, each makes a value, and one of these stays.
#[derive(Debug)]
pub struct PerProcess<T>(OnceBox<Own<T>>);

#[derive(Debug)]
struct Own<T> {
    process: u32,
    value: T,
    /// The value of a forked child.
    child: OnceBox<Own<T>>,
}

impl<T> Own<T> {
    fn new(process: u32, value: T) -> Box<Self> {
        Box::new(Self {
            process,
            value,
            child: OnceBox::new(),
        })
    }
}

impl<T> PerProcess<T> {
    /// No value yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceBox::new())
    }

    /// Starts with the value of this process. A child makes another one.
    #[must_use]
    pub fn with_value(value: T) -> Self {
        Self(OnceBox::with_value(Own::new(this_process(), value)))
    }

    /// The value of this process; `make` is given the number of the process.
    pub fn get(&self, make: impl Fn(u32) -> T) -> &T {
        let id = this_process();
        let new = || Own::new(id, make(id));
        let mut own = self.0.get_or_init(new);
        while own.process != id {
            own = own.child.get_or_init(new);
        }
        &own.value
    }

    /// Uses a value that only saves work, such as a cache. Unlike [`get`](Self::get) it asks the
    /// system for the process only where a lock is not free.
    ///
    /// `attempt` uses the value that the first process made, and returns `None` if one of its locks
    /// is not free. Then `wait` uses the value of this process. A child shares what its parent knew
    /// until it finds a lock taken, which may stay so for ever, and begins anew from then on.
    pub fn inherited<'s, R>(
        &'s self,
        make: impl Fn() -> T,
        attempt: impl FnOnce(&'s T) -> Option<R>,
        wait: impl FnOnce(&'s T) -> R,
    ) -> R {
        let first = self.0.get_or_init(|| Own::new(this_process(), make()));
        let a_child_began_anew = first.child.get().is_some();
        let result = if a_child_began_anew {
            None
        } else {
            attempt(&first.value)
        };
        result.unwrap_or_else(|| wait(self.get(|_| make())))
    }
}

impl<T: Default> PerProcess<Mutex<T>> {
    /// Locks a value that only saves work: see [`inherited`](Self::inherited). Code that panics
    /// under the lock must leave it intact.
    pub fn lock_inherited(&self) -> MutexGuard<'_, T> {
        self.inherited(Mutex::default, try_lock, lock)
    }

    /// Locks the value of this process. Code that panics under the lock must leave it intact.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        lock(self.get(|_| Mutex::default()))
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The number of this process; zero on systems without processes.
pub(crate) fn this_process() -> u32 {
    if cfg!(target_family = "wasm") {
        0
    } else {
        process::id()
    }
}

/// The lock, unless it is held.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
