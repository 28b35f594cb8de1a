//! Commands: what each `COM_*` packet does with the session, and what it replies.
//!
//! Some commands of old are statements by now; those are run as such, so that they ask for the same
//! privileges.

use crate::dump::{self, Reader};
use crate::results::{ColumnCapture, Names, Results};
use crate::session::{Client, End, open_session};
use crate::statements;
use datum::sink::ResultSink;
use protocol::{Attribute, ChangeUser, Command, ErrorReply, Status};
use sql::SqlError;
use sql::status::Counter;

/// What comes after a command.
pub(crate) enum Next {
    /// The reply is to be sent, then the next command read.
    Reply,
    /// The connection ends.
    Close(End),
}

/// Runs one command and writes its reply.
pub(crate) fn command(client: &mut Client<'_>, packet: &[u8]) -> Next {
    let command = match Command::parse(packet, client.connection.capabilities()) {
        Ok(command) => command,
        Err(error) => {
            client.connection.write_error(&error);
            return Next::Reply;
        }
    };
    count(client, &command);
    match command {
        Command::Quit => {
            client.session.log_command("Quit", b"");
            return Next::Close(End::Quit);
        }
        Command::ChangeUser(request) => return change_user(client, &request),
        Command::BinlogDump(request) => return dump::by_position(client, &request),
        Command::BinlogDumpGtid(request) => return dump::by_gtids(client, &request),
        Command::Query { sql: b"SELECT VERSION()", .. } if client.reader == Reader::MariadbBinlog => {
            dump::answer_version(client);
        }
        Command::Query { sql, .. } if dump::mariadb::is_question(client, sql) => {
            dump::mariadb::answer(client, sql)
        }
        Command::Query { sql, attributes } if attributes.is_empty() => query(client, sql),
        Command::Query { sql, attributes } => attributed_query(client, sql, &attributes),
        Command::InitDb(name) => init_db(client, name),
        Command::FieldList { table, wildcard } => field_list(client, table, wildcard),
        Command::Ping => client.ok(),
        Command::Statistics => statistics(client),
        Command::ProcessInfo => query(client, b"SHOW PROCESSLIST"),
        Command::ProcessKill(id) => query(client, format!("KILL {id}").as_bytes()),
        Command::Refresh(what) => refresh(client, what),
        Command::Shutdown => query(client, b"SHUTDOWN"),
        Command::Debug => debug(client),
        Command::SetOption(option) => set_option(client, option),
        Command::ResetConnection => reset(client),
        Command::RegisterReplica(replica) => dump::register(client, &replica),
        Command::StmtPrepare(text) => statements::prepare(client, text),
        Command::StmtExecute { id, flags, parameters } => statements::execute(client, id, flags, parameters),
        Command::StmtSendLongData { id, parameter, data } => {
            statements::send_long_data(client, id, parameter, data);
        }
        Command::StmtClose(id) => statements::close(client, id),
        Command::StmtReset(id) => statements::reset(client, id),
        Command::StmtFetch { id, rows } => {
            if let Err(e) = statements::fetch(client, id, rows) {
                return Next::Close(End::Write(e));
            }
        }
        Command::Unknown(_) => client.connection.write_error(&ErrorReply::unknown_command()),
    }
    Next::Reply
}

fn count(client: &Client<'_>, command: &Command<'_>) {
    let counters = &client.counters;
    match command {
        // The session counts the statements in it.
        Command::Query { .. } => {}
        Command::InitDb(_) => counters.count(Counter::ComChangeDb),
        Command::StmtPrepare(_) => counters.count(Counter::ComStmtPrepare),
        Command::StmtExecute { .. } => counters.count(Counter::ComStmtExecute),
        Command::StmtClose(_) => counters.count(Counter::ComStmtClose),
        Command::StmtFetch { .. } => counters.count(Counter::ComStmtFetch),
        Command::StmtReset(_) => counters.count(Counter::ComStmtReset),
        Command::StmtSendLongData { .. } => counters.count(Counter::ComStmtSendLongData),
        Command::Quit => {}
        _ => counters.count(Counter::ComAdminCommands),
    }
    counters.count(Counter::Queries);
}

fn fail(client: &mut Client<'_>, error: &SqlError) {
    let reply = client.failed(error);
    client.connection.write_error(&reply);
}

fn query(client: &mut Client<'_>, text: &[u8]) {
    let mut results = Results::new(&mut client.connection, client.session.status());
    if let Err(e) = client.session.execute(text, &mut results) {
        fail(client, &e);
    }
}

/// The same with named values, which functions in it may ask for.
fn attributed_query(client: &mut Client<'_>, text: &[u8], attributes: &[Attribute<'_>]) {
    match statements::with_attributes(client, attributes) {
        Ok(()) => query(client, text),
        Err(error) => client.connection.write_error(&error),
    }
    client.session.set_query_attributes(std::iter::empty());
}

/// Runs a statement on the client's behalf and throws its result away.
fn quietly(client: &mut Client<'_>, text: &[u8], sink: &mut dyn ResultSink) -> bool {
    match client.session.execute(text, sink) {
        Ok(()) => true,
        Err(e) => {
            fail(client, &e);
            false
        }
    }
}

fn init_db(client: &mut Client<'_>, name: &[u8]) {
    match client.session.use_database_of_client(name) {
        Ok(()) => client.ok(),
        Err(e) => fail(client, &e),
    }
}

/// COM_FIELD_LIST: the columns of a table, for clients that complete names.
fn field_list(client: &mut Client<'_>, table: &[u8], wildcard: &[u8]) {
    let mut text = b"SELECT * FROM `".to_vec();
    for &byte in table {
        text.extend_from_slice(if byte == b'`' { b"``" } else { std::slice::from_ref(&byte) });
    }
    text.extend_from_slice(b"` LIMIT 0");
    let mut captured = ColumnCapture::default();
    if quietly(client, &text, &mut captured) {
        let matching =
            captured.columns.iter().filter(|c| wildcard.is_empty() || like(c.name.as_bytes(), wildcard));
        let names: Vec<_> = matching.map(Names::of).collect();
        let columns: Vec<_> = names.iter().map(|names| (names.definition(), None)).collect();
        client.connection.write_field_list(&columns, Status(client.session.status()));
    }
}

/// LIKE without escapes, in any case of ASCII letters.
fn like(text: &[u8], pattern: &[u8]) -> bool {
    let (mut t, mut p, mut retry) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'%') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(b'_') => (t, p) = (t + 1, p + 1),
            Some(c) if c.eq_ignore_ascii_case(&text[t]) => (t, p) = (t + 1, p + 1),
            _ => match &mut retry {
                Some((from, at)) => {
                    *at += 1;
                    (p, t) = (*from, *at);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'%')
}

fn statistics(client: &mut Client<'_>) {
    let text = crate::status::statistics(client.server);
    client.connection.write_text(text.as_bytes());
}

/// COM_REFRESH: FLUSH of what each bit says.
fn refresh(client: &mut Client<'_>, what: u8) {
    const PARTS: [(u8, &[u8]); 4] =
        [(1, b"FLUSH PRIVILEGES"), (2, b"FLUSH LOGS"), (4, b"FLUSH TABLES"), (16, b"FLUSH STATUS")];
    for (_, statement) in PARTS.iter().filter(|(bit, _)| what & bit != 0) {
        if !quietly(client, statement, &mut ColumnCapture::default()) {
            return;
        }
    }
    client.ok();
}

fn debug(client: &mut Client<'_>) {
    if let Err(e) = client.session.need_privilege("SUPER") {
        return fail(client, &e);
    }
    for (name, value) in client.server.status.rows(None) {
        if value != "0" {
            tracing::info!("{name} {value}");
        }
    }
    client.end();
}

fn set_option(client: &mut Client<'_>, option: u16) {
    let on = match option {
        0 => true,
        1 => false,
        _ => return client.connection.write_error(&ErrorReply::unknown_command()),
    };
    client.session.set_multi_statements(on);
    client.connection.set_multi_statements(on);
    client.end();
}

fn reset(client: &mut Client<'_>) {
    client.statements.clear();
    match client.session.reset() {
        Ok(()) => client.ok(),
        Err(e) => fail(client, &e),
    }
}

/// COM_CHANGE_USER: what the old session had open is rolled back, even if the login then fails.
fn change_user(client: &mut Client<'_>, request: &ChangeUser<'_>) -> Next {
    let server = client.server;
    if let Err(e) = client.session.reset() {
        tracing::warn!("connection {}: {e}", client.id());
    }
    let login = match client.connection.change_user(request, &server.authenticator, &server.accounts()) {
        Ok(login) => login,
        Err(e) => {
            client.counters.count(Counter::AbortedConnects);
            tracing::info!("connection {} could not change its user: {e}", client.id());
            return Next::Close(End::Server("access was denied"));
        }
    };
    match open_session(server, &client.connection, &login, client.id(), &client.counters) {
        Ok(session) => {
            client.change_session(session);
            client.ok();
            Next::Reply
        }
        Err(e) => {
            fail(client, &e);
            let _ = client.connection.flush();
            Next::Close(End::Server("its session could not be opened"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_matches_as_sql_does() {
        let check = |text: &str, pattern: &str, expected| {
            assert_eq!(like(text.as_bytes(), pattern.as_bytes()), expected, "{text} LIKE {pattern}");
        };
        check("name", "name", true);
        check("NAME", "n%", true);
        check("name", "n_me", true);
        check("name", "%a%e", true);
        check("name", "%a", false);
        check("", "%", true);
        check("name", "", false);
    }
}
