//! The receiver's thread: reads the source's log, and connects again when the connection is lost,
//! or to another source ([`super::failover`]).

use super::FATAL;
use super::acknowledgement::{self, Acknowledgement};
use super::connection::{self, FATAL_ERROR, SourceConnection, SourceError, lost};
use super::failover::Failover;
use super::queue::EventQueue;
use super::stream::{AlreadyReceived, Incoming, StreamPosition};
use crate::server::Server;
use protocol::client::ClientError;
use sql::replica::applier::committed_position;
use sql::replica::channel::Running;
use sql::replica::{Channel, ReplicaThread, SourceConfig, ThreadError};
use sql::variables::ids;
use std::sync::Arc;
use std::time::Duration;

const THREAD: ReplicaThread = ReplicaThread::Receiver;

/// A source that can't send what is asked for.
const FATAL_READING_BINLOG: u16 = 13114;
const CORRUPT_EVENT: u16 = 1595;
const PACKET_TOO_LARGE: u16 = 1153;
const SOURCE_FATAL: u16 = 1236;

/// Reads until it is no longer wanted, or the source can't be followed.
pub(super) fn run(
    server: &Arc<Server>,
    channel: &Arc<Channel>,
    queue: &Arc<EventQueue>,
) -> Result<(), ThreadError> {
    let told = |number, message| ThreadError { number, message, at: server.env.now() };
    let mut attempts: u64 = 0;
    let mut failover = Failover::new(server, channel, queue);
    let mut known = AlreadyReceived::default();
    // Which source is next, when this one's attempts are used up or a better one was found.
    let mut next_source = None;
    while channel.is_wanted(THREAD) {
        if let Some(to) = next_source.take().or_else(|| failover.found()) {
            attempts = 0;
            known = AlreadyReceived::default();
            if let Err(e) = failover.move_to(&to) {
                tracing::error!(channel = channel.name(), number = e.number, "{}", e.message);
                channel.with(|state| state.receiver.last_error = Some(told(e.number, e.message)));
            }
            continue;
        }
        let source = channel.with(|state| {
            state.receiver.running = Running::Connecting;
            state.receiver.state = "Connecting to source";
            state.source_to_log_in()
        });
        if server.variables.uint(ids::SERVER_ID) == 0 {
            return Err(told(
                FATAL,
                "Fatal error: a server whose server_id is 0 can't be a replica".to_owned(),
            ));
        }
        if source.user.is_empty() {
            return Err(told(
                FATAL_ERROR,
                "Fatal error: Invalid (empty) username when attempting to connect to the source server. Connection \
                 attempt terminated."
                    .to_owned(),
            ));
        }
        let begun = server.env.monotonic();
        let mut connected = Connected::default();
        let outcome = follow(server, channel, queue, &source, &mut known, &mut connected);
        channel.set_wake(THREAD, None);
        let restarts = queue.end_stream();
        let Err(e) = outcome else { continue };
        if restarts {
            continue;
        }
        if !channel.is_wanted(THREAD) {
            break;
        }
        // The monitor has ended this connection.
        next_source = failover.found();
        if next_source.is_some() {
            continue;
        }
        if e.is_fatal {
            return Err(told(e.number, e.message));
        }
        let lasted = server.env.monotonic().saturating_sub(begun);
        if connected.was_of_use(lasted, &source) {
            failover.was_of_use();
            attempts = 0;
        } else {
            attempts = attempts.saturating_add(1);
        }
        let next = connected.next(attempts, source.retry_count);
        let message = message(&source, connected, attempts, &e.message);
        if next == Next::Stop {
            next_source = failover.next(&source);
            if next_source.is_none() {
                return Err(told(e.number, message));
            }
        }
        tracing::warn!(channel = channel.name(), number = e.number, "{message}");
        channel.with(|state| {
            state.receiver.running = Running::Connecting;
            state.receiver.state = "Waiting to reconnect after a failed source event read";
            state.receiver.last_error = Some(told(e.number, message));
        });
        if next != Next::ConnectAtOnce {
            channel.wait_until(source.connect_retry, |state| !state.receiver.wanted);
        }
    }
    Ok(())
}

/// How far a connection came.
#[derive(Debug, Clone, Copy, Default)]
struct Connected {
    /// The source has let this server in, and was asked for its log.
    is_made: bool,
    /// It has sent an event group that neither this server has executed nor an earlier connection
    /// has brought.
    has_new_group: bool,
}

/// What follows a connection that has failed.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    ConnectAtOnce,
    Wait,
    Stop,
}

impl Connected {
    /// True if there is more of the source's log here than before, or if connections like this one
    /// are no more frequent than those with a wait between them.
    fn was_of_use(self, lasted: Duration, source: &SourceConfig) -> bool {
        self.has_new_group || self.is_made && lasted >= source.connect_retry
    }

    /// This was attempt number `attempts` since a connection was of use last, which is number 0. As
    /// in MySQL a connection that was lost is made again at once, but only once: a source may send
    /// the same damaged event each time.
    fn next(self, attempts: u64, retry_count: u64) -> Next {
        let lost = u64::from(self.is_made);
        match attempts {
            _ if retry_count != 0 && attempts >= retry_count.saturating_add(lost) => Next::Stop,
            0 | 1 if self.is_made => Next::ConnectAtOnce,
            _ => Next::Wait,
        }
    }
}

/// What SHOW REPLICA STATUS says of a connection that has failed.
fn message(source: &SourceConfig, connected: Connected, attempts: u64, cause: &str) -> String {
    let SourceConfig { user, host, port, retry_count, .. } = source;
    let what = if connected.is_made { "reading from" } else { "connecting to" };
    if connected.is_made && attempts <= 1 {
        return format!("Error {what} source '{user}@{host}:{port}': {cause}");
    }
    // The connection that was lost was none.
    let attempt = attempts.saturating_sub(connected.is_made.into());
    let seconds = source.connect_retry.as_secs();
    format!(
        "Error {what} source '{user}@{host}:{port}'. This was attempt {attempt}/{retry_count}, with a delay of \
         {seconds} seconds between attempts. Message: {cause}"
    )
}

/// Follows the source over one connection, until the receiver is no longer wanted or has to begin
/// the stream anew.
fn follow(
    server: &Server,
    channel: &Channel,
    queue: &EventQueue,
    source: &SourceConfig,
    known: &mut AlreadyReceived,
    connected: &mut Connected,
) -> Result<(), SourceError> {
    let is_wanted = || channel.is_wanted(THREAD);
    let patience = Duration::from_secs(server.variables.uint(ids::REPLICA_NET_TIMEOUT).max(1));
    let socket = connection::open(source, patience)?;
    channel.set_wake(THREAD, connection::shutter(&socket));
    let interrupt = connection::shutter(&socket);
    let poll = socket.try_clone().ok();
    let mut connection = connection::within(connection::shutter(&socket), patience, || {
        let mut connection = SourceConnection::log_in(server, source, socket, patience)?;
        connection.introduce(server, channel, source)?;
        Ok(connection)
    })?;
    if !queue.begin_stream(interrupt, is_wanted) {
        return Ok(());
    }
    let reached =
        committed_position(&server.database, channel).map_err(|e| SourceError::fatal(e.number, e.message))?;
    let executed = server.database.log().gtid_executed();
    connection.request(server, source, &reached, &executed)?;
    let acknowledges = connection.acknowledges;
    channel.with(|state| state.progress.acknowledges = acknowledges);
    let mut acknowledgement = Acknowledgement::new(acknowledges.then_some(poll).flatten());
    connected.is_made = true;
    let (host, port) = (&source.host, source.port);
    tracing::info!(channel = channel.name(), "following {host}:{port}, {}", connection.client.server_version);
    channel.with(|state| {
        state.receiver.running = Running::Yes;
        state.receiver.state = "Waiting for source to send event";
        state.receiver.last_error = None;
    });
    let mut ignored = source.ignored_server_ids.clone();
    if !server.variables.bool(ids::REPLICATE_SAME_SERVER_ID) {
        ignored.insert(server.variables.uint(ids::SERVER_ID) as u32);
    }
    let retrieved = channel.with(|state| state.progress.retrieved.clone());
    known.begin_stream(executed, retrieved, &reached.position);
    let mut stream = StreamPosition::new(ignored, known);
    let event_max = server.variables.uint(ids::REPLICA_MAX_ALLOWED_PACKET);
    let event_max = usize::try_from(event_max).unwrap_or(usize::MAX);
    while is_wanted() {
        if !acknowledgement.send_if_due(channel, &mut connection)? {
            return Ok(());
        }
        let packet = connection.client.read_packet().map_err(reading)?;
        const EVENT: u8 = 0x00;
        const EOF: u8 = 0xfe;
        let bytes = match packet.split_first() {
            Some((&EVENT, bytes)) => bytes,
            Some((&EOF, _)) => return Err(SourceError::passing(2013, "the source has ended the stream")),
            _ => return Err(SourceError::passing(2027, "Malformed packet")),
        };
        let (bytes, is_asked) = match connection.acknowledges {
            true => acknowledgement::strip(bytes)
                .ok_or_else(|| SourceError::passing(2027, "Malformed packet of a semi-synchronous source"))?,
            false => (bytes, false),
        };
        if bytes.len() > event_max {
            return Err(SourceError::fatal(
                PACKET_TOO_LARGE,
                format!(
                    "Got a packet bigger than 'replica_max_allowed_packet' bytes: an event of {}",
                    bytes.len()
                ),
            ));
        }
        let incoming = stream.take(bytes).map_err(|e| {
            let place = format!("{}:{}", stream.file(), stream.offset());
            SourceError::passing(CORRUPT_EVENT, format!("Relay log write failure: event at {place}: {e}"))
        })?;
        connected.has_new_group = stream.has_new_group();
        let (event, gtid) = match incoming {
            Incoming::Event(event, gtid) => (event, gtid),
            Incoming::Heartbeat(passed) => {
                let now = server.env.now();
                channel.with(|state| {
                    state.progress.heartbeats += 1;
                    state.progress.last_heartbeat = now;
                });
                let Some(event) = passed else { continue };
                (event, None)
            }
            Incoming::Passed => {
                if is_asked {
                    acknowledgement.is_asked(&mut connection, stream.position(), true);
                }
                continue;
            }
        };
        if let Some(gtid) = gtid {
            let read = stream.position();
            let queued = queue.bytes() as u64;
            channel.with(|state| {
                state.progress.retrieved.add(gtid);
                state.progress.read = read;
                state.progress.queued_bytes = queued;
            });
        } else if event.end != 0 {
            let (file, offset) = (&event.file, event.end);
            channel.with(|state| {
                let read = &mut state.progress.read;
                if *read.file != **file {
                    read.file = file.to_string();
                }
                read.offset = offset;
            });
        }
        if is_asked {
            acknowledgement.is_asked(&mut connection, stream.position(), false);
        }
        match queue.push(event, is_wanted) {
            Some(Ok(())) => {}
            // The applier has started: what it lacks is asked for anew.
            Some(Err(_)) | None => return Ok(()),
        }
    }
    Ok(())
}

/// What the source says instead of an event is final.
fn reading(e: ClientError) -> SourceError {
    match e.number() {
        Some(SOURCE_FATAL) => SourceError::fatal(
            FATAL_READING_BINLOG,
            format!("Got fatal error 1236 from source when reading data from binary log: '{e}'"),
        ),
        _ => lost(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that sent a damaged event was connected to again without end, and without a pause.
    #[test]
    fn a_connection_that_brings_nothing_is_made_again_at_once_only_once() {
        let lost = Connected { is_made: true, has_new_group: false };
        assert_eq!([0, 1].map(|attempt| lost.next(attempt, 2)), [Next::ConnectAtOnce, Next::ConnectAtOnce]);
        assert_eq!(lost.next(2, 2), Next::Wait);
        assert_eq!(lost.next(3, 2), Next::Stop);
        assert_eq!(lost.next(1, 1), Next::ConnectAtOnce);
        assert_eq!(lost.next(u64::MAX, 0), Next::Wait, "it tries for ever");
        let refused = Connected::default();
        assert_eq!([1, 2].map(|attempt| refused.next(attempt, 2)), [Next::Wait, Next::Stop]);
    }

    #[test]
    fn a_connection_is_of_use_if_it_brings_a_group_or_lasts() {
        let source = SourceConfig { connect_retry: Duration::from_secs(60), ..SourceConfig::default() };
        let (short, long) = (Duration::from_secs(59), Duration::from_secs(60));
        let of_use =
            |is_made, has_new_group, lasted| Connected { is_made, has_new_group }.was_of_use(lasted, &source);
        assert!(of_use(true, true, short) && of_use(true, false, long));
        assert!(!of_use(true, false, short) && !of_use(false, false, long));
    }
}
