//! `RemoteOptions`: the options for reaching a service.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use ndzarr_store::StoreError;
use tokio::runtime::Handle;

use crate::settings::setting::Setting;

/// The options for reaching a service. Every constructor of [`ObjectStore`](crate::ObjectStore)
/// takes the same options, and uses those that its service has.
///
/// ```
/// use ndzarr::store::{Credentials, RemoteOptions};
///
/// let options = RemoteOptions::new()
///     .endpoint("https://storage.example.org")
///     .credentials(Credentials::key("an id", "a secret"));
/// assert!(!format!("{options:?}").contains("a secret"));
/// ```
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    pub(crate) endpoint: Option<Setting>,
    pub(crate) region: Option<Setting>,
    pub(crate) account: Option<Setting>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) roots: Vec<Vec<u8>>,
    pub(crate) headers: HeaderMap,
    /// A file with passwords of web servers, which need not exist.
    pub(crate) netrc: Option<PathBuf>,
    pub(crate) connect_timeout: Duration,
    pub(crate) read_timeout: Duration,
    pub(crate) retry_for: Duration,
    pub(crate) attempts: u32,
    pub(crate) requests: usize,
    pub(crate) hedge_after: Option<Duration>,
    pub(crate) missing_if_denied: bool,
    pub(crate) requester_pays: bool,
    /// How long a connection to the metadata service of the machine may take to be made.
    pub(crate) metadata_timeout: Duration,
    pub(crate) runtime: Option<Handle>,
    /// What is wrong with a variable of the environment, which becomes an error of the constructor.
    pub(crate) fault: Option<String>,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl RemoteOptions {
    /// The service's own endpoint, no credentials, 256 requests at once.
    #[must_use]
    pub fn new() -> Self {
        Self {
            endpoint: None,
            region: None,
            account: None,
            credentials: None,
            roots: Vec::new(),
            headers: HeaderMap::new(),
            netrc: None,
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(30),
            retry_for: Duration::from_secs(60),
            attempts: 8,
            requests: 256,
            hedge_after: None,
            missing_if_denied: false,
            requester_pays: false,
            metadata_timeout: Duration::from_secs(1),
            runtime: None,
            fault: None,
        }
    }

    /// The URL of another service that speaks the same protocol.
    #[must_use]
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(Setting::new("the endpoint", url));
        self
    }

    /// The region of an S3 bucket. If it is not given, the first request asks Amazon for it,
    /// without credentials, once for the process; at an [`endpoint`](Self::endpoint) it is
    /// `us-east-1`.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(Setting::new("the region", region));
        self
    }

    /// The account of an Azure container.
    #[must_use]
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Some(Setting::new("the account", account));
        self
    }

    /// The credentials of requests. Without any, nothing is signed.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// One more certificate authority to trust, in DER, besides those of the system. On Linux
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR` name the latter.
    #[must_use]
    pub fn root_certificate(mut self, der: impl Into<Vec<u8>>) -> Self {
        self.roots.push(der.into());
        self
    }

    /// A header of every request to the service; it does not follow redirects to other hosts.
    ///
    /// # Errors
    /// If the name or the value is not valid in a header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, StoreError> {
        let invalid = || StoreError::Other {
            action: "set the header",
            key: name.to_owned(),
            what: "the name or the value is not valid in a header".to_owned(),
        };
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        self.headers.append(
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?,
            value,
        );
        Ok(self)
    }

    /// How long connecting may take: 5 s if not given.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long a request may send nothing, or get fewer than 4 KiB of its answer: 30 s if not
    /// given. Large values may take as long as they need.
    #[must_use]
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// For how long failed requests are repeated: 60 s if not given. The last attempt may take
    /// longer, by the [`read_timeout`](Self::read_timeout). If the service asks for a pause beyond
    /// that time, the call fails at once.
    #[must_use]
    pub fn retry_for(mut self, time: Duration) -> Self {
        self.retry_for = time;
        self
    }

    /// The most attempts of a request, at least 1: 8 if not given.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The most requests of a store at once, at least 1.
    #[must_use]
    pub fn requests_in_flight(mut self, requests: usize) -> Self {
        self.requests = requests.max(1);
        self
    }

    /// Sends a read once more if its answer has not begun after this time, or after three times the
    /// median of the last 64 answers if that is longer, and takes the first answer: at most one
    /// read in twenty, and no write. For services where a few answers take much longer than most;
    /// 200 ms are a good start. Nothing is sent twice if not given.
    #[must_use]
    pub fn hedge_after(mut self, time: Duration) -> Self {
        self.hedge_after = Some(time);
        self
    }

    /// Treats a chunk as missing if reading it is denied, and so the attributes of a node of Zarr
    /// v2: S3 denies access to absent values if the user may not list the bucket. It stays an error
    /// for chunks that are read to be written, and if a key or a signature is refused.
    #[must_use]
    pub fn missing_if_denied(mut self) -> Self {
        self.missing_if_denied = true;
        self
    }

    /// S3: the user pays for requests and transfers, as some buckets demand.
    #[must_use]
    pub fn requester_pays(mut self) -> Self {
        self.requester_pays = true;
        self
    }

    /// The runtime for requests. It must run on other threads than the one that waits for them.
    #[must_use]
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }
}

/// The credentials of requests.
#[derive(Clone)]
#[non_exhaustive]
pub enum Credentials {
    /// Requests are not signed.
    Anonymous,
    /// A key of S3.
    Key {
        /// Its id.
        id: String,
        /// Its secret.
        secret: String,
        /// The token of temporary credentials.
        session_token: Option<String>,
    },
    /// The key of an Azure account, in base64.
    AccountKey(String),
    /// A token of Google Cloud or Azure.
    Bearer(String),
    /// The JSON of a service account of Google Cloud.
    ServiceAccount(String),
    /// Environment variables of the service and their values, which contain credentials or tell
    /// where to find them; see [`RemoteOptions::from_environment`].
    Variables(Vec<(String, String)>),
}

impl Credentials {
    /// A key of S3.
    pub fn key(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self::Key {
            id: id.into(),
            secret: secret.into(),
            session_token: None,
        }
    }
}

/// Without values.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Key { .. } => "Key",
            Self::AccountKey(_) => "AccountKey",
            Self::Bearer(_) => "Bearer",
            Self::ServiceAccount(_) => "ServiceAccount",
            Self::Variables(set) => {
                let names = set.iter().map(|(name, _)| name);
                return f
                    .write_str("Variables ")
                    .and_then(|()| f.debug_list().entries(names).finish());
            }
        })
    }
}
