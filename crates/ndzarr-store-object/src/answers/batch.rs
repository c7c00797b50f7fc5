//! Answers to erasures of several values: the status only means that each was tried, and the
//! document tells with which outcome. object_store panics over documents that name other values.

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

use crate::answers::xml::{End, each_element, element};
use crate::errors::message::OwnError;
use crate::errors::secrets::Secrets;

/// The request by which a service erases several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// "DeleteObjects".
    S3,
    /// "Blob Batch", with this number of values.
    Azure(usize),
}

/// Values that were not erased, and why the first of them was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The status that a request for the first value only would have got.
    pub(crate) status: u16,
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    /// Names as the service has them: keys, at Azure indices of the request. Empty if the answer
    /// has none.
    pub(crate) names: Vec<String>,
}

impl Refused {
    /// With the code and the message as errors may quote them.
    pub(crate) fn without_secrets(self, secrets: &Secrets) -> Self {
        Self {
            code: self.code.map(|code| secrets.quoted(&code)),
            message: self.message.map(|message| secrets.quoted(&message)),
            ..self
        }
    }

    /// Returns `true` if there was nothing to erase.
    fn is_absent(&self) -> bool {
        self.status == 404 && !self.code.as_deref().is_some_and(is_no_bucket)
    }
}

impl Batch {
    /// The values that were not erased according to an answer.
    ///
    /// # Errors
    /// If the text is not such an answer, or only a part of one.
    pub(crate) fn refused(self, text: &str) -> Result<Option<Refused>, OwnError> {
        match self {
            Self::S3 => refused_by_s3(text),
            Self::Azure(n) => refused_by_azure(text, n),
        }
    }

    /// An answer that tells object_store that all values were erased.
    pub(crate) fn stand_in(self, headers: &mut HeaderMap) -> &'static str {
        match self {
            // It must name some value, and any will do.
            Self::S3 => "<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>",
            // Values that it does not name count as erased, too.
            Self::Azure(_) => {
                headers.insert(
                    CONTENT_TYPE,
                    HeaderValue::from_static("multipart/mixed; boundary=b"),
                );
                "--b\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n--b--\r\n"
            }
        }
    }
}

fn refused_by_s3(text: &str) -> Result<Option<Refused>, OwnError> {
    let mut is_result = false;
    let mut errors = Vec::new();
    let mut error = Refused::default();
    let end = each_element(text, |names, text| match names {
        ["DeleteResult"] => is_result = true,
        ["DeleteResult", "Error", "Key"] => error.names = vec![text],
        ["DeleteResult", "Error", "Code"] => error.code = Some(text),
        ["DeleteResult", "Error", "Message"] => error.message = Some(text),
        ["DeleteResult", "Error"] => {
            let status = error.code.as_deref().map_or(400, status);
            errors.push(Refused {
                status,
                ..std::mem::take(&mut error)
            });
        }
        _ => {}
    });
    if end != End::Whole || !is_result {
        return Err(OwnError::passing(
            "the answer to an erasure is not complete",
        ));
    }
    Ok(merged(errors.into_iter()))
}

/// Merges refusals into one. Absent values count as erased.
fn merged(errors: impl Iterator<Item = Refused>) -> Option<Refused> {
    let mut all: Option<Refused> = None;
    for mut error in errors.filter(|refused| !refused.is_absent()) {
        let Some(first) = &mut all else {
            all = Some(error);
            continue;
        };
        // A lasting failure is reported rather than a passing one.
        if first.status >= 500 && error.status < 500 {
            std::mem::swap(first, &mut error);
        }
        first.names.append(&mut error.names);
    }
    all
}

/// Returns `true` for the codes of a bucket or container that does not exist.
pub(crate) fn is_no_bucket(code: &str) -> bool {
    matches!(code, "NoSuchBucket" | "ContainerNotFound")
}

/// The status of a code: "Amazon S3 API Reference", "Error responses".
fn status(code: &str) -> u16 {
    match code {
        "AccessDenied" | "AllAccessDisabled" => 403,
        "NoSuchKey" | "NoSuchVersion" | "NoSuchBucket" => 404,
        "InternalError" | "OperationAborted" => 500,
        "SlowDown" | "ServiceUnavailable" => 503,
        _ => 400,
    }
}

/// Reads an answer of Azure. It has a part for each value, which its header "Content-ID" names, or
/// one about the whole request.
fn refused_by_azure(text: &str, n: usize) -> Result<Option<Refused>, OwnError> {
    let incomplete = || OwnError::passing("the answer to an erasure is not complete");
    let text = text.trim();
    let boundary = text
        .lines()
        .next()
        .filter(|line| line.len() > 2 && line.starts_with("--"));
    let boundary = boundary.ok_or_else(incomplete)?.trim_end();
    let parts = text
        .strip_suffix("--")
        .and_then(|text| text.strip_suffix(boundary))
        .ok_or_else(incomplete)?;
    let mut answers = vec![None; n];
    for part in parts.split(boundary).skip(1) {
        let (id, answer) = read_part(part).ok_or_else(incomplete)?;
        // The answer about a single value may leave out its id.
        let id = id.or((n == 1).then_some(0));
        match id.map(|id| answers.get_mut(id)) {
            Some(Some(place)) => *place = Some(answer),
            Some(None) => return Err(incomplete()),
            None if !(200..300).contains(&answer.status) => return Ok(Some(answer)),
            None => {}
        }
    }
    let answers: Vec<Refused> = answers
        .into_iter()
        .collect::<Option<_>>()
        .ok_or_else(incomplete)?;
    Ok(merged(
        answers
            .into_iter()
            .filter(|answer| !(200..300).contains(&answer.status)),
    ))
}

/// The id of a part, if it has one, and its answer.
fn read_part(part: &str) -> Option<(Option<usize>, Refused)> {
    let (head, inner) = part.split_once("HTTP/1.1 ")?;
    let header = |text: &str, wanted: &str| {
        let mut headers = text.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = headers.find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted))?;
        Some(value.trim().to_owned())
    };
    let named = |name| element(inner, name);
    let id: Option<usize> = header(head, "content-id")
        .map(|id| id.parse())
        .transpose()
        .ok()?;
    let refused = Refused {
        status: inner.get(..3)?.parse().ok()?,
        code: header(inner, "x-ms-error-code").or_else(|| named("Code")),
        message: named("Message"),
        names: id.iter().map(ToString::to_string).collect(),
    };
    Some((id, refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: &str, names: &[&str]) -> Refused {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Refused {
            status,
            code: Some(code.to_owned()),
            message: Some("why".to_owned()),
            names,
        }
    }

    fn error(key: &str, code: &str) -> String {
        format!("<Error><Key>{key}</Key><Code>{code}</Code><Message>why</Message></Error>")
    }

    #[test]
    fn rs_20_each_error_inside_an_answer_is_seen() {
        for (inside, expected) in [
            (String::new(), None),
            ("<Deleted><Key>a</Key></Deleted>".to_owned(), None),
            (error("a", "NoSuchKey"), None),
            (
                error(" a&amp;b ", "AccessDenied"),
                Some(refused(403, "AccessDenied", &[" a&b "])),
            ),
            (error("a", "New"), Some(refused(400, "New", &["a"]))),
            (
                "<Deleted><Key>a</Key></Deleted>".to_owned()
                    + &error("b", "SlowDown")
                    + &error("c", "SlowDown"),
                Some(refused(503, "SlowDown", &["b", "c"])),
            ),
            // The second one is lasting.
            (
                error("a", "InternalError") + &error("b", "AccessDenied") + &error("c", "New"),
                Some(refused(403, "AccessDenied", &["b", "a", "c"])),
            ),
        ] {
            let text = format!("<?xml version=\"1.0\"?>\n<DeleteResult>{inside}</DeleteResult>\n");
            assert_eq!(
                Batch::S3.refused(&text).expect("it is complete"),
                expected,
                "{inside}"
            );
        }
        let empty = "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>";
        assert_eq!(Batch::S3.refused(empty).expect("it is complete"), None);
        // The answer of S3 if it fails after it has sent the status.
        let late = "<Error><Code>InternalError</Code><Message>why</Message></Error>";
        assert!(!Batch::S3.refused(late).expect_err("it is none").is_final);
    }

    #[test]
    fn rs_13_a_part_of_an_answer_is_none() {
        let whole = format!(
            "<DeleteResult>{}</DeleteResult>",
            error("a", "AccessDenied")
        );
        for end in 0..whole.len() {
            assert!(
                Batch::S3.refused(&whole[..end]).is_err(),
                "{}",
                &whole[..end]
            );
        }
        for text in [
            "",
            "<html>Welcome to our network</html>",
            "HTTP/1.1",
            "HTTP/1.1 é20",
        ] {
            assert!(
                Batch::S3.refused(text).is_err() && Batch::Azure(1).refused(text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn rs_20_the_answers_inside_that_of_azure_count() {
        let part =
            |id: usize, inner: &str| format!("--b\r\ncontent-ID: {id}\r\n\r\nHTTP/1.1 {inner}\r\n");
        let denied = "403 No\r\nX-Ms-Error-Code: AuthorizationFailure\r\n\r\n<Error><Message>why</Message></Error>";
        let busy = "503 Busy\r\n\r\n<Error><Code>ServerBusy</Code><Message>why</Message></Error>";
        let done = "202 Accepted\r\n";
        let absent = "404 The specified blob does not exist.\r\n";
        for (answers, expected) in [
            (vec![done], None),
            (vec![absent, done, absent], None),
            (
                vec![denied],
                Some(refused(403, "AuthorizationFailure", &["0"])),
            ),
            (
                vec![done, busy, absent, busy],
                Some(refused(503, "ServerBusy", &["1", "3"])),
            ),
            (
                vec![busy, done, denied],
                Some(refused(403, "AuthorizationFailure", &["2", "0"])),
            ),
        ] {
            let n = answers.len();
            let parts: Vec<String> = answers
                .iter()
                .enumerate()
                .map(|(id, inner)| part(id, inner))
                .collect();
            // In any order.
            for parts in [
                parts.concat(),
                parts.iter().rev().map(String::as_str).collect(),
            ] {
                let text = format!("{parts}--b--\r\n");
                assert_eq!(
                    Batch::Azure(n).refused(&text).expect("it is complete"),
                    expected,
                    "{text}"
                );
                for end in 0..text.trim_end().len() {
                    assert!(
                        Batch::Azure(n).refused(&text[..end]).is_err(),
                        "{}",
                        &text[..end]
                    );
                }
                // Nothing is known about a value that it leaves out, or one that is not of the
                // request.
                assert!(Batch::Azure(n + 1).refused(&text).is_err());
                assert!(Batch::Azure(n - 1).refused(&text).is_err());
            }
        }
        let without_id = "--b\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n--b--";
        assert_eq!(
            Batch::Azure(1).refused(without_id).expect("it is complete"),
            None
        );
        assert!(Batch::Azure(2).refused(without_id).is_err());
        let whole = "--b\r\n\r\nHTTP/1.1 400 No\r\nx-ms-error-code: InvalidInput\r\n\r\n\r\n--b--";
        let expected = Refused {
            message: None,
            ..refused(400, "InvalidInput", &[])
        };
        assert_eq!(
            Batch::Azure(7).refused(whole).expect("it is complete"),
            Some(expected)
        );
    }
}
