//! A gate at which threads of a test wait.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};

/// A gate that is shut at first. Its clones are the same gate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<Shared>);

#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    /// How often a thread came to the gate.
    came: usize,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("no panic")
    }

    pub(crate) fn open(&self) {
        self.state().is_open = true;
        self.0.changed.notify_all();
    }

    pub(crate) fn shut(&self) {
        self.state().is_open = false;
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state().is_open
    }

    /// Comes to the gate, and waits until it is open.
    pub(crate) fn pass(&self) {
        self.come();
        drop(
            self.0
                .changed
                .wait_while(self.state(), |state| !state.is_open)
                .expect("no panic"),
        );
    }

    /// Comes to the gate without waiting.
    pub(crate) fn come(&self) {
        self.state().came += 1;
        self.0.changed.notify_all();
    }

    pub(crate) fn came(&self) -> usize {
        self.state().came
    }

    /// Waits until threads came to the gate this often.
    pub(crate) fn wait_for(&self, n: usize) {
        drop(
            self.0
                .changed
                .wait_while(self.state(), |state| state.came < n)
                .expect("no panic"),
        );
    }

    /// Is gone once all clones of the gate are.
    pub(crate) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.0)
    }
}
