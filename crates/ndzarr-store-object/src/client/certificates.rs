//! Certificates of the system, which are loaded when the first server has to be checked.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// Checks certificates as the system does. A machine that has none can still reach servers by plain
/// HTTP.
#[derive(Debug)]
pub(crate) struct Certificates {
    provider: Arc<CryptoProvider>,
    /// Trusted authorities besides those of the system, in DER.
    roots: Vec<Vec<u8>>,
    /// A failure is not stored, since the certificates of the system may be installed later.
    verifier: OnceLock<Verifier>,
}

impl Certificates {
    pub(crate) fn new(provider: Arc<CryptoProvider>, roots: Vec<Vec<u8>>) -> Self {
        Self {
            provider,
            roots,
            verifier: OnceLock::new(),
        }
    }

    fn verifier(&self) -> Result<&Verifier, Error> {
        if let Some(verifier) = self.verifier.get() {
            return Ok(verifier);
        }
        let roots = self
            .roots
            .iter()
            .map(|der| CertificateDer::from(der.clone()));
        let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&self.provider))?;
        Ok(self.verifier.get_or_init(|| verifier))
    }
}

impl ServerCertVerifier for Certificates {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier()?
            .verify_server_cert(certificate, intermediates, server, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
