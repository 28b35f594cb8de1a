//! What a client asks for: the command packet, taken apart but not judged.
//!
//! A command byte, then the command's own fields up to the packet's end. Nothing is copied: a
//! [`Command`] borrows from the packet's buffer.

use crate::attributes::{Attribute, read_attributes};
use crate::error::ErrorReply;
use crate::flags::Capabilities;
use crate::handshake;
use stdx::cursor::{Cursor, Truncated};

/// A command, by the name MySQL's protocol gives it (`COM_*`).
#[derive(Debug, Clone, PartialEq)]
pub enum Command<'a> {
    /// The client disconnects; no reply.
    Quit,
    /// Change the default database.
    InitDb(&'a [u8]),
    /// Run the statements of a text.
    Query {
        /// The text.
        sql: &'a [u8],
        /// Named values sent along (`CLIENT_QUERY_ATTRIBUTES`).
        attributes: Vec<Attribute<'a>>,
    },
    /// The columns of a table, in a reply of its own shape.
    FieldList {
        /// The table, in the default database.
        table: &'a [u8],
        /// A LIKE pattern for column names; empty for all.
        wildcard: &'a [u8],
    },
    /// FLUSH of what the bits say; gone from MySQL 8.4, still sent by old tools.
    Refresh(u8),
    /// Stop the server; gone from MySQL, still sent by old tools.
    Shutdown,
    /// A line of statistics, as a bare string.
    Statistics,
    /// SHOW PROCESSLIST, from old tools.
    ProcessInfo,
    /// KILL CONNECTION, from old tools.
    ProcessKill(u32),
    /// Write debugging information to the log.
    Debug,
    /// Are you there?
    Ping,
    /// Log in anew on this connection.
    ChangeUser(ChangeUser<'a>),
    /// Send the log from a position.
    BinlogDump(BinlogDump<'a>),
    /// Send the log but for the transactions the replica has.
    BinlogDumpGtid(BinlogDump<'a>),
    /// A replica introduces itself.
    RegisterReplica(RegisterReplica<'a>),
    /// Prepare a statement.
    StmtPrepare(&'a [u8]),
    /// Run a prepared statement.
    StmtExecute {
        /// The statement.
        id: u32,
        /// Cursor type (bits 0 to 2), and whether the number of parameters is sent (bit 3).
        flags: u8,
        /// NULL bitmap, types and values: readable only with the number of parameters at hand.
        parameters: &'a [u8],
    },
    /// A piece of a parameter; no reply.
    StmtSendLongData {
        /// The statement.
        id: u32,
        /// Which parameter, from 0.
        parameter: u16,
        /// The bytes to append.
        data: &'a [u8],
    },
    /// Forget a prepared statement; no reply.
    StmtClose(u32),
    /// Forget long data and close the cursor.
    StmtReset(u32),
    /// More rows of a cursor.
    StmtFetch {
        /// The statement.
        id: u32,
        /// At most so many.
        rows: u32,
    },
    /// Multi-statements on (0) or off (1).
    SetOption(u16),
    /// The session back to how it was after the login.
    ResetConnection,
    /// A byte that is no command, or one that no client may send.
    Unknown(u8),
}

/// COM_CHANGE_USER: the handshake response's fields once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// The account's user part.
    pub user: &'a [u8],
    /// The first answer to the greeting's challenge.
    pub(crate) auth_response: &'a [u8],
    /// The new default database; empty for none.
    pub database: &'a [u8],
    /// Collation id; `None` if the packet ends before it.
    pub collation: Option<u16>,
    /// The plugin `auth_response` is for.
    pub plugin: Option<&'a [u8]>,
    /// Connection attributes.
    pub attributes: Vec<handshake::BorrowedAttribute<'a>>,
}

/// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinlogDump<'a> {
    /// 1: send EOF at the log's end instead of waiting for more; 2: heartbeats of the second
    /// version are understood (from MariaDB's replicas: annotations are wanted); 4: `gtids` are to
    /// be used, as they always are.
    pub flags: u16,
    /// The replica's server id.
    pub server_id: u32,
    /// The log file; may be empty, for the first.
    pub file: &'a [u8],
    /// Offset in the file.
    pub offset: u64,
    /// The replica's GTID set in binary form; empty with COM_BINLOG_DUMP.
    pub gtids: &'a [u8],
}

impl BinlogDump<'_> {
    /// True if the stream ends with an EOF packet at the end of the log, instead of waiting there.
    pub fn ends_with_the_log(&self) -> bool {
        self.flags & 1 != 0
    }

    /// True if heartbeats may have positions of 64 bits.
    pub fn knows_heartbeat_v2(&self) -> bool {
        self.flags & 2 != 0
    }
}

/// COM_REGISTER_SLAVE: how SHOW REPLICAS will list this replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterReplica<'a> {
    /// Its `@@server_id`; all replicas of a source have different ones.
    pub server_id: u32,
    /// `report_host`.
    pub host: &'a [u8],
    /// `report_user`.
    pub user: &'a [u8],
    /// `report_password`.
    pub password: &'a [u8],
    /// `report_port`.
    pub port: u16,
}

impl<'a> Command<'a> {
    /// Takes a command's packet apart. `capabilities` are those of the connection. The error is
    /// what to reply.
    pub fn parse(packet: &'a [u8], capabilities: Capabilities) -> Result<Self, ErrorReply> {
        let mut c = Cursor::new(packet);
        Self::read(&mut c, capabilities).map_err(|Truncated| ErrorReply::malformed_packet())
    }

    fn read(c: &mut Cursor<'a>, capabilities: Capabilities) -> Result<Self, Truncated> {
        Ok(match c.u8()? {
            0x01 => Self::Quit,
            0x02 => Self::InitDb(c.take_remaining()),
            0x03 => {
                let attributed = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
                let attributes = if attributed { read_attributes(c)? } else { Vec::new() };
                Self::Query { sql: c.take_remaining(), attributes }
            }
            0x04 => Self::FieldList { table: c.take_nul()?, wildcard: c.take_remaining() },
            0x07 => Self::Refresh(c.u8()?),
            0x08 => Self::Shutdown,
            0x09 => Self::Statistics,
            0x0a => Self::ProcessInfo,
            0x0c => Self::ProcessKill(c.u32()?),
            0x0d => Self::Debug,
            0x0e => Self::Ping,
            0x11 => Self::ChangeUser(ChangeUser::read(c, capabilities)?),
            0x12 => Self::BinlogDump(read_binlog_dump(c)?),
            0x15 => Self::RegisterReplica(read_register_replica(c)?),
            0x16 => Self::StmtPrepare(c.take_remaining()),
            0x17 => read_stmt_execute(c)?,
            0x18 => Self::StmtSendLongData { id: c.u32()?, parameter: c.u16()?, data: c.take_remaining() },
            0x19 => Self::StmtClose(c.u32()?),
            0x1a => Self::StmtReset(c.u32()?),
            0x1b => Self::SetOption(c.u16()?),
            0x1c => Self::StmtFetch { id: c.u32()?, rows: c.u32()? },
            0x1e => Self::BinlogDumpGtid(read_binlog_dump_gtid(c)?),
            0x1f => Self::ResetConnection,
            code => Self::Unknown(code),
        })
    }
}

impl<'a> ChangeUser<'a> {
    fn read(c: &mut Cursor<'a>, capabilities: Capabilities) -> Result<Self, Truncated> {
        let user = c.take_nul()?;
        let auth_response = match capabilities.has(Capabilities::SECURE_CONNECTION) {
            true => c.u8().and_then(|n| c.take(n.into()))?,
            false => c.take_nul()?,
        };
        let database = handshake::take_nul_or_all(c);
        let collation = if c.is_empty() { None } else { Some(c.u16()?) };
        let mut plugin = None;
        if capabilities.has(Capabilities::PLUGIN_AUTH) && !c.is_empty() {
            plugin = Some(handshake::take_nul_or_all(c));
        }
        let mut attributes = Vec::new();
        if capabilities.has(Capabilities::CONNECT_ATTRS) && !c.is_empty() {
            attributes = handshake::read_connect_attributes(c)?;
        }
        Ok(Self { user, auth_response, database, collation, plugin, attributes })
    }
}

fn read_binlog_dump<'a>(c: &mut Cursor<'a>) -> Result<BinlogDump<'a>, Truncated> {
    let offset = c.u32()?.into();
    let (flags, server_id) = (c.u16()?, c.u32()?);
    Ok(BinlogDump { flags, server_id, file: until_nul(c.take_remaining()), offset, gtids: &[] })
}

fn read_binlog_dump_gtid<'a>(c: &mut Cursor<'a>) -> Result<BinlogDump<'a>, Truncated> {
    let (flags, server_id) = (c.u16()?, c.u32()?);
    let file = until_nul(c.u32().and_then(|n| c.take(n as usize))?);
    let offset = c.u64()?;
    let gtids = if c.is_empty() { &[] } else { c.u32().and_then(|n| c.take(n as usize))? };
    Ok(BinlogDump { flags, server_id, file, offset, gtids })
}

/// Some readers send a file's name as C has it, with a NUL after it, and some nothing but NULs for
/// none.
fn until_nul(name: &[u8]) -> &[u8] {
    name.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn read_register_replica<'a>(c: &mut Cursor<'a>) -> Result<RegisterReplica<'a>, Truncated> {
    let server_id = c.u32()?;
    let mut short_string = || c.u8().and_then(|n| c.take(n.into()));
    let (host, user, password) = (short_string()?, short_string()?, short_string()?);
    // A rank and the source's id follow; neither has a meaning any more.
    Ok(RegisterReplica { server_id, host, user, password, port: c.u16()? })
}

fn read_stmt_execute<'a>(c: &mut Cursor<'a>) -> Result<Command<'a>, Truncated> {
    let (id, flags, iterations) = (c.u32()?, c.u8()?, c.u32()?);
    if iterations != 1 {
        return Err(Truncated);
    }
    Ok(Command::StmtExecute { id, flags, parameters: c.take_remaining() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(packet: &[u8], expected: Command<'_>) {
        assert_eq!(Command::parse(packet, Capabilities::SERVER), Ok(expected));
    }

    #[test]
    fn each_command_with_fields() {
        check(b"\x02db", Command::InitDb(b"db"));
        check(b"\x03\x00\x01SELECT 1", Command::Query { sql: b"SELECT 1", attributes: vec![] });
        check(b"\x04t\0a%", Command::FieldList { table: b"t", wildcard: b"a%" });
        check(b"\x0c\x05\0\0\0", Command::ProcessKill(5));
        check(b"\x1b\x01\0", Command::SetOption(1));
        check(
            b"\x17\x01\0\0\0\0\x01\0\0\0rest",
            Command::StmtExecute { id: 1, flags: 0, parameters: b"rest" },
        );
        check(b"\x1c\x01\0\0\0\x02\0\0\0", Command::StmtFetch { id: 1, rows: 2 });
        check(b"\x18\x01\0\0\0\x02\0xyz", Command::StmtSendLongData { id: 1, parameter: 2, data: b"xyz" });
        check(b"\xc8", Command::Unknown(0xc8));
    }

    #[test]
    fn text_without_attributes() {
        let plain = Capabilities::SERVER.without(Capabilities::QUERY_ATTRIBUTES);
        let query = Command::Query { sql: b"SELECT 1", attributes: vec![] };
        assert_eq!(Command::parse(b"\x03SELECT 1", plain), Ok(query));
    }

    #[test]
    fn binlog_commands() {
        let (file, gtids) = (&b"binlog.000034"[..], &b""[..]);
        let dump = BinlogDump { flags: 2, server_id: 0x2775, file, offset: 0x634, gtids };
        check(b"\x12\x34\x06\0\0\x02\0\x75\x27\0\0binlog.000034", Command::BinlogDump(dump));
        check(b"\x12\x34\x06\0\0\x02\0\x75\x27\0\0binlog.000034\0", Command::BinlogDump(dump));
        let packet = b"\x1e\x04\0\x07\0\0\0\x01\0\0\0f\x04\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0";
        let dump = BinlogDump { flags: 4, server_id: 7, file: b"f", offset: 4, gtids: &[0; 8] };
        check(packet, Command::BinlogDumpGtid(dump));
        let packet = b"\x1e\x04\0\x07\0\0\0\x03\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0";
        check(packet, Command::BinlogDumpGtid(BinlogDump { file: b"", gtids: b"", ..dump }));
        let packet = b"\x15\x75\x27\0\0\x08SBslave1\0\0\xc9\x5a\0\0\0\0\0\0\0\0";
        let (host, user, password) = (&b"SBslave1"[..], &b""[..], &b""[..]);
        let replica = RegisterReplica { server_id: 0x2775, host, user, password, port: 0x5ac9 };
        check(packet, Command::RegisterReplica(replica));
    }

    #[test]
    fn cut_short_is_malformed() {
        let packets: [&[u8]; 7] =
            [b"", b"\x04t", b"\x0c\x05", b"\x12\x34", b"\x1e\0\0\0\0\0\0\xff\xff\xff\xff", b"\x11u", b"\x19"];
        for packet in packets {
            let error = Command::parse(packet, Capabilities::SERVER).unwrap_err();
            assert_eq!(error.number, 1835, "{packet:?}");
        }
    }
}
