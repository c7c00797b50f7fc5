//! Answers to erasures of several values: the status says that each was tried, and the document what
//! came of it. object_store panics over documents that name other values.

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

use crate::page::{element, elements};
use crate::told::{Told, quoted};

/// How a service is asked to erase several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// "DeleteObjects".
    S3,
    /// "Blob Batch", here of one value.
    Azure,
}

/// What was not erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    /// As for a request of its own.
    pub(crate) status: u16,
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    /// Names as the service has them; the rest is about the first one. Empty if the answer has none.
    pub(crate) names: Vec<String>,
}

impl Batch {
    /// What an answer says that was not erased.
    ///
    /// # Errors
    /// It is a part of such an answer, or anything else.
    pub(crate) fn refused(self, text: &str) -> Result<Option<Refused>, Told> {
        match self {
            Self::S3 => of_s3(text),
            Self::Azure => of_azure(text),
        }
    }

    /// An answer for object_store by which all was erased.
    pub(crate) fn stand_in(self, headers: &mut HeaderMap) -> &'static str {
        match self {
            // It has to have something, and may have anything.
            Self::S3 => "<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>",
            Self::Azure => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("multipart/mixed; boundary=b"));
                "--b\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n--b--\r\n"
            }
        }
    }
}

fn of_s3(text: &str) -> Result<Option<Refused>, Told> {
    let document = text.trim_end();
    let is_empty = document.contains("<DeleteResult") && document.ends_with("/>");
    if !is_empty && !document.ends_with("</DeleteResult>") {
        return Err(Told::passing("the answer to an erasure is not complete"));
    }
    let errors = elements(document, "Error").map(|error| {
        let named = |name| Some(quoted(&element(error, name)?));
        let code = named("Code");
        let status = code.as_deref().map_or(400, status);
        let names = element(error, "Key").into_iter().collect();
        Refused { status, code, message: named("Message"), names }
    });
    // What is absent counts as erased.
    let errors = errors.filter(|refused| refused.status != 404);
    let mut all: Option<Refused> = None;
    for mut error in errors {
        let Some(first) = &mut all else {
            all = Some(error);
            continue;
        };
        // One that stays is told rather than one that passes.
        if first.status >= 500 && error.status < 500 {
            std::mem::swap(first, &mut error);
        }
        first.names.append(&mut error.names);
    }
    Ok(all)
}

/// The status of a code: "Amazon S3 API Reference", "Error responses".
fn status(code: &str) -> u16 {
    match code {
        "AccessDenied" | "AllAccessDisabled" => 403,
        "NoSuchKey" | "NoSuchVersion" => 404,
        "InternalError" | "OperationAborted" => 500,
        "SlowDown" | "ServiceUnavailable" => 503,
        _ => 400,
    }
}

fn of_azure(text: &str) -> Result<Option<Refused>, Told> {
    let inner = text.find("HTTP/1.1 ").map(|at| &text[at + "HTTP/1.1 ".len()..]);
    let status: Option<u16> = inner.and_then(|inner| inner.get(..3)?.parse().ok());
    let (Some(inner), Some(status)) = (inner, status) else {
        return Err(Told::passing("the answer to an erasure is not complete"));
    };
    let has_code = |line: &str| {
        let (name, code) = line.split_once(':')?;
        name.eq_ignore_ascii_case("x-ms-error-code").then(|| quoted(code.trim()))
    };
    let named = |name| Some(quoted(&element(inner, name)?));
    Ok(match status {
        200..=299 | 404 => None,
        _ => Some(Refused {
            status,
            code: inner.lines().find_map(has_code).or_else(|| named("Code")),
            message: named("Message"),
            names: Vec::new(),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: &str, names: &[&str]) -> Refused {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Refused { status, code: Some(code.to_owned()), message: Some("why".to_owned()), names }
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
            (error(" a&amp;b ", "AccessDenied"), Some(refused(403, "AccessDenied", &[" a&b "]))),
            (error("a", "New"), Some(refused(400, "New", &["a"]))),
            (
                "<Deleted><Key>a</Key></Deleted>".to_owned()
                    + &error("b", "SlowDown")
                    + &error("c", "SlowDown"),
                Some(refused(503, "SlowDown", &["b", "c"])),
            ),
            // The second one will stay.
            (
                error("a", "InternalError") + &error("b", "AccessDenied") + &error("c", "New"),
                Some(refused(403, "AccessDenied", &["b", "a", "c"])),
            ),
        ] {
            let text = format!("<?xml version=\"1.0\"?>\n<DeleteResult>{inside}</DeleteResult>\n");
            assert_eq!(Batch::S3.refused(&text).expect("it is complete"), expected, "{inside}");
        }
        let nothing = "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>";
        assert_eq!(Batch::S3.refused(nothing).expect("it is complete"), None);
        // As S3 answers when it notices too late.
        let late = "<Error><Code>InternalError</Code><Message>why</Message></Error>";
        assert!(!Batch::S3.refused(late).expect_err("it is none").is_final);
    }

    #[test]
    fn rs_13_a_part_of_an_answer_is_none() {
        let whole = format!("<DeleteResult>{}</DeleteResult>", error("a", "AccessDenied"));
        for end in 0..whole.len() {
            assert!(Batch::S3.refused(&whole[..end]).is_err(), "{}", &whole[..end]);
        }
        for text in ["", "<html>Welcome to our network</html>", "HTTP/1.1", "HTTP/1.1 é20"] {
            assert!(Batch::S3.refused(text).is_err() && Batch::Azure.refused(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rs_20_the_answer_inside_that_of_azure_counts() {
        let answer = |inner: &str| format!("--b\r\nContent-ID: 7\r\n\r\nHTTP/1.1 {inner}\r\n--b--\r\n");
        for gone in ["202 Accepted\r\n", "404 The specified blob does not exist.\r\n"] {
            assert_eq!(Batch::Azure.refused(&answer(gone)).expect("it is complete"), None);
        }
        let denied =
            "403 No\r\nX-Ms-Error-Code: AuthorizationFailure\r\n\r\n<Error><Message>why</Message></Error>";
        let expected = refused(403, "AuthorizationFailure", &[]);
        assert_eq!(Batch::Azure.refused(&answer(denied)).expect("it is complete"), Some(expected));
    }
}
