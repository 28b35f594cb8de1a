//! Connections: where to listen, how many, how long to wait for them.

use super::super::definition::{Variable, choice, null_text, switch, text, uint};

const YEAR_SECONDS: u64 = 31_536_000;

pub(super) const VARIABLES: &[Variable] = &[
    text("authentication_policy", "*,,").fixed().help_text("Which plugins accounts may authenticate with"),
    uint("back_log", 511, 1, 65_535)
        .harmless()
        .read_only()
        .help_text("No effect: the system's queue length is used"),
    text("bind_address", "127.0.0.1").read_only().help_text("Address to listen on; 0.0.0.0 or :: for all"),
    uint("connect_timeout", 10, 2, YEAR_SECONDS).help_text("Seconds a client may take to log in"),
    switch("disconnect_on_expired_password", true).fixed().read_only().help_text("Passwords don't expire"),
    text("have_compress", "YES").fact().help_text("Whether the protocol's compression can be used"),
    text("init_connect", "").fixed().help_text("Statements run for each new connection: none"),
    uint("interactive_timeout", 28_800, 1, YEAR_SECONDS)
        .both()
        .help_text("Seconds an interactive client may be idle; becomes its wait_timeout"),
    switch("local_infile", false).help_text("Clients may send files (LOAD DATA LOCAL)"),
    uint("max_allowed_packet", 64 << 20, 1024, 1 << 30)
        .block(1024)
        .inherited()
        .help_text("Largest packet in bytes, either way"),
    uint("max_connect_errors", 100, 1, u64::MAX).harmless().help_text("No effect: hosts are never blocked"),
    uint("max_connections", 1040, 1, 100_000).help_text("Connections at one time; one more is kept for root"),
    uint("max_user_connections", 0, 0, u32::MAX as u64)
        .inherited()
        .help_text("Connections that each account without a limit of its own may have; 0 is no limit"),
    uint("net_buffer_length", 16_384, 1024, 1 << 20)
        .block(1024)
        .inherited()
        .harmless()
        .help_text("No effect: buffers grow as needed"),
    uint("net_read_timeout", 30, 1, YEAR_SECONDS)
        .both()
        .help_text("Seconds to wait for the rest of a packet that has begun"),
    uint("net_retry_count", 10, 1, u64::MAX).both().harmless().help_text("No effect"),
    uint("net_write_timeout", 60, 1, YEAR_SECONDS)
        .both()
        .help_text("Seconds to wait for a client that takes no data"),
    uint("port", 3306, 0, 65_535).read_only().help_text("TCP port; 0 takes a free one"),
    text("protocol_compression_algorithms", "zlib,zstd,uncompressed")
        .fixed()
        .help_text("How the protocol may be compressed"),
    uint("protocol_version", 10, 10, 10).fact().help_text("Version of the client protocol"),
    switch("require_secure_transport", false).help_text("Refuse connections without TLS or a Unix socket"),
    null_text("report_host")
        .read_only()
        .help_text("Host that a source is told when this server follows it; shown by its SHOW REPLICAS"),
    null_text("report_password").read_only().help_text("Likewise the password"),
    uint("report_port", 0, 0, 65_535).read_only().help_text("Likewise the port; 0 is this server's own"),
    null_text("report_user").read_only().help_text("Likewise the user"),
    switch("skip_name_resolve", true).fixed().read_only().help_text("Host names are never looked up"),
    switch("skip_networking", false).read_only().help_text("Listen on the Unix socket only"),
    switch("skip_show_database", false).fixed().read_only().help_text("SHOW DATABASES is for everyone"),
    text("socket", "").read_only().help_text("Unix socket; by default duramen.sock in the data directory"),
    text("ssl_ca", "ca.pem")
        .read_only()
        .fixed()
        .help_text("Authority of the certificate, in the data directory"),
    text("ssl_cert", "server-cert.pem")
        .read_only()
        .help_text("Certificate, by default in the data directory; the default is made if it is not there"),
    text("ssl_key", "server-key.pem").read_only().help_text("Its private key"),
    uint("thread_cache_size", 64, 0, 16_384)
        .help_text("Threads of ended connections that wait for the next ones"),
    choice("thread_handling", &["one-thread-per-connection"], 0)
        .fixed()
        .read_only()
        .help_text("Each connection has a thread"),
    uint("thread_stack", 2 << 20, 1 << 20, 64 << 20)
        .block(4096)
        .read_only()
        .help_text("Stack of a connection's thread in bytes; taken only as it is used"),
    text("tls_version", "TLSv1.2,TLSv1.3").fixed().help_text("Versions of TLS offered"),
    uint("wait_timeout", 28_800, 1, YEAR_SECONDS).both().help_text("Seconds a client may be idle"),
];
