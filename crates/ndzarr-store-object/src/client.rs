//! The HTTP client of a process: a forked child has its parent's sockets, but not the threads that wait
//! for them.

use std::fmt;

use ndzarr_store::PerProcess;
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};

type Make = Box<dyn Fn() -> reqwest::Result<reqwest::Client> + Send + Sync>;

/// A client that is made once in each process.
pub(crate) struct Client {
    make: Make,
    made: PerProcess<reqwest::Result<reqwest::Client>>,
}

impl Client {
    /// # Errors
    /// The client cannot be made.
    pub(crate) fn new(make: Make) -> Result<Self, HttpError> {
        let client = Self { make, made: PerProcess::new() };
        client.here().map(|_| ())?;
        Ok(client)
    }

    fn here(&self) -> Result<&reqwest::Client, HttpError> {
        let made = self.made.get(|_| (self.make)());
        made.as_ref()
            .map_err(|error| HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(error.to_string())))
    }

    pub(crate) async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        HttpService::call(self.here()?, request).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}
