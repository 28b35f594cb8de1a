//! Triggers: their definitions, which are a part of their table's.
//!
//! A trigger is kept as the text of its body, with the settings of the session that made it. Its
//! table's record has it ([`super::record`]), so it goes where the table goes: it is dropped,
//! renamed and set aside with it. What it was compiled to belongs to one definition of the table
//! ([`TableDef::trigger_programs`]), for the columns that it names may be others in the next one.
//!
//! (T1) A trigger's name is one in its database, in any case. Its table is found by looking: names
//!      are asked for by definitions alone.
//! (T2) Triggers of one time and event are run in the order of the list.

use std::sync::Arc;

use stdx::cursor::{Cursor, Truncated, put_lenenc, put_lenenc_bytes};

use super::account::UserAtHost;
use super::objects::{CatalogState, DatabaseDef};
use super::show::quote;
use super::table::TableDef;
use crate::routine::Routine;
use datum::error::SqlError;
use datum::types::{Charset, Collation};
use syntax::ast::{TriggerEvent, TriggerTime};

/// A trigger, as it was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TriggerDef {
    pub(crate) name: String,
    /// Whose rights it runs with.
    pub(crate) definer: UserAtHost,
    pub(crate) time: TriggerTime,
    pub(crate) event: TriggerEvent,
    /// Its body's text.
    pub(crate) body: Vec<u8>,
    /// The sql_mode it was created under, and runs under.
    pub(crate) sql_mode: u64,
    /// `character_set_client` at its creation.
    pub(crate) client: Charset,
    /// `collation_connection` at its creation.
    pub(crate) connection: Collation,
    /// The database's collation at its creation.
    pub(crate) database_collation: Collation,
    /// When it was made: hundredths of seconds since 1970, UTC.
    pub(crate) created: i64,
}

/// A table's triggers, in the order of (T2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Triggers(Arc<[Arc<TriggerDef>]>);

/// What each trigger of a table was compiled to, or why it was not.
pub(crate) type TriggerPrograms = Arc<[Result<Arc<Routine>, SqlError>]>;

impl TriggerDef {
    /// True for one that runs at this time of this event.
    pub(crate) fn is_of(&self, time: TriggerTime, event: TriggerEvent) -> bool {
        (self.time, self.event) == (time, event)
    }

    /// The statement that makes it, without databases, as SHOW CREATE TRIGGER has it.
    pub(crate) fn text(&self, table: &str) -> Vec<u8> {
        self.statement(&quote(&self.name), &quote(table), "")
    }

    /// The same with its place among others.
    pub(crate) fn text_in_order(&self, table: &str, order: &str) -> Vec<u8> {
        self.statement(&quote(&self.name), &quote(table), order)
    }

    /// The same with a database before the names.
    pub(crate) fn logged_text(&self, database: &str, table: &str, order: &str) -> Vec<u8> {
        let qualified = |name: &str| format!("{}.{}", quote(database), quote(name));
        self.statement(&qualified(&self.name), &qualified(table), order)
    }

    fn statement(&self, name: &str, table: &str, order: &str) -> Vec<u8> {
        let UserAtHost { user, host } = &self.definer;
        let mut out = format!(
            "CREATE DEFINER={}@{} TRIGGER {name} {} {} ON {table} FOR EACH ROW {order}",
            quote(user),
            quote(host),
            time_word(self.time),
            event_word(self.event),
        )
        .into_bytes();
        out.extend_from_slice(&self.body);
        out
    }

    /// Definer's user and host, time u8, event u8, body, sql_mode u64, three character sets and
    /// collations u16, created i64.
    fn encode(&self, out: &mut Vec<u8>) {
        for text in [&self.name, &self.definer.user, &self.definer.host] {
            put_lenenc_bytes(out, text.as_bytes());
        }
        out.push(match self.time {
            TriggerTime::Before => 0,
            TriggerTime::After => 1,
        });
        out.push(match self.event {
            TriggerEvent::Insert => 0,
            TriggerEvent::Update => 1,
            TriggerEvent::Delete => 2,
        });
        put_lenenc_bytes(out, &self.body);
        out.extend_from_slice(&self.sql_mode.to_le_bytes());
        for collation in [self.client.default_collation(), self.connection, self.database_collation] {
            out.extend_from_slice(&collation.0.to_le_bytes());
        }
        out.extend_from_slice(&self.created.to_le_bytes());
    }

    fn decode(c: &mut Cursor<'_>) -> Result<Self, Truncated> {
        let name = text(c)?;
        let definer = UserAtHost::new(text(c)?, text(c)?);
        let time = match c.u8()? {
            0 => TriggerTime::Before,
            1 => TriggerTime::After,
            _ => return Err(Truncated),
        };
        let event = match c.u8()? {
            0 => TriggerEvent::Insert,
            1 => TriggerEvent::Update,
            2 => TriggerEvent::Delete,
            _ => return Err(Truncated),
        };
        let body = c.lenenc_bytes()?.to_vec();
        let sql_mode = c.u64()?;
        let mut collation = || Collation::by_id(c.u16()?).ok_or(Truncated);
        let (client, connection, database_collation) = (collation()?.charset(), collation()?, collation()?);
        let created = c.u64()?.cast_signed();
        Ok(Self {
            name,
            definer,
            time,
            event,
            body,
            sql_mode,
            client,
            connection,
            database_collation,
            created,
        })
    }
}

fn text(c: &mut Cursor<'_>) -> Result<String, Truncated> {
    String::from_utf8(c.lenenc_bytes()?.to_vec()).map_err(|_| Truncated)
}

impl Triggers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn list(&self) -> &[Arc<TriggerDef>] {
        &self.0
    }

    /// True if there is one of this time and event.
    pub(crate) fn has(&self, time: TriggerTime, event: TriggerEvent) -> bool {
        self.0.iter().any(|trigger| trigger.is_of(time, event))
    }

    /// The trigger of this name, in any case.
    pub(crate) fn named(&self, name: &str) -> Option<&Arc<TriggerDef>> {
        self.0.iter().find(|trigger| is_same_name(&trigger.name, name))
    }

    /// Those of one time and event, in the order in which they run.
    pub(crate) fn of(
        &self,
        time: TriggerTime,
        event: TriggerEvent,
    ) -> impl Iterator<Item = &Arc<TriggerDef>> {
        self.0.iter().filter(move |trigger| trigger.is_of(time, event))
    }

    /// In the order of SHOW TRIGGERS: by event and time, then as they run; each with its number
    /// there, from 1.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (u64, &Arc<TriggerDef>)> {
        let events = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];
        let times = [TriggerTime::Before, TriggerTime::After];
        let points = events.into_iter().flat_map(move |event| times.map(|time| (time, event)));
        points.flat_map(|(time, event)| (1..).zip(self.of(time, event)))
    }

    /// With a trigger before the one with the number `at`; as the last one if there is none.
    pub(crate) fn with(&self, trigger: TriggerDef, at: usize) -> Self {
        let mut list = self.0.to_vec();
        list.insert(at.min(list.len()), Arc::new(trigger));
        Self(list.into())
    }

    /// Without the trigger of this name.
    pub(crate) fn without(&self, name: &str) -> Self {
        Self(self.0.iter().filter(|trigger| !is_same_name(&trigger.name, name)).cloned().collect())
    }

    /// Their number (lenenc), then each, see [`TriggerDef::encode`].
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_lenenc(out, self.0.len() as u64);
        self.0.iter().for_each(|trigger| trigger.encode(out));
    }

    pub(super) fn decode(c: &mut Cursor<'_>) -> Result<Self, Truncated> {
        let mut list = Vec::new();
        for _ in 0..c.lenenc()? {
            list.push(Arc::new(TriggerDef::decode(c)?));
        }
        Ok(Self(list.into()))
    }
}

/// (T1)
fn is_same_name(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

/// `BEFORE`
pub(crate) fn time_word(time: TriggerTime) -> &'static str {
    match time {
        TriggerTime::Before => "BEFORE",
        TriggerTime::After => "AFTER",
    }
}

/// `INSERT`
pub(crate) fn event_word(event: TriggerEvent) -> &'static str {
    match event {
        TriggerEvent::Insert => "INSERT",
        TriggerEvent::Update => "UPDATE",
        TriggerEvent::Delete => "DELETE",
    }
}

impl DatabaseDef {
    /// A trigger by name, in any case, with its table (T1).
    pub(crate) fn trigger(&self, name: &str) -> Option<(&Arc<TableDef>, &Arc<TriggerDef>)> {
        let with_triggers = self.tables.values().filter(|table| !table.triggers.is_empty());
        with_triggers.into_iter().find_map(|table| Some((table, table.triggers.named(name)?)))
    }
}

impl CatalogState {
    /// A trigger by name, in any case, with its table.
    pub(crate) fn trigger(&self, database: &str, name: &str) -> Option<(&Arc<TableDef>, &Arc<TriggerDef>)> {
        self.database(database)?.trigger(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(name: &str, time: TriggerTime, event: TriggerEvent) -> TriggerDef {
        TriggerDef {
            name: name.to_owned(),
            definer: UserAtHost::new("u", "%"),
            time,
            event,
            body: b"SET @a = 1".to_vec(),
            sql_mode: 7,
            client: Charset::Utf8mb4,
            connection: Collation::UTF8MB4_0900_AI_CI,
            database_collation: Collation::UTF8MB4_0900_AI_CI,
            created: 123,
        }
    }

    #[test]
    fn triggers_are_read_as_they_were_written() {
        let (before, delete) = (TriggerTime::Before, TriggerEvent::Delete);
        let list = Triggers::default()
            .with(trigger("a", before, delete), 9)
            .with(trigger("b", TriggerTime::After, TriggerEvent::Update), 9)
            .with(trigger("c", before, delete), 0);
        let mut out = Vec::new();
        list.encode(&mut out);
        assert_eq!(Triggers::decode(&mut Cursor::new(&out)), Ok(list.clone()));
        for len in 0..out.len() {
            assert!(Triggers::decode(&mut Cursor::new(&out[..len])).is_err(), "{len}");
        }
        let shown: Vec<_> = list.in_order().map(|(number, t)| (number, t.name.as_str())).collect();
        assert_eq!(shown, [(1, "b"), (1, "c"), (2, "a")]);
        assert_eq!(list.without("C").list().len(), 2);
    }
}
