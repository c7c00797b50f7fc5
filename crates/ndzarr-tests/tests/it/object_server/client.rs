//! A client that sends exactly what a test says.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use ndzarr_testkit::ObjectServer;

/// A connection to a server.
pub(super) struct Client(BufReader<TcpStream>);

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(have, _)| have == name)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    /// The contents of all elements of this name.
    pub(super) fn elements(&self, name: &str) -> Vec<&str> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        self.text()
            .split(&open)
            .skip(1)
            .map(|rest| rest.split(&close).next().expect("it ends"))
            .collect()
    }

    pub(super) fn element(&self, name: &str) -> &str {
        match self.elements(name)[..] {
            [one] => one,
            _ => panic!("not one {name} in {}", self.text()),
        }
    }
}

impl Client {
    pub(super) fn new(server: &ObjectServer) -> Self {
        Self(BufReader::new(
            TcpStream::connect(server.address()).expect("it listens"),
        ))
    }

    /// Sends a request without reading the answer.
    pub(super) fn begin(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if matches!(method, "PUT" | "POST") {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        self.0
            .get_mut()
            .write_all(&[head.as_bytes(), b"\r\n", body].concat())
            .expect("it listens");
    }

    /// Reads the answer to a request of this method.
    pub(super) fn answer(&mut self, method: &str) -> io::Result<Answer> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let status = lines[0]
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("a status");
        let headers = lines[1..]
            .iter()
            .map(|line| line.split_once(": ").expect("a header"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut answer = Answer {
            status,
            headers,
            body: Vec::new(),
        };
        let byte_len = answer
            .header("content-length")
            .map_or(0, |text| text.parse().expect("a number"));
        if method != "HEAD" {
            answer.body.resize(byte_len, 0);
            self.0.read_exact(&mut answer.body)?;
        }
        Ok(answer)
    }

    pub(super) fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        self.begin(method, target, headers, body);
        self.answer(method).expect("an answer")
    }

    pub(super) fn get(&mut self, target: &str) -> Answer {
        self.send("GET", target, &[], b"")
    }

    pub(super) fn put(&mut self, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send("PUT", target, headers, body.as_bytes())
    }

    /// What follows until the end of the connection.
    pub(super) fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).map(|_| rest)
    }
}
