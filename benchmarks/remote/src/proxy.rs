//! A proxy between HTTP/1.1 clients and a server that adds latency and limits bandwidth.
//!
//! Every request waits for the latency, the first of a connection for twice as long: a connection
//! takes a round, too. Answers are sent at the bandwidth of their connection, and all of them share
//! another one.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};

/// Bytes that are sent at once.
const PIECE: usize = 32 << 10;
/// Sleeps are not exact, so shorter waits are left out and caught up with later.
const SHORT: Duration = Duration::from_micros(500);

/// How slow the network is.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// The time for a round.
    pub latency: Duration,
    /// Bytes in a second, of all answers.
    pub bandwidth: f64,
    /// Bytes in a second, of answers on one connection.
    pub each: f64,
}

/// Counts since the start, or since they were forgotten.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Requests.
    pub requests: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Bytes of answers, heads included.
    pub bytes: u64,
    /// Most requests at once.
    pub most_in_flight: u64,
}

/// A proxy, which its connections share.
#[derive(Debug)]
pub struct Proxy {
    server: SocketAddr,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    network: Network,
    counts: Counts,
    in_flight: u64,
    /// When the bandwidth of all connections is free again.
    free_at: Instant,
}

impl Proxy {
    /// Starts a proxy for this server on a free port.
    ///
    /// # Errors
    /// The system gives no port.
    pub fn start(server: SocketAddr, network: Network) -> io::Result<(Arc<Self>, SocketAddr)> {
        let listener = listener()?;
        let address = listener.local_addr()?;
        let state = State {
            network,
            counts: Counts::default(),
            in_flight: 0,
            free_at: Instant::now(),
        };
        let proxy = Arc::new(Self {
            server,
            state: Mutex::new(state),
        });
        let shared = Arc::clone(&proxy);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let proxy = Arc::clone(&shared);
                let serve = move || drop(proxy.serve(&client));
                thread::Builder::new()
                    .stack_size(256 << 10)
                    .spawn(serve)
                    .expect("a thread starts");
            }
        });
        Ok((proxy, address))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the latency.
    pub fn set_latency(&self, latency: Duration) {
        self.state().network.latency = latency;
    }

    /// The counts.
    pub fn counts(&self) -> Counts {
        self.state().counts
    }

    /// Resets the counts.
    pub fn forget(&self) {
        let mut state = self.state();
        state.counts = Counts {
            most_in_flight: state.in_flight,
            ..Counts::default()
        };
    }

    fn serve(&self, client: &TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let server = TcpStream::connect(self.server)?;
        server.set_nodelay(true)?;
        let mut requests = BufReader::new(client);
        let mut answers = BufReader::new(&server);
        let mut is_first = true;
        while let Some(head) = head(&mut requests)? {
            let latency = self.begin(is_first);
            let body_len = length(&head).unwrap_or(0);
            let mut body = vec![0; body_len];
            requests.read_exact(&mut body)?;
            thread::sleep(latency);
            (&server).write_all(&[&head[..], &body].concat())?;
            let passed = self.pass(&head, &mut answers, client);
            self.state().in_flight -= 1;
            passed?;
            is_first = false;
        }
        Ok(())
    }

    /// Counts a request. Returns how long it is to wait.
    fn begin(&self, is_first: bool) -> Duration {
        let mut state = self.state();
        state.in_flight += 1;
        state.counts.requests += 1;
        state.counts.connections += u64::from(is_first);
        state.counts.most_in_flight = state.counts.most_in_flight.max(state.in_flight);
        state.network.latency * if is_first { 2 } else { 1 }
    }

    /// Passes an answer on.
    fn pass(
        &self,
        request: &[u8],
        answers: &mut impl BufRead,
        mut client: &TcpStream,
    ) -> io::Result<()> {
        let Some(head) = head(answers)? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let has_body = !request.starts_with(b"HEAD ");
        let mut left = if has_body {
            length(&head).unwrap_or(0)
        } else {
            0
        };
        let mut mine = Instant::now();
        let mut piece = head;
        loop {
            let wait = self
                .until(piece.len(), &mut mine)
                .saturating_duration_since(Instant::now());
            if wait > SHORT {
                thread::sleep(wait);
            }
            client.write_all(&piece)?;
            if left == 0 {
                return Ok(());
            }
            piece.resize(left.min(PIECE), 0);
            answers.read_exact(&mut piece)?;
            left -= piece.len();
        }
    }

    /// The time at which this many bytes will have been sent; `mine` is that of earlier bytes of
    /// the connection.
    fn until(&self, byte_len: usize, mine: &mut Instant) -> Instant {
        let mut state = self.state();
        let now = Instant::now();
        let Network {
            bandwidth, each, ..
        } = state.network;
        state.counts.bytes += byte_len as u64;
        state.free_at =
            state.free_at.max(now) + Duration::from_secs_f64(byte_len as f64 / bandwidth);
        *mine = (*mine).max(now - SHORT) + Duration::from_secs_f64(byte_len as f64 / each);
        state.free_at.max(*mine)
    }
}

/// A listener on a free port whose queue holds all connections that a client opens at once.
///
/// The 128 places that the standard library asks for are too few: the system drops what comes
/// beyond them, and a client tries again after a second.
///
/// # Errors
/// The system gives no port.
pub fn listener() -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(4096)?;
    Ok(socket.into())
}

/// The head of a request or answer; `None` at the end of the connection.
fn head(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        if from.read_until(b'\n', &mut head)? == 0 {
            return if before == 0 {
                Ok(None)
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            };
        }
        if &head[before..] == b"\r\n" {
            return Ok(Some(head));
        }
    }
}

/// The length of the body that a head states.
fn length(head: &[u8]) -> Option<usize> {
    let head = std::str::from_utf8(head).ok()?;
    let named = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    };
    head.lines().find_map(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers each request of a connection with as many bytes as its path says.
    fn server() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("it is bound");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut requests = BufReader::new(&stream);
                    while let Ok(Some(head)) = head(&mut requests) {
                        let text = String::from_utf8(head).expect("ASCII");
                        let path = text.split(' ').nth(1).expect("a path");
                        let n: usize = path.trim_start_matches('/').parse().expect("a number");
                        let answer =
                            format!("HTTP/1.1 200 OK\r\nContent-Length: {n}\r\n\r\n").into_bytes();
                        (&stream)
                            .write_all(&[answer, vec![7; n]].concat())
                            .expect("it is read");
                    }
                });
            }
        });
        address
    }

    fn get(stream: &TcpStream, n: usize) -> Duration {
        let start = Instant::now();
        write!(&mut &*stream, "GET /{n} HTTP/1.1\r\n\r\n").expect("it is read");
        let mut answer = BufReader::new(stream);
        let found = head(&mut answer).expect("an answer").expect("a head");
        assert_eq!(length(&found), Some(n));
        let mut body = vec![0; n];
        answer.read_exact(&mut body).expect("a body");
        assert!(body.iter().all(|&byte| byte == 7));
        start.elapsed()
    }

    #[test]
    fn the_queue_holds_many_connections() {
        let listener = listener().expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(30));
        let _waiting: Vec<_> = (0..300)
            .map(|_| connect().expect("the queue has space"))
            .collect();
    }

    /// Only lower limits: a busy machine takes longer.
    #[test]
    fn requests_wait_for_latency_and_bandwidth() {
        let network = Network {
            latency: Duration::from_millis(20),
            bandwidth: 10e6,
            each: 5e6,
        };
        let (proxy, address) = Proxy::start(server(), network).expect("a port");
        let stream = TcpStream::connect(address).expect("it accepts");
        assert!(
            get(&stream, 0) >= Duration::from_millis(40),
            "a new connection takes a round more"
        );
        assert!(get(&stream, 0) >= Duration::from_millis(20));
        assert!(
            get(&stream, 500_000) >= Duration::from_millis(20 + 98),
            "5 MB/s on a connection"
        );
        let counts = proxy.counts();
        assert_eq!(
            (counts.requests, counts.connections, counts.most_in_flight),
            (3, 1, 1)
        );
        assert!((500_000..501_000).contains(&counts.bytes));
        proxy.forget();
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| get(&TcpStream::connect(address).expect("it accepts"), 125_000));
            }
        });
        assert!(
            start.elapsed() >= Duration::from_millis(40 + 90),
            "10 MB/s in all"
        );
        assert_eq!(proxy.counts().requests, 8);
    }
}
