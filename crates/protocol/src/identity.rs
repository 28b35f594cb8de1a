//! The server's certificate and keys, found in the data directory or made there.
//!
//! The names are MySQL's: `server-cert.pem` and `server-key.pem` for TLS, `ca.pem` for clients that
//! verify, `private_key.pem` and `public_key.pem` for passwords sealed with RSA. What is missing is
//! made: an ECDSA P-256 key, signed by a certificate authority whose own key is thrown away at
//! once, and an RSA key of 2048 bits. That takes up to a second, so a background thread does it
//! while the server is already there; a session that needs one of them before it is ready waits for
//! it.
//!
//! A certificate and its key may also be given (`--ssl-cert`, `--ssl-key`); then nothing is made in
//! their place, and if they can't be used TLS is not offered.
//!
//! The certificate made here has no end (year 4096): the expiry of one that nobody renews is an
//! outage, not a safeguard.
//!
//! A private key is written before what proves it complete (`server-cert.pem`), and never replaced
//! if it is there. Private keys are for the owner's eyes only (mode 0600).

mod sessions;
mod validity;

pub use sessions::{SESSIONS_MAX, TlsCounters, TlsFacts};
pub use validity::Validity;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use env::Env;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use thiserror::Error;

/// Why a certificate or key can't be used.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// A file can't be read or written.
    #[error("{file}: {source}")]
    File {
        /// Its name in the data directory.
        file: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// A file's content is not what its name promises.
    #[error("{file}: {problem}")]
    Content {
        /// Its name in the data directory.
        file: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Making a key or certificate failed.
    #[error("can't make {0}")]
    Generate(&'static str),
}

/// A certificate that someone else made: its chain and its private key, as PEM files.
#[derive(Debug, Clone)]
pub struct GivenFiles {
    /// `ssl_cert`
    pub certificate: PathBuf,
    /// `ssl_key`
    pub key: PathBuf,
}

/// The server's certificate and keys, each there as soon as it is needed.
pub struct Identity {
    env: Arc<dyn Env>,
    dir: PathBuf,
    given: Option<GivenFiles>,
    tls: OnceLock<Option<Tls>>,
    rsa: OnceLock<Option<RsaKey>>,
}

/// The TLS configuration, and what status variables show of it.
struct Tls {
    config: Arc<rustls::ServerConfig>,
    facts: TlsFacts,
}

impl Identity {
    /// Loads or makes the files in `dir`, which exists, on the background thread [`Ahead`]; for TLS
    /// those that are `given` are used instead. Fails only if there can be no thread.
    pub fn start(env: Arc<dyn Env>, dir: &Path, given: Option<GivenFiles>) -> io::Result<(Arc<Self>, Ahead)> {
        let identity = Arc::new(Self { given, ..Self::lazy(env, dir) });
        let ahead = Ahead::start(Arc::clone(&identity))?;
        Ok((identity, ahead))
    }

    /// The same without a thread: the first session that needs something makes it.
    pub fn lazy(env: Arc<dyn Env>, dir: &Path) -> Self {
        Self { env, dir: dir.to_owned(), given: None, tls: OnceLock::new(), rsa: OnceLock::new() }
    }

    /// The TLS side, or `None` if its files can't be used, which was logged. Waits for it to be
    /// made.
    pub fn tls(&self) -> Option<&Arc<rustls::ServerConfig>> {
        let usable = self.tls.get_or_init(|| {
            let loaded = match &self.given {
                Some(files) => self.load_given(files),
                None => self.load_tls().or_else(|e| if e.is_missing() { self.make_tls() } else { Err(e) }),
            };
            logged(loaded)
        });
        usable.as_ref().map(|tls| &tls.config)
    }

    /// What status variables show of TLS, once it was made.
    pub fn tls_facts(&self) -> Option<&TlsFacts> {
        Some(&self.tls.get()?.as_ref()?.facts)
    }

    /// The key that passwords are sealed with, or `None` if its file can't be used, which was
    /// logged. Waits for it to be made.
    pub fn rsa(&self) -> Option<&RsaKey> {
        let usable = self.rsa.get_or_init(|| {
            logged(self.load_rsa().or_else(|e| if e.is_missing() { self.make_rsa() } else { Err(e) }))
        });
        usable.as_ref()
    }

    /// True unless TLS is known not to work.
    pub(crate) fn may_have_tls(&self) -> bool {
        self.tls.get().is_none_or(Option::is_some)
    }

    fn load_tls(&self) -> Result<Tls, IdentityError> {
        let (chain, key) = (self.read("server-cert.pem")?, self.read("server-key.pem")?);
        from_pem(
            &Pem { file: "server-cert.pem", bytes: &chain },
            &Pem { file: "server-key.pem", bytes: &key },
        )
    }

    fn load_given(&self, files: &GivenFiles) -> Result<Tls, IdentityError> {
        let read =
            |file, path| self.env.read_file(path).map_err(|source| IdentityError::File { file, source });
        let (chain, key) = (read("ssl_cert", &files.certificate)?, read("ssl_key", &files.key)?);
        from_pem(&Pem { file: "ssl_cert", bytes: &chain }, &Pem { file: "ssl_key", bytes: &key })
    }

    fn make_tls(&self) -> Result<Tls, IdentityError> {
        let failed = |_| IdentityError::Generate("server-cert.pem");
        let key = match self.read("server-key.pem") {
            Ok(pem) => {
                let pem = String::from_utf8_lossy(&pem);
                rcgen::KeyPair::from_pem(&pem).map_err(|e| content("server-key.pem", e))?
            }
            Err(_) => {
                let key = rcgen::KeyPair::generate().map_err(failed)?;
                self.write_private("server-key.pem", &key.serialize_pem())?;
                key
            }
        };
        let (authority, certificate) = certify(&key).map_err(failed)?;
        self.write("ca.pem", &authority.pem())?;
        self.write("server-cert.pem", &certificate.pem())?;
        tracing::info!("made a self-signed certificate: ca.pem, server-cert.pem, server-key.pem");
        let der = PrivateKeyDer::try_from(key.serialize_der()).map_err(|e| content("server-key.pem", e))?;
        server_config(vec![certificate.der().clone()], der)
    }

    fn load_rsa(&self) -> Result<RsaKey, IdentityError> {
        RsaKey::from_pem(&self.read("private_key.pem")?)
    }

    fn make_rsa(&self) -> Result<RsaKey, IdentityError> {
        let failed = |_| IdentityError::Generate("private_key.pem");
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).map_err(failed)?;
        let pkcs8 = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&key).map_err(failed)?;
        let pem = pem::encode_config(&pem::Pem::new("PRIVATE KEY", pkcs8.as_ref()), unix_lines());
        let key = RsaKey::new(key)?;
        self.write_private("private_key.pem", &pem)?;
        self.write("public_key.pem", &key.public_pem)?;
        tracing::info!("made an RSA key pair: private_key.pem, public_key.pem");
        Ok(key)
    }

    fn read(&self, file: &'static str) -> Result<Vec<u8>, IdentityError> {
        self.env.read_file(&self.dir.join(file)).map_err(|source| IdentityError::File { file, source })
    }

    fn write(&self, file: &'static str, text: &str) -> Result<(), IdentityError> {
        let written = self.env.replace_file(&self.dir.join(file), text.as_bytes());
        written.map_err(|source| IdentityError::File { file, source })
    }

    fn write_private(&self, file: &'static str, text: &str) -> Result<(), IdentityError> {
        let written = self.env.replace_private_file(&self.dir.join(file), text.as_bytes());
        written.map_err(|source| IdentityError::File { file, source })
    }
}

/// The thread that loads or makes what sessions will need, ahead of them. Dropped, it begins
/// nothing more and waits for what it is at: nothing is written into a data directory that was
/// given back.
pub struct Ahead {
    unwanted: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Ahead {
    fn start(identity: Arc<Identity>) -> io::Result<Self> {
        let unwanted = Arc::<AtomicBool>::default();
        let is_wanted = {
            let unwanted = Arc::clone(&unwanted);
            move || !unwanted.load(Ordering::Relaxed)
        };
        let thread = thread::Builder::new().name("identity".to_owned()).spawn(move || {
            if is_wanted() {
                identity.tls();
            }
            if is_wanted() {
                identity.rsa();
            }
        })?;
        Ok(Self { unwanted, thread: Some(thread) })
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Relaxed);
        // A panic in it was logged; the first session that needs the keys makes them.
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

impl IdentityError {
    /// True if the file that a kind of identity begins with is not there yet.
    fn is_missing(&self) -> bool {
        match self {
            Self::File { file: "server-cert.pem" | "private_key.pem", source } => {
                source.kind() == io::ErrorKind::NotFound
            }
            _ => false,
        }
    }
}

/// A PEM file that was read.
struct Pem<'a> {
    /// What messages call it.
    file: &'static str,
    bytes: &'a [u8],
}

/// A certificate and its key.
fn from_pem(chain: &Pem<'_>, key: &Pem<'_>) -> Result<Tls, IdentityError> {
    let certificates = CertificateDer::pem_slice_iter(chain.bytes)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| content(chain.file, e))?;
    let key = PrivateKeyDer::from_pem_slice(key.bytes).map_err(|e| content(key.file, e))?;
    server_config(certificates, key)
}

fn logged<T>(usable: Result<T, IdentityError>) -> Option<T> {
    usable.inspect_err(|e| tracing::error!("connections can't be secured: {e}")).ok()
}

fn content(file: &'static str, problem: impl ToString) -> IdentityError {
    IdentityError::Content { file, problem: problem.to_string() }
}

fn unix_lines() -> pem::EncodeConfig {
    pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF)
}

/// A new certificate authority, and the certificate for `key` that is the only one it will ever
/// sign.
fn certify(key: &rcgen::KeyPair) -> Result<(rcgen::Certificate, rcgen::Certificate), rcgen::Error> {
    let mut authority = rcgen::CertificateParams::new(Vec::new())?;
    authority
        .distinguished_name
        .push(rcgen::DnType::CommonName, "Duramen_Server_Auto_Generated_CA_Certificate");
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
    authority.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut server = rcgen::CertificateParams::new(names)?;
    server.distinguished_name = rcgen::DistinguishedName::new();
    server
        .distinguished_name
        .push(rcgen::DnType::CommonName, "Duramen_Server_Auto_Generated_Server_Certificate");
    server.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let authority_key = rcgen::KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;
    let certificate = server.signed_by(key, &rcgen::Issuer::new(authority, authority_key))?;
    Ok((authority_certificate, certificate))
}

fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Tls, IdentityError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let validity = chain.first().and_then(|certificate| validity::of_certificate(certificate));
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| content("server-cert.pem", e))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|e| content("server-cert.pem", e))?;
    let counters = Arc::<TlsCounters>::default();
    config.session_storage = Arc::new(sessions::SessionCache::new(Arc::clone(&counters)));
    let facts = TlsFacts::new(&config, validity, counters);
    Ok(Tls { config: Arc::new(config), facts })
}

/// The key pair for passwords over plain TCP.
pub struct RsaKey {
    private: OaepPrivateDecryptingKey,
    public_pem: String,
}

impl RsaKey {
    fn new(key: PrivateDecryptingKey) -> Result<Self, IdentityError> {
        let unusable = |_| content("private_key.pem", "unusable");
        let public = AsDer::<aws_lc_rs::encoding::PublicKeyX509Der<'_>>::as_der(&key.public_key());
        let public = pem::Pem::new("PUBLIC KEY", public.map_err(unusable)?.as_ref());
        let public_pem = pem::encode_config(&public, unix_lines());
        let private = OaepPrivateDecryptingKey::new(key).map_err(unusable)?;
        Ok(Self { private, public_pem })
    }

    /// Reads a private key: PKCS #8, or PKCS #1 as older MySQL versions wrote it.
    pub(crate) fn from_pem(text: &[u8]) -> Result<Self, IdentityError> {
        let block = pem::parse(text).map_err(|e| content("private_key.pem", e))?;
        let der = match block.tag() {
            "PRIVATE KEY" => block.into_contents(),
            "RSA PRIVATE KEY" => pkcs8_around(block.contents()),
            other => return Err(content("private_key.pem", format!("holds a {other}, no private key"))),
        };
        Self::new(PrivateDecryptingKey::from_pkcs8(&der).map_err(|e| content("private_key.pem", e))?)
    }

    /// The public half as PEM text, ready to be sent.
    pub(crate) fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// Opens what was sealed with the public half; `None` if it was not.
    pub(crate) fn decrypt(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![0; self.private.min_output_size()];
        let n = self.private.decrypt(&OAEP_SHA1_MGF1SHA1, sealed, &mut out, None).ok()?.len();
        out.truncate(n);
        Some(out)
    }
}

/// Seals `text` with a public key in PEM form: the client's side.
pub(crate) fn encrypt(public_pem: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let key = PublicEncryptingKey::from_der(pem::parse(public_pem).ok()?.contents()).ok()?;
    let key = OaepPublicEncryptingKey::new(key).ok()?;
    let mut out = vec![0; key.ciphertext_size()];
    let n = key.encrypt(&OAEP_SHA1_MGF1SHA1, text, &mut out, None).ok()?.len();
    out.truncate(n);
    Some(out)
}

/// PKCS #8 is PKCS #1 in an octet string, after a version and the algorithm's name (RFC 5958, RFC
/// 8017).
fn pkcs8_around(pkcs1: &[u8]) -> Vec<u8> {
    const VERSION_AND_RSA: &[u8] =
        b"\x02\x01\x00\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    let mut body = VERSION_AND_RSA.to_vec();
    put_der(&mut body, 0x04, pkcs1);
    let mut out = Vec::new();
    put_der(&mut out, 0x30, &body);
    out
}

/// A DER value: tag, length (the short form, or two bytes), content of less than 64 KiB.
fn put_der(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    out.push(tag);
    match u16::try_from(content.len()).unwrap_or(u16::MAX) {
        n @ 0..0x80 => out.push(n as u8),
        n => {
            out.push(0x82);
            out.extend_from_slice(&n.to_be_bytes());
        }
    }
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests;
