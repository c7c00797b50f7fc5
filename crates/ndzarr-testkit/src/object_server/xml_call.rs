//! A request to S3 or Google, and their errors.

use bytes::Bytes;

use super::answer::Answer;
use super::dialect::Dialect;
use super::faults::Twist;
use super::objects::Objects;
use super::request::Request;
use super::xml::element;

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
pub(super) fn error(status: u16, code: &str, more: &str) -> Answer {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>{}{}{more}<RequestId>4442587FB7D0A2F9</RequestId></Error>",
        element("Code", code),
        element("Message", format!("{code}, says the test server")),
    );
    Answer::xml(status, body)
}
