//! JSON_TABLE in FROM: its paths and types are read once, its document is an expression over the
//! sources before it.

use std::sync::Arc;

use super::{JsonSource, Maker};
use crate::catalog::ColumnDef;
use crate::catalog::table::Default;
use crate::expression::Resolver;
use crate::expression::functions::json::{bad_path, document};
use crate::output::OutputColumn;
use datum::error::{self, Result};
use datum::types::{Charset, Collation, DataType};
use datum::value::Datum;
use datum::value::json::Path;
use datum::value::json::convert::Origin;
use datum::value::json::table::{Answer, Column, JsonColumnKind, JsonTable, Level};
use syntax::ast::{self, JsonOn, JsonTableColumn};

/// Binds JSON_TABLE. `before`: how many sources stand before it, whose columns the document may
/// read.
pub(crate) fn bind(resolver: &mut Resolver<'_>, ast: &ast::JsonTable, before: usize) -> Result<Maker> {
    let scope = &mut resolver.scope;
    let around = (std::mem::replace(&mut scope.window, 0..before), scope.clause);
    scope.clause = "a table function argument";
    let resolved = resolver.expr(&ast.document);
    (resolver.scope.window, resolver.scope.clause) = around;
    let document = resolved?;
    let default = resolver.cx.settings.connection_collation();
    let mut binder = Binder { resolver, alias: &ast.alias, default, columns: Vec::new() };
    let level = binder.level(&ast.path, &ast.columns)?;
    let columns = binder.columns;
    let rules = resolver.cx.store_rules(false);
    let table = JsonTable::new(level, columns.len(), rules);
    Ok(Maker::Json(Arc::new(JsonSource { document, table, columns })))
}

struct Binder<'r, 'c> {
    resolver: &'r mut Resolver<'c>,
    alias: &'r str,
    /// The collation of text columns that name none.
    default: Collation,
    columns: Vec<OutputColumn>,
}

impl Binder<'_, '_> {
    fn level(&mut self, at: &[u8], list: &[JsonTableColumn]) -> Result<Level> {
        let mut level = Level { path: path(at)?, columns: Vec::new(), nested: Vec::new() };
        for column in list {
            match column {
                JsonTableColumn::Nested { path, columns } => level.nested.push(self.level(path, columns)?),
                JsonTableColumn::Ordinality(name) => {
                    let ty = ast::DataType::Integer {
                        size: ast::IntegerSize::Int,
                        width: None,
                        sign: ast::Sign { unsigned: true, zerofill: false },
                    };
                    self.name(name, &ty)?;
                    level.columns.push(self.last(name, JsonColumnKind::Ordinality));
                }
                JsonTableColumn::Value { name, ty, exists, path: at, on_empty, on_error } => {
                    let ty = self.name(name, ty)?;
                    let path = path(at)?;
                    let kind = match exists {
                        true => JsonColumnKind::Exists(path, ty),
                        false => JsonColumnKind::Value {
                            path,
                            ty,
                            on_empty: self.answer(on_empty.as_ref())?,
                            on_error: self.answer(on_error.as_ref())?,
                        },
                    };
                    level.columns.push(self.last(name, kind));
                }
            }
        }
        Ok(level)
    }

    /// Adds a column; errors 1060 and those of its type.
    fn name(&mut self, name: &ast::Ident, ty: &ast::DataType) -> Result<DataType> {
        if self.columns.iter().any(|c| name.is(&c.meta.name)) {
            return Err(error::DUP_FIELDNAME.with(&[name]));
        }
        let ty = DataType::resolve(ty, name, self.default)?;
        let definition = ColumnDef {
            name: name.to_string(),
            ty: ty.clone(),
            nullable: true,
            default: Default::Value(Datum::Null),
            on_update_now: false,
            comment: String::new(),
            visible: true,
            generated: None,
        };
        let mut column = OutputColumn::defined(&definition, name);
        column.meta.table = self.alias.to_owned();
        self.columns.push(column);
        Ok(ty)
    }

    /// The column that was added last.
    fn last(&self, name: &ast::Ident, kind: JsonColumnKind) -> Column {
        Column { number: self.columns.len() - 1, name: name.as_str().into(), kind }
    }

    /// What ON EMPTY or ON ERROR says; DEFAULT is a document's text.
    fn answer(&mut self, on: Option<&JsonOn>) -> Result<Answer> {
        Ok(match on {
            None | Some(JsonOn::Null) => Answer::Null,
            Some(JsonOn::Error) => Answer::Error,
            Some(JsonOn::Default(value)) => {
                let value = self.resolver.expr(value)?;
                let charset: Charset = Origin::of(&value.ty).charset;
                let text = value.as_constant().map(Datum::borrow).unwrap_or_default();
                Answer::Default(document(text, charset, 1, "JSON_TABLE")?.into_owned().into())
            }
        })
    }
}

fn path(text: &[u8]) -> Result<Path> {
    Path::parse(text).map_err(bad_path)
}
