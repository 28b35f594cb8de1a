//! How a client secures its connection.

use super::ClientError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io;
use std::sync::Arc;

/// Whether, and how far, a connection is secured.
#[derive(Debug, Clone, Copy)]
pub enum Tls<'a> {
    /// Plain.
    Off,
    /// Encrypted, the server's certificate unchecked: MySQL's `ssl-mode=REQUIRED`.
    Unverified,
    /// Encrypted to a server that a certificate authority vouches for: `ssl-mode=VERIFY_IDENTITY`.
    Verified {
        /// The authority's certificates, PEM.
        ca: &'a [u8],
        /// The server's name or address.
        server_name: &'a str,
    },
}

impl Tls<'_> {
    /// What rustls needs, if this is TLS at all.
    pub(super) fn config(&self) -> Result<Option<(Arc<ClientConfig>, ServerName<'static>)>, ClientError> {
        let unusable = |e: &dyn ToString| ClientError::Write(io::Error::other(e.to_string()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| unusable(&e))?;
        let (config, name) = match *self {
            Tls::Off => return Ok(None),
            Tls::Unverified => {
                let verifier = Arc::new(Anyone(provider));
                (
                    builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth(),
                    "localhost",
                )
            }
            Tls::Verified { ca, server_name } => {
                let mut roots = RootCertStore::empty();
                for certificate in CertificateDer::pem_slice_iter(ca) {
                    roots.add(certificate.map_err(|e| unusable(&e))?).map_err(|e| unusable(&e))?;
                }
                (builder.with_root_certificates(roots).with_no_client_auth(), server_name)
            }
        };
        let name = ServerName::try_from(name.to_owned()).map_err(|e| unusable(&e))?;
        Ok(Some((Arc::new(config), name)))
    }
}

/// Takes any certificate, but checks that the server has its key.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
