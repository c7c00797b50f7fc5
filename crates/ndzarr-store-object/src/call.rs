//! What the service answered to a request: object_store keeps it from its callers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::page::Page;

tokio::task_local! {
    /// The request that the current task makes.
    pub(crate) static CALL: Call;
}

/// Filled by the HTTP service while object_store makes a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    answer: Arc<Mutex<Answer>>,
    /// Whether a page of a list is taken from the answer, and what object_store gets instead.
    pub(crate) instead_of_list: Option<&'static str>,
    /// Whether the service inflates values that are stored with `Content-Encoding: gzip`, unless a reader
    /// accepts them as they are.
    pub(crate) inflates: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// 0 if nothing was sent, or nothing came back.
    pub(crate) status: u16,
    pub(crate) sent: bool,
    /// What the service says: code, message and request id.
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) request_id: Option<String>,
    /// The failure below HTTP.
    pub(crate) transport: Option<String>,
    /// The size of the value in an answer that the range is outside.
    pub(crate) size: Option<u64>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) page: Option<Page>,
}

impl Call {
    pub(crate) fn new(instead_of_list: Option<&'static str>) -> Self {
        Self { answer: Arc::default(), instead_of_list, inflates: false }
    }

    pub(crate) fn answer(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    /// Whether the same request may succeed later.
    pub(crate) fn is_passing(&self) -> bool {
        match self.status {
            0 => self.sent,
            // The head came, the body did not.
            200..=299 => true,
            408 | 429 => true,
            501 | 505 => false,
            status => status >= 500,
        }
    }

    /// How long the service wants to be left alone; no server can have a call wait for longer than this.
    pub(crate) fn wait(&self) -> Duration {
        self.retry_after.unwrap_or_default().min(Duration::from_secs(60))
    }

    /// Whether the host has no address, as far as is known now.
    pub(crate) fn is_unknown_host(&self) -> bool {
        // hyper has no other sign of it.
        self.transport.as_ref().is_some_and(|what| what.contains("dns error"))
    }

    /// In words, without URLs and secrets.
    pub(crate) fn what(&self) -> String {
        let mut what = match (self.status, &self.transport) {
            (_, Some(transport)) => transport.clone(),
            (0, None) => "no answer".to_owned(),
            (status, None) => format!("HTTP status {status}"),
        };
        for (name, text) in [("", &self.code), ("", &self.message), ("request ", &self.request_id)] {
            if let Some(text) = text {
                what.push_str(&format!(", {name}{text}"));
            }
        }
        what
    }
}
