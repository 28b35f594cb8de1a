//! CHANGE REPLICATION SOURCE TO.
//!
//! 1. read    The options become [`Asked`]: what is said twice counts as said last.
//! 2. refuse  What has no meaning here is refused by its name (1235), unless it is the default.
//! 3. check   Which threads have to stop first, what can't be combined, in MySQL's order.
//! 4. keep    The new source is written to the file, then the channel has it.
//!
//! (C1) Another host or port is another source, as in MySQL: its log begins anew, unless the
//!      statement says where.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::name_of;
use crate::replica::channel::Running;
use crate::replica::channels::CHANNELS_MAX;
use crate::replica::coordinates::log_end;
use crate::replica::{AnonymousGtids, Channel, SourceConfig};
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use syntax::ast::{SourceOption, SourceValue, Text};

/// Limits of MySQL's fields, in characters.
const HOST_MAX: usize = 255;
const USER_MAX: usize = 96;
const PASSWORD_MAX: usize = 32;
const CHANNEL_NAME_MAX: usize = 64;
/// Seconds.
const CONNECT_RETRY_TOO_LONG: u64 = 1 << 31;
/// Seconds; more do not fit into milliseconds of 32 bits.
const HEARTBEAT_MAX: u32 = 4_294_967;
const DELAY_MAX: u64 = 2_147_483_647;
const FIRST_POSITION: u64 = 4;
/// A channel that MySQL keeps for itself, and of which others would be misled.
const RESERVED_CHANNELS: [&str; 2] = ["group_replication_applier", "group_replication_recovery"];

/// What the options say; `None` for what is to stay.
#[derive(Default)]
struct Asked {
    host: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    password: Option<String>,
    log_file: Option<String>,
    log_position: Option<u64>,
    relay_log: Option<&'static str>,
    auto_position: Option<bool>,
    connect_retry: Option<u64>,
    retry_count: Option<u64>,
    heartbeat: Option<Duration>,
    delay: Option<Duration>,
    ignored: Option<BTreeSet<u32>>,
    tls: Option<bool>,
    tls_ca: Option<String>,
    tls_verify: Option<bool>,
    get_public_key: Option<bool>,
    compression: Option<String>,
    zstd_level: Option<u32>,
    anonymous: Option<AnonymousGtids>,
    failover: Option<bool>,
    row_format: Option<bool>,
    /// An option of the receiver, of the applier.
    for_receiver: bool,
    for_applier: bool,
    /// The first that is refused.
    refused: Option<String>,
}

/// CHANGE REPLICATION SOURCE TO.
pub(super) fn change(cx: &mut Context, options: &[SourceOption], channel: Option<&Text>) -> Result<()> {
    let instance = cx.instance.clone();
    let channels = instance.channels();
    let _administers = channels.administer()?;
    super::check_unambiguous(cx, channel)?;
    let name = name_of(channel).unwrap_or_default();
    check_name(&name)?;
    let existing = channels.get(&name);
    if existing.is_none() && channels.all().len() >= CHANNELS_MAX {
        return Err(error::REPLICA_MAX_CHANNELS_EXCEEDED.plain());
    }
    let net_timeout = instance.globals().uint(ids::REPLICA_NET_TIMEOUT);
    let asked = Asked::read(cx, options, &name, net_timeout)?;
    let mut source = existing.as_ref().map(|c| c.with(|state| state.source.clone())).unwrap_or_default();
    if let Some(channel) = &existing {
        asked.check_threads(channel)?;
    }
    asked.check(&source, &name)?;
    if let Some(refused) = &asked.refused {
        return Err(SqlError::unsupported(refused));
    }
    if let (Some(channel), true) = (&existing, asked.log_file.is_some() != asked.log_position.is_some()) {
        // The other of the two stays as the receiver has it.
        let read = channel.with(|state| state.progress.read.clone());
        if !read.file.is_empty() {
            (source.log_file, source.log_position) = (read.file, read.offset);
        }
    }
    let moves = asked.moves() || existing.is_none();
    let given_at = if moves { log_end(&instance)? } else { source.position_given_at };
    if existing.is_none() {
        source.begin_anew(given_at);
    }
    asked.apply(&mut source, net_timeout, given_at);

    let mut stored = channels.to_store();
    stored.channels.retain(|(other, ..)| *other != name);
    let filters = existing.as_ref().map_or_else(|| channels.filters(), |c| c.with(|s| s.filters.clone()));
    stored.channels.push((name.clone(), source.clone(), filters.clone()));
    stored.channels.sort_by(|a, b| a.0.cmp(&b.0));
    channels.store(&stored)?;

    let channel = existing.unwrap_or_else(|| {
        let channel = Arc::new(Channel::new(&name, SourceConfig::default()));
        channel.with(|state| state.filters = filters);
        channels.put(channel.clone());
        channel
    });
    channel.with(|state| {
        let is_same = source.host == state.source.host && source.port == state.source.port;
        state.source = source;
        if !is_same {
            state.progress.source_uuid.clear();
            state.progress.source_server_id = 0;
        }
        if moves {
            state.begin_anew();
        }
        if asked.user.is_some() || asked.password.is_some() {
            state.login = None;
        }
    });
    asked.warn(cx);
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    if name.chars().count() > CHANNEL_NAME_MAX || name.ends_with(' ') {
        return Err(error::REPLICA_CHANNEL_NAME_INVALID_OR_TOO_LONG.plain());
    }
    if name.contains('\n') {
        return Err(line_feed(name));
    }
    if RESERVED_CHANNELS.contains(&name) {
        let what = "CHANGE REPLICATION SOURCE with the given parameters";
        return Err(error::REPLICA_CHANNEL_OPERATION_NOT_ALLOWED.with(&[&what, &name]));
    }
    Ok(())
}

fn line_feed(value: &str) -> SqlError {
    error::WRONG_VALUE.with(&[&"argument contains not-allowed LF", &value])
}

/// A text, cut to what MySQL's field takes.
fn text(value: &SourceValue, length_max: usize) -> Result<String> {
    let SourceValue::Text(text) = value else { return Ok(String::new()) };
    let text = text.to_str_lossy();
    if text.contains('\n') {
        return Err(line_feed(&text));
    }
    Ok(text.chars().take(length_max).collect())
}

/// A number; what is larger than can be is the largest.
fn number(value: &SourceValue) -> u64 {
    match value {
        SourceValue::Number(digits) => digits.parse().unwrap_or(u64::MAX),
        _ => 0,
    }
}

impl Asked {
    fn read(cx: &mut Context, options: &[SourceOption], channel: &str, net_timeout: u64) -> Result<Self> {
        let mut asked = Self::default();
        for option in options {
            asked.option(cx, &option.name, &option.value, channel, net_timeout)?;
        }
        Ok(asked)
    }

    fn option(
        &mut self,
        cx: &mut Context,
        name: &str,
        value: &SourceValue,
        channel: &str,
        net_timeout: u64,
    ) -> Result<()> {
        const TEXT_MAX: usize = 511;
        let flag = || number(value) != 0;
        match name {
            "REQUIRE_TABLE_PRIMARY_KEY_CHECK"
            | "PRIVILEGE_CHECKS_USER"
            | "REQUIRE_ROW_FORMAT"
            | "SOURCE_DELAY"
            | "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS"
            | "RELAY_LOG_FILE"
            | "RELAY_LOG_POS" => self.for_applier = true,
            _ => self.for_receiver = true,
        }
        match name {
            "SOURCE_HOST" => {
                let host = text(value, HOST_MAX)?;
                if host.is_empty() {
                    return Err(error::WRONG_ARGUMENTS.with(&[&"SOURCE_HOST"]));
                }
                if !host.is_ascii() {
                    return Err(error::RPL_INFO_DATA_TOO_LONG.with(&[&"Host"]));
                }
                self.host = Some(host);
            }
            // 0 leaves it as it is, as in MySQL.
            "SOURCE_PORT" => match u16::try_from(number(value)) {
                Ok(0) => {}
                Ok(port) => self.port = Some(port),
                Err(_) => return Err(error::WRONG_ARGUMENTS.with(&[&"SOURCE_PORT"])),
            },
            "SOURCE_USER" => self.user = Some(text(value, USER_MAX)?),
            "SOURCE_PASSWORD" => {
                let password = text(value, usize::MAX)?;
                if password.len() > PASSWORD_MAX {
                    return Err(error::CHANGE_SOURCE_PASSWORD_LENGTH.plain());
                }
                self.password = Some(password);
            }
            "SOURCE_LOG_FILE" => self.log_file = Some(text(value, TEXT_MAX)?),
            "SOURCE_LOG_POS" => self.log_position = Some(number(value).max(FIRST_POSITION)),
            "RELAY_LOG_FILE" => self.relay_log = Some("RELAY_LOG_FILE"),
            "RELAY_LOG_POS" => self.relay_log = Some("RELAY_LOG_POS"),
            "SOURCE_AUTO_POSITION" => self.auto_position = Some(flag()),
            "SOURCE_CONNECT_RETRY" => match number(value) {
                0 => {}
                CONNECT_RETRY_TOO_LONG.. => {
                    return Err(error::RPL_INFO_DATA_TOO_LONG.with(&[&"Connect_retry"]));
                }
                seconds => self.connect_retry = Some(seconds),
            },
            "SOURCE_RETRY_COUNT" => self.retry_count = Some(number(value)),
            "SOURCE_HEARTBEAT_PERIOD" => self.heartbeat = Some(heartbeat(cx, value, net_timeout)?),
            "SOURCE_DELAY" => {
                let seconds = number(value);
                if seconds > DELAY_MAX {
                    return Err(error::SOURCE_DELAY_VALUE_OUT_OF_RANGE.with(&[&seconds, &DELAY_MAX]));
                }
                self.delay = Some(Duration::from_secs(seconds));
            }
            "IGNORE_SERVER_IDS" => {
                let SourceValue::List(ids) = value else { return Ok(()) };
                // As in MySQL, what does not fit into a server id is none.
                self.ignored = Some(ids.iter().filter_map(|id| u32::try_from(*id).ok()).collect());
            }
            "SOURCE_SSL" => self.tls = Some(flag()),
            "SOURCE_SSL_CA" => self.tls_ca = Some(text(value, TEXT_MAX)?),
            "SOURCE_SSL_VERIFY_SERVER_CERT" => self.tls_verify = Some(flag()),
            "GET_SOURCE_PUBLIC_KEY" => self.get_public_key = Some(flag()),
            "SOURCE_COMPRESSION_ALGORITHMS" => {
                let algorithms = text(value, TEXT_MAX)?;
                check_compression(&algorithms, channel)?;
                self.compression = Some(algorithms);
            }
            "SOURCE_ZSTD_COMPRESSION_LEVEL" => match number(value) {
                // 0 leaves it as it is, as in MySQL.
                0 => {}
                level @ 1..=22 => self.zstd_level = Some(level as u32),
                level => {
                    return Err(error::CHANGE_SOURCE_WRONG_COMPRESSION_LEVEL_CLIENT.with(&[&level, &channel]));
                }
            },
            "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS" => self.anonymous = Some(anonymous(value)?),
            "SOURCE_CONNECTION_AUTO_FAILOVER" => self.failover = Some(flag()),
            "REQUIRE_ROW_FORMAT" => match number(value) {
                switch @ 0..=1 => self.row_format = Some(switch == 1),
                other => return Err(error::REQUIRE_ROW_FORMAT_INVALID_VALUE.with(&[&other])),
            },
            _ => self.refuse(name, value),
        }
        Ok(())
    }

    /// Options that have one value here.
    fn refuse(&mut self, name: &str, value: &SourceValue) {
        let is_default = match (name, value) {
            ("MASTER_USE_GTID" | "MASTER_DEMOTE_TO_SLAVE", _) => false,
            ("REQUIRE_TABLE_PRIMARY_KEY_CHECK", SourceValue::Word(word)) => {
                ["STREAM", "OFF"].iter().any(|other| word.eq_ignore_ascii_case(other))
            }
            ("SOURCE_TLS_VERSION", SourceValue::Text(text)) => {
                let text = text.to_str_lossy();
                let versions: BTreeSet<_> = text.split(',').map(str::trim).collect();
                text.is_empty() || versions == BTreeSet::from(["TLSv1.2", "TLSv1.3"])
            }
            (_, SourceValue::Text(text)) => text.is_empty(),
            (_, SourceValue::Number(_)) => number(value) == 0,
            // NULL: the parser takes no other word.
            (_, SourceValue::Word(_)) => name != "REQUIRE_TABLE_PRIMARY_KEY_CHECK",
            _ => false,
        };
        if !is_default && self.refused.is_none() {
            self.refused = Some(match name {
                "MASTER_USE_GTID" => "MASTER_USE_GTID (say SOURCE_AUTO_POSITION)".to_owned(),
                "SOURCE_PUBLIC_KEY_PATH" => {
                    "SOURCE_PUBLIC_KEY_PATH (say GET_SOURCE_PUBLIC_KEY or SOURCE_SSL)".to_owned()
                }
                name => format!("{name} with this value"),
            });
        }
    }

    /// True if the position of before is void (C1), or another is given.
    fn moves(&self) -> bool {
        self.host.is_some() || self.port.is_some() || self.log_file.is_some() || self.log_position.is_some()
    }

    fn check_threads(&self, channel: &Channel) -> Result<()> {
        let (receives, applies) =
            channel.with(|s| (s.receiver.running != Running::No, s.applier.running != Running::No));
        let name = channel.name();
        // Unlike MySQL's applier, which reads what is in the relay log first, ours has what it
        // applies from the receiver: both begin anew.
        let needs_both =
            self.for_receiver && self.for_applier || self.auto_position.is_some() || self.moves();
        if needs_both && (receives || applies) {
            return Err(error::REPLICA_CHANNEL_MUST_STOP.with(&[&name]));
        }
        if self.for_receiver && receives {
            return Err(error::REPLICA_CHANNEL_IO_THREAD_MUST_STOP.with(&[&name]));
        }
        if self.for_applier && applies {
            return Err(error::REPLICA_CHANNEL_SQL_THREAD_MUST_STOP.with(&[&name]));
        }
        Ok(())
    }

    fn check(&self, before: &SourceConfig, channel: &str) -> Result<()> {
        let auto_position = self.auto_position.unwrap_or(before.auto_position);
        let says_position =
            self.log_file.is_some() || self.log_position.is_some() || self.relay_log.is_some();
        if auto_position && says_position {
            return Err(error::BAD_REPLICA_AUTO_POSITION.plain());
        }
        if auto_position && *self.anonymous.as_ref().unwrap_or(&before.anonymous) != AnonymousGtids::Off {
            return Err(error::CANT_COMBINE_ANONYMOUS_TO_GTID_AND_AUTOPOSITION.plain());
        }
        // MySQL refuses it wherever GTIDs are in use; by file and offset it leaves no gap that
        // would be asked for again.
        if auto_position && !self.ignored.as_ref().unwrap_or(&before.ignored_server_ids).is_empty() {
            let what =
                "CHANGE REPLICATION SOURCE TO ... IGNORE_SERVER_IDS='...' when @@GLOBAL.GTID_MODE = ON";
            return Err(error::REPLICA_CHANNEL_OPERATION_NOT_ALLOWED.with(&[&what, &channel]));
        }
        if !auto_position && self.failover.unwrap_or(before.auto_failover) {
            return Err(match self.failover {
                Some(_) => error::RPL_ASYNC_RECONNECT_AUTO_POSITION_OFF.plain(),
                None => error::DISABLE_AUTO_POSITION_REQUIRES_ASYNC_RECONNECT_OFF.plain(),
            });
        }
        if let Some(name) = self.relay_log {
            return Err(SqlError::unsupported(format_args!("{name} (there is no relay log)")));
        }
        Ok(())
    }

    /// Changes the source. `given_at` is where the position is given, if one is.
    fn apply(&self, source: &mut SourceConfig, net_timeout: u64, given_at: u64) {
        fn set<T: Clone>(field: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                field.clone_from(value);
            }
        }
        if self.host.is_some() || self.port.is_some() {
            source.forget_position(given_at);
            source.heartbeat_period = heartbeat_by_default(net_timeout);
        }
        source.position_given_at = given_at;
        set(&mut source.host, &self.host);
        set(&mut source.port, &self.port);
        set(&mut source.user, &self.user);
        set(&mut source.password, &self.password);
        set(&mut source.log_file, &self.log_file);
        set(&mut source.log_position, &self.log_position);
        set(&mut source.auto_position, &self.auto_position);
        set(&mut source.auto_failover, &self.failover);
        set(&mut source.requires_row_format, &self.row_format);
        set(&mut source.connect_retry, &self.connect_retry.map(Duration::from_secs));
        set(&mut source.retry_count, &self.retry_count);
        set(&mut source.heartbeat_period, &self.heartbeat);
        set(&mut source.delay, &self.delay);
        set(&mut source.ignored_server_ids, &self.ignored);
        set(&mut source.tls, &self.tls);
        set(&mut source.tls_ca, &self.tls_ca);
        set(&mut source.tls_verify, &self.tls_verify);
        set(&mut source.get_public_key, &self.get_public_key);
        set(&mut source.compression, &self.compression);
        set(&mut source.zstd_level, &self.zstd_level);
        set(&mut source.anonymous, &self.anonymous);
    }

    fn warn(&self, cx: &mut Context) {
        if self.log_file.is_some() && self.log_position.is_none() {
            cx.warn(error::WARN_ONLY_SOURCE_LOG_FILE_NO_POS.plain());
        }
        if self.user.is_some() || self.password.is_some() {
            if cx.connection.tls.is_none() {
                cx.statement.diagnostics.note(error::INSECURE_PLAIN_TEXT.plain());
            }
            cx.statement.diagnostics.note(error::INSECURE_CHANGE_SOURCE.plain());
        }
        if self.anonymous.as_ref().is_some_and(|to| *to != AnonymousGtids::Off) {
            let e = error::USING_ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_AS_LOCAL_OR_UUID;
            cx.statement.diagnostics.note(e.plain());
        }
    }
}

/// Half of `replica_net_timeout`, as MySQL has it for a new source.
fn heartbeat_by_default(net_timeout: u64) -> Duration {
    Duration::from_millis(net_timeout.saturating_mul(500).min(u64::from(HEARTBEAT_MAX) * 1000))
}

fn heartbeat(cx: &mut Context, value: &SourceValue, net_timeout: u64) -> Result<Duration> {
    let SourceValue::Number(digits) = value else { return Ok(Duration::ZERO) };
    let seconds: f64 = digits.parse().unwrap_or(f64::INFINITY);
    if seconds > f64::from(HEARTBEAT_MAX) {
        return Err(error::REPLICA_HEARTBEAT_VALUE_OUT_OF_RANGE.with(&[&HEARTBEAT_MAX]));
    }
    if seconds > net_timeout as f64 {
        cx.warn(error::REPLICA_HEARTBEAT_VALUE_OUT_OF_RANGE_MAX.plain());
    }
    if seconds < 0.001 {
        if seconds != 0.0 {
            cx.warn(error::REPLICA_HEARTBEAT_VALUE_OUT_OF_RANGE_MIN.plain());
        }
        return Ok(Duration::ZERO);
    }
    Ok(Duration::from_millis((seconds * 1000.0) as u64))
}

fn check_compression(algorithms: &str, channel: &str) -> Result<()> {
    let listed: Vec<_> = algorithms.split(',').collect();
    if listed.len() > 3 {
        let e = error::CHANGE_SOURCE_WRONG_COMPRESSION_ALGORITHM_LIST_CLIENT;
        return Err(e.with(&[&algorithms, &channel]));
    }
    let is_known = |name: &&&str| ["zlib", "zstd", "uncompressed"].contains(&name.to_lowercase().as_str());
    match listed.iter().find(|name| !is_known(name)) {
        Some(name) => Err(error::CHANGE_SOURCE_WRONG_COMPRESSION_ALGORITHM_CLIENT.with(&[name, &channel])),
        None => Ok(()),
    }
}

fn anonymous(value: &SourceValue) -> Result<AnonymousGtids> {
    let word = match value {
        SourceValue::Word(word) => word.to_uppercase(),
        SourceValue::Text(text) => {
            let text = text.to_str_lossy();
            return match text.parse::<binlog::gtid::Uuid>() {
                Ok(uuid) => Ok(AnonymousGtids::Uuid(uuid.to_string())),
                Err(_) => Err(error::WRONG_VALUE.with(&[&"UUID", &text])),
            };
        }
        _ => String::new(),
    };
    match word.as_str() {
        "OFF" => Ok(AnonymousGtids::Off),
        "LOCAL" => Ok(AnonymousGtids::Local),
        _ => Err(error::WRONG_ARGUMENTS.with(&[&"ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS"])),
    }
}
