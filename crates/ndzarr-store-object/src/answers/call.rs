//! The answer of the service to a request, which object_store hides from its callers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::answers::batch::{Batch, Refused, is_no_bucket};
use crate::answers::page::Page;
use crate::errors::message::OwnError;

tokio::task_local! {
    /// The request that the current task makes.
    pub(crate) static CALL: Call;
}

/// Filled by the HTTP service while object_store makes a request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    answer: Arc<Mutex<Answer>>,
    since: Instant,
    pub(crate) purpose: Purpose,
    /// The service inflates values that are stored with `Content-Encoding: gzip`, unless a reader
    /// accepts them as they are.
    pub(crate) inflates: bool,
    /// The request is for a value of a web server, which may send it without a length, or
    /// compressed.
    pub(crate) is_web_value: bool,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    #[default]
    Values,
    /// A page of a list, which is taken out of the answer; object_store gets this text instead.
    Page(&'static str),
    /// The removal of several values. The outcome for each is taken out of the answer; object_store
    /// gets another answer instead.
    Erasure(Batch),
    /// Credentials, from a service that is not the store's.
    Credentials,
    /// The region of a bucket.
    Region,
}

impl Purpose {
    /// Returns `true` if the request may have the caller's headers and credentials, and may be
    /// redirected.
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
    /// The code, the message and the request id of the service.
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) request_id: Option<String>,
    /// The region of the bucket, which S3 names if the request came to another one.
    pub(crate) region: Option<String>,
    /// It took too long.
    pub(crate) is_late: bool,
    /// No connection was made.
    pub(crate) is_unconnected: bool,
    /// The failure below HTTP.
    pub(crate) transport: Option<String>,
    /// The same request would fail like this again.
    pub(crate) is_final: bool,
    /// Why nothing was sent: there are no credentials.
    pub(crate) no_credentials: Option<OwnError>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) page: Option<Page>,
    /// The names of values that were not erased, though others were. The code and the message are
    /// about the first of them.
    pub(crate) refused: Vec<String>,
}

impl Call {
    pub(crate) fn new(purpose: Purpose) -> Self {
        Self {
            answer: Arc::default(),
            since: Instant::now(),
            purpose,
            inflates: false,
            is_web_value: false,
        }
    }

    /// Notes that the head of the answer has come.
    pub(crate) fn note_status(&self, status: u16) {
        let mut answer = self.answer();
        answer.status = status;
        answer.head_after = Some(self.since.elapsed());
    }

    pub(crate) fn answer(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    /// Notes that some values were not erased: the answer is then that of their refusal.
    pub(crate) fn note_refused(&mut self, refused: Refused) {
        self.status = refused.status;
        self.code = refused.code;
        self.message = refused.message;
        self.refused = refused.names;
    }

    /// Returns `true` if the whole answer came, and reports success. object_store may still refuse
    /// it, for instance because it has no ETag.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status) && self.transport.is_none()
    }

    /// Notes that object_store refuses the head.
    pub(crate) fn note_refused_head(&mut self) {
        self.is_final |= self.is_success();
    }

    /// Returns `true` if the same request may succeed later.
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

    /// Returns `true` if a request that failed may have been carried out.
    pub(crate) fn may_be_done(&self) -> bool {
        match self.status {
            0 => self.sent && !self.is_unconnected,
            200..=299 => true,
            501 | 503 | 505 => false,
            status => status >= 500,
        }
    }

    /// Returns `true` if a request that failed may still be under way, since a gateway or this
    /// client did not wait for its end.
    pub(crate) fn may_come_late(&self) -> bool {
        matches!(self.status, 502 | 504) || self.is_late
    }

    /// Returns `true` if a service may answer like this for an absent value. Other codes are about
    /// the request: its key, its signature, its clock.
    pub(crate) fn may_be_absent(&self) -> bool {
        self.status == 403 && matches!(self.code.as_deref(), None | Some("AccessDenied"))
    }

    /// Returns `true` if the bucket does not exist.
    pub(crate) fn is_no_bucket(&self) -> bool {
        self.code.as_deref().is_some_and(is_no_bucket)
    }

    /// The pause that the service asks for, up to a minute: no server can make a call wait for
    /// longer.
    pub(crate) fn requested_pause(&self) -> Duration {
        self.retry_after
            .unwrap_or_default()
            .min(Duration::from_secs(60))
    }

    /// Returns `true` if no address of the host was found.
    pub(crate) fn is_unknown_host(&self) -> bool {
        // hyper shows it in no other way.
        self.transport
            .as_ref()
            .is_some_and(|what| what.contains("dns error"))
    }

    /// Describes the answer in words, without URLs and secrets.
    pub(crate) fn describe(&self) -> String {
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
        for (name, text) in [
            ("", &self.code),
            ("", &self.message),
            ("request ", &self.request_id),
        ] {
            if let Some(text) = text {
                what.push_str(&format!(", {name}{text}"));
            }
        }
        what
    }
}
