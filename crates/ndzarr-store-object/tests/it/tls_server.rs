//! TLS in front of a server of this process, with certificates of an authority that the test makes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base64::Engine;
use ndzarr_testkit::object_server::ObjectServer;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

/// Signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: Vec<u8>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name = named("the authority of a test");
        let der = parameters
            .self_signed(&key)
            .expect("a certificate")
            .der()
            .to_vec();
        Self {
            issuer: Issuer::new(parameters, key),
            der,
        }
    }

    pub(crate) fn der(&self) -> &[u8] {
        &self.der
    }

    pub(crate) fn pem(&self) -> String {
        let text = base64::engine::general_purpose::STANDARD.encode(&self.der);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    }

    /// A certificate for this host name or address that ends with this year.
    fn certify(&self, host: &str, last_year: i32, is_ca: IsCa) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new(vec![host.to_owned()]).expect("a name");
        parameters.distinguished_name = named("the server of a test");
        parameters.is_ca = is_ca;
        parameters.not_before = date_time_ymd(2000, 1, 1);
        parameters.not_after = date_time_ymd(last_year, 12, 31);
        let certificate = parameters
            .signed_by(&key, &self.issuer)
            .expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions that ring has")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("they fit")
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// Decrypts requests and passes them on to a server, on a port of its own. It ends when it is
/// dropped.
pub(crate) struct TlsServer {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl TlsServer {
    /// Starts with a certificate for `host` that ends with this year.
    pub(crate) fn start(
        to: &ObjectServer,
        authority: &Authority,
        host: &str,
        last_year: i32,
    ) -> Self {
        Self::of(to, authority.certify(host, last_year, IsCa::NoCa))
    }

    /// Starts with a certificate that could sign others.
    pub(crate) fn start_as_authority(to: &ObjectServer, authority: &Authority, host: &str) -> Self {
        Self::of(
            to,
            authority.certify(host, 2999, IsCa::Ca(BasicConstraints::Unconstrained)),
        )
    }

    fn of(to: &ObjectServer, config: ServerConfig) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a thread");
        let listener = runtime
            .block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let to = to.address();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not trust the certificate goes away.
                    let Ok(mut outside) = acceptor.accept(stream).await else {
                        return;
                    };
                    let Ok(mut inside) = TcpStream::connect(to).await else {
                        return;
                    };
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                });
            }
        });
        Self {
            address,
            runtime: Some(runtime),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
