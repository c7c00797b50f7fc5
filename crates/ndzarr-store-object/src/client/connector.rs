//! Makes HTTP clients, for the service and for the sources of credentials.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ndzarr_store::PerProcess;
use object_store::client::{HttpClient, HttpConnector};
use object_store::{ClientConfigKey, ClientOptions};
use rustls::ClientConfig;

use crate::client::certificates::Certificates;
use crate::client::per_process::{Client, ClientError};
use crate::client::service::HttpLayer;
use crate::client::signing::Signing;
use crate::client::web_value::LargeReads;
use crate::errors::secrets;
use crate::options::RemoteOptions;

/// The clients of this process, oldest first. Stores with the same options share connections, which
/// live for a while: stores that are opened one after the other connect once.
static CLIENTS: PerProcess<Mutex<Clients>> = PerProcess::new();

type Clients = Vec<(Settings, Arc<Client>)>;

/// The most clients that are shared: each holds certificates.
const MAX_CLIENTS: usize = 16;

/// The settings in which clients differ. Credentials and headers belong to requests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    connect: Duration,
    read: Duration,
    allows_http: bool,
    without_proxy: bool,
    roots: Vec<Vec<u8>>,
}

/// Its sessions are under a lock, so a forked child needs its own.
type Tls = PerProcess<Result<ClientConfig, rustls::Error>>;

/// Makes clients with rustls and ring, whatever provider the process has installed.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    options: RemoteOptions,
    signing: Signing,
    /// The service runs on this machine, so that no proxy can reach it.
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

fn failed(source: ClientError) -> object_store::Error {
    object_store::Error::Generic {
        store: "http",
        source,
    }
}

/// Options without a limit of the time to connect, which only those of metadata services have.
pub(crate) fn client_options(allow_http: bool) -> ClientOptions {
    ClientOptions::new()
        .with_allow_http(allow_http)
        .with_connect_timeout_disabled()
}

/// Options for a metadata service of this machine or its network, which no proxy can reach.
pub(crate) fn metadata_options() -> ClientOptions {
    ClientOptions::new()
        .with_allow_http(true)
        .with_connect_timeout(Duration::from_secs(1))
}

impl HttpConnector for Connector {
    fn connect(&self, requested: &ClientOptions) -> object_store::Result<HttpClient> {
        let options = &self.options;
        let is_metadata = requested
            .get_config_value(&ClientConfigKey::ConnectTimeout)
            .is_some();
        let allows_http = requested
            .get_config_value(&ClientConfigKey::AllowHttp)
            .as_deref()
            == Some("true");
        let settings = Settings {
            connect: if is_metadata {
                options.metadata_timeout
            } else {
                options.connect_timeout
            },
            // For metadata services, fetching credentials has a limit as a whole besides.
            read: options.read_timeout,
            allows_http,
            without_proxy: is_metadata || self.is_local,
            roots: options.roots.clone(),
        };
        // Connections end with the runtime that they belong to, so those of a caller's are not
        // shared.
        let client = match &options.runtime {
            None => self.shared(settings),
            Some(_) => self.client(settings).map(Arc::new),
        };
        Ok(HttpClient::new(HttpLayer {
            client: client.map_err(failed)?,
            headers: options.headers.clone(),
            secrets: secrets::of_options(options),
            error_timeout: options.read_timeout,
            signing: self.signing.clone(),
            large_reads: LargeReads::default(),
        }))
    }
}

impl Connector {
    /// The client of these settings in this process.
    fn shared(&self, settings: Settings) -> Result<Arc<Client>, ClientError> {
        let mut clients = CLIENTS.lock();
        if let Some((_, client)) = clients.iter().find(|(known, _)| *known == settings) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(self.client(settings.clone())?);
        if clients.len() == MAX_CLIENTS {
            clients.remove(0);
        }
        clients.push((settings, Arc::clone(&client)));
        Ok(client)
    }

    fn client(&self, settings: Settings) -> Result<Client, ClientError> {
        let shared_tls = Arc::clone(&self.tls);
        let read = settings.read;
        let make = move || {
            let Settings {
                connect,
                allows_http,
                without_proxy,
                ref roots,
                ..
            } = settings;
            let tls = shared_tls.get(|_| tls(roots)).clone()?;
            let client = reqwest::Client::builder()
                .tls_backend_preconfigured(tls)
                .http1_only()
                .https_only(!allows_http)
                .user_agent(concat!("ndzarr/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(connect)
                .pool_idle_timeout(Duration::from_secs(30))
                .redirect(reqwest::redirect::Policy::none());
            Ok(if without_proxy {
                client.no_proxy().build()
            } else {
                client.build()
            }?)
        };
        Ok(Client::new(Box::new(make), read)?)
    }
}
