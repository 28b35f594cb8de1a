//! The receiver's thread: reads the source's log, and connects again when the connection is lost.

use super::acknowledgement::{self, Acknowledgement};
use super::connection::{self, SourceConnection, SourceError, lost};
use super::queue::EventQueue;
use super::stream::{Incoming, StreamPosition};
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
    let mut attempts = 0;
    while channel.is_wanted(THREAD) {
        let source = channel.with(|state| {
            state.receiver.running = Running::Connecting;
            state.receiver.state = "Connecting to source";
            state.source_to_log_in()
        });
        let mut was_connected = false;
        let outcome = follow(server, channel, queue, &source, &mut was_connected);
        channel.set_wake(THREAD, None);
        let restarts = queue.end_stream();
        if was_connected {
            attempts = 0;
        }
        let Err(e) = outcome else { continue };
        if restarts {
            continue;
        }
        if !channel.is_wanted(THREAD) {
            break;
        }
        attempts += 1;
        let (host, port, user) = (&source.host, source.port, &source.user);
        if e.is_fatal {
            return Err(told(e.number, e.message));
        }
        let seconds = source.connect_retry.as_secs();
        let message = match was_connected {
            true => format!("Error reading from source '{user}@{host}:{port}': {}", e.message),
            false => format!(
                "Error connecting to source '{user}@{host}:{port}'. This was attempt {attempts}/{}, with a delay of \
                 {seconds} seconds between attempts. Message: {}",
                source.retry_count, e.message
            ),
        };
        if source.retry_count != 0 && attempts >= source.retry_count && !was_connected {
            return Err(told(e.number, message));
        }
        tracing::warn!(channel = channel.name(), number = e.number, "{message}");
        channel.with(|state| {
            state.receiver.running = Running::Connecting;
            state.receiver.state = "Waiting to reconnect after a failed source event read";
            state.receiver.last_error = Some(told(e.number, message));
        });
        // A connection that was lost is made again at once.
        if !was_connected {
            channel.wait_until(source.connect_retry, |state| !state.receiver.wanted);
        }
    }
    Ok(())
}

/// Follows the source over one connection, until the receiver is no longer wanted or has to begin
/// the stream anew.
fn follow(
    server: &Server,
    channel: &Channel,
    queue: &EventQueue,
    source: &SourceConfig,
    was_connected: &mut bool,
) -> Result<(), SourceError> {
    let is_wanted = || channel.is_wanted(THREAD);
    let patience = Duration::from_secs(server.variables.uint(ids::REPLICA_NET_TIMEOUT).max(1));
    let socket = connection::open(source, patience)?;
    channel.set_wake(THREAD, connection::shutter(&socket));
    let interrupt = connection::shutter(&socket);
    let poll = socket.try_clone().ok();
    let mut connection = SourceConnection::log_in(server, source, socket, patience)?;
    connection.introduce(server, channel, source)?;
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
    *was_connected = true;
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
    let mut stream = StreamPosition::new(ignored);
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
        let (event, gtid) = match incoming {
            Incoming::Event(event, gtid) => (event, gtid),
            Incoming::Heartbeat => {
                let now = server.env.now();
                channel.with(|state| {
                    state.progress.heartbeats += 1;
                    state.progress.last_heartbeat = now;
                });
                continue;
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
