//! The condition for a write, and its outcome.

use crate::Pin;

/// The condition for a write.
#[derive(Clone, Debug)]
pub enum Precondition {
    /// No condition.
    None,
    /// The key has no value.
    Absent,
    /// The key has the value that this pin names. A pin of another store never matches.
    Current(Pin),
}

/// The outcome of a write.
#[derive(Clone, Debug)]
pub enum Put {
    /// The write happened; the pin names the new value (none after an erasure).
    Done(Option<Pin>),
    /// The precondition did not hold; nothing has changed. Callers that merge read the value again
    /// and repeat their update at once. A store whose requests go over a network therefore waits
    /// before it answers so: a random time, longer after each conflict in a row, so that writers do
    /// not collide again.
    Conflict,
    /// The store cannot check the precondition; nothing has changed.
    Unsupported,
}
