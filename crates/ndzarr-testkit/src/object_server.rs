//! A server of objects for tests: S3, Google Cloud Storage, Azure and plain HTTP over memory, with
//! faults on demand.

mod connections;
mod dialects;
mod stored;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use connections::connection::Connection;
pub use connections::faults::{Fault, FaultRule};
pub use connections::request::Request;
use connections::server::Server;
use connections::traffic::Shared;
pub use connections::traffic::{Met, Traffic};
pub use dialects::dialect::Dialect;
pub use stored::objects::{BUCKET, Objects};

/// A server on a free port of the loopback interface. It ends when it is dropped.
///
/// It does not check signatures. Times do not come from the real clock: they advance by a second
/// with each write.
///
/// ```
/// use std::io::{Read, Write};
///
/// use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};
///
/// # fn main() -> std::io::Result<()> {
/// let server = ObjectServer::start(Dialect::S3);
/// server.objects().put("a/zarr.json", "{}");
/// let mut client = std::net::TcpStream::connect(server.address())?;
/// write!(client, "GET /{BUCKET}/a/zarr.json HTTP/1.1\r\n\r\n")?;
/// let mut answer = [0; 15];
/// client.read_exact(&mut answer)?;
/// assert_eq!(&answer, b"HTTP/1.1 200 OK");
/// assert_eq!(server.traffic().requests, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ObjectServer {
    address: SocketAddr,
    server: Arc<Server>,
    accepting: Option<JoinHandle<()>>,
}

impl ObjectServer {
    /// Starts a server with one empty bucket, [`BUCKET`].
    ///
    /// # Panics
    ///
    /// When the system gives no port or thread.
    pub fn start(dialect: Dialect) -> Self {
        Self::on(
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports"),
            dialect,
        )
    }

    /// [`start`](Self::start) on a listener of the caller's, such as one with a longer queue.
    ///
    /// # Panics
    ///
    /// When the listener has no port or the system gives no thread.
    pub fn on(listener: TcpListener, dialect: Dialect) -> Self {
        let address = listener
            .local_addr()
            .expect("the listener is bound to a port");
        let server = Arc::new(Server {
            objects: Objects::new(dialect),
            shared: Shared::default(),
            hook: Mutex::default(),
        });
        let shared = Arc::clone(&server);
        let accept = move || accept(&listener, &shared);
        let accepting = Builder::new()
            .name("object-server".into())
            .spawn(accept)
            .expect("a thread starts");
        Self {
            address,
            server,
            accepting: Some(accepting),
        }
    }

    /// Host and port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end: the endpoint that clients are given.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The stored objects.
    pub fn objects(&self) -> &Objects {
        &self.server.objects
    }

    /// Replaces the rules for faults. At each request the first rule that is due decides.
    pub fn faults(&self, rules: impl IntoIterator<Item = FaultRule>) {
        self.server.shared.set_rules(rules.into_iter().collect());
    }

    /// Stops injecting faults.
    pub fn heal(&self) {
        self.faults([]);
    }

    /// Delays each answer by this time.
    pub fn latency(&self, latency: Duration) {
        self.server.shared.set_latency(latency);
    }

    /// Runs `hook` before each request is carried out, for instance to change an object between two
    /// requests of a client.
    pub fn before_each(&self, hook: impl Fn(&Request) + Send + Sync + 'static) {
        *self
            .server
            .hook
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(hook));
    }

    /// Leaves requests without an answer until the result is dropped.
    pub fn hold(&self) -> Held<'_> {
        self.server.shared.hold(true);
        Held(&self.server.shared)
    }

    /// The counts.
    pub fn traffic(&self) -> Traffic {
        self.server.shared.traffic()
    }

    /// The requests in the order of their arrival, at most the last 65,536.
    pub fn requests(&self) -> Vec<Met> {
        self.server.shared.requests()
    }

    /// Resets counts and requests.
    pub fn forget(&self) {
        self.server.shared.forget();
    }
}

impl Drop for ObjectServer {
    fn drop(&mut self) {
        self.server.shared.end();
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            // It panics if a hook has panicked, which has printed why.
            let _ = accepting.join();
        }
    }
}

/// Requests wait for their answers until this is dropped.
#[derive(Debug)]
pub struct Held<'s>(&'s Shared);

impl Held<'_> {
    /// Waits until this many requests are held: earlier ones, whose answers the server has not
    /// quite finished, do not count.
    pub fn wait_for(&self, n: usize) {
        self.0.wait_held(n);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.hold(false);
    }
}

fn accept(listener: &TcpListener, server: &Arc<Server>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while let Ok((stream, _)) = listener.accept() {
        let Some(connection) = Connection::new(stream, Arc::clone(server)) else {
            break;
        };
        threads.retain(|thread| !thread.is_finished());
        threads.push(
            Builder::new()
                .name("object-server connection".into())
                .spawn(move || connection.serve())
                .expect("a thread starts"),
        );
    }
    for thread in threads {
        let _ = thread.join();
    }
}
