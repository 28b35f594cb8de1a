//! Stored functions and procedures: ROUTINES, PARAMETERS.

use std::sync::Arc;

use super::columns::type_cells;
use super::schemas::CATALOG;
use super::{Each, Wanted};
use crate::catalog::{RoutineDef, UserAtHost, parse_one};
use crate::listing::cells;
use crate::listing::definitions::{sees_body, sees_routine, times_of_routine};
use crate::session::Context;
use crate::variables::{Value, ids};
use datum::error::{Result, SqlError};
use datum::types::DataType;
use datum::value::Datum;
use syntax::ast::{self, CreateRoutine, DataAccess, ParameterMode, SqlSecurity, StatementKind};

/// How many cells say what a type is.
const TYPE_CELLS: usize = 8;

/// The routines that are wanted and of which the account may know.
fn functions(cx: &Context, wanted: &Wanted) -> Vec<Arc<RoutineDef>> {
    let state = cx.catalog().state();
    let databases = state.databases.iter().filter(|(name, _)| wanted.schema(name));
    let all =
        databases.flat_map(|(_, database)| database.functions.values().chain(database.procedures.values()));
    all.filter(|function| sees_routine(cx, function)).cloned().collect()
}

/// A function's statement.
fn parsed(function: &RoutineDef) -> Result<CreateRoutine> {
    match parse_one(&function.text(), function.sql_mode)?.kind {
        StatementKind::CreateRoutine(create) => Ok(*create),
        _ => Err(SqlError::internal("a function's text makes no function")),
    }
}

/// The cells of a type, and the type as it was declared.
fn typed(function: &RoutineDef, ty: &ast::DataType) -> Result<(Vec<Datum<'static>>, String)> {
    let ty = DataType::resolve(ty, &function.name, function.database_collation)?;
    let mut cells = type_cells(&ty);
    // A column of such a type has none.
    if let [_, _, _, Datum::UInt(_), scale @ Datum::Null, ..] = cells.as_mut_slice() {
        *scale = Datum::UInt(0);
    }
    Ok((cells, ty.to_string()))
}

/// The cells of a procedure, which returns nothing.
fn no_type_cells() -> Vec<Datum<'static>> {
    let mut cells = cells![""];
    cells.resize_with(TYPE_CELLS, || Datum::Null);
    cells
}

pub(super) fn routines(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for function in functions(cx, wanted) {
        let create = parsed(&function)?;
        let (cells, declared) = match &create.returns {
            Some(returns) => typed(&function, returns).map(|(cells, declared)| (cells, Some(declared)))?,
            None => (no_type_cells(), None),
        };
        let c = &function.characteristics;
        let (created, altered) = times_of_routine(cx, &function);
        let UserAtHost { user, host } = &function.definer;
        let mut row =
            cells![function.name.as_str(), CATALOG, function.database.as_str(), function.name.as_str()];
        row.extend(cells![function.kind.name()]);
        row.extend(cells);
        row.extend(cells![
            declared,
            "SQL",
            sees_body(cx, &function).then(|| function.body.clone()),
            None::<&str>,
            "SQL",
            "SQL",
            if c.deterministic == Some(true) { "YES" } else { "NO" },
            data_access(c.data_access),
            None::<&str>,
            if c.security == Some(SqlSecurity::Invoker) { "INVOKER" } else { "DEFINER" },
            created,
            altered,
            ids::SQL_MODE.variable().show(&Value::UInt(function.sql_mode)),
            c.comment.as_ref().map(|c| c.to_str_lossy().into_owned()).unwrap_or_default(),
            format!("{user}@{host}"),
            function.connection.charset().name(),
            function.connection.name(),
            function.database_collation.name(),
        ]);
        each(row)?;
    }
    Ok(())
}

fn data_access(of: Option<DataAccess>) -> &'static str {
    match of {
        None | Some(DataAccess::ContainsSql) => "CONTAINS SQL",
        Some(DataAccess::NoSql) => "NO SQL",
        Some(DataAccess::ReadsSqlData) => "READS SQL DATA",
        Some(DataAccess::ModifiesSqlData) => "MODIFIES SQL DATA",
    }
}

/// What a function returns is its parameter 0, without mode and name.
pub(super) fn parameters(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for function in functions(cx, wanted) {
        let create = parsed(&function)?;
        let returns = create.returns.iter().map(|ty| (None, None, ty));
        let mode = |mode| match mode {
            ParameterMode::In => "IN",
            ParameterMode::Out => "OUT",
            ParameterMode::InOut => "INOUT",
        };
        let declared = create.parameters.iter().map(|p| (Some(p.name.as_str()), Some(mode(p.mode)), &p.ty));
        let first = usize::from(create.returns.is_none());
        for (number, (name, mode, ty)) in returns.chain(declared).enumerate() {
            let (cells, declared) = typed(&function, ty)?;
            let mut row =
                cells![CATALOG, function.database.as_str(), function.name.as_str(), (first + number) as u64];
            row.extend(cells![mode, name]);
            row.extend(cells);
            row.extend(cells![declared, function.kind.name()]);
            each(row)?;
        }
    }
    Ok(())
}
