//! SELECT and its like as statements: planned, run, and sent to the client or put where INTO says.

use super::{Done, OK, ROWS, outfile, query};
use crate::output::{Described, Output};
use crate::planner::{Body, Query, plan};
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result};
use datum::sink::ResultSink;
use datum::value::{Datum, store};
use syntax::ast::{self, IntoTarget, IntoVariable};

/// Runs a query and sends its rows to the client, or where INTO says.
pub(super) fn execute(
    cx: &mut Context,
    query: &ast::Query,
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<Done> {
    let is_local = |target: &IntoVariable| matches!(target, IntoVariable::Local(_));
    let to_local = match query.into.as_deref() {
        Some(IntoTarget::Variables(targets)) => targets.iter().any(is_local),
        _ => false,
    };
    let around = cx.statement.storing;
    // A routine's variables are assigned as columns are.
    cx.statement.storing |= to_local;
    let done =
        plan::run(cx, |cx, basis| plan::query(cx, basis, query, text), |cx, plan| run(cx, query, plan, sink));
    cx.statement.storing = around;
    done
}

fn run(cx: &mut Context, query: &ast::Query, plan: &Query, sink: &mut dyn ResultSink) -> Result<Done> {
    if let Some(into) = &query.into {
        return select_into(cx, plan, into).map(|()| OK);
    }
    let mut output = Output::begin(sink, Described::cached(cx, &plan.described, &plan.columns))?;
    // Of a client's own queries only, and where they have no limit themselves.
    let limit = match query.limit.is_none() && cx.statement.frames.is_empty() {
        true => cx.settings.variables().uint(ids::SQL_SELECT_LIMIT),
        false => u64::MAX,
    };
    let mut left = limit;
    let locks = matches!(&plan.body, Body::Block(block) if block.locks);
    super::query::run(cx, plan, &mut |cx, values| {
        if locks {
            cx.await_locked_reads()?; // a long result is on its way before the statement ends
        }
        if left == 0 {
            return Ok(plan.counts_all);
        }
        left -= 1;
        output.row(values)?;
        Ok(left > 0 || plan.counts_all)
    })?;
    cx.statement.status.found_rows = cx.statement.rows_found;
    Ok(ROWS)
}

fn select_into(cx: &mut Context, plan: &Query, into: &IntoTarget) -> Result<()> {
    let targets = match into {
        IntoTarget::Variables(targets) => targets,
        IntoTarget::OutFile { path, charset, format } => {
            return outfile::delimited(cx, plan, path, charset.as_ref(), format);
        }
        IntoTarget::DumpFile(path) => return outfile::dump(cx, plan, path),
    };
    if targets.len() != plan.columns.len() {
        return Err(error::WRONG_NUMBER_OF_COLUMNS_IN_SELECT.plain());
    }
    let mut found: Option<Vec<Datum<'static>>> = None;
    let mut too_many = false;
    query::run(cx, plan, &mut |_, values| {
        if found.is_some() {
            too_many = true;
            return Ok(false);
        }
        found = Some(values.iter().map(|v| v.clone().into_owned()).collect());
        Ok(true)
    })?;
    cx.statement.status.found_rows = cx.statement.rows_found;
    let Some(values) = found else {
        cx.warn(error::SP_FETCH_NO_DATA.plain());
        return Ok(());
    };
    for ((target, value), column) in targets.iter().zip(values).zip(&plan.columns) {
        match target {
            IntoVariable::User(name) => cx.set_user_variable(name, value, column.ty),
            IntoVariable::Local(name) => {
                let found = crate::routine::find_local(cx, name);
                let (index, ty) = found.ok_or_else(|| error::SP_UNDECLARED_VAR.with(&[name]))?;
                let value = store::of_expression(value, &column.ty);
                crate::routine::assign(cx, index, &ty, value, column.ty.collation.charset())?;
            }
        }
    }
    if too_many {
        // The first row's values stay, as in MySQL.
        return Err(error::TOO_MANY_ROWS.plain());
    }
    cx.statement.status.affected = 1;
    Ok(())
}
