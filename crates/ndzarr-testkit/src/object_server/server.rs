//! The state that the threads of a server share.

use std::sync::{Arc, Mutex, PoisonError};

use super::objects::Objects;
use super::request::Request;
use super::traffic::Shared;

/// The state that the threads of a server share.
pub(super) struct Server {
    pub(super) objects: Objects,
    pub(super) shared: Shared,
    pub(super) hook: Mutex<Option<Hook>>,
}

/// Runs before a request is carried out.
pub(super) type Hook = Arc<dyn Fn(&Request) + Send + Sync>;

impl Server {
    pub(super) fn hook(&self) -> Option<Hook> {
        self.hook.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("shared", &self.shared).finish_non_exhaustive()
    }
}
