//! The switch for signatures. It is set when a store is opened, and turned off if the machine turns
//! out to have no credentials.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by a store, its credentials and its HTTP client.
#[derive(Clone, Debug)]
pub(crate) struct Signing(Arc<AtomicBool>);

impl Signing {
    pub(crate) fn new(is_on: bool) -> Self {
        Self(Arc::new(AtomicBool::new(is_on)))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// From now on nothing is signed.
    pub(crate) fn turn_off(&self) {
        self.0.store(false, Ordering::Release);
    }
}
