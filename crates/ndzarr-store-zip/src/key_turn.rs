//! `Turns`: writers of one key of an archive take turns.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ndzarr_store::{Key, Wait};

/// The pause after which a waiting writer asks again whether it should go on waiting.
const PAUSE: Duration = Duration::from_millis(5);

/// The keys that are being written.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    taken: Mutex<HashSet<Key>>,
    freed: Condvar,
}

/// The right to write a key. Dropping it lets others write.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    key: Key,
}

impl Turns {
    fn taken(&self) -> MutexGuard<'_, HashSet<Key>> {
        // The set is changed by single calls, so a poisoned one is intact.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a key; `None` if it is taken and the wait has ended.
    pub(crate) fn take(self: &Arc<Self>, key: &Key, wait: Wait<'_>) -> Option<Turn> {
        let mut taken = self.taken();
        while taken.contains(key) {
            taken = match wait {
                Wait::Try => return None,
                Wait::Block => self
                    .freed
                    .wait(taken)
                    .unwrap_or_else(PoisonError::into_inner),
                Wait::While(goes_on) => {
                    // The caller's closure may do anything, so it must not run under the mutex.
                    drop(taken);
                    if !goes_on() {
                        return None;
                    }
                    let taken = self.taken();
                    if taken.contains(key) {
                        self.freed
                            .wait_timeout(taken, PAUSE)
                            .unwrap_or_else(PoisonError::into_inner)
                            .0
                    } else {
                        taken
                    }
                }
            };
        }
        taken.insert(key.clone());
        Some(Turn {
            turns: Arc::clone(self),
            key: key.clone(),
        })
    }

    /// Waits for a key, however long it takes.
    pub(crate) fn wait(self: &Arc<Self>, key: &Key) -> Turn {
        loop {
            if let Some(turn) = self.take(key, Wait::Block) {
                return turn;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.taken().remove(&self.key);
        self.turns.freed.notify_all();
    }
}
