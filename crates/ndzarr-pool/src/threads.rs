//! The threads on which changes run.

use std::cell::Cell;
use std::time::Duration;
use std::{io, thread};

thread_local! {
    static IS_CHANGE_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// True if [`queue_change`](crate::queue_change) or [`start_change`] runs changes on this thread.
#[must_use]
pub fn is_change_thread() -> bool {
    IS_CHANGE_THREAD.get()
}

/// Runs a change at once, on a new thread. A change that holds locks may wait for this one, so it
/// must not queue.
///
/// # Errors
/// No thread can be started.
pub fn start_change(job: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let run = move || {
        IS_CHANGE_THREAD.set(true);
        job();
    };
    thread::Builder::new()
        .name("ndzarr-change".to_owned())
        .spawn(run)
        .map(drop)
}

pub(crate) fn pause(time: Duration) {
    thread::sleep(time);
}
