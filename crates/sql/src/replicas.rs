//! Who follows this server: replicas that have introduced themselves, and connections that are sent
//! the log.
//!
//! A replica that lost its connection may come back before the server knows of the loss. Whoever
//! comes with the UUID (or, having none, with the server id) of one that is sent the log takes its
//! place: the older stream ends.

use binlog::LogPosition;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// How SHOW REPLICAS lists a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// Its `@@server_id`, as COM_REGISTER_SLAVE says.
    pub server_id: u32,
    /// Its `report_host`.
    pub host: String,
    /// Its `report_port`.
    pub port: u16,
    /// Its `server_uuid`, if it said so; else empty.
    pub uuid: String,
}

/// A connection that is sent the log, as others see it.
#[derive(Debug)]
struct Stream {
    uuid: String,
    server_id: u32,
    by_gtids: bool,
    replaced: Arc<AtomicBool>,
    /// A [`LogPosition`]; 0 until something was sent.
    sent: Arc<AtomicU64>,
}

/// How far a connection was sent the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentLog {
    pub(crate) connection: u64,
    pub(crate) server_id: u32,
    pub(crate) uuid: String,
    /// `None` before the first event.
    pub(crate) position: Option<LogPosition>,
}

/// All followers, by the ids of their connections.
#[derive(Debug, Default)]
pub struct Replicas {
    registered: Mutex<BTreeMap<u64, Replica>>,
    streams: Mutex<BTreeMap<u64, Stream>>,
}

impl Replicas {
    /// A replica introduces itself (COM_REGISTER_SLAVE). It is listed until its connection ends.
    pub fn register(&self, connection: u64, replica: Replica) {
        let mut registered = self.registered.lock();
        // One that came back is listed once.
        registered.retain(|_, known| known.server_id != replica.server_id);
        registered.insert(connection, replica);
    }

    /// The replicas that have introduced themselves, by server id.
    pub(crate) fn registered(&self) -> Vec<Replica> {
        let mut all: Vec<_> = self.registered.lock().values().cloned().collect();
        all.sort_by_key(|replica| replica.server_id);
        all
    }

    /// A connection is sent the log from now on; `server_id` is 0 for a program that is no replica.
    /// Returns the mark by which it learns that another took its place, and the connections whose
    /// place it takes.
    pub fn begin_stream(
        &self,
        connection: u64,
        uuid: &str,
        server_id: u32,
        by_gtids: bool,
    ) -> (Arc<AtomicBool>, Vec<u64>) {
        let mut streams = self.streams.lock();
        let is_same = |other: &Stream| match uuid {
            "" => other.uuid.is_empty() && other.server_id == server_id && server_id != 0,
            uuid => other.uuid == uuid,
        };
        let older: Vec<u64> = streams.iter().filter(|(_, other)| is_same(other)).map(|(&id, _)| id).collect();
        for id in &older {
            if let Some(stream) = streams.get(id) {
                stream.replaced.store(true, Relaxed);
            }
        }
        let replaced = Arc::<AtomicBool>::default();
        let stream = Stream {
            uuid: uuid.to_owned(),
            server_id,
            by_gtids,
            replaced: replaced.clone(),
            sent: Arc::default(),
        };
        streams.insert(connection, stream);
        (replaced, older)
    }

    /// Where the connection's stream notes how far it is: the packed form of the [`LogPosition`] up
    /// to which it was sent the log. Nothing is ordered by it, so it is relaxed.
    pub fn sent_mark(&self, connection: u64) -> Arc<AtomicU64> {
        self.streams.lock().get(&connection).map(|stream| stream.sent.clone()).unwrap_or_default()
    }

    /// How far each connection was sent the log, by connection.
    pub(crate) fn sent(&self) -> Vec<SentLog> {
        let of = |(&connection, stream): (&u64, &Stream)| {
            let sent = stream.sent.load(Relaxed);
            let position = (sent != 0).then(|| LogPosition::from_u64(sent));
            SentLog { connection, server_id: stream.server_id, uuid: stream.uuid.clone(), position }
        };
        self.streams.lock().iter().map(of).collect()
    }

    /// The replica that the connection has introduced itself as.
    pub(crate) fn introduced(&self, connection: u64) -> Option<Replica> {
        self.registered.lock().get(&connection).cloned()
    }

    /// True while the connection is sent the log.
    pub fn is_streaming(&self, connection: u64) -> bool {
        self.streams.lock().contains_key(&connection)
    }

    /// The command that it runs, in SHOW PROCESSLIST's words.
    pub fn command(&self, connection: u64) -> Option<&'static str> {
        let streams = self.streams.lock();
        streams
            .get(&connection)
            .map(|stream| if stream.by_gtids { "Binlog Dump GTID" } else { "Binlog Dump" })
    }

    /// The stream has ended; the replica is listed as long as its connection lasts.
    pub fn end_stream(&self, connection: u64) {
        self.streams.lock().remove(&connection);
    }

    /// The connection has ended.
    pub(crate) fn deregister(&self, connection: u64) {
        self.end_stream(connection);
        self.registered.lock().remove(&connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_that_comes_back_takes_its_own_place() {
        let replicas = Replicas::default();
        let (first, older) = replicas.begin_stream(1, "a", 7, false);
        assert!(older.is_empty());
        let (_, older) = replicas.begin_stream(2, "b", 7, false);
        assert!(older.is_empty(), "the UUID says who it is, where there is one");
        let (_, older) = replicas.begin_stream(3, "", 7, false);
        assert!(older.is_empty());
        let (_, older) = replicas.begin_stream(4, "a", 8, false);
        assert_eq!(older, [1]);
        assert!(first.load(Relaxed));
        assert_eq!(replicas.begin_stream(5, "", 7, false).1, [3]);
        assert!(
            replicas.begin_stream(6, "", 0, false).1.is_empty()
                && replicas.begin_stream(7, "", 0, false).1.is_empty()
        );
        replicas.end_stream(4);
        assert!(!replicas.is_streaming(4) && replicas.is_streaming(5));
    }

    #[test]
    fn replicas_are_listed_once_until_they_leave() {
        let replicas = Replicas::default();
        let replica = |server_id, port| Replica { server_id, host: "h".into(), port, uuid: String::new() };
        replicas.register(1, replica(9, 1));
        replicas.register(2, replica(5, 2));
        replicas.register(3, replica(9, 3));
        assert_eq!(replicas.registered(), [replica(5, 2), replica(9, 3)]);
        replicas.deregister(2);
        replicas.deregister(1);
        assert_eq!(replicas.registered(), [replica(9, 3)]);
    }
}
