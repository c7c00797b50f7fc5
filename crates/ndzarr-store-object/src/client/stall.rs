//! The limit on the time in which hardly anything of a request or of its answer is transferred.
//! That of reqwest begins with the request and does not begin again while its body is sent.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http_body::{Body, Frame, SizeHint};
use object_store::client::{HttpError, HttpErrorKind, HttpRequestBody};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::errors::message::OwnError;

/// The bytes of one piece of a request's body. The connection takes a piece when it has sent most
/// of those before.
const PIECE_BYTES: usize = 64 << 10;

/// The fewest bytes of an answer that must come within the limit, unless it ends. With 256 requests
/// at once that is 35 kB/s of a connection, if the limit is 30 s.
const MIN_ANSWER_BYTES: usize = 4 << 10;

/// When some of a request was last transferred, and how long it may stall.
#[derive(Clone, Debug)]
pub(crate) struct StallTimer {
    last: Arc<Mutex<Instant>>,
    limit: Duration,
}

impl StallTimer {
    /// The timer of a request that begins now.
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            last: Arc::new(Mutex::new(Instant::now())),
            limit,
        }
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The head of the answer to a request; an error if the request stalls for too long.
    pub(crate) async fn head<T>(
        &self,
        answer: impl Future<Output = reqwest::Result<T>>,
    ) -> Result<T, HttpError> {
        let stalls = async {
            loop {
                let until = self.last().checked_add(self.limit);
                let Some(until) = until else {
                    return std::future::pending().await;
                };
                if until <= Instant::now() {
                    return stalled("nothing was sent or came", self.limit);
                }
                sleep_until(until).await;
            }
        };
        match select(std::pin::pin!(answer), std::pin::pin!(stalls)).await {
            Either::Left((answer, _)) => answer.map_err(client_error),
            Either::Right((error, _)) => Err(error),
        }
    }

    /// The body of a request, which resets the timer with each piece that is sent.
    pub(crate) fn request_body(&self, body: HttpRequestBody) -> reqwest::Body {
        match body.as_bytes() {
            Some(bytes) if bytes.len() <= PIECE_BYTES => bytes.clone().into(),
            _ => reqwest::Body::wrap(RequestBody {
                body,
                rest: Bytes::new(),
                timer: self.clone(),
            }),
        }
    }

    /// The body of an answer, which fails when too little of it comes for too long.
    pub(crate) fn answer_body(&self, body: reqwest::Body) -> AnswerBody {
        AnswerBody {
            body,
            limit: self.limit,
            wait: None,
            n_received: 0,
        }
    }
}

fn stalled(what: &str, limit: Duration) -> HttpError {
    let what = format!("{what} for {} s", limit.as_secs_f64());
    HttpError::new(HttpErrorKind::Timeout, OwnError::passing(what))
}

/// The error of reqwest, without the URL, which may have secrets.
fn client_error(error: reqwest::Error) -> HttpError {
    let kind = if error.is_connect() {
        HttpErrorKind::Connect
    } else {
        HttpErrorKind::Unknown
    };
    HttpError::new(kind, error.without_url())
}

struct RequestBody {
    body: HttpRequestBody,
    /// The rest of the frame that is being sent.
    rest: Bytes,
    timer: StallTimer,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = self.get_mut();
        *this.timer.last() = Instant::now();
        if this.rest.is_empty() {
            let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => this.rest = data,
                Some(Ok(Err(frame))) => return Poll::Ready(Some(Ok(frame))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let body = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest + body.lower());
        if let Some(upper) = body.upper() {
            hint.set_upper(rest + upper);
        }
        hint
    }
}

#[derive(Debug)]
pub(crate) struct AnswerBody {
    body: reqwest::Body,
    limit: Duration,
    /// The time in which at least [`MIN_ANSWER_BYTES`] must come.
    wait: Option<Pin<Box<Sleep>>>,
    /// How many bytes came in this time.
    n_received: usize,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            let data = frame
                .as_ref()
                .and_then(|frame| frame.as_ref().ok()?.data_ref());
            this.n_received += data.map_or(0, Bytes::len);
            if this.n_received >= MIN_ANSWER_BYTES {
                this.wait = None;
                this.n_received = 0;
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(client_error)));
        }
        let wait = this.wait.get_or_insert_with(|| Box::pin(sleep(this.limit)));
        ready!(wait.as_mut().poll(context));
        let what = match this.n_received {
            0 => "nothing came".to_owned(),
            n => format!("only {n} bytes came"),
        };
        Poll::Ready(Some(Err(stalled(&what, this.limit))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
