//! Scratch memory: a workspace for each thread that computes.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use ndzarr_codec::Workspace;
use ndzarr_store::block_on;

use crate::threads::budget::{Budget, Share};

thread_local! {
    static WORKSPACE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

/// Lends the calling thread's workspace. A nested call gets a separate one.
pub(crate) fn with_workspace<R>(run: impl FnOnce(&mut Workspace) -> R) -> R {
    let mut workspace = WORKSPACE.take().unwrap_or_default();
    let result = run(&mut workspace);
    WORKSPACE.set(Some(workspace));
    result
}

/// Permits to compute, for more threads than may compute at once. Each has a workspace, so that
/// only computing threads have scratch memory.
pub(crate) struct Permits {
    budget: Budget,
    /// Workspaces of the free permits.
    workspaces: Mutex<Vec<Workspace>>,
}

/// A permit held by a thread, whose workspace is the thread's during that time. It is dropped on
/// that thread.
pub(crate) struct Permit<'p> {
    permits: &'p Permits,
    own: Option<Box<Workspace>>,
    _share: Share,
}

impl Permits {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            budget: Budget::new(n as u64),
            workspaces: Mutex::default(),
        }
    }

    /// Waits for a permit.
    pub(crate) fn take(&self) -> Permit<'_> {
        let share = block_on(self.budget.take(1));
        let workspace = self
            .workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let own = WORKSPACE.replace(workspace.map(Box::new));
        Permit {
            permits: self,
            own,
            _share: share,
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        // Before the permit is free, so that the next thread finds the workspace.
        if let Some(workspace) = WORKSPACE.replace(self.own.take()) {
            self.permits
                .workspaces
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(*workspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn give(capacity: usize) {
        with_workspace(|workspace| workspace.give_bytes(Vec::with_capacity(capacity)));
    }

    fn take() -> usize {
        with_workspace(|workspace| workspace.take_bytes().capacity())
    }

    #[test]
    fn memory_stays_with_the_permit() {
        let permits = Permits::new(1);
        give(100);
        let permit = permits.take();
        assert_eq!(take(), 0, "the thread's own is put aside");
        give(200);
        drop(permit);
        let other = std::thread::scope(|scope| {
            let other = || {
                let _permit = permits.take();
                let found = take();
                give(300);
                found
            };
            scope.spawn(other).join().expect("no panic")
        });
        assert_eq!(other, 200);
        assert_eq!(take(), 100, "the thread has its own again");
        let _permit = permits.take();
        assert_eq!(take(), 300);
    }
}
