//! The state that the threads of a server share.

use std::sync::{Arc, Mutex, PoisonError};

use crate::object_server::connections::request::Request;
use crate::object_server::connections::traffic::Shared;
use crate::object_server::stored::objects::Objects;

/// The state that the threads of a server share.
pub(crate) struct Server {
    pub(crate) objects: Objects,
    pub(crate) shared: Shared,
    pub(crate) hook: Mutex<Option<Hook>>,
}

/// Runs before a request is carried out.
pub(crate) type Hook = Arc<dyn Fn(&Request) + Send + Sync>;

impl Server {
    pub(crate) fn hook(&self) -> Option<Hook> {
        self.hook
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}
