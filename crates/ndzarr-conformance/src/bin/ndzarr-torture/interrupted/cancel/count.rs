//! The kinds of calls that are dropped, and their counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A call that can be dropped.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Append,
    Write,
    Finish,
    Resize,
    Create,
}

pub(super) const KINDS: [(Kind, &str); 5] = [
    (Kind::Append, "append_async"),
    (Kind::Write, "write_async"),
    (Kind::Finish, "finish_async of a shard writer"),
    (Kind::Resize, "resize_async"),
    (Kind::Create, "create_async"),
];

#[derive(Default)]
pub(super) struct Count {
    pub(super) acknowledged: AtomicU64,
    /// By kind, while they were pending.
    pub(super) dropped: [AtomicU64; KINDS.len()],
    pub(super) lost: Mutex<Vec<String>>,
}

impl Count {
    pub(super) fn all_dropped(&self) -> u64 {
        self.dropped
            .iter()
            .map(|dropped| dropped.load(Relaxed))
            .sum()
    }

    pub(super) fn lost(&self, what: String) {
        self.lost
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what);
    }
}
