//! Replication as SHOW sees it: the replicas of this server, and its sources.
//!
//! There is no relay log. What SHOW REPLICA STATUS says of it is constant, but for its space: the
//! bytes that were received and are not applied.

use crate::admin::replica::{channels_of, check_unambiguous};
use crate::listing::{Column, Listing, cells, int, text, uint};
use crate::replica::Channel;
use crate::replica::channel::{ChannelState, Running, ThreadError, Until};
use crate::replica::filters::FilterRule;
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result};
use datum::value::{DateTime, Datum};
use syntax::ast::Text;

/// SHOW REPLICAS: those that have introduced themselves.
pub(super) fn replicas(cx: &Context) -> Listing {
    let mut out = Listing::new([
        uint("Server_Id"),
        text("Host", 255),
        uint("Port"),
        uint("Source_Id"),
        text("Replica_UUID", 36),
    ]);
    let source_id = cx.instance.globals().uint(ids::SERVER_ID);
    for replica in cx.instance.replicas().registered() {
        let (id, port) = (u64::from(replica.server_id), u64::from(replica.port));
        out.push(cells![id, replica.host, port, source_id, replica.uuid]);
    }
    out
}

/// The columns of SHOW REPLICA STATUS: the most characters of a text, 0 for an unsigned number.
const COLUMNS: [(&str, u32); 60] = [
    ("Replica_IO_State", 64),
    ("Source_Host", 256),
    ("Source_User", 97),
    ("Source_Port", 0),
    ("Connect_Retry", 0),
    ("Source_Log_File", 512),
    ("Read_Source_Log_Pos", 0),
    ("Relay_Log_File", 512),
    ("Relay_Log_Pos", 0),
    ("Relay_Source_Log_File", 512),
    ("Replica_IO_Running", 10),
    ("Replica_SQL_Running", 3),
    ("Replicate_Do_DB", 65_535),
    ("Replicate_Ignore_DB", 65_535),
    ("Replicate_Do_Table", 65_535),
    ("Replicate_Ignore_Table", 65_535),
    ("Replicate_Wild_Do_Table", 65_535),
    ("Replicate_Wild_Ignore_Table", 65_535),
    ("Last_Errno", 0),
    ("Last_Error", 1024),
    ("Skip_Counter", 0),
    ("Exec_Source_Log_Pos", 0),
    ("Relay_Log_Space", 0),
    ("Until_Condition", 18),
    ("Until_Log_File", 512),
    ("Until_Log_Pos", 0),
    ("Source_SSL_Allowed", 7),
    ("Source_SSL_CA_File", 512),
    ("Source_SSL_CA_Path", 512),
    ("Source_SSL_Cert", 512),
    ("Source_SSL_Cipher", 512),
    ("Source_SSL_Key", 512),
    ("Seconds_Behind_Source", 0),
    ("Source_SSL_Verify_Server_Cert", 3),
    ("Last_IO_Errno", 0),
    ("Last_IO_Error", 1024),
    ("Last_SQL_Errno", 0),
    ("Last_SQL_Error", 1024),
    ("Replicate_Ignore_Server_Ids", 65_535),
    ("Source_Server_Id", 0),
    ("Source_UUID", 36),
    ("Source_Info_File", 1024),
    ("SQL_Delay", 0),
    ("SQL_Remaining_Delay", 0),
    ("Replica_SQL_Running_State", 64),
    ("Source_Retry_Count", 0),
    ("Source_Bind", 256),
    ("Last_IO_Error_Timestamp", 20),
    ("Last_SQL_Error_Timestamp", 20),
    ("Source_SSL_Crl", 512),
    ("Source_SSL_Crlpath", 512),
    ("Retrieved_Gtid_Set", 65_535),
    ("Executed_Gtid_Set", 65_535),
    ("Auto_Position", 0),
    ("Replicate_Rewrite_DB", 65_535),
    ("Channel_Name", 64),
    ("Source_TLS_Version", 512),
    ("Source_public_key_path", 512),
    ("Get_Source_public_key", 0),
    ("Network_Namespace", 64),
];

/// The column's name before MySQL 8.0.22, which SHOW SLAVE STATUS has: proxies and tools look for
/// these.
fn old_name(name: &str) -> String {
    match name {
        "Get_Source_public_key" => "Get_master_public_key".to_owned(),
        _ => name.replace("Source", "Master").replace("Replica_", "Slave_"),
    }
}

/// SHOW REPLICA STATUS: a row for each channel that has a source.
pub(super) fn replica_status(cx: &Context, channel: Option<&Text>, old_names: bool) -> Result<Listing> {
    let column = |&(name, length): &(&'static str, u32)| -> Column {
        let mut column = match (name, length) {
            ("Seconds_Behind_Source" | "SQL_Remaining_Delay", _) => uint(name).or_null(),
            (_, 0) => uint(name),
            _ => text(name, length),
        };
        if old_names {
            column.name = old_name(name).into();
        }
        column
    };
    let mut out = Listing::new(COLUMNS.iter().map(column).collect::<Vec<_>>());
    let executed = cx.instance.log().gtid_executed().to_string();
    for channel in channels_of(cx, channel)? {
        // A copy: making texts of it is not for under the latch.
        let row = channel.with(|state| {
            (!state.source.host.is_empty()).then(|| status_row(cx, &channel, state, &executed))
        });
        if let Some(row) = row {
            out.push(row);
        }
    }
    Ok(out)
}

fn status_row(cx: &Context, channel: &Channel, state: &ChannelState, executed: &str) -> Vec<Datum<'static>> {
    let ChannelState { source, receiver, applier, progress, filters, .. } = state;
    let filter = |rule| filters.text(rule);
    let number = |e: &Option<ThreadError>| e.as_ref().map_or(0, |e| u64::from(e.number));
    let message = |e: &Option<ThreadError>| e.as_ref().map_or(String::new(), |e| e.message.clone());
    let moment = |e: &Option<ThreadError>| e.as_ref().map_or(String::new(), |e| short_moment(cx, e.at));
    let yes = |on: bool| if on { "Yes" } else { "No" };
    let (until, until_file, until_offset) = match &state.until {
        None => ("None", String::new(), 0),
        Some(Until::BeforeGtids(_)) => ("SQL_BEFORE_GTIDS", String::new(), 0),
        Some(Until::AfterGtids(_)) => ("SQL_AFTER_GTIDS", String::new(), 0),
        Some(Until::Position { file, offset }) => ("Source", file.clone(), *offset),
    };
    let ignored: Vec<_> = source.ignored_server_ids.iter().map(u32::to_string).collect();
    let seconds = |duration: std::time::Duration| duration.as_secs();
    let now = cx.instance.env().now() / 1_000_000;
    let read = state.read_position();
    let mut row = cells![
        receiver.state,
        source.host.clone(),
        state.user_and_password().0.to_owned(),
        u64::from(source.port),
        seconds(source.connect_retry),
        read.file.clone(),
        read.offset,
        format!("{}.000001", relay_log(cx, channel.name())),
        4_u64,
        progress.executed.file.clone(),
        running(receiver.running),
        running(applier.running),
        filter(FilterRule::DoDatabase),
        filter(FilterRule::IgnoreDatabase),
        filter(FilterRule::DoTable),
        filter(FilterRule::IgnoreTable),
        filter(FilterRule::WildDoTable),
        filter(FilterRule::WildIgnoreTable),
        number(&applier.last_error),
        message(&applier.last_error),
        state.skip,
        progress.executed.offset,
        progress.queued_bytes,
        until,
        until_file,
        until_offset,
        yes(source.tls),
        source.tls_ca.clone(),
        "",
        "",
        "",
        "",
        state.replication_lag(now),
        yes(source.tls_verify),
    ];
    row.extend(cells![
        number(&receiver.last_error),
        message(&receiver.last_error),
        number(&applier.last_error),
        message(&applier.last_error),
        ignored.join(", "),
        u64::from(progress.source_server_id),
        progress.source_uuid.clone(),
        crate::replica::file::FILE,
        seconds(source.delay),
        progress.remaining_delay.map(u64::from),
        applier.state,
        source.retry_count,
        "",
        moment(&receiver.last_error),
        moment(&applier.last_error),
        "",
        "",
        progress.retrieved.to_string(),
        executed,
        u64::from(source.auto_position),
        filter(FilterRule::RewriteDatabase),
        channel.name(),
        "",
        "",
        u64::from(source.get_public_key),
        "",
    ]);
    row
}

fn running(running: Running) -> &'static str {
    match running {
        Running::No => "No",
        Running::Connecting => "Connecting",
        Running::Yes => "Yes",
    }
}

/// `YYMMDD hh:mm:ss` of microseconds since 1970.
fn short_moment(cx: &Context, at: u64) -> String {
    let local = cx.settings.zone().to_local(i64::try_from(at).unwrap_or(i64::MAX));
    let Some(moment) = DateTime::from_unix_micros(local, 0) else { return String::new() };
    let text = moment.to_string();
    let (date, time) = text.split_once(' ').unwrap_or_default();
    let date = date.replace('-', "");
    format!("{} {time}", date.get(2..).unwrap_or_default())
}

/// What the channel's relay log would be called.
fn relay_log(cx: &Context, channel: &str) -> String {
    let name = cx.instance.globals().text(ids::RELAY_LOG);
    match channel {
        "" => name.to_string(),
        channel => format!("{name}-{channel}"),
    }
}

/// SHOW RELAYLOG EVENTS: there is no relay log, so there are no events in it.
pub(super) fn relaylog_events(cx: &Context, file: Option<&Text>, channel: Option<&Text>) -> Result<Listing> {
    check_unambiguous(cx, channel)?;
    channels_of(cx, channel)?;
    if file.is_some() {
        return Err(error::ERROR_WHEN_EXECUTING_COMMAND
            .with(&[&"SHOW RELAYLOG EVENTS", &"Could not find target log"]));
    }
    Ok(Listing::new([
        text("Log_name", 20),
        int("Pos"),
        text("Event_type", 20),
        uint("Server_id"),
        int("End_log_pos"),
        text("Info", 20),
    ]))
}
