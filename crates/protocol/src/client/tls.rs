//! How a client secures its connection.

use super::ClientError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// Whether, and how far, a connection is secured.
#[derive(Debug, Clone, Copy)]
pub enum Tls<'a> {
    /// Plain.
    Off,
    /// Encrypted, the server's certificate unchecked: MySQL's `ssl-mode=REQUIRED`.
    Unverified,
    /// Encrypted to a server whose certificate an authority has signed, whatever name is in it:
    /// `ssl-mode=VERIFY_CA`.
    Signed {
        /// The authority's certificates, PEM.
        ca: &'a [u8],
    },
    /// The same, and the certificate has the server's name: `ssl-mode=VERIFY_IDENTITY`.
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
        let unusable = |e: &dyn ToString| ClientError::Tls(e.to_string());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| unusable(&e))?;
        let (config, name) = match *self {
            Tls::Off => return Ok(None),
            Tls::Unverified | Tls::Signed { .. } => {
                let roots = match *self {
                    Tls::Signed { ca } => Some(roots(ca)?),
                    _ => None,
                };
                let verifier = Arc::new(AnyName { roots, provider });
                (
                    builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth(),
                    "localhost",
                )
            }
            Tls::Verified { ca, server_name } => {
                (builder.with_root_certificates(roots(ca)?).with_no_client_auth(), server_name)
            }
        };
        let name = ServerName::try_from(name.to_owned()).map_err(|e| unusable(&e))?;
        Ok(Some((Arc::new(config), name)))
    }
}

fn roots(ca: &[u8]) -> Result<RootCertStore, ClientError> {
    let unusable = |e: &dyn ToString| ClientError::Tls(e.to_string());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca) {
        roots.add(certificate.map_err(|e| unusable(&e))?).map_err(|e| unusable(&e))?;
    }
    match roots.is_empty() {
        true => Err(ClientError::Tls("the file of the authority has no certificate".to_owned())),
        false => Ok(roots),
    }
}

/// Takes a certificate of any name, but checks that the server has its key.
#[derive(Debug)]
struct AnyName {
    /// Who has to have signed it; `None`: anybody.
    roots: Option<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let algorithms = self.provider.signature_verification_algorithms.all;
            let certificate = ParsedCertificate::try_from(certificate)?;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, between, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
