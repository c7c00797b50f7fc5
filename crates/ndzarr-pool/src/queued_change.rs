//! Hands changes over to the threads of this process.

use std::io;

use ndzarr_store::PerProcess;

use crate::changes::{Changes, Withdrawn};
use crate::sync::Arc;

/// Threads do not survive a fork, so a child has its own.
static CHANGES: PerProcess<Arc<Changes>> = PerProcess::new();

/// The number of threads for the changes of one store, unless all of them are blocked.
const USUAL_THREADS: usize = 16;

/// A change that waits for its turn, or has begun. Dropping it withdraws a change that has not
/// begun.
#[derive(Debug)]
pub struct QueuedChange {
    store: String,
    number: u64,
}

impl QueuedChange {
    /// Withdraws the change, unless it has begun.
    pub fn withdraw(&self) -> Withdrawn {
        changes().withdraw(&self.store, self.number)
    }
}

impl Drop for QueuedChange {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// Runs a job that changes the store of this name, and may wait for locks, on a thread that is not
/// the pool's. If the job panics, the panic is lost.
///
/// 16 threads run the jobs of a store, in order. When no job has begun for some milliseconds
/// although some wait, another thread is started for the newest one: running jobs may wait for it.
/// A wrong name costs only time. The system must have threads: see
/// [`HAS_THREADS`](crate::HAS_THREADS).
///
/// # Errors
/// No thread can be started.
pub fn queue_change(store: &str, job: impl FnOnce() + Send + 'static) -> io::Result<QueuedChange> {
    let number = changes().push(store, Box::new(job))?;
    Ok(QueuedChange {
        store: store.to_owned(),
        number,
    })
}

fn changes() -> &'static Arc<Changes> {
    // Numbers begin with the process, so that a forked child that drops a change of its parent does
    // not withdraw one of its own.
    CHANGES.get(|process| Changes::new(USUAL_THREADS, u64::from(process) << 32))
}
