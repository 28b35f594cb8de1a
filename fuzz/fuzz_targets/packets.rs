//! Bytes of a client for the server's side of the protocol, and bytes of a server for the client's.
//!
//! The first byte says whose: 0 the bytes of a client from its handshake response on, 1 those
//! behind a successful login, 2 those of a server from its greeting on, 3 and 4 the frames behind a
//! login with compression by zlib and by zstd. The second byte is the size of the pieces they
//! arrive in.
#![no_main]

use env::{Env, RealEnv};
use libfuzzer_sys::fuzz_target;
use protocol::client::{Client, ConnectOptions};
use protocol::binary::{BinaryRow, BinaryValue};
use protocol::statement::{Argument, Prepared, Reading};
use protocol::*;
use std::io::{self, Read, Write};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Gives its bytes in pieces of `piece`, then the end; swallows what is written.
struct Bytes {
    rest: Vec<u8>,
    piece: usize,
}

impl Read for Bytes {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.rest.len().min(buf.len()).min(self.piece);
        buf[..n].copy_from_slice(&self.rest[..n]);
        self.rest.drain(..n);
        Ok(n)
    }
}

impl Write for Bytes {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket for Bytes {
    fn set_read_timeout(&self, _: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn set_write_timeout(&self, _: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn is_local(&self) -> bool {
        false
    }

    fn shutdown(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Everybody may log in with an empty password.
struct Everybody;

impl AccountSource for Everybody {
    fn find(&self, user: &[u8], _: &str) -> Option<Account> {
        // Both ways in: names of even and of odd length.
        let plugin = if user.len() % 2 == 0 { Plugin::Native } else { Plugin::CachingSha2 };
        let (user, host, authentication_string) = (user.to_vec(), "%".to_owned(), Vec::new());
        Some(Account { user, host, plugin, authentication_string, locked: false, require_tls: false })
    }
}

static AUTHENTICATOR: LazyLock<Authenticator> = LazyLock::new(|| Authenticator::new(environment(), None));

/// `empty!` logs in with a native password, which is empty.
const LOGIN: &[u8] =
    b"\x28\0\0\x01\x00\x82\0\x08\0\0\0\0\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0empty!\0\0";

/// The same with more capabilities, of the lowest and the highest byte.
fn compressed_login(low: u8, high: u8) -> Vec<u8> {
    let mut login = LOGIN.to_vec();
    login[4] |= low;
    login[7] |= high;
    login
}

fn environment() -> Arc<dyn Env> {
    Arc::new(RealEnv)
}

/// A session that answers every command with OK or a row.
fn serve(socket: Bytes) -> Result<(), Box<dyn std::error::Error>> {
    let limits = Limits { packet_max: 1 << 20, ..Limits::default() };
    let mut connection = Connection::new(Box::new(socket), "somewhere", environment(), limits)?;
    let greeting = Greeting {
        version: "8.4.0",
        connection_id: 1,
        collation: 255,
        status: Status::AUTOCOMMIT,
        tls: false,
        local_infile: true,
        require_secure_transport: false,
    };
    connection.handshake(&greeting, &AUTHENTICATOR, &Everybody)?;
    let ok = OkReply { changes: &[SessionChange::State(true)], ..OkReply::default() };
    connection.write_ok(&ok);
    let mut packet = Vec::new();
    let (mut parameters, mut types) = (0, Vec::new());
    loop {
        connection.flush()?;
        connection.read_command(&mut packet)?;
        match Command::parse(&packet, connection.capabilities()) {
            Ok(Command::Quit) => return Ok(()),
            Ok(Command::ChangeUser(request)) => {
                connection.change_user(&request, &AUTHENTICATOR, &Everybody)?;
                connection.write_ok(&ok);
            }
            Ok(Command::Query { sql, .. }) => {
                connection.write_columns(
                    std::iter::once(ColumnDefinition { name: sql, ..ColumnDefinition::default() }),
                    ok.status,
                );
                let mut row = connection.row();
                row.bytes(sql);
                row.end()?;
                connection.write_eof(&ok);
            }
            Ok(Command::StmtPrepare(text)) => {
                let prepared = Prepared { id: 1, parameters: text.len() as u16, warnings: 0 };
                connection.write_prepared(&prepared, &[ColumnDefinition::default()], ok.status);
                parameters = text.len();
            }
            Ok(Command::StmtExecute { flags, parameters: rest, .. }) => {
                let capabilities = connection.capabilities();
                let is_long = |i: usize| i == 3;
                let mut reading = Reading { capabilities, flags, parameters, types: &mut types, is_long: &is_long };
                let mut arguments = Vec::new();
                match reading.read(rest, |argument| arguments.push(argument)) {
                    Ok(_) => connection.write_row(|out| echo(out, arguments))?,
                    Err(reply) => connection.write_error(&reply),
                }
            }
            Ok(_) => connection.write_ok(&ok),
            Err(reply) => connection.write_error(&reply),
        }
    }
}

/// A row of what was sent.
fn echo(out: &mut Vec<u8>, arguments: Vec<Argument<'_>>) {
    let mut row = BinaryRow::begin(out, arguments.len());
    for argument in arguments {
        match argument {
            Argument::LongData(_) | Argument::Value(_, BinaryValue::Null) => row.null(),
            Argument::Value(ty, BinaryValue::Int(v)) => row.integer(ty.code, v as u64),
            Argument::Value(ty, BinaryValue::UInt(v)) => row.integer(ty.code, v),
            Argument::Value(_, BinaryValue::Float(v)) => row.float(v),
            Argument::Value(_, BinaryValue::Double(v)) => row.double(v),
            Argument::Value(_, BinaryValue::Bytes(v)) => row.bytes(v),
            Argument::Value(_, BinaryValue::DateTime(v)) => row.date_time(&v),
            Argument::Value(_, BinaryValue::Time(v)) => row.time(&v),
        }
    }
}

fn connect(socket: Bytes) -> Result<(), Box<dyn std::error::Error>> {
    let options = ConnectOptions { password: b"secret", ..ConnectOptions::default() };
    let mut client = Client::connect(Box::new(socket), environment(), &options)?;
    loop {
        client.query("SELECT 1")?;
        client.command(&[0x0e])?;
    }
}

fuzz_target!(|data: &[u8]| {
    let [side, piece, rest @ ..] = data else { return };
    let piece = usize::from(*piece).max(1);
    // Every stream ends, so every session does: with an error, or by COM_QUIT.
    let _ = match side % 5 {
        3 => serve(Bytes { rest: [&compressed_login(0x20, 0), rest].concat(), piece }),
        4 => serve(Bytes { rest: [&compressed_login(0, 0x04), rest].concat(), piece }),
        0 => serve(Bytes { rest: rest.to_vec(), piece }),
        1 => serve(Bytes { rest: [LOGIN, rest].concat(), piece }),
        _ => connect(Bytes { rest: rest.to_vec(), piece }),
    };
});
