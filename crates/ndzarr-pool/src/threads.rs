//! The threads on which changes run.

use std::cell::Cell;
use std::time::Duration;
use std::{io, thread};

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is one on which [`queue_change`](crate::queue_change) runs changes.
#[must_use]
pub fn is_change_thread() -> bool {
    IS_OWN.get()
}

/// Starts a thread for changes.
pub(crate) fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mark = move || {
        IS_OWN.set(true);
        work();
    };
    thread::Builder::new().name("ndzarr-change".to_owned()).spawn(mark).map(drop)
}

pub(crate) fn pause(time: Duration) {
    thread::sleep(time);
}
