//! The threads by which this server follows its sources (`sql/src/replica.rs` tells the whole).
//!
//! The receiver connects to the source and puts its events into a queue of bounded size
//! ([`queue::EventQueue`]); while the queue is full it does not read, which holds the source's
//! sender back. The applier takes them off. Each time one of the two starts, and after each lost
//! connection, the stream begins anew behind the last group that is committed here.

use crate::server::Server;
use env::Env;
use parking_lot::Mutex;
use queue::EventQueue;
use sql::replica::{Channel, ReplicaThread, SourceThreads, ThreadError};
use sql::variables::ids;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

mod acknowledgement;
mod applier;
mod connection;
mod failover;
mod queue;
mod receiver;
mod stream;

/// How long a stop of the server waits for one thread.
const PATIENCE: Duration = Duration::from_secs(30);

/// The system gives no thread.
const NO_THREAD: u16 = 1202;
/// Why a thread ended that no other number is about.
const FATAL: u16 = 1593;

/// The threads of all channels.
pub(crate) struct ReplicaThreads {
    server: Weak<Server>,
    queues: Mutex<BTreeMap<String, Arc<EventQueue>>>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl ReplicaThreads {
    /// Has sessions start threads, and starts those of the channels that there are, unless
    /// `skip_replica_start` says no.
    pub(crate) fn start(server: &Arc<Server>) -> Arc<Self> {
        let threads = Arc::new(Self {
            server: Arc::downgrade(server),
            queues: Mutex::default(),
            running: Mutex::default(),
        });
        let channels = server.database.channels();
        channels.set_threads(threads.clone());
        if !server.variables.bool(ids::SKIP_REPLICA_START) {
            for channel in channels.all() {
                for thread in [ReplicaThread::Receiver, ReplicaThread::Applier] {
                    if let Err(e) = channel.start(thread, &*threads) {
                        tracing::error!(channel = channel.name(), "a replica's thread can't start: {e}");
                    }
                }
            }
        }
        threads
    }

    /// Ends all threads, and waits for them.
    pub(crate) fn end(&self) {
        let Some(server) = self.server.upgrade() else { return };
        let channels = server.database.channels().all();
        for channel in &channels {
            channel.stop(ReplicaThread::Receiver);
            channel.stop(ReplicaThread::Applier);
        }
        for channel in &channels {
            if !channel.wait_until(PATIENCE, |state| !state.is_running()) {
                tracing::warn!(channel = channel.name(), "a replica's threads did not end in time");
            }
        }
        for thread in self.running.lock().drain(..).filter(JoinHandle::is_finished) {
            // A panic in it was logged.
            let _ = thread.join();
        }
    }

    fn queue(&self, server: &Server, channel: &Channel) -> Arc<EventQueue> {
        let size = server.variables.uint(ids::REPLICA_PENDING_JOBS_SIZE_MAX);
        let mut queues = self.queues.lock();
        let queue = queues.entry(channel.name().to_owned()).or_insert_with(|| Arc::new(EventQueue::new()));
        queue.set_size(usize::try_from(size).unwrap_or(usize::MAX));
        queue.clone()
    }
}

impl SourceThreads for ReplicaThreads {
    fn start(&self, channel: &Arc<Channel>, thread: ReplicaThread) -> io::Result<()> {
        let server = self.server.upgrade().ok_or_else(|| io::Error::other("the server stops"))?;
        let queue = self.queue(&server, channel);
        let channel = channel.clone();
        let stack = usize::try_from(server.variables.uint(ids::THREAD_STACK)).unwrap_or(2 << 20);
        let name = match thread {
            ReplicaThread::Receiver => "replica-receiver",
            ReplicaThread::Applier => "replica-applier",
        };
        let mut ended = Ended { env: server.env.clone(), channel: channel.clone(), thread, error: None };
        // It is dropped if there is no thread.
        ended.because(NO_THREAD, "Could not create replica thread; check system resources");
        let spawned = std::thread::Builder::new().name(name.into()).stack_size(stack).spawn(move || {
            stdx::stack::begin(stack);
            let mut ended = ended;
            ended.because(FATAL, "Fatal error: an internal error ended the thread; the error log says which");
            let outcome = match thread {
                ReplicaThread::Receiver => receiver::run(&server, &channel, &queue),
                ReplicaThread::Applier => applier::run(&server, &channel, &queue),
            };
            ended.error = outcome.err();
        })?;
        let mut running = self.running.lock();
        running.retain(|thread| !thread.is_finished());
        running.push(spawned);
        Ok(())
    }
}

/// Tells the channel that a thread has ended, by a panic too.
struct Ended {
    env: Arc<dyn Env>,
    channel: Arc<Channel>,
    thread: ReplicaThread,
    /// What is told if nothing else is said until then.
    error: Option<ThreadError>,
}

impl Ended {
    fn because(&mut self, number: u16, message: &str) {
        self.error = Some(ThreadError { number, message: message.to_owned(), at: 0 });
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(e) = &mut self.error {
            e.at = self.env.now();
            let name = self.channel.name();
            tracing::error!(channel = name, thread = ?self.thread, number = e.number, "{}", e.message);
        }
        self.channel.ended(self.thread, self.error.take());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use sql::replica::SourceConfig;

    /// Nothing but the error log said why such a thread did not run.
    #[test]
    fn a_thread_that_panics_says_that_it_has_ended_by_an_error() {
        let channel = Arc::new(Channel::new("", SourceConfig::default()));
        let thread = ReplicaThread::Receiver;
        let env = Arc::new(env::SimEnv::new(1));
        let begun = env.now();
        let mut ended = Ended { env: env.clone(), channel: channel.clone(), thread, error: None };
        let panicking = std::thread::spawn(move || {
            ended.because(FATAL, "why");
            panic!("this one is meant");
        });
        assert!(panicking.join().is_err());
        let error = channel.with(|state| state.receiver.last_error.clone()).unwrap();
        assert_eq!((error.number, error.message.as_str()), (FATAL, "why"));
        assert!(error.at > begun, "{error:?}");
    }
}
