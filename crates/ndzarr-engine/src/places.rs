//! Places for the threads that compute, where more threads wait than may do that.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use ndzarr_codec::Workspace;
use ndzarr_store::block_on;

use crate::budget::{Budget, Share};
use crate::parallel::exchange_workspace;

/// So many places. Each has a workspace, so that there is scratch memory for those that compute and not for those that wait.
pub(crate) struct Places {
    budget: Budget,
    /// Those of the places that nobody has.
    workspaces: Mutex<Vec<Workspace>>,
}

/// A thread's stay at a place, whose workspace is the thread's as long as this lives.
pub(crate) struct Place<'p> {
    places: &'p Places,
    own: Option<Box<Workspace>>,
    _share: Share,
    /// The workspace goes back to the thread that it came from.
    _thread: PhantomData<*const ()>,
}

impl Places {
    pub(crate) fn new(n: usize) -> Self {
        Self { budget: Budget::new(n as u64), workspaces: Mutex::default() }
    }

    /// Waits for a place.
    pub(crate) fn take(&self) -> Place<'_> {
        let share = block_on(self.budget.take(1));
        let workspace = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Place {
            places: self,
            own: exchange_workspace(workspace.map(Box::new)),
            _share: share,
            _thread: PhantomData,
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // Before the place is free: who takes it finds the workspace.
        if let Some(workspace) = exchange_workspace(self.own.take()) {
            self.places.workspaces.lock().unwrap_or_else(PoisonError::into_inner).push(*workspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::with_workspace;

    fn give(capacity: usize) {
        with_workspace(|workspace| workspace.give_bytes(Vec::with_capacity(capacity)));
    }

    fn take() -> usize {
        with_workspace(|workspace| workspace.take_bytes().capacity())
    }

    #[test]
    fn memory_stays_with_the_place() {
        let places = Places::new(1);
        give(100);
        let place = places.take();
        assert_eq!(take(), 0, "the thread's own is put aside");
        give(200);
        drop(place);
        let other = std::thread::scope(|scope| {
            let other = || {
                let _place = places.take();
                let found = take();
                give(300);
                found
            };
            scope.spawn(other).join().expect("no panic")
        });
        assert_eq!(other, 200);
        assert_eq!(take(), 100, "the thread has its own again");
        let _place = places.take();
        assert_eq!(take(), 300);
    }
}
