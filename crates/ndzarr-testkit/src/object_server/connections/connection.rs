//! One connection: requests in, answers out, and faults on the way.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use bytes::Bytes;

use crate::object_server::connections::answer::Answer;
use crate::object_server::connections::faults::Fault;
use crate::object_server::connections::request::Arrived;
use crate::object_server::connections::server::{Hook, Server};
use crate::object_server::connections::stream::Stream;
use crate::object_server::connections::traffic::{InFlight, Shared};
use crate::object_server::dialects::service;
use crate::object_server::stored::gzip::gzip_bomb;

/// The last bytes of an answer, which are counted before they are sent.
const PIECE: usize = 1 << 16;

/// A connection; dropped, it is closed.
pub(crate) struct Connection {
    stream: Stream,
    server: Arc<Server>,
    id: u64,
}

/// The state of a connection after an answer.
#[derive(PartialEq, Eq)]
enum Next {
    Request,
    End,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, server: Arc<Server>) -> Option<Self> {
        let id = server.shared.connect(&stream)?;
        Some(Self {
            stream: Stream::new(stream, server.shared.ended()),
            server,
            id,
        })
    }

    /// Serves requests until one side closes the connection.
    pub(crate) fn serve(mut self) {
        // A client that goes away is not the server's concern.
        while matches!(self.serve_request(), Ok(Next::Request)) {}
    }

    fn serve_request(&mut self) -> io::Result<Next> {
        let Some(Arrived { mut request, body }) = Arrived::read(&mut self.stream)? else {
            return Ok(Next::End);
        };
        let server = Arc::clone(&self.server);
        let in_flight = server.shared.begin(&request, body.len());
        let hook: Option<Hook> = server.hook();
        if let Some(hook) = hook {
            hook(&request);
        }
        if !server.shared.delay() {
            return Ok(Next::End);
        }
        let fault = in_flight.fault.clone();
        match &fault {
            Some(Fault::Reset) => return Ok(Next::End),
            Some(Fault::Hang) => return self.hang(),
            Some(fault) => fault.change(&mut request),
            None => {}
        }
        let dialect = server.objects.dialect();
        let mut answer = match &fault {
            Some(Fault::Status(status)) => service::refusal(dialect, *status),
            Some(Fault::RetryAfter { status, seconds }) => {
                service::refusal(dialect, *status).with("Retry-After", seconds)
            }
            Some(Fault::RedirectCircle) => Answer::new(307).with("Location", &request.target),
            Some(Fault::RedirectTo(url)) => {
                Answer::new(307).with("Location", format!("{url}{}", request.target))
            }
            other => service::answer(
                &server.objects,
                &request,
                &body,
                other.as_ref().and_then(Fault::twist),
            ),
        };
        if let (416, Some(fault)) = (answer.status, &fault) {
            let whole = || {
                request.drop_headers(&["range", "x-ms-range"]);
                service::answer(&server.objects, &request, &body, None)
            };
            answer = fault.outside(answer, whole);
        }
        in_flight.answered(answer.status);
        if fault == Some(Fault::Lost) {
            return Ok(Next::End);
        }
        let is_head = request.method == "HEAD";
        match fault {
            Some(Fault::Lost500) => answer = service::refusal(dialect, 500),
            Some(Fault::DeniedIfMissing) if answer.status == 404 => {
                answer = service::refusal(dialect, 403)
            }
            _ => {}
        }
        if is_head && answer.head_body_len.is_none() {
            answer = answer.for_head();
        }
        // A connection that is closed before the request is read to its end is reset, as for
        // `Truncate`.
        if fault != Some(Fault::Truncate) {
            Arrived::finish(&mut self.stream)?;
        }
        self.send(answer, in_flight)
    }

    fn hang(&mut self) -> io::Result<Next> {
        Arrived::finish(&mut self.stream)?;
        self.wait_for_end()
    }

    /// Waits until the client closes the connection.
    fn wait_for_end(&mut self) -> io::Result<Next> {
        let mut rest = [0; 1024];
        while self.stream.read(&mut rest)? > 0 {}
        Ok(Next::End)
    }

    fn send(&mut self, mut answer: Answer, in_flight: InFlight<'_>) -> io::Result<Next> {
        let fault = in_flight.fault.as_ref();
        let half = answer.body.len() / 2;
        let mut framing = answer.content_length();
        match fault {
            Some(Fault::Truncate | Fault::TruncateFin) if !answer.body.is_empty() => {
                self.write(&answer.head(&framing))?;
                self.write(&answer.body[..half])?;
                return Ok(Next::End);
            }
            Some(Fault::Stall) if !answer.body.is_empty() => {
                self.write(&answer.head(&framing))?;
                self.write(&answer.body[..half])?;
                return self.wait_for_end();
            }
            // Without a body to cut, the head is what is lost.
            Some(Fault::Truncate) => return Ok(Next::End),
            Some(Fault::Stall) => return self.wait_for_end(),
            Some(Fault::Short) if !answer.body.is_empty() => {
                answer.body.truncate(answer.body.len() - 1);
                framing = answer.content_length();
            }
            Some(Fault::Long(more)) if answer.head_body_len.is_none() => {
                let stated = (answer.body.len() as u64).saturating_add(*more);
                self.write(&answer.head(&format!("Content-Length: {stated}\r\n")))?;
                self.write(&answer.body)?;
                return Ok(Next::End);
            }
            Some(Fault::Corrupt) if !answer.body.is_empty() => {
                let mut body = answer.body.to_vec();
                body[half] ^= 1;
                answer.body = body.into();
            }
            Some(Fault::Slow(pause)) => {
                self.write(&answer.head(&framing))?;
                for piece in answer.body.chunks(1024) {
                    if !self.server.shared.sleep(*pause) {
                        return Ok(Next::End);
                    }
                    self.write(piece)?;
                }
                return Ok(Next::Request);
            }
            Some(Fault::WrongRange) => {
                if let Some(range) = answer.header_mut("Content-Range") {
                    *range = later(range).unwrap_or_default();
                }
            }
            Some(Fault::NoEtag) => answer.drop_headers(&["ETag", "Last-Modified"]),
            Some(Fault::WeakEtag) => {
                if let Some(etag) = answer.header_mut("ETag") {
                    etag.insert_str(0, "W/");
                }
            }
            Some(Fault::EndlessBody) => {
                self.write(&answer.head("Transfer-Encoding: chunked\r\n"))?;
                let chunk = [b"10000\r\n".as_slice(), &[0x55; 0x10000], b"\r\n"].concat();
                loop {
                    self.write(&chunk)?;
                }
            }
            Some(Fault::HugeHeader(byte_len)) => {
                answer = answer.with("X-Padding", "a".repeat(*byte_len));
            }
            Some(Fault::EndlessHeaders) => {
                let mut head = answer.head(&framing);
                head.truncate(head.len() - 2);
                self.write(&head)?;
                loop {
                    self.write(
                        "X-Padding: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"
                            .repeat(256)
                            .as_bytes(),
                    )?;
                }
            }
            Some(Fault::GzipBomb) => {
                answer.drop_headers(&["Content-Encoding"]);
                answer = answer
                    .with("Content-Encoding", "gzip")
                    .with_body(Bytes::from(gzip_bomb(8 << 20)));
                framing = answer.content_length();
            }
            _ => {}
        }
        let head = answer.head(&framing);
        let (most, last) = answer
            .body
            .split_at(answer.body.len().saturating_sub(PIECE));
        if most.is_empty() {
            return self.end(in_flight, &[&head, last]);
        }
        self.write(&head)?;
        self.write(most)?;
        self.end(in_flight, &[last])
    }

    /// Sends the last bytes of an answer. A client that has received them may look at the counts,
    /// so they are updated first.
    fn end(&mut self, in_flight: InFlight<'_>, parts: &[&[u8]]) -> io::Result<Next> {
        drop(in_flight);
        for part in parts {
            self.shared().sent(part.len());
        }
        for part in parts {
            self.stream.write_all(part)?;
        }
        Ok(Next::Request)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.shared().sent(bytes.len());
        Ok(())
    }

    fn shared(&self) -> &Shared {
        &self.server.shared
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The other handle of the socket is closed first: closing the last one resets the
        // connection.
        self.server.shared.disconnect(self.id);
    }
}

/// `bytes 3-5/10` as `bytes 4-6/10`.
fn later(range: &str) -> Option<String> {
    let (range, size) = range.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let first: u64 = first.parse().ok()?;
    let last: u64 = last.parse().ok()?;
    Some(format!("bytes {}-{}/{size}", first + 1, last + 1))
}
