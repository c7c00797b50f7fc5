//! Hands a request to the code of the service that the server imitates.

use bytes::Bytes;

use crate::object_server::connections::answer::Answer;
use crate::object_server::connections::faults::Twist;
use crate::object_server::connections::request::Request;
use crate::object_server::dialects::dialect::Dialect;
use crate::object_server::dialects::{azure, web, xml_api};
use crate::object_server::stored::objects::Objects;

/// Answers a request.
pub(crate) fn answer(
    objects: &Objects,
    request: &Request,
    body: &Bytes,
    twist: Option<Twist>,
) -> Answer {
    match objects.dialect() {
        Dialect::S3 | Dialect::Gcs => xml_api::answer(objects, request, body, twist),
        Dialect::Azure => azure::answer(objects, request, body, twist),
        Dialect::Http => web::answer(objects, request),
    }
}

/// An error that has nothing to do with the request.
pub(crate) fn refusal(dialect: Dialect, status: u16) -> Answer {
    match dialect {
        Dialect::S3 | Dialect::Gcs => {
            let code = match status {
                403 => "AccessDenied",
                409 => "ConditionalRequestConflict",
                429 => "TooManyRequests",
                503 => "SlowDown",
                _ => "InternalError",
            };
            xml_api::call::error(status, code, "").with("x-amz-request-id", "4442587FB7D0A2F9")
        }
        Dialect::Azure => {
            let code = match status {
                403 => "AuthorizationFailure",
                409 => "OperationTimedOut",
                503 => "ServerBusy",
                _ => "InternalError",
            };
            azure::error(status, code)
        }
        Dialect::Http => web::error(status),
    }
}
