//! Whether the calls of a handle block their thread or are futures.

/// Calls block their thread.
#[derive(Clone, Copy, Debug)]
pub struct Blocking;

/// Calls are futures.
#[derive(Clone, Copy, Debug)]
pub struct Asynchronous;
