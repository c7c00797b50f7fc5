//! The port at which engines and the harness control the server: each line is answered with a line.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::proxy::Proxy;

/// Serves `forget`, `counts` and `latency MS` for a proxy. Each is answered with the counts.
///
/// # Errors
/// The system gives no port.
pub fn serve(proxy: Arc<Proxy>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(&proxy, &stream);
        }
    });
    Ok(address)
}

fn answer(proxy: &Proxy, mut stream: &TcpStream) -> io::Result<()> {
    for line in BufReader::new(stream).lines() {
        let line = line?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("forget", _) => proxy.forget(),
            ("latency", ms) => proxy.set_latency(Duration::from_millis(ms.parse().unwrap_or(0))),
            _ => {}
        }
        writeln!(stream, "{}", serde_json::to_string(&proxy.counts())?)?;
    }
    Ok(())
}

/// Resets the counts: what follows is measured.
///
/// # Panics
/// The server does not run.
pub fn forget(address: &str) {
    let mut stream = TcpStream::connect(address).expect("the server runs");
    writeln!(stream, "forget").expect("it reads");
    let mut line = String::new();
    BufReader::new(stream)
        .read_line(&mut line)
        .expect("it answers");
}
