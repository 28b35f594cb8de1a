//! Who follows this server, and whom it follows.

use binlog::LogPosition;

use crate::Instance;
use crate::replica::channel::Running;
use crate::status::engine::bytes_after;

/// A connection that is sent the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowerSummary {
    /// Its id in SHOW PROCESSLIST.
    pub connection: u64,
    /// 0 for a program that is no replica.
    pub server_id: u32,
    /// Empty if it did not say.
    pub uuid: String,
    /// `report_host` and `report_port`, or where its connection comes from.
    pub host: String,
    /// Up to where it was sent the log.
    pub sent: Option<String>,
    /// Bytes of durable log that it was not sent yet; `None` before the first event.
    pub unsent_bytes: Option<u64>,
}

/// A channel that has a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSummary {
    /// Empty for the one without a name.
    pub name: String,
    /// Host and port of the source.
    pub source: String,
    /// `Replica_IO_Running`
    pub receiver: &'static str,
    /// `Replica_SQL_Running`
    pub applier: &'static str,
    /// `Seconds_Behind_Source`
    pub lag_seconds: Option<u64>,
    /// The source waits for acknowledgements, and gets them.
    pub acknowledges: bool,
    /// Bytes of events that are received and wait to be applied.
    pub queued_bytes: u64,
    /// `Last_IO_Errno`, or else `Last_SQL_Errno`.
    pub error: Option<u16>,
    /// A thread that START REPLICA has started does not run.
    pub is_stopped: bool,
}

impl Instance {
    /// Connections that are sent the log, by their ids; `max` at most.
    pub fn followers(&self, max: usize) -> Vec<FollowerSummary> {
        let (log, replicas) = (self.log(), self.replicas());
        let streams = replicas.sent();
        if streams.is_empty() {
            return Vec::new();
        }
        let files = log.files();
        let not_durable = bytes_after(&files, log.durable());
        let unsent = |at: LogPosition| bytes_after(&files, at).saturating_sub(not_durable);
        let of = |stream: crate::replicas::SentLog| {
            let introduced = replicas.introduced(stream.connection).filter(|r| !r.host.is_empty());
            let host = match introduced {
                Some(replica) => format!("{}:{}", replica.host, replica.port),
                None => self.process(stream.connection).map_or_else(String::new, |p| p.user().host.clone()),
            };
            FollowerSummary {
                connection: stream.connection,
                server_id: stream.server_id,
                uuid: stream.uuid,
                host,
                sent: stream.position.map(|at| format!("{}:{}", log.file_name(at.file()), at.offset())),
                unsent_bytes: stream.position.map(unsent),
            }
        };
        streams.into_iter().take(max).map(of).collect()
    }

    /// Channels that have a source, by name.
    pub fn channel_summaries(&self) -> Vec<ChannelSummary> {
        let now = self.env().now() / 1_000_000;
        let running = |running: Running| match running {
            Running::No => "No",
            Running::Connecting => "Connecting",
            Running::Yes => "Yes",
        };
        let channels = self.channels().all();
        let of = |channel: &std::sync::Arc<crate::replica::Channel>| {
            channel.with(|state| {
                let (receiver, applier) = (&state.receiver, &state.applier);
                let error = receiver.last_error.as_ref().or(applier.last_error.as_ref());
                let is_stopped = |thread: &crate::replica::channel::ThreadStatus| {
                    thread.running == Running::No && (thread.wanted || thread.last_error.is_some())
                };
                (!state.source.host.is_empty()).then(|| ChannelSummary {
                    name: channel.name().to_owned(),
                    source: format!("{}:{}", state.source.host, state.source.port),
                    receiver: running(receiver.running),
                    applier: running(applier.running),
                    lag_seconds: state.replication_lag(now),
                    acknowledges: state.progress.acknowledges && receiver.running == Running::Yes,
                    queued_bytes: state.progress.queued_bytes,
                    error: error.map(|error| error.number),
                    is_stopped: is_stopped(receiver) || is_stopped(applier),
                })
            })
        };
        channels.iter().filter_map(of).collect()
    }
}
