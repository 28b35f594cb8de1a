//! A session over a server's Unix socket with no more of the protocol than benchmarks need: a login
//! without password, statements, and the first column of the first row that comes back. A client
//! program would take longer to start than what is measured.

use crate::Result;
use servers::Address;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// LONG_PASSWORD, LONG_FLAG, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x0008_a205;
const UTF8MB4: u8 = 45;
const COM_QUERY: u8 = 3;
const EOF: u8 = 0xfe;
const NULL: u8 = 0xfb;
const ERR: u8 = 0xff;
/// An account without password is let in at once, whatever the plugin.
const OK: u8 = 0;

/// A session of the server's socket.
pub fn log_in(address: &Address) -> Result<UnixStream> {
    let path = address.socket_path().ok_or("a session needs the server's socket")?;
    let mut socket = UnixStream::connect(path)?;
    read_packet(&mut socket)?;
    let mut login = CAPABILITIES.to_le_bytes().to_vec();
    login.extend(u32::MAX.to_le_bytes());
    login.push(UTF8MB4);
    login.extend([0; 23]);
    login.extend(b"root\0\0mysql_native_password\0");
    write_packet(&mut socket, 1, &login)?;
    let mut reply = read_packet(&mut socket)?;
    if reply.first() == Some(&EOF) {
        // Another plugin is asked for; no password is an empty answer to each.
        write_packet(&mut socket, 3, &[])?;
        reply = read_packet(&mut socket)?;
    }
    accepted(&reply)?;
    Ok(socket)
}

/// Runs a statement that returns no rows.
pub fn query(socket: &mut UnixStream, sql: &str) -> Result<()> {
    write_packet(socket, 0, &[&[COM_QUERY], sql.as_bytes()].concat())?;
    accepted(&read_packet(socket)?)
}

/// Runs a query; the first column of its first row, none where there is no row or it is NULL.
pub fn value(socket: &mut UnixStream, sql: &str) -> Result<Option<String>> {
    write_packet(socket, 0, &[&[COM_QUERY], sql.as_bytes()].concat())?;
    let first = read_packet(socket)?;
    let columns = match first.first() {
        Some(&n) if n != OK && n != ERR => n,
        _ => return Err(format!("`{sql}`: {}", message(&first)).into()),
    };
    for _ in 0..=columns {
        read_packet(socket)?;
    }
    let mut found = None;
    loop {
        let row = read_packet(socket)?;
        match row.first() {
            Some(&EOF) if row.len() < 9 => return Ok(found.flatten()),
            Some(&ERR) => return Err(format!("`{sql}`: {}", message(&row)).into()),
            _ if found.is_some() => {}
            Some(&NULL) | None => found = Some(None),
            // What is read here is shorter than the 251 bytes from which on a length takes more
            // than one.
            Some(&length) => {
                let text = row.get(1..=usize::from(length)).ok_or("a row ends within its first column")?;
                found = Some(Some(String::from_utf8_lossy(text).into_owned()));
            }
        }
    }
}

/// One packet's payload.
pub fn read_packet(socket: &mut UnixStream) -> Result<Vec<u8>> {
    let mut header = [0; 4];
    socket.read_exact(&mut header)?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    socket.read_exact(&mut payload)?;
    Ok(payload)
}

/// Sends a packet.
pub fn write_packet(socket: &mut UnixStream, sequence: u8, payload: &[u8]) -> Result<()> {
    let [a, b, c, _] = u32::try_from(payload.len())?.to_le_bytes();
    socket.write_all(&[&[a, b, c, sequence], payload].concat())?;
    Ok(())
}

/// An error where the reply is none of success.
pub fn accepted(reply: &[u8]) -> Result<()> {
    match reply.first() {
        Some(&OK) => Ok(()),
        Some(&ERR) => Err(message(reply).into()),
        _ => Err("the server wants more for a login than an account without password gives".into()),
    }
}

/// What an error says.
fn message(reply: &[u8]) -> String {
    String::from_utf8_lossy(reply.get(3..).unwrap_or_default()).into_owned()
}
