//! A request to S3 or Google, and their errors.

use bytes::Bytes;

use crate::object_server::connections::answer::Answer;
use crate::object_server::connections::faults::Twist;
use crate::object_server::connections::request::Request;
use crate::object_server::dialects::dialect::Dialect;
use crate::object_server::dialects::xml::element;
use crate::object_server::stored::objects::{Object, Objects};

/// A request to one of the two services.
pub(super) struct Call<'r> {
    pub(super) dialect: Dialect,
    pub(super) objects: &'r Objects,
    pub(super) request: &'r Request,
    pub(super) body: &'r Bytes,
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) twist: Option<Twist>,
}

/// An error in the words of both services.
pub(crate) fn error(status: u16, code: &str, more: &str) -> Answer {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>{}{}{more}<RequestId>4442587FB7D0A2F9</RequestId></Error>",
        element("Code", code),
        element("Message", format!("{code}, says the test server")),
    );
    Answer::xml(status, body)
}

/// 404 for the key of the request.
pub(super) fn no_such_key(call: &Call<'_>) -> Answer {
    error(404, "NoSuchKey", &element("Key", &call.key))
}

pub(super) fn generation_headers(answer: Answer, object: &Object) -> Answer {
    answer
        .with("x-goog-generation", object.generation)
        .with("x-goog-metageneration", 1)
}
