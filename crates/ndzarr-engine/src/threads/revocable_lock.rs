//! `RevocableLock`: the lock of a key, until it is used up or its writer's work is cancelled.

use ndzarr_store::{KeyLock, StoreError};

use super::EngineCause;
use super::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The lock of a key, which a writer uses and cancellation takes away. Clones are the same lock.
#[derive(Clone)]
pub(super) struct RevocableLock(Arc<Mutex<State>>);

enum State {
    Held(Box<dyn KeyLock>),
    /// In use by its holder.
    Lent,
    /// Used to publish or erase, or taken away.
    Gone,
}

impl RevocableLock {
    pub(super) fn new(lock: Box<dyn KeyLock>) -> Self {
        Self(Arc::new(Mutex::new(State::Held(lock))))
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Releases the lock. If it is in use, its user finds it gone and releases it.
    pub(super) fn revoke(&self) {
        let lock = self.replace(State::Gone);
        drop(lock);
    }

    /// Takes the lock, for an operation that ends it.
    ///
    /// # Errors
    /// It was taken away.
    pub(super) fn take(&self) -> Result<Box<dyn KeyLock>, EngineCause> {
        match self.replace(State::Gone) {
            State::Held(lock) => Ok(lock),
            State::Lent | State::Gone => Err(EngineCause::Cancelled),
        }
    }

    /// Uses the lock.
    ///
    /// # Errors
    /// It was taken away, before or meanwhile; errors of `action`.
    pub(super) fn with<T>(
        &self,
        action: impl FnOnce(&mut dyn KeyLock) -> Result<T, StoreError>,
    ) -> Result<T, EngineCause> {
        // In a separate statement: a `match` on it would keep the state locked in its arms.
        let lent = self.replace(State::Lent);
        let State::Held(mut lock) = lent else {
            *self.state() = State::Gone;
            return Err(EngineCause::Cancelled);
        };
        let done = action(&mut *lock);
        let mut state = self.state();
        if matches!(*state, State::Gone) {
            return Err(EngineCause::Cancelled);
        }
        *state = State::Held(lock);
        Ok(done?)
    }

    /// The state is unlocked again when this returns: to release a lock may take time.
    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.state(), state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
