//! What the service answered to a request: object_store keeps it from its callers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::answers::batch::{Batch, Refused, is_no_bucket};
use crate::answers::page::Page;
use crate::errors::told::Told;

tokio::task_local! {
    /// The request that the current task makes.
    pub(crate) static CALL: Call;
}

/// Filled by the HTTP service while object_store makes a request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    answer: Arc<Mutex<Answer>>,
    since: Instant,
    /// What the request is for.
    pub(crate) purpose: Purpose,
    /// Whether the service inflates values that are stored with `Content-Encoding: gzip`, unless a reader
    /// accepts them as they are.
    pub(crate) inflates: bool,
    /// Whether it is for a value of a web server, which may send it without a length, or compressed.
    pub(crate) is_of_web: bool,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Values.
    #[default]
    Values,
    /// A page of a list, which is taken from the answer; object_store gets this instead.
    Page(&'static str),
    /// The removal of values, whose answer has one for each of them; object_store gets another one.
    Erasure(Batch),
    /// Credentials, from a service that is not the store's.
    Credentials,
    /// Where a bucket is.
    Region,
}

impl Purpose {
    /// Whether the request may have the caller's headers and credentials, and be redirected.
    pub(crate) fn is_of_store(self) -> bool {
        matches!(self, Self::Values | Self::Page(_) | Self::Erasure(_))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// 0 if nothing was sent, or nothing came back.
    pub(crate) status: u16,
    /// How long it took until the status came.
    pub(crate) head_after: Option<Duration>,
    pub(crate) sent: bool,
    /// What the service says: code, message and request id.
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) request_id: Option<String>,
    /// Where S3 says that the bucket is, to a request that came to another place.
    pub(crate) region: Option<String>,
    /// It took too long.
    pub(crate) is_late: bool,
    /// No connection was made.
    pub(crate) is_unconnected: bool,
    /// The failure below HTTP.
    pub(crate) transport: Option<String>,
    /// Whether that failure would come again.
    pub(crate) is_final: bool,
    /// Why nothing was sent: there are no credentials.
    pub(crate) no_credentials: Option<Told>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) page: Option<Page>,
    /// The names of values that were not erased, though others were; what is said is about the first.
    pub(crate) refused: Vec<String>,
}

impl Call {
    pub(crate) fn new(purpose: Purpose) -> Self {
        Self { answer: Arc::default(), since: Instant::now(), purpose, inflates: false, is_of_web: false }
    }

    /// The head of the answer has come.
    pub(crate) fn has_head(&self, status: u16) {
        let mut answer = self.answer();
        (answer.status, answer.head_after) = (status, Some(self.since.elapsed()));
    }

    pub(crate) fn answer(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    /// A part of what was asked for is refused: that is what counts.
    pub(crate) fn is_refused(&mut self, refused: Refused) {
        let Refused { status, code, message, names } = refused;
        (self.status, self.code, self.message, self.refused) = (status, code, message, names);
    }

    /// Whether all of it came, and says that the request succeeded. object_store may refuse it all the
    /// same, for instance for want of an ETag.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status) && self.transport.is_none()
    }

    /// object_store refuses the head.
    pub(crate) fn has_bad_head(&mut self) {
        self.is_final |= self.is_success();
    }

    /// Whether the same request may succeed later.
    pub(crate) fn is_passing(&self) -> bool {
        match self.status {
            _ if self.is_final => false,
            0 => self.sent,
            // The head came, the body did not.
            200..=299 => true,
            408 | 429 => true,
            501 | 505 => false,
            status => status >= 500,
        }
    }

    /// Whether a request that failed may have been carried out.
    pub(crate) fn may_be_done(&self) -> bool {
        match self.status {
            0 => self.sent && !self.is_unconnected,
            200..=299 => true,
            501 | 503 | 505 => false,
            status => status >= 500,
        }
    }

    /// Whether a request that failed may still be under way: a gateway or this client did not wait.
    pub(crate) fn may_come_late(&self) -> bool {
        matches!(self.status, 502 | 504) || self.is_late
    }

    /// Whether a service may answer so for what is absent. Other codes are about the request: its key, its
    /// signature, its clock.
    pub(crate) fn may_be_absent(&self) -> bool {
        self.status == 403 && matches!(self.code.as_deref(), None | Some("AccessDenied"))
    }

    /// Whether the bucket itself is missing.
    pub(crate) fn is_no_bucket(&self) -> bool {
        self.code.as_deref().is_some_and(is_no_bucket)
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
            (status, None) => match self.refused.len() {
                0 => format!("HTTP status {status}"),
                1 => "refused".to_owned(),
                n => format!("refused, like {} other keys", n - 1),
            },
        };
        if let Some(wait) = self.retry_after {
            what.push_str(&format!(", to be tried again after {} s", wait.as_secs()));
        }
        for (name, text) in [("", &self.code), ("", &self.message), ("request ", &self.request_id)] {
            if let Some(text) = text {
                what.push_str(&format!(", {name}{text}"));
            }
        }
        what
    }
}
