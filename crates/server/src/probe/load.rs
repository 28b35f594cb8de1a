//! A load of small commits, and round trips, over the wire.

use super::{ProbeError, Times, Watch};
use env::Whose;
use protocol::Timeouts;
use protocol::client::{Client, ClientError, ConnectOptions};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// How long a server may take to accept a connection or to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// COM_PING.
const PING: &[u8] = &[0x0e];
/// The error of a server that has as many connections as it may.
const TOO_MANY_CONNECTIONS: u16 = 1040;

/// Where commits are sent to, and as whom.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) address: SocketAddr,
    pub(super) user: String,
    pub(super) password: String,
    /// The database that the probe makes there, and drops at the end.
    pub(super) database: String,
}

/// What a load came to.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) clients: usize,
    /// Commits per second.
    pub(super) rate: f64,
    pub(super) times: Times,
    /// Processor time that the clients took for each, in seconds.
    pub(super) client_work: f64,
}

impl Target {
    pub(super) fn connect(&self, watch: &Watch) -> Result<Client, ProbeError> {
        let failed = |source| ProbeError::Connect { address: self.address, source };
        let socket =
            TcpStream::connect_timeout(&self.address, PATIENCE).map_err(|e| failed(ClientError::from(e)))?;
        socket.set_nodelay(true).map_err(|e| failed(ClientError::from(e)))?;
        let options = ConnectOptions {
            user: self.user.as_bytes(),
            password: self.password.as_bytes(),
            timeouts: Timeouts { idle: PATIENCE, read: PATIENCE, write: PATIENCE, connect: PATIENCE },
            ..ConnectOptions::default()
        };
        Client::connect(Box::new(socket), watch.env.clone(), &options).map_err(failed)
    }

    /// Makes the table that is inserted into.
    pub(super) fn prepare(&self, watch: &Watch) -> Result<(), ProbeError> {
        let columns = "id BIGINT AUTO_INCREMENT PRIMARY KEY, number INT, text VARCHAR(100)";
        self.run(
            watch,
            &[
                format!("CREATE DATABASE {}", self.database),
                format!("CREATE TABLE {}.commits ({columns}) ENGINE = InnoDB", self.database),
            ],
        )
    }

    /// Takes away what [`Target::prepare`] made.
    pub(super) fn clean(&self, watch: &Watch) -> Result<(), ProbeError> {
        self.run(watch, &[format!("DROP DATABASE IF EXISTS {}", self.database)])
    }

    /// Runs statements whose rows, if any, are of no interest.
    pub(super) fn run(&self, watch: &Watch, statements: &[String]) -> Result<(), ProbeError> {
        let mut client = self.connect(watch)?;
        let done = statements.iter().try_for_each(|sql| {
            let failed = |source| ProbeError::Statement { sql: sql.clone(), source };
            client.query(sql).map(drop).map_err(failed)
        });
        // Whatever it says, the statements are done or have failed.
        let _ = client.quit();
        done
    }

    /// `clients` commit one small row after the other.
    ///
    /// # Errors
    /// [`ProbeError::is_full`] if the server takes fewer connections.
    pub(super) fn commits(&self, watch: &Watch, clients: usize, time: Duration) -> Result<Load, ProbeError> {
        let insert = format!(
            "INSERT INTO {}.commits (number, text) VALUES (1, 'a row such as many have')",
            self.database
        );
        let connected = (0..clients).map(|_| self.connect(watch)).collect::<Result<Vec<_>, _>>()?;
        drive(watch, connected, time, |client| client.query(&insert).map(drop))
    }

    /// One client that asks for nothing.
    pub(super) fn round_trips(&self, watch: &Watch, time: Duration) -> Result<Load, ProbeError> {
        drive(watch, vec![self.connect(watch)?], time, |client| client.command(PING).map(drop))
    }
}

impl ProbeError {
    /// True if the server takes no more connections.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, ProbeError::Connect { source, .. } if source.number() == Some(TOO_MANY_CONNECTIONS))
    }
}

/// All clients send one request after the other until the time is over.
fn drive(
    watch: &Watch,
    clients: Vec<Client>,
    time: Duration,
    request: impl Fn(&mut Client) -> Result<(), ClientError> + Sync,
) -> Result<Load, ProbeError> {
    let number = clients.len();
    let start = Barrier::new(number);
    let work = &|mut client: Client| -> Result<(Vec<f64>, Duration), ClientError> {
        start.wait();
        let worked = watch.env.processor_time(Whose::Thread);
        let (mut times, begun) = (Vec::new(), watch.env.monotonic());
        let mut before = begun;
        while before.saturating_sub(begun) < time && !watch.is_over() {
            request(&mut client)?;
            let after = watch.env.monotonic();
            times.push(after.saturating_sub(before).as_secs_f64());
            before = after;
        }
        let worked = watch.env.processor_time(Whose::Thread).saturating_sub(worked);
        // The reply to every request is there; a server that hangs up first has nothing to lose.
        let _ = client.quit();
        Ok((times, worked))
    };
    let begun = watch.env.monotonic();
    let results = thread::scope(|scope| {
        let threads: Vec<_> = clients.into_iter().map(|client| scope.spawn(move || work(client))).collect();
        threads.into_iter().map(|t| t.join().map_err(|_| ProbeError::Panicked)).collect::<Result<Vec<_>, _>>()
    })?;
    let took = watch.env.monotonic().saturating_sub(begun).as_secs_f64();
    watch.check()?;
    let (mut times, mut worked) = (Vec::new(), Duration::ZERO);
    for result in results {
        let (of_one, work) = result.map_err(ProbeError::Load)?;
        times.extend(of_one);
        worked += work;
    }
    let times = Times::new(times);
    let count = times.count().max(1) as f64;
    Ok(Load { clients: number, rate: count / took, client_work: worked.as_secs_f64() / count, times })
}
