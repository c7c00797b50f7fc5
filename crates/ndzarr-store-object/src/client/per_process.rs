//! The HTTP client of a process: a forked child has its parent's sockets, but not the threads that wait
//! for them.

use std::fmt;
use std::time::Duration;

use ndzarr_store::PerProcess;
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody};

use crate::client::pace::Pace;

/// Why a client cannot be made.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

type Make = Box<dyn Fn() -> Result<reqwest::Client, Failed> + Send + Sync>;

/// A client that is made once in each process.
pub(crate) struct Client {
    make: Make,
    /// For how long nothing may move. A large value may take as long as it takes.
    limit: Duration,
    made: PerProcess<Result<reqwest::Client, Failed>>,
}

impl Client {
    /// # Errors
    /// The client cannot be made.
    pub(crate) fn new(make: Make, limit: Duration) -> Result<Self, HttpError> {
        let client = Self { make, limit, made: PerProcess::new() };
        client.here().map(|_| ())?;
        Ok(client)
    }

    fn here(&self) -> Result<&reqwest::Client, HttpError> {
        let made = self.made.get(|_| (self.make)());
        made.as_ref()
            .map_err(|error| HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(error.to_string())))
    }

    pub(crate) async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (client, pace) = (self.here()?, Pace::new(self.limit));
        let (head, body) = request.into_parts();
        let url = head.uri.to_string().parse();
        let url = url.map_err(|error| HttpError::new(HttpErrorKind::Request, error))?;
        let mut request = reqwest::Request::new(head.method, url);
        *request.headers_mut() = head.headers;
        *request.body_mut() = Some(pace.of_request(body));
        let answer = pace.head(client.execute(request)).await?;
        let (head, body) = http::Response::<reqwest::Body>::from(answer).into_parts();
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(pace.of_answer(body))))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}
