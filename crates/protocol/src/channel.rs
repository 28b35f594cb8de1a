//! Between packets and socket: plain bytes, or TLS, or compression over either.

use crate::compression::{Algorithm, Compressed};
use crate::socket::Line;
use rustls::{CipherSuite, ClientConnection, HandshakeKind, ServerConnection, StreamOwned};
use std::io::{self, ErrorKind, IoSlice, Read, Write};

/// What client and server agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsSession {
    /// `Ssl_version`
    pub version: &'static str,
    /// `Ssl_cipher`, by OpenSSL's name.
    pub cipher: &'static str,
    /// An earlier session was resumed.
    pub resumed: bool,
}

/// OpenSSL's name of a cipher suite, which MySQL shows; IANA's if it is none that rustls has.
pub(crate) fn openssl_name(suite: CipherSuite) -> &'static str {
    use CipherSuite as S;
    match suite {
        S::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        S::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        S::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        S::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        S::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        S::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        S::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        S::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        S::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        other => other.as_str().unwrap_or(""),
    }
}

/// A line, and what its bytes go through.
pub(crate) enum Channel {
    Plain(Line),
    TlsServer(Box<StreamOwned<ServerConnection, Line>>),
    TlsClient(Box<StreamOwned<ClientConnection, Line>>),
    Compressed(Box<Compressed>),
    /// Stands in while a channel is changed, and remains after a failed change; nothing can be read
    /// from it.
    Gone,
}

impl Channel {
    /// The line below, unless a failed change to TLS took it.
    pub(crate) fn line(&mut self) -> Option<&mut Line> {
        match self {
            Self::Plain(line) => Some(line),
            Self::TlsServer(tls) => Some(&mut tls.sock),
            Self::TlsClient(tls) => Some(&mut tls.sock),
            Self::Compressed(layer) => layer.inner.line(),
            Self::Gone => None,
        }
    }

    /// True if no third party can read the bytes: TLS, or a line inside this machine.
    pub(crate) fn is_secure(&self) -> bool {
        match self {
            Self::Plain(line) => line.is_local(),
            Self::TlsServer(_) | Self::TlsClient(_) => true,
            Self::Compressed(layer) => layer.inner.is_secure(),
            Self::Gone => false,
        }
    }

    /// What was agreed on, if this is TLS.
    pub(crate) fn tls(&self) -> Option<TlsSession> {
        let (version, suite, kind) = match self {
            Self::Plain(_) | Self::Gone => return None,
            Self::Compressed(layer) => return layer.inner.tls(),
            Self::TlsServer(tls) => {
                let c = &tls.conn;
                (c.protocol_version(), c.negotiated_cipher_suite(), c.handshake_kind())
            }
            Self::TlsClient(tls) => {
                let c = &tls.conn;
                (c.protocol_version(), c.negotiated_cipher_suite(), c.handshake_kind())
            }
        };
        let version = match version {
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "",
        };
        let cipher = suite.map_or("", |suite| openssl_name(suite.suite()));
        Some(TlsSession { version, cipher, resumed: kind == Some(HandshakeKind::Resumed) })
    }

    /// Ends both directions; TLS says goodbye first.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        match self {
            Self::TlsServer(tls) => tls.conn.send_close_notify(),
            Self::TlsClient(tls) => tls.conn.send_close_notify(),
            Self::Compressed(layer) => return layer.inner.close(),
            Self::Plain(_) | Self::Gone => {}
        }
        // The peer may be gone already.
        let _ = self.flush();
        self.line().map_or(Ok(()), |line| line.shutdown())
    }

    /// Puts compression on top; `early` are bytes that were read from below already.
    pub(crate) fn start_compression(&mut self, algorithm: Algorithm, early: Vec<u8>) {
        let inner = std::mem::replace(self, Self::Gone);
        *self = Self::Compressed(Box::new(Compressed::new(inner, algorithm, early)));
    }

    /// True if its frames are counted, so that the packets within need not be.
    pub(crate) fn counts(&self) -> bool {
        matches!(self, Self::Compressed(_))
    }

    /// A command begins.
    pub(crate) fn restart(&mut self) {
        if let Self::Compressed(layer) = self {
            layer.restart();
        }
    }

    /// Wraps the plain line in TLS by `wrap` and completes the TLS handshake.
    pub(crate) fn start_tls(&mut self, wrap: impl FnOnce(Line) -> Self) -> io::Result<()> {
        *self = match std::mem::replace(self, Self::Gone) {
            Self::Plain(line) => wrap(line),
            _ => return Err(ErrorKind::NotConnected.into()),
        };
        let completed = match self {
            Self::TlsServer(tls) => tls.conn.complete_io(&mut tls.sock),
            Self::TlsClient(tls) => tls.conn.complete_io(&mut tls.sock),
            Self::Plain(_) | Self::Compressed(_) | Self::Gone => Err(ErrorKind::NotConnected.into()),
        };
        // Half a TLS handshake carries no error message: writing one would only wait for the other
        // half.
        completed.map(drop).inspect_err(|_| *self = Self::Gone)
    }
}

impl Read for Channel {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(line) => line.read(buf),
            Self::TlsServer(tls) => tls.read(buf),
            Self::TlsClient(tls) => tls.read(buf),
            Self::Compressed(layer) => layer.read(buf),
            Self::Gone => Err(ErrorKind::NotConnected.into()),
        }
    }
}

impl Write for Channel {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(line) => line.write(buf),
            Self::TlsServer(tls) => tls.write(buf),
            Self::TlsClient(tls) => tls.write(buf),
            Self::Compressed(layer) => layer.write(buf),
            Self::Gone => Err(ErrorKind::NotConnected.into()),
        }
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Plain(line) => line.write_vectored(bufs),
            Self::TlsServer(tls) => tls.write_vectored(bufs),
            Self::TlsClient(tls) => tls.write_vectored(bufs),
            Self::Compressed(layer) => layer.write_vectored(bufs),
            Self::Gone => Err(ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(line) => line.flush(),
            Self::TlsServer(tls) => tls.flush(),
            Self::TlsClient(tls) => tls.flush(),
            Self::Compressed(layer) => layer.flush(),
            Self::Gone => Err(ErrorKind::NotConnected.into()),
        }
    }
}
