//! The threads on which changes run.

use std::cell::Cell;
use std::time::Duration;
use std::{io, thread};

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is one on which [`queue_change`](crate::queue_change) or [`start_change`] runs changes.
#[must_use]
pub fn is_change_thread() -> bool {
    IS_OWN.get()
}

/// Runs a change on a thread of its own, at once: one for which a change that holds locks may wait, and
/// which therefore must not queue.
///
/// # Errors
/// No thread can be started.
pub fn start_change(job: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mark = move || {
        IS_OWN.set(true);
        job();
    };
    thread::Builder::new().name("ndzarr-change".to_owned()).spawn(mark).map(drop)
}

pub(crate) fn pause(time: Duration) {
    thread::sleep(time);
}
