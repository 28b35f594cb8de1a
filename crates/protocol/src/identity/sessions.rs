//! What TLS is like here, and what it has done: for `Ssl_%` of SHOW STATUS.

use super::validity::Validity;
use crate::channel::openssl_name;
use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The most TLS sessions that are cached for clients to resume.
pub const SESSIONS_MAX: u64 = 256;

/// Counters of all connections. Statistics: they order nothing.
#[derive(Debug, Default)]
pub struct TlsCounters {
    /// TLS handshakes begun.
    pub accepts: AtomicU64,
    /// TLS handshakes completed.
    pub finished_accepts: AtomicU64,
    /// Sessions that clients asked to resume and that were there.
    pub cache_hits: AtomicU64,
    /// Sessions that clients asked to resume and that were not there any more.
    pub cache_misses: AtomicU64,
    /// Sessions that were evicted by newer ones.
    pub cache_overflows: AtomicU64,
    /// Sessions that are cached now.
    pub cache_entries: AtomicU64,
}

/// The server's side of TLS.
#[derive(Debug)]
pub struct TlsFacts {
    /// When the certificate is valid, if it can be read that far.
    pub validity: Option<Validity>,
    /// OpenSSL's names of the cipher suites, in the server's order of preference, divided by
    /// colons.
    pub ciphers: String,
    /// What was counted.
    pub counters: Arc<TlsCounters>,
}

impl TlsFacts {
    pub(super) fn new(
        config: &rustls::ServerConfig,
        validity: Option<Validity>,
        counters: Arc<TlsCounters>,
    ) -> Self {
        let suites = &config.crypto_provider().cipher_suites;
        let names: Vec<_> = suites.iter().map(|suite| openssl_name(suite.suite())).collect();
        Self { validity, ciphers: names.join(":"), counters }
    }
}

/// rustls's memory of sessions, which doesn't count.
#[derive(Debug)]
pub(super) struct SessionCache {
    sessions: Arc<ServerSessionMemoryCache>,
    counters: Arc<TlsCounters>,
}

impl SessionCache {
    pub(super) fn new(counters: Arc<TlsCounters>) -> Self {
        Self { sessions: ServerSessionMemoryCache::new(SESSIONS_MAX as usize), counters }
    }

    fn counted(&self, found: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let counter = if found.is_some() { &self.counters.cache_hits } else { &self.counters.cache_misses };
        counter.fetch_add(1, Relaxed);
        found
    }
}

impl StoresServerSessions for SessionCache {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let counters = &self.counters;
        let more = |entries: u64| (entries < SESSIONS_MAX).then_some(entries + 1);
        if counters.cache_entries.fetch_update(Relaxed, Relaxed, more).is_err() {
            counters.cache_overflows.fetch_add(1, Relaxed);
        }
        self.sessions.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.counted(self.sessions.get(key))
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let found = self.counted(self.sessions.take(key));
        if found.is_some() {
            let fewer = |entries: u64| entries.checked_sub(1);
            let _ = self.counters.cache_entries.fetch_update(Relaxed, Relaxed, fewer);
        }
        found
    }

    fn can_cache(&self) -> bool {
        self.sessions.can_cache()
    }
}
