//! Waits for a lock that another writer holds.

use std::io;
use std::path::Path;
use std::time::Duration;

use ndzarr_store::Wait;

use crate::locks::lock_error::TooLong;
use crate::system::syscalls::Syscalls;

/// Pauses between attempts: they begin short and double.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_micros(50);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// The pauses between the attempts to take a lock.
pub(crate) struct Pauses<'w> {
    sys: &'w dyn Syscalls,
    wait: Wait<'w>,
    /// How long to wait for another writer; `None`: as long as it takes.
    limit: Option<Duration>,
    start: Duration,
    next: Duration,
}

impl<'w> Pauses<'w> {
    /// Begins to wait.
    pub(crate) fn new(sys: &'w dyn Syscalls, wait: Wait<'w>, limit: Option<Duration>) -> Self {
        Self {
            sys,
            wait,
            limit,
            start: sys.now(),
            next: FIRST_PAUSE,
        }
    }

    /// Pauses, since another writer has the lock; `false` if the caller does not want to wait any
    /// longer.
    ///
    /// # Errors
    /// The wait timed out: [`TooLong`].
    pub(crate) fn wait_for(&mut self, lock: &Path, holder: Option<String>) -> io::Result<bool> {
        match self.wait {
            Wait::Block => {}
            Wait::While(goes_on) if goes_on() => {}
            Wait::Try | Wait::While(_) => return Ok(false),
        }
        let waited = self.sys.now().saturating_sub(self.start);
        let left = self
            .limit
            .map_or(self.next, |limit| limit.saturating_sub(waited));
        if left.is_zero() {
            return Err(TooLong {
                lock: lock.to_owned(),
                waited,
                holder,
            }
            .into());
        }
        self.pause(left);
        Ok(true)
    }

    /// Pauses, for no longer than `most`.
    pub(crate) fn pause(&mut self, most: Duration) {
        self.sys.pause(self.next.min(most));
        self.next = (self.next * 2).min(LONGEST_PAUSE);
    }
}
