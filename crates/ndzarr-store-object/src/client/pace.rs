//! The limit on the time in which hardly anything of a request or of its answer moves. That of reqwest begins
//! with the request and does not begin again while its body is sent.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http_body::{Body, Frame, SizeHint};
use object_store::client::{HttpError, HttpErrorKind, HttpRequestBody};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::errors::told::Told;

/// The connection takes a piece when it has sent most of those before.
const PIECE: usize = 64 << 10;

/// The least bytes of an answer that come in the time of the limit, unless it ends. With 256 requests at once
/// that is 35 kB/s of a connection, if the limit is 30 s.
const LEAST: usize = 4 << 10;

/// When a request last moved, and for how long it may not.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    last: Arc<Mutex<Instant>>,
    limit: Duration,
}

impl Pace {
    /// Of a request that begins now.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { last: Arc::new(Mutex::new(Instant::now())), limit }
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The head of the answer to a request, unless nothing moves for too long.
    pub(crate) async fn head<T>(
        &self,
        answer: impl Future<Output = reqwest::Result<T>>,
    ) -> Result<T, HttpError> {
        let stops = async {
            loop {
                let until = self.last().checked_add(self.limit);
                let Some(until) = until else { return std::future::pending().await };
                if until <= Instant::now() {
                    return stopped("nothing was sent or came", self.limit);
                }
                sleep_until(until).await;
            }
        };
        match select(std::pin::pin!(answer), std::pin::pin!(stops)).await {
            Either::Left((answer, _)) => answer.map_err(of_client),
            Either::Right((error, _)) => Err(error),
        }
    }

    /// A body whose pieces are noted.
    pub(crate) fn of_request(&self, body: HttpRequestBody) -> reqwest::Body {
        match body.as_bytes() {
            Some(bytes) if bytes.len() <= PIECE => bytes.clone().into(),
            _ => reqwest::Body::wrap(Sent { body, rest: Bytes::new(), pace: self.clone() }),
        }
    }

    /// A body that fails when too little of it comes for too long.
    pub(crate) fn of_answer(&self, body: reqwest::Body) -> Received {
        Received { body, limit: self.limit, wait: None, came: 0 }
    }
}

fn stopped(what: &str, limit: Duration) -> HttpError {
    let what = format!("{what} for {} s", limit.as_secs_f64());
    HttpError::new(HttpErrorKind::Timeout, Told::passing(what))
}

/// Without the URL, which may have secrets.
fn of_client(error: reqwest::Error) -> HttpError {
    let kind = match error.is_connect() {
        true => HttpErrorKind::Connect,
        false => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error.without_url())
}

/// The body of a request.
struct Sent {
    body: HttpRequestBody,
    /// Of the frame that is being sent.
    rest: Bytes,
    pace: Pace,
}

impl Body for Sent {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = self.get_mut();
        *this.pace.last() = Instant::now();
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(context)).map(|it| it.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => this.rest = data,
                Some(Ok(Err(frame))) => return Poll::Ready(Some(Ok(frame))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE));
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

/// The body of an answer.
#[derive(Debug)]
pub(crate) struct Received {
    body: reqwest::Body,
    limit: Duration,
    /// The time in which at least [`LEAST`] bytes come, and how many did.
    wait: Option<Pin<Box<Sleep>>>,
    came: usize,
}

impl Body for Received {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            this.came += data.map_or(0, Bytes::len);
            if this.came >= LEAST {
                (this.wait, this.came) = (None, 0);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(of_client)));
        }
        let wait = this.wait.get_or_insert_with(|| Box::pin(sleep(this.limit)));
        ready!(wait.as_mut().poll(context));
        let what = match this.came {
            0 => "nothing came".to_owned(),
            came => format!("only {came} bytes came"),
        };
        Poll::Ready(Some(Err(stopped(&what, this.limit))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
