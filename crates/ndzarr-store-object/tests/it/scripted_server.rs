//! A server that answers every request by a function.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

/// Each connection has one request. The server ends when it is dropped.
pub(crate) struct ScriptedServer {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    n_requests: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// `answer` gets the head and the body of a request, and returns the whole answer.
    pub(crate) fn start(answer: impl Fn(&str, &str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let n_requests = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&n_requests);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let mut stream = stream.expect("a client comes");
                let Some((head, body)) = request(&mut stream) else {
                    continue;
                };
                counter.fetch_add(1, Ordering::SeqCst);
                // The client may have gone away.
                let _ = stream.write_all(answer(&head, &body).as_bytes());
            }
        });
        Self {
            address,
            is_over,
            n_requests,
            thread: Some(thread),
        }
    }

    /// A server that always gives the same answer.
    pub(crate) fn always(status: &str, body: &str) -> Self {
        let answer = answer(status, body);
        Self::start(move |_, _| answer.clone())
    }

    /// The number of requests that have come.
    pub(crate) fn n_requests(&self) -> u32 {
        self.n_requests.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it does not panic");
        }
    }
}

/// An answer after which the connection ends.
pub(crate) fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let head = String::from_utf8(head).ok()?;
    let byte_len = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; byte_len.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8_lossy(&body).into_owned()))
}
