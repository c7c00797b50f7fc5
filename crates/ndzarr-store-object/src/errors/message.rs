//! Messages of errors: our own ones, and those of causes, without URLs and secrets.

use std::error::Error;
use std::fmt;
use std::io;

use object_store::client::{HttpError, HttpErrorKind};
use rustls::CertificateError;

/// A failure in words of this crate, without secrets.
#[derive(Clone, Debug)]
pub(crate) struct OwnError {
    pub(crate) what: String,
    /// The same request would fail again.
    pub(crate) is_final: bool,
}

impl OwnError {
    /// A failure that would happen again.
    pub(crate) fn lasting(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            is_final: true,
        }
    }

    /// A failure that may pass.
    pub(crate) fn passing(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            is_final: false,
        }
    }
}

impl fmt::Display for OwnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for OwnError {}

/// The error for an answer that is not as it should be.
pub(crate) fn answer_error(error: OwnError) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, error)
}

/// The hint for a request that a proxy refuses.
pub(crate) const PROXY: &str = "the proxy wants a name and a password: give them in HTTP_PROXY and HTTPS_PROXY, as http://name:password@host";

/// The most characters that an error quotes from an answer.
const MAX_QUOTED: usize = 300;

/// The beginning of a text of the service, as long as errors may quote it.
pub(crate) fn quoted(text: &str) -> String {
    text.chars().take(MAX_QUOTED).collect()
}

/// The first of an error and its causes that is a `T`.
pub(crate) fn find_cause<'e, T: Error + 'static>(
    error: &'e (dyn Error + 'static),
) -> Option<&'e T> {
    chain(error).find_map(|cause| cause.downcast_ref())
}

/// An error and its causes.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // `source` of an I/O error skips the error that it was made from.
        match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

/// The message for a failure below HTTP, and `true` if it is final. object_store has removed the
/// URL.
pub(crate) fn transport_failure(error: &(dyn Error + 'static)) -> (String, bool) {
    if let Some(own) = find_cause::<OwnError>(error) {
        return (own.what.clone(), own.is_final);
    }
    if let Some(rustls::Error::InvalidCertificate(fault)) = find_cause(error) {
        return (certificate_fault(fault), true);
    }
    if chain(error).any(|cause| cause.to_string().contains("proxy authorization required")) {
        return (PROXY.to_owned(), true);
    }
    let mut text = error.to_string();
    for cause in chain(error).skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    (text, false)
}

/// The message of the last cause of an error.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error)
        .last()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// The message for the fault of a server's certificate.
fn certificate_fault(fault: &CertificateError) -> String {
    let of_server = "the certificate of the server";
    match fault {
        CertificateError::Expired => format!("{of_server} has expired"),
        CertificateError::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            format!("{of_server} has expired, {days} days ago")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("{of_server} is not valid yet; is the clock of this machine right?")
        }
        CertificateError::NotValidForName => format!("{of_server} is for another host name"),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            format!(
                "{of_server} is not for {}, but for {}",
                expected.to_str(),
                presented.join(", ")
            )
        }
        CertificateError::UnknownIssuer => format!(
            "{of_server} comes from an authority that is not trusted; name it by SSL_CERT_FILE or in the options"
        ),
        // The crate that checks certificates has a type for this fault, which rustls does not
        // expose.
        fault if format!("{fault:?}").contains("CaUsedAsEndEntity") => format!(
            "{of_server} is one of an authority, as `openssl req -x509` makes them: make it with \
             `-addext basicConstraints=critical,CA:FALSE`, and name it by SSL_CERT_FILE or in the \
             options"
        ),
        fault => format!("{of_server} is refused: {fault}"),
    }
}
