//! Answers before they are sent.

use bytes::Bytes;

/// Status, headers and body.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    /// The length that an answer to HEAD states, in bytes; its body is not sent.
    pub(crate) head_body_len: Option<usize>,
}

impl Answer {
    pub(crate) fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Bytes::new(),
            head_body_len: None,
        }
    }

    pub(crate) fn xml(status: u16, xml: String) -> Self {
        Self::new(status)
            .with("Content-Type", "application/xml")
            .with_body(xml)
    }

    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Removes the body, whose length is still stated, as in an answer to HEAD.
    pub(crate) fn for_head(mut self) -> Self {
        self.head_body_len = Some(std::mem::take(&mut self.body).len());
        self
    }

    pub(crate) fn header_mut(&mut self, name: &str) -> Option<&mut String> {
        self.headers
            .iter_mut()
            .find(|(have, _)| have.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn drop_headers(&mut self, names: &[&str]) {
        self.headers
            .retain(|(have, _)| !names.iter().any(|name| have.eq_ignore_ascii_case(name)));
    }

    /// The head with these lines of framing.
    pub(crate) fn head(&self, framing: &str) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += framing;
        head += "\r\n";
        head.into_bytes()
    }

    /// The line that states the length. Answers 204 and 304 have none.
    pub(crate) fn content_length(&self) -> String {
        match self.status {
            204 | 304 => String::new(),
            _ => format!(
                "Content-Length: {}\r\n",
                self.head_body_len.unwrap_or(self.body.len())
            ),
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        411 => "Length Required",
        412 => "Precondition Failed",
        416 => "Requested Range Not Satisfiable",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Other",
    }
}
