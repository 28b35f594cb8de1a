//! Expressions in definitions: generated columns, defaults, CHECK.
//!
//! They are kept as text in MySQL's canonical form, which depends on no session: columns without
//! table, strings with their character set. What must not be in them is refused here; their types
//! are found out when they are compiled ([`super::super::computed`]).

use super::super::table::Default;
use super::{Draft, DraftColumn, DraftKey};
use datum::error::{self, Result, SqlError};
use datum::types::Charset;
use datum::value::temporal_text;
use syntax::ast::{self, ExprKind, Literal};
use syntax::unparse;

/// Where an expression stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExprContext<'a> {
    /// GENERATED ALWAYS AS, of this column.
    Generated(usize),
    /// DEFAULT, of this column.
    Default(usize),
    Check {
        name: &'a str,
        /// It stood after this column.
        of_column: Option<&'a str>,
    },
}

/// Functions whose value is not given by their arguments; a default may call them.
const INCONSTANT: &[&str] = &[
    "connection_id",
    "curdate",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "curtime",
    "localtime",
    "localtimestamp",
    "now",
    "rand",
    "random_bytes",
    "session_user",
    "sysdate",
    "system_user",
    "user",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "uuid",
    "uuid_short",
    "version",
    "database",
    "schema",
];
/// Functions whose value is another one when the statement is replayed from the log.
const UNREPEATABLE: &[&str] = &[
    "current_user",
    "ps_current_thread_id",
    "rand",
    "random_bytes",
    "session_user",
    "sysdate",
    "system_user",
    "user",
    "uuid",
    "uuid_short",
];
/// Functions that no definition may call.
const NEVER: &[&str] = &[
    "asynchronous_connection_failover_add_managed",
    "asynchronous_connection_failover_add_source",
    "asynchronous_connection_failover_delete_managed",
    "asynchronous_connection_failover_delete_source",
    "asynchronous_connection_failover_reset",
    "benchmark",
    "found_rows",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "load_file",
    "release_all_locks",
    "release_lock",
    "row_count",
    "sleep",
    "source_pos_wait",
    "wait_for_executed_gtid_set",
];

/// Functions that no new definition may call.
const LATER_REFUSED: &[&str] = &["master_pos_wait", "version"];

/// True if an expression reads a column of this name.
pub(crate) fn reads_column(expr: &ast::Expr, name: &str) -> bool {
    let mut found = false;
    let _ = expr.clone().visit_mut(&mut |node| {
        if let ExprKind::Column(column) = &node.kind {
            found |= column.column.is(name);
        }
        Ok::<(), ()>(())
    });
    found
}

/// True if an expression calls a function that gives another value when the log is replayed.
pub(crate) fn is_unrepeatable(expr: &ast::Expr) -> bool {
    let mut found = false;
    let _ = expr.clone().visit_mut(&mut |node| {
        if let ExprKind::Function(call) = &node.kind {
            found |= UNREPEATABLE.contains(&call.name.as_str());
        }
        Ok::<(), ()>(())
    });
    found
}

/// True for WEEK() without a mode.
pub(crate) fn lacks_week_mode(call: &ast::FunctionCall) -> bool {
    call.database.is_none() && call.name.is("week") && call.arguments.len() == 1
}

/// The text of an expression.
pub(super) fn canonical(draft: &Draft, mut expr: ast::Expr, place: ExprContext<'_>) -> Result<Box<str>> {
    expr.visit_mut(&mut |node| {
        refuse(draft, node, place)?;
        match &mut node.kind {
            ExprKind::Column(name) => {
                let number = draft.find(&name.column).ok_or_else(|| unknown(draft, &name.column, place))?;
                check_column(draft, number, place)?;
                let own = draft.columns[number].def.name.as_str();
                *name = ast::ColumnName { database: None, table: None, column: ast::Ident::new(own) };
            }
            ExprKind::Literal(Literal::String { bytes, introducer: introducer @ None }) => {
                // The literal is one of the connection's character set, and the text that is kept
                // is UTF-8.
                let connection = draft.environment.connection;
                let is_utf8 = matches!(connection, Charset::Utf8mb3 | Charset::Utf8mb4 | Charset::Binary);
                let same = bytes.is_ascii() || is_utf8 && connection.valid_prefix(bytes) == bytes.len();
                let charset = if same { connection } else { Charset::Utf8mb4 };
                *introducer = Some(ast::Ident::new(charset.name()));
            }
            // Statements have the session's mode where that is another one.
            ExprKind::Function(call) if lacks_week_mode(call) => {
                let kind = ExprKind::Literal(Literal::Integer(0));
                call.arguments.push(ast::Expr { span: node.span, kind });
            }
            // A moment, as the session's time zone has it now.
            ExprKind::Literal(Literal::Timestamp(text)) if temporal_text::split_offset(text).1.is_some() => {
                let read = temporal_text::parse_datetime_in(text, draft.environment.zone);
                let wrong = || error::WRONG_VALUE.with(&[&"DATETIME", &String::from_utf8_lossy(text)]);
                *text = ast::Text::new(read.ok_or_else(wrong)?.value.to_string().into_bytes());
            }
            _ => {}
        }
        Ok::<(), SqlError>(())
    })?;
    let text = String::from_utf8(unparse::expr(&expr));
    let text =
        text.map_err(|_| SqlError::unsupported("bytes that are no text in a definition's expression"))?;
    Ok(text.into())
}

fn refuse(draft: &Draft, node: &ast::Expr, place: ExprContext<'_>) -> Result<()> {
    match &node.kind {
        ExprKind::Function(call) => {
            let name = call.name.as_str();
            let unknown = call.database.is_some();
            let varying = NEVER.contains(&name)
                // Logs of older versions have them.
                || LATER_REFUSED.contains(&name) && draft.environment.from_client
                || INCONSTANT.contains(&name) && !matches!(place, ExprContext::Default(_))
                || name == "unix_timestamp"
                    && call.arguments.is_empty()
                    && !matches!(place, ExprContext::Default(_));
            if !varying && !unknown {
                return Ok(());
            }
            let shown = if unknown { unparse::ident(name) } else { name.to_owned() };
            Err(match place {
                ExprContext::Generated(c) if index_of(draft, c).is_some() => disallowed(draft, place),
                ExprContext::Generated(c) => error::GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED
                    .with(&[&draft.columns[c].def.name, &shown]),
                ExprContext::Default(c) => error::DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED
                    .with(&[&draft.columns[c].def.name, &shown]),
                ExprContext::Check { name, .. } => {
                    error::CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED.with(&[&name, &shown])
                }
            })
        }
        ExprKind::UserVariable(_) | ExprKind::AssignUserVariable { .. } | ExprKind::SystemVariable(_) => {
            Err(match place {
                ExprContext::Check { name, .. } => error::CHECK_CONSTRAINT_VARIABLES.with(&[&name]),
                _ => disallowed(draft, place),
            })
        }
        ExprKind::Window(call) if !is_index_expression(draft, place) => {
            Err(error::WINDOW_INVALID_WINDOW_FUNC_USE.with(&[&unparse::window_name(call.function)]))
        }
        ExprKind::Subquery(_)
        | ExprKind::Exists(_)
        | ExprKind::InQuery { .. }
        | ExprKind::Quantified { .. }
        | ExprKind::Aggregate(_)
        | ExprKind::Window(_)
        | ExprKind::Match { .. }
        | ExprKind::Default(_)
        | ExprKind::Values(_)
        | ExprKind::Parameter(_) => Err(disallowed(draft, place)),
        _ => Ok(()),
    }
}

/// The index on a hidden column.
fn index_of(draft: &Draft, column: usize) -> Option<&str> {
    let def = &draft.columns[column].def;
    let has_it = |key: &&DraftKey| key.parts.iter().any(|part| part.column == def.name);
    draft.keys.iter().find(has_it).filter(|_| def.is_key_part())?.name.as_deref()
}

fn is_index_expression(draft: &Draft, place: ExprContext<'_>) -> bool {
    matches!(place, ExprContext::Generated(column) if index_of(draft, column).is_some())
}

fn disallowed(draft: &Draft, place: ExprContext<'_>) -> SqlError {
    match place {
        ExprContext::Generated(c) if let Some(index) = index_of(draft, c) => {
            error::FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED.with(&[&index])
        }
        ExprContext::Generated(c) => {
            error::GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED.with(&[&draft.columns[c].def.name])
        }
        ExprContext::Default(c) => {
            error::DEFAULT_VAL_GENERATED_FUNCTION_IS_NOT_ALLOWED.with(&[&draft.columns[c].def.name])
        }
        ExprContext::Check { name, .. } => error::CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED.with(&[&name]),
    }
}

fn unknown(draft: &Draft, column: &str, place: ExprContext<'_>) -> SqlError {
    // MySQL looks for the columns that a new table's checks name before it resolves them.
    let is_new_table = || draft.columns.iter().all(|column| column.origin.is_none());
    let clause = match place {
        ExprContext::Generated(_) => "generated column function".to_owned(),
        ExprContext::Default(_) => "default value expression".to_owned(),
        ExprContext::Check { name, of_column: Some(_) } => {
            return error::COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN.with(&[&name]);
        }
        ExprContext::Check { name, .. } if is_new_table() => {
            return error::CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN.with(&[&name, &column]);
        }
        ExprContext::Check { name, .. } => format!("check constraint {name} expression"),
    };
    error::BAD_FIELD_ERROR.with(&[&column, &clause])
}

/// Refuses a column that this place may not read.
fn check_column(draft: &Draft, number: usize, place: ExprContext<'_>) -> Result<()> {
    let column: &DraftColumn = &draft.columns[number];
    let is_auto = draft.auto_column.as_deref().is_some_and(|a| a.eq_ignore_ascii_case(&column.def.name));
    let is_computed = column.def.generated.is_some() || matches!(column.def.default, Default::Expression(_));
    match place {
        ExprContext::Generated(own) if is_auto && let Some(index) = index_of(draft, own) => {
            Err(error::FUNCTIONAL_INDEX_REF_AUTO_INCREMENT.with(&[&index]))
        }
        ExprContext::Generated(own) if is_auto => {
            Err(error::GENERATED_COLUMN_REF_AUTO_INC.with(&[&draft.columns[own].def.name]))
        }
        ExprContext::Generated(own) if column.def.generated.is_some() && number >= own => {
            Err(error::GENERATED_COLUMN_NON_PRIOR.plain())
        }
        ExprContext::Default(own) if is_auto => {
            Err(error::DEFAULT_VAL_GENERATED_REF_AUTO_INC.with(&[&draft.columns[own].def.name]))
        }
        ExprContext::Default(own) if is_computed && number >= own => {
            Err(error::DEFAULT_VAL_GENERATED_NON_PRIOR.with(&[&draft.columns[own].def.name]))
        }
        ExprContext::Check { name, .. } if is_auto => {
            Err(error::CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN.with(&[&name]))
        }
        ExprContext::Check { name, of_column: Some(own) } if !column.def.name.eq_ignore_ascii_case(own) => {
            Err(error::COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN.with(&[&name]))
        }
        _ => Ok(()),
    }
}
