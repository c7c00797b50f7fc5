//! A connection whose calls end with the server.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The interval at which a waiting call checks if the server has ended. On real systems the end of
/// the connection wakes the call; under wine it does not.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct Stream {
    tcp: TcpStream,
    /// Set when the server has ended.
    ended: Arc<AtomicBool>,
}

impl Stream {
    pub(crate) fn new(tcp: TcpStream, ended: Arc<AtomicBool>) -> Self {
        // These calls fail if the client has closed the connection, which the first read finds.
        let _ = tcp.set_nodelay(true);
        let _ = tcp.set_read_timeout(Some(CHECK_INTERVAL));
        let _ = tcp.set_write_timeout(Some(CHECK_INTERVAL));
        Self { tcp, ended }
    }

    /// Reads bytes that have arrived without consuming them. Returns their number.
    pub(crate) fn peek(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.wait(|tcp| tcp.peek(bytes))
    }

    fn wait(&self, mut call: impl FnMut(&TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match call(&self.tcp) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
                        && !self.ended.load(Ordering::Relaxed) => {}
                result => return result,
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.wait(|mut tcp| tcp.read(bytes))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait(|mut tcp| tcp.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}
