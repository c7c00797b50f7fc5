//! Values that a forked child has for itself: it does not have its parent's threads and locks.

use std::process;
use std::sync::OnceLock;

/// A value that is made once in each process.
#[derive(Debug)]
pub struct PerProcess<T>(OnceLock<Own<T>>);

#[derive(Debug)]
struct Own<T> {
    process: u32,
    value: T,
    /// That of a forked child.
    child: OnceLock<Box<Own<T>>>,
}

impl<T> PerProcess<T> {
    /// No value yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value of this process; `make` is given the number of the process.
    pub fn get(&self, make: impl Fn(u32) -> T) -> &T {
        let id = process::id();
        let new = || Own { process: id, value: make(id), child: OnceLock::new() };
        let mut own = self.0.get_or_init(new);
        while own.process != id {
            own = own.child.get_or_init(|| Box::new(new()));
        }
        &own.value
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}
