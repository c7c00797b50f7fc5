//! Requests as they arrive: the head, parsed, and the body.

use std::io::{self, ErrorKind, Read};

use bytes::Bytes;

use crate::object_server::connections::stream::Stream;

/// The longest head that is read; services have similar limits.
const MAX_HEAD: usize = 64 << 10;
/// The most bytes that are read at once.
const STEP: usize = 64 << 10;

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `PUT` and so on.
    pub method: String,
    /// Path and query as they were sent, with their percent signs.
    pub target: String,
    /// Names in lower case, and values, in the order they were sent.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// The first header of this name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(have, _)| have == name)
            .map(|(_, value)| value.as_str())
    }

    /// The path, decoded, without the slash in front.
    pub fn path(&self) -> Option<String> {
        let path = self.target.split('?').next().unwrap_or_default();
        decoded(path.strip_prefix('/')?, Plus::IsPlus)
    }

    /// The value of a parameter of the query, decoded; empty for one without `=`.
    pub fn query(&self, name: &str) -> Option<String> {
        self.parameters()
            .find_map(|(have, value)| (have == name).then_some(value))
    }

    /// The parameters of the query.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .filter_map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((
                    decoded(name, Plus::IsBlank)?,
                    decoded(value, Plus::IsBlank)?,
                ))
            })
    }

    /// Removes headers.
    pub(crate) fn drop_headers(&mut self, names: &[&str]) {
        self.headers
            .retain(|(name, _)| !names.contains(&name.as_str()));
    }

    /// Removes a parameter of the query.
    pub(crate) fn drop_parameter(&mut self, name: &str) {
        let Some((path, query)) = self.target.split_once('?') else {
            return;
        };
        let is_other = |pair: &&str| pair.split('=').next() != Some(name);
        let rest: Vec<&str> = query.split('&').filter(is_other).collect();
        self.target = format!("{path}?{}", rest.join("&"));
    }

    fn parse(head: &[u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let method = words.next()?.to_owned();
        let target = words.next()?.to_owned();
        let headers = lines
            .filter(|line| !line.is_empty())
            .map(|line| {
                let (name, value) = line.split_once(':')?;
                Some((name.to_ascii_lowercase(), value.trim().to_owned()))
            })
            .collect::<Option<_>>()?;
        Some(Self {
            method,
            target,
            headers,
        })
    }
}

/// The meaning of `+`: a blank in queries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plus {
    IsPlus,
    IsBlank,
}

/// Decodes percent signs once.
pub(crate) fn decoded(text: &str, plus: Plus) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            b'+' if plus == Plus::IsBlank => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A request whose last byte is still unread.
pub(crate) struct Arrived {
    pub(crate) request: Request,
    pub(crate) body: Bytes,
}

impl Arrived {
    /// Reads a request but for its last byte: a connection closed with that byte unread is reset,
    /// and std has no other way to reset one. `None` at the end of the connection.
    ///
    /// # Errors
    ///
    /// Those of the connection, and `InvalidData` for what is not a request.
    pub(crate) fn read(stream: &mut Stream) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let head_len = loop {
            let len_before = bytes.len();
            if peek(stream, &mut bytes, STEP)? == 0 {
                return if len_before == 0 {
                    Ok(None)
                } else {
                    Err(ErrorKind::UnexpectedEof.into())
                };
            }
            let from = len_before.saturating_sub(3);
            if let Some(at) = bytes[from..]
                .windows(4)
                .position(|four| four == b"\r\n\r\n")
            {
                let head_len = from + at + 4;
                bytes.truncate(head_len);
                stream.read_exact(&mut bytes[len_before..head_len - 1])?;
                break head_len;
            }
            if bytes.len() > MAX_HEAD {
                return Err(ErrorKind::InvalidData.into());
            }
            stream.read_exact(&mut bytes[len_before..])?;
        };
        let request = Request::parse(&bytes[..head_len - 4]).ok_or(ErrorKind::InvalidData)?;
        let chunked = request
            .header("transfer-encoding")
            .is_some_and(|encoding| encoding.eq_ignore_ascii_case("chunked"));
        let byte_len = match request.header("content-length") {
            Some(text) => text.parse().map_err(|_| ErrorKind::InvalidData)?,
            None => 0,
        };
        if !chunked && byte_len == 0 {
            return Ok(Some(Self {
                request,
                body: Bytes::new(),
            }));
        }
        if request
            .header("expect")
            .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
        {
            io::Write::write_all(stream, b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        Self::finish(stream)?;
        let body = if chunked {
            chunked_body(stream)?
        } else {
            body_of(stream, byte_len)?
        };
        Ok(Some(Self {
            request,
            body: body.into(),
        }))
    }

    /// Reads the last byte.
    pub(crate) fn finish(stream: &mut Stream) -> io::Result<()> {
        stream.read_exact(&mut [0])
    }
}

/// Appends the bytes that have arrived, at most `max_len`, without consuming them. Returns their
/// number.
fn peek(stream: &Stream, bytes: &mut Vec<u8>, max_len: usize) -> io::Result<usize> {
    let len_before = bytes.len();
    bytes.resize(len_before + max_len, 0);
    let n = stream.peek(&mut bytes[len_before..])?;
    bytes.truncate(len_before + n);
    Ok(n)
}

/// A body of this length; its last byte stays unread.
fn body_of(stream: &mut Stream, byte_len: usize) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    while body.len() + 1 < byte_len {
        let len_before = body.len();
        body.resize(len_before + STEP.min(byte_len - 1 - len_before), 0);
        let n = stream.read(&mut body[len_before..])?;
        if n == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        body.truncate(len_before + n);
    }
    match peek(stream, &mut body, 1)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(body),
    }
}

/// A body in chunks; the last byte after it stays unread.
fn chunked_body(stream: &mut Stream) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = line(stream)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let byte_len = usize::from_str_radix(digits, 16).map_err(|_| ErrorKind::InvalidData)?;
        if byte_len == 0 {
            break;
        }
        let len_before = body.len();
        io::copy(&mut stream.take(byte_len as u64), &mut body)?;
        if body.len() - len_before != byte_len || !self::line(stream)?.is_empty() {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    // No client of ours sends trailers: an empty line follows.
    let mut end = [0; 1];
    stream.read_exact(&mut end)?;
    if &end == b"\r" {
        Ok(body)
    } else {
        Err(ErrorKind::InvalidData.into())
    }
}

fn line(stream: &mut Stream) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        if line.len() > 100 {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    line.truncate(line.len() - 2);
    String::from_utf8(line).map_err(|_| ErrorKind::InvalidData.into())
}
