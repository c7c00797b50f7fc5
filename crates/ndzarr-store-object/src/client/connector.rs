//! Makes HTTP clients: for the service, and for those that hand out credentials.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ndzarr_store::PerProcess;
use object_store::client::{HttpClient, HttpConnector};
use object_store::{ClientConfigKey, ClientOptions};
use rustls::ClientConfig;

use crate::client::as_sent::Turn;
use crate::client::certificates::Certificates;
use crate::client::per_process::{Client, Failed};
use crate::client::service::HttpLayer;
use crate::client::signing::Signing;
use crate::errors::secrets;
use crate::options::RemoteOptions;

/// The clients of this process, oldest first. Storages with the same options share connections, which
/// live for a while: what is opened one after the other connects once.
static CLIENTS: PerProcess<Mutex<Clients>> = PerProcess::new();

type Clients = Vec<(Settings, Arc<Client>)>;

/// More have options of their own, each with certificates that are kept.
const MOST_CLIENTS: usize = 16;

/// What makes a client another one. Credentials and headers belong to requests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    connect: Duration,
    read: Duration,
    allows_http: bool,
    /// No proxy leads there.
    is_near: bool,
    roots: Vec<Vec<u8>>,
}

/// Its sessions are behind a lock, so a forked child needs its own.
type Tls = PerProcess<Result<ClientConfig, rustls::Error>>;

/// Makes clients with rustls and ring, whatever provider the process has installed.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    options: RemoteOptions,
    signing: Signing,
    /// Whether the service runs on this machine: no proxy leads to it.
    is_local: bool,
    tls: Arc<Tls>,
}

impl Connector {
    /// For the service at `url`.
    pub(crate) fn new(options: &RemoteOptions, url: Option<&str>, signing: &Signing) -> Self {
        let host = url.and_then(|url| reqwest::Url::parse(url).ok()?.host_str().map(str::to_owned));
        let is_loopback = |host: String| {
            let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
            host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
        };
        Self {
            options: options.clone(),
            signing: signing.clone(),
            is_local: host.is_some_and(is_loopback),
            tls: Arc::default(),
        }
    }
}

fn tls(roots: &[Vec<u8>]) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificates = Certificates::new(Arc::clone(&provider), roots.to_vec());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(certificates))
        .with_no_client_auth())
}

fn failed(source: Failed) -> object_store::Error {
    object_store::Error::Generic { store: "http", source }
}

/// Options whose time to connect is not limited: object_store limits that of metadata services alone.
pub(crate) fn client_options(allow_http: bool) -> ClientOptions {
    ClientOptions::new().with_allow_http(allow_http).with_connect_timeout_disabled()
}

/// Options for a service of this machine or its network: no proxy leads there.
pub(crate) fn metadata_options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true).with_connect_timeout(Duration::from_secs(1))
}

impl HttpConnector for Connector {
    fn connect(&self, asked: &ClientOptions) -> object_store::Result<HttpClient> {
        let options = &self.options;
        let is_metadata = asked.get_config_value(&ClientConfigKey::ConnectTimeout).is_some();
        let allows_http = asked.get_config_value(&ClientConfigKey::AllowHttp).as_deref() == Some("true");
        let (connect, read) = match is_metadata {
            // Its credentials have a limit as a whole.
            true => (options.metadata_timeout, options.read_timeout),
            false => (options.connect_timeout, options.read_timeout),
        };
        let is_near = is_metadata || self.is_local;
        let settings = Settings { connect, read, allows_http, is_near, roots: options.roots.clone() };
        // The connections of a runtime of the caller's end with it.
        let client = match &options.runtime {
            None => self.shared(settings),
            Some(_) => self.client(settings).map(Arc::new),
        };
        Ok(HttpClient::new(HttpLayer {
            client: client.map_err(failed)?,
            headers: options.headers.clone(),
            secrets: secrets::of_options(options),
            patience: options.read_timeout,
            signing: self.signing.clone(),
            turn: Turn::default(),
        }))
    }
}

impl Connector {
    /// The client of these settings in this process.
    fn shared(&self, settings: Settings) -> Result<Arc<Client>, Failed> {
        let mut clients = CLIENTS.lock();
        if let Some((_, client)) = clients.iter().find(|(known, _)| *known == settings) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(self.client(settings.clone())?);
        if clients.len() == MOST_CLIENTS {
            clients.remove(0);
        }
        clients.push((settings, Arc::clone(&client)));
        Ok(client)
    }

    fn client(&self, settings: Settings) -> Result<Client, Failed> {
        let made = Arc::clone(&self.tls);
        let read = settings.read;
        let make = move || {
            let Settings { connect, allows_http, is_near, ref roots, .. } = settings;
            let tls = made.get(|_| tls(roots)).clone()?;
            let client = reqwest::Client::builder()
                .tls_backend_preconfigured(tls)
                .http1_only()
                .https_only(!allows_http)
                .user_agent(concat!("ndzarr/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(connect)
                .pool_idle_timeout(Duration::from_secs(30))
                .redirect(reqwest::redirect::Policy::none());
            Ok(if is_near { client.no_proxy().build() } else { client.build() }?)
        };
        Ok(Client::new(Box::new(make), read)?)
    }
}
