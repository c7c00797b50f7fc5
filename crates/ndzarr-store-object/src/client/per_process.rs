//! The HTTP client of a process. A forked child has the sockets of its parent, but not the threads
//! that wait for them, so it needs a client of its own.

use std::fmt;
use std::time::Duration;

use ndzarr_store::PerProcess;
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody};

use crate::client::stall::StallTimer;

/// Why a client cannot be made.
pub(crate) type ClientError = Box<dyn std::error::Error + Send + Sync>;

type Make = Box<dyn Fn() -> Result<reqwest::Client, ClientError> + Send + Sync>;

/// A client that is made once in each process.
pub(crate) struct Client {
    make: Make,
    /// How long a request may stall. A large value may take as long as it needs.
    stall_limit: Duration,
    client: PerProcess<Result<reqwest::Client, ClientError>>,
}

impl Client {
    /// # Errors
    /// If the client cannot be made.
    pub(crate) fn new(make: Make, stall_limit: Duration) -> Result<Self, HttpError> {
        let client = Self {
            make,
            stall_limit,
            client: PerProcess::new(),
        };
        client.of_this_process().map(|_| ())?;
        Ok(client)
    }

    fn of_this_process(&self) -> Result<&reqwest::Client, HttpError> {
        let client = self.client.get(|_| (self.make)());
        client.as_ref().map_err(|error| {
            HttpError::new(
                HttpErrorKind::Unknown,
                std::io::Error::other(error.to_string()),
            )
        })
    }

    pub(crate) async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let client = self.of_this_process()?;
        let timer = StallTimer::new(self.stall_limit);
        let (head, body) = request.into_parts();
        let url = head.uri.to_string().parse();
        let url = url.map_err(|error| HttpError::new(HttpErrorKind::Request, error))?;
        let mut request = reqwest::Request::new(head.method, url);
        *request.headers_mut() = head.headers;
        *request.body_mut() = Some(timer.request_body(body));
        let answer = timer.head(client.execute(request)).await?;
        let (head, body) = http::Response::<reqwest::Body>::from(answer).into_parts();
        Ok(HttpResponse::from_parts(
            head,
            HttpResponseBody::new(timer.answer_body(body)),
        ))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}
