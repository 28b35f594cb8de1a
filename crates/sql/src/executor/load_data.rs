//! LOAD DATA: a file's lines become rows.
//!
//! The file is the server's ([`server_file`]), or with LOCAL the client's, which the [`ResultSink`]
//! asks for and which is read to its end whatever happens: the client sends it all before it
//! listens again. As the client can't be stopped, LOCAL treats errors in the data as IGNORE does.
//! An applier has the file from the source's log ([`logged`]).

mod logged;

use std::sync::Arc;

use env::{File, OpenMode};

pub(crate) use logged::LoggedFile;

use super::delimited::{Lines, Pieces};
use super::insert::{resolver, resolver_of_view, set, without_update};
use super::server_file::{self, Delimiters};
use super::through_view::{Change, ChangedView};
use super::view_check::ThroughView;
use super::writer::{ColumnInput, Writer, now};
use super::{computed, insert};
use crate::catalog::TableDef;
use crate::catalog::table::Default;
use crate::expression::Expr;
use crate::planner::plan::Basis;
use crate::privilege::Privileges;
use crate::session::{Context, client_gone};
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use datum::sink::ResultSink;
use datum::types::{Charset, Coercibility, DataType, Type};
use datum::value::{Datum, store};
use syntax::ast::{self, LoadDuplicates, LoadTarget};

/// Bytes of a server's file that are read at once.
const PIECE: usize = 256 << 10;

/// Runs a LOAD DATA.
pub(super) fn execute(
    cx: &mut Context,
    load: &ast::LoadData,
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<()> {
    if load.xml {
        return Err(SqlError::unsupported("LOAD XML"));
    }
    if !load.partitions.is_empty() {
        return Err(SqlError::unsupported("partitions"));
    }
    let named: Vec<ast::Ident> = load.targets.iter().filter_map(column_of).cloned().collect();
    let opened = cx.open_to_change(load.table.database.as_deref(), &load.table.name)?;
    let (table, view) = match opened {
        Some(table) => {
            cx.check_writable_table(&table)?;
            (table, None)
        }
        None => {
            let view = open_view(cx, load, &named)?;
            (view.table.clone(), Some(view))
        }
    };
    let plan = Loading::new(cx, load, named, &table, view, text)?;
    let delimiters = Delimiters::new(
        &load.format,
        cx.settings.statement_charset(),
        cx.settings.connection_collation().charset(),
    )?;
    if let Some(mut file) = cx.log.take_load_file() {
        return plan.run(cx, load, table, delimiters, &mut file);
    }
    if !load.local {
        let path = server_file::allowed(cx, &load.path)?;
        let opened = cx.instance.env().open(&path, OpenMode::Read);
        let file = opened.map_err(|e| server_file::cannot_read(&path, &e))?;
        return plan.run(cx, load, table, delimiters, &mut ServerFile { file, at: 0, path });
    }
    if !cx.instance.globals().bool(ids::LOCAL_INFILE) {
        return Err(error::CLIENT_LOCAL_FILES_DISABLED.plain());
    }
    let asked = sink.request_file(&load.path);
    asked.map_err(|e| match e.kind() {
        std::io::ErrorKind::Unsupported => error::CLIENT_LOCAL_FILES_DISABLED.plain(),
        _ => client_gone(e),
    })?;
    let mut file = ClientFile { sink, ended: false };
    let outcome = plan.run(cx, load, table, delimiters, &mut file);
    let mut rest = Vec::new();
    while !file.ended {
        rest.clear();
        file.next(&mut rest)?;
    }
    outcome
}

struct ServerFile {
    file: Arc<dyn File>,
    at: u64,
    path: std::path::PathBuf,
}

impl Pieces for ServerFile {
    fn next(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        out.resize(before + PIECE, 0);
        let read = self.file.read_at(&mut out[before..], self.at);
        let len = read.map_err(|e| server_file::cannot_read(&self.path, &e))?;
        out.truncate(before + len);
        self.at += len as u64;
        Ok(())
    }
}

struct ClientFile<'s> {
    sink: &'s mut dyn ResultSink,
    ended: bool,
}

impl Pieces for ClientFile<'_> {
    fn next(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        if !self.ended {
            self.sink.read_file(out).map_err(|e| {
                self.ended = true;
                client_gone(e)
            })?;
            self.ended = out.len() == before;
        }
        Ok(())
    }
}

/// Where a field goes.
enum Target<'a> {
    Column(usize),
    Variable(&'a str),
}

/// What a line has for a column or a variable.
#[derive(Clone, Copy)]
enum LineField<'a> {
    Text(&'a [u8]),
    Null,
    /// The line ends before it.
    Missing,
}

/// What becomes of the fields.
struct Loading<'a> {
    targets: Vec<Target<'a>>,
    /// SET: columns and their values; none for DEFAULT.
    assignments: Vec<(usize, Option<Expr>)>,
    /// The character set of the file.
    charset: Charset,
    ignore: bool,
    /// What a view that the rows go through asks of them.
    view: ThroughView,
}

/// The view that the rows go through.
///
/// # Errors
/// 1288 for one that can't be changed, or is of a join.
fn open_view(cx: &mut Context, load: &ast::LoadData, named: &[ast::Ident]) -> Result<ChangedView> {
    let replaces = load.on_duplicate == LoadDuplicates::Replace;
    let more = if replaces { Privileges::DELETE } else { Privileges::NONE };
    let change = Change {
        verb: "LOAD",
        privileges: Privileges::INSERT | more,
        shown: &load.table.name,
        names_columns: !named.is_empty(),
        replaces,
    };
    ChangedView::open(cx, &mut Basis::default(), &load.table, change)
}

impl<'a> Loading<'a> {
    fn new(
        cx: &mut Context,
        load: &'a ast::LoadData,
        named: Vec<ast::Ident>,
        table: &Arc<TableDef>,
        view: Option<ChangedView>,
        text: &[u8],
    ) -> Result<Self> {
        let charset = match &load.charset {
            Some(name) => Charset::by_name(name).ok_or_else(|| error::UNKNOWN_CHARACTER_SET.with(&[name]))?,
            None => {
                let name = cx.settings.variables().text(ids::CHARACTER_SET_DATABASE);
                Charset::by_name(name).unwrap_or(Charset::Utf8mb4)
            }
        };
        let mut columns = match (load.targets.is_empty(), &view) {
            (false, _) if named.is_empty() => Vec::new(),
            (_, Some(view)) => view.named(&named)?,
            (_, None) => insert::column_numbers(table, &named)?,
        }
        .into_iter();
        let targets = match load.targets.is_empty() {
            true => columns.map(Target::Column).collect(),
            false => load
                .targets
                .iter()
                .filter_map(|target| match target {
                    LoadTarget::Column(_) => columns.next().map(Target::Column),
                    LoadTarget::Variable(name) => Some(Target::Variable(name)),
                })
                .collect(),
        };
        let ignore = load.on_duplicate == LoadDuplicates::Ignore
            || load.local && load.on_duplicate == LoadDuplicates::Error;
        let assignments = Vec::with_capacity(load.assignments.len());
        let mut loading = Self { targets, assignments, charset, ignore, view: ThroughView::default() };
        // A variable that a field goes to is text from now on, whatever it was.
        for target in &loading.targets {
            if let Target::Variable(name) = target {
                cx.set_user_variable(name, Datum::Null, loading.text_type());
            }
        }
        let mut resolver = match &view {
            Some(view) => resolver_of_view(cx, view, &load.table.name, text),
            None => resolver(cx, table, text),
        };
        for assignment in &load.assignments {
            let name = &assignment.column;
            let column = resolver.assigned(name)?.as_column();
            let column = column.ok_or_else(|| match &view {
                Some(_) => error::NONUPDATEABLE_COLUMN.with(&[&name.column]),
                None => error::BAD_FIELD_ERROR.with(&[&name.column, &"field list"]),
            })?;
            let value = match matches!(assignment.value.kind, ast::ExprKind::Default(None)) {
                true => None,
                false => {
                    computed::not_generated(table, column)?;
                    Some(resolver.expr(&assignment.value)?)
                }
            };
            loading.assignments.push((column, value));
        }
        loading.view = ThroughView::new(view, load.on_duplicate == LoadDuplicates::Replace);
        Ok(loading)
    }

    fn text_type(&self) -> Type {
        Type::text(self.charset.default_collation(), Coercibility::Implicit, u32::MAX)
    }

    fn run(
        &self,
        cx: &mut Context,
        load: &ast::LoadData,
        table: Arc<TableDef>,
        delimiters: Delimiters,
        pieces: &mut dyn Pieces,
    ) -> Result<()> {
        cx.statement.storing = !self.ignore;
        let replaces = load.on_duplicate == LoadDuplicates::Replace;
        let on_duplicate = without_update(replaces);
        let mut writer = Writer::new(cx, &table, &on_duplicate, self.ignore, 0).through(&self.view);
        writer.loads = true;
        let mut lines = Lines::new(pieces, delimiters, cx.settings.max_allowed_packet());
        for _ in 0..load.ignore_lines {
            lines.skip()?;
        }
        let outcome = self.rows(cx, &mut writer, &mut lines);
        writer.finish(cx, outcome)?;
        cx.statement.status.insert_id = 0;
        writer.report_load_counts(cx);
        Ok(())
    }

    fn rows(&self, cx: &mut Context, writer: &mut Writer<'_>, lines: &mut Lines<'_>) -> Result<()> {
        let mut given = vec![ColumnInput::Default; writer.table.columns.len()];
        while lines.next()? {
            self.count_fields(cx, writer, lines.count(self.targets.len()))?;
            let mut texts = lines.fields().iter().map(|f| match f.is_null {
                true => LineField::Null,
                false => LineField::Text(lines.text(*f)),
            });
            if self.assignments.is_empty() {
                for target in &self.targets {
                    self.take(cx, writer, target, texts.next().unwrap_or(LineField::Missing), &mut given);
                }
                writer.write(cx, &mut given)?;
                continue;
            }
            let mut draft = writer.draft(cx)?;
            for target in &self.targets {
                self.take(cx, writer, target, texts.next().unwrap_or(LineField::Missing), &mut given);
                if let Target::Column(column) = *target {
                    let value = std::mem::replace(&mut given[column], ColumnInput::Default);
                    writer.set(cx, &mut draft, column, value)?;
                }
            }
            for (column, expr) in &self.assignments {
                set(cx, writer, &mut draft, *column, expr.as_ref())?;
            }
            writer.write_draft(cx, draft)?;
        }
        Ok(())
    }

    /// Too few or too many fields.
    fn count_fields(&self, cx: &mut Context, writer: &Writer<'_>, found: usize) -> Result<()> {
        let row = writer.row + 1;
        let is_strict = cx.settings.modes().strict && !self.ignore;
        let e = match found.cmp(&self.targets.len()) {
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => error::WARN_TOO_FEW_RECORDS.with(&[&row]),
            std::cmp::Ordering::Greater => error::WARN_TOO_MANY_RECORDS.with(&[&row]),
        };
        if is_strict {
            return Err(e);
        }
        let missing = self.targets.len().saturating_sub(found).max(1);
        (0..missing).for_each(|_| cx.warn(e.clone()));
        Ok(())
    }

    /// Puts a field where it goes.
    fn take(
        &self,
        cx: &mut Context,
        writer: &Writer<'_>,
        target: &Target<'_>,
        field: LineField<'_>,
        given: &mut [ColumnInput<'_>],
    ) {
        match (target, field) {
            (Target::Variable(name), field) => {
                let value = match field {
                    LineField::Text(text) => Datum::owned(text),
                    LineField::Null | LineField::Missing => Datum::Null,
                };
                cx.set_user_variable(name, value, self.text_type());
            }
            (Target::Column(column), LineField::Text(text)) => {
                given[*column] = ColumnInput::Value(Datum::owned(text), self.charset);
            }
            (Target::Column(column), LineField::Null) => {
                given[*column] = ColumnInput::Value(Datum::Null, self.charset)
            }
            (Target::Column(column), LineField::Missing) => {
                given[*column] = missing(cx, writer.table, *column);
            }
        }
    }
}

/// What a column gets that a line has no field for: not its default, but NULL, if that is the
/// default, or zero or nothing.
fn missing<'a>(cx: &Context, table: &TableDef, number: usize) -> ColumnInput<'a> {
    let column = &table.columns[number];
    if table.auto_column == Some(number) || column.generated.is_some() {
        return ColumnInput::Default;
    }
    let is_null = match &column.default {
        Default::Value(value) => value.is_null(),
        Default::None | Default::Expression(_) => column.nullable,
        Default::Now => false,
    };
    ColumnInput::Fitted(match &column.ty {
        _ if is_null => Datum::Null,
        DataType::Timestamp(_) if !column.nullable => now(cx, &column.ty),
        ty => store::implicit_default(ty),
    })
}

fn column_of(target: &LoadTarget) -> Option<&ast::Ident> {
    match target {
        LoadTarget::Column(name) => Some(name),
        LoadTarget::Variable(_) => None,
    }
}
