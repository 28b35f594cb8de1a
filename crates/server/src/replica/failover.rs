//! Asynchronous connection failover: a receiver goes to another source when its own is lost, and
//! back.
//!
//! 1. lost   The attempts at a source are used up: the next one of the channel's list is tried, and
//!    so on around the list, for as long as the channel is wanted. An empty list stops the
//!    receiver.
//! 2. drain  What was received of the lost source is applied first: the next one may not have it.
//!    A receiver whose applier does not run throws it away.
//! 3. move   The file of channels has the new source, then the receiver connects.
//! 4. back   While the receiver is connected, a [`Monitor`] tries the sources of higher weight;
//!    when one lets it log in, the receiver moves there. A source that is not in the list has no
//!    weight.
//!
//! Elsewhere: the lists, and the order in them (`sql/src/replica/failover.rs`).

use super::connection::{self, SourceConnection, SourceError};
use super::queue::EventQueue;
use crate::server::Server;
use parking_lot::Mutex;
use sql::replica::channel::Running;
use sql::replica::failover::{self, FailoverRound, FailoverSource};
use sql::replica::{Channel, ReplicaThread, SourceConfig};
use std::sync::{Arc, Weak};
use std::time::Duration;

const THREAD: ReplicaThread = ReplicaThread::Receiver;

/// How often sources of higher weight are tried.
const PERIOD: Duration = Duration::from_secs(5);
/// How long a connection to one of them may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a receiver knows of the sources that it may go to.
pub(super) struct Failover<'a> {
    server: &'a Server,
    channel: &'a Channel,
    queue: &'a EventQueue,
    round: FailoverRound,
    /// Ends when this is dropped; `None` if the channel has no failover.
    monitor: Option<Arc<Monitor>>,
}

impl<'a> Failover<'a> {
    /// For a receiver that begins.
    pub(super) fn new(server: &'a Arc<Server>, channel: &'a Arc<Channel>, queue: &'a EventQueue) -> Self {
        let is_on = channel.with(|state| state.source.auto_failover);
        let monitor = is_on.then(|| Monitor::start(server, channel)).flatten();
        Self { server, channel, queue, round: FailoverRound::default(), monitor }
    }

    /// A connection to the source was of use.
    pub(super) fn was_of_use(&mut self) {
        self.round.end();
    }

    /// Where to go from a source that is lost; `None` if the channel has no failover, or an empty
    /// list.
    pub(super) fn next(&mut self, lost: &SourceConfig) -> Option<FailoverSource> {
        if !lost.auto_failover {
            return None;
        }
        let list = self.server.database.channels().failover().of_channel(self.channel.name());
        self.round.next(&list, &lost.host, lost.port)
    }

    /// The source of higher weight that the monitor has found, once.
    pub(super) fn found(&self) -> Option<FailoverSource> {
        self.monitor.as_ref()?.found.lock().take()
    }

    /// Makes a source the channel's, when what was received of the one before is applied. Nothing
    /// is done if the receiver is no longer wanted before.
    ///
    /// # Errors
    /// It can't be written down: the channel has its source of before.
    pub(super) fn move_to(&self, to: &FailoverSource) -> Result<(), SourceError> {
        let (host, port) = self.channel.with(|state| (state.source.host.clone(), state.source.port));
        if to.host == host && to.port == port {
            return Ok(());
        }
        let is_wanted = || self.channel.is_wanted(THREAD);
        // The second ends what the applier has of an unfinished transaction.
        if !self.queue.drain(is_wanted) || !self.queue.begin_stream(None, is_wanted) {
            return Ok(());
        }
        failover::move_to(&self.server.database, self.channel, to)
            .map_err(|e| SourceError::passing(e.number, e.message))?;
        let (name, FailoverSource { host: to_host, port: to_port, .. }) = (self.channel.name(), to);
        tracing::warn!(channel = name, "the source {host}:{port} is replaced by {to_host}:{to_port}");
        Ok(())
    }
}

/// Looks for sources of higher weight than the one that the receiver is connected to.
struct Monitor {
    found: Mutex<Option<FailoverSource>>,
}

impl Monitor {
    /// Starts its thread, which ends soon after nobody else has the monitor; the receiver does not
    /// wait for it. `None` if the system gives no thread: then the receiver stays where it is.
    fn start(server: &Arc<Server>, channel: &Arc<Channel>) -> Option<Arc<Self>> {
        let monitor = Arc::new(Self { found: Mutex::default() });
        let (weak, server, channel) = (Arc::downgrade(&monitor), Arc::downgrade(server), channel.clone());
        let thread = std::thread::Builder::new().name("replica-monitor".into());
        match thread.spawn(move || run(&weak, &server, &channel)) {
            Ok(_) => Some(monitor),
            Err(e) => {
                tracing::warn!("no thread looks for sources of higher weight: {e}");
                None
            }
        }
    }
}

fn run(monitor: &Weak<Monitor>, server: &Weak<Server>, channel: &Channel) {
    while !channel.wait_until(PERIOD, |state| !state.receiver.wanted) {
        let Some(server) = server.upgrade() else { return };
        if monitor.strong_count() == 0 {
            return;
        }
        let is_wanted = || monitor.strong_count() > 0 && channel.is_wanted(THREAD);
        let Some(better) = reachable(&server, channel, is_wanted) else { continue };
        let Some(monitor) = monitor.upgrade() else { return };
        *monitor.found.lock() = Some(better);
        channel.interrupt(THREAD);
    }
}

/// The source of the highest weight above that of the present one which lets this server log in;
/// the search ends when it is no longer wanted.
fn reachable(server: &Server, channel: &Channel, is_wanted: impl Fn() -> bool) -> Option<FailoverSource> {
    let (running, source) = channel.with(|state| (state.receiver.running, state.source_to_log_in()));
    if running != Running::Yes {
        return None;
    }
    let list = server.database.channels().failover().of_channel(channel.name());
    let present = list.iter().find(|other| other.is_at(&source.host, source.port));
    let weight = present.map_or(0, |present| present.weight);
    let better = list.into_iter().take_while(|other| other.weight > weight && is_wanted());
    better.into_iter().find(|other| {
        let config = SourceConfig { host: other.host.clone(), port: other.port, ..source.clone() };
        let connected = connection::open(&config, PATIENCE).and_then(|socket| {
            connection::within(connection::shutter(&socket), PATIENCE, || {
                SourceConnection::log_in(server, &config, socket, PATIENCE)
            })
        });
        connected.is_ok()
    })
}
