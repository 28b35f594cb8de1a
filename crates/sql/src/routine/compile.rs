//! From a function's text to instructions.

use std::sync::Arc;

use super::handlers::{Handler, Program};
use super::trigger::{RowColumn, Subject};
use super::variables::Variables;
use super::{Action, ProgramKind, Routine};
use crate::catalog::{RoutineDef, parse_one};
use datum::bounds::Ticker;
use datum::error::{self, Result, SqlError};
use datum::types::{Collation, DataType};
use syntax::ast::{
    self, Block, Compound, ConditionValue, Declaration, Expr, ExprKind, HandlerAction, Ident, Remarks,
    RoutineKind, SetItem, Signal, Span, SqlSecurity, Statement, StatementKind, VariableName,
};

impl Routine {
    /// Compiles a function or procedure; errors are those that its CREATE statement gives.
    pub(crate) fn compile(function: &RoutineDef) -> Result<Routine> {
        let text = function.text();
        let statement = parse_one(&text, function.sql_mode)?;
        let StatementKind::CreateRoutine(create) = statement.kind else {
            return Err(SqlError::internal("a function's text makes no function"));
        };
        let default = function.database_collation;
        let returns = create.returns.as_ref().map(|ty| DataType::resolve(ty, &function.name, default));
        let returns = returns.transpose()?;
        let kind = match function.kind {
            RoutineKind::Function => ProgramKind::Function,
            RoutineKind::Procedure => ProgramKind::Procedure,
        };
        let mut compiler = Compiler::new(default, kind);
        for parameter in &create.parameters {
            if compiler.variables.find(&parameter.name, 0).is_some() {
                return Err(error::SP_DUP_PARAM.with(&[&parameter.name]));
            }
            let ty = DataType::resolve(&parameter.ty, &parameter.name, default)?;
            compiler.declare(&parameter.name, ty)?;
            compiler.program.modes.push(parameter.mode);
        }
        let parameters = compiler.variables.len();
        compiler.statement(create.body)?;
        if kind == ProgramKind::Function && !compiler.returns {
            return Err(error::SP_NORETURN.with(&[&function.name]));
        }
        let (variables, row_columns, program, code) = compiler.into_parts();
        Ok(Routine {
            kind,
            program,
            name: function.name.clone(),
            database: function.database.clone(),
            parameters,
            returns,
            row_columns,
            variables: Arc::new(variables),
            code,
            text,
            sql_mode: function.sql_mode,
            definer: (function.characteristics.security != Some(SqlSecurity::Invoker))
                .then(|| function.definer.clone()),
            connection: function.connection,
        })
    }
}

pub(super) struct Compiler<'a> {
    kind: ProgramKind,
    default: Collation,
    code: Vec<Action>,
    pub(super) variables: Variables,
    /// The trigger, if it is one.
    pub(super) subject: Option<Subject<'a>>,
    /// The columns of its rows that are named so far.
    pub(super) row_columns: Vec<RowColumn>,
    pub(super) program: Program,
    /// The named conditions that are in scope, the innermost last.
    conditions: Vec<(Ident, ConditionValue)>,
    /// The cursors that are in scope, with their numbers.
    cursors: Vec<(Ident, usize)>,
    ticker: Ticker,
    labels: Vec<Label>,
    returns: bool,
}

/// A block or loop that LEAVE and ITERATE can name.
struct Label {
    name: Option<Ident>,
    /// Where ITERATE goes; none for a block.
    start: Option<usize>,
    /// Jumps to its end, to be filled in.
    leaves: Vec<usize>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(default: Collation, kind: ProgramKind) -> Self {
        Compiler {
            kind,
            default,
            code: Vec::new(),
            variables: Variables::default(),
            subject: None,
            row_columns: Vec::new(),
            program: Program::default(),
            conditions: Vec::new(),
            cursors: Vec::new(),
            ticker: Ticker::default(),
            labels: Vec::new(),
            returns: false,
        }
    }

    /// Lets it know of the trigger's rows.
    pub(super) fn of(self, subject: Subject<'a>) -> Self {
        Compiler { subject: Some(subject), ..self }
    }

    pub(super) fn into_parts(self) -> (Variables, Vec<RowColumn>, Program, Vec<Action>) {
        (self.variables, self.row_columns, self.program, self.code)
    }

    fn emit(&mut self, action: Action) -> usize {
        self.code.push(action);
        self.code.len() - 1
    }

    /// Lets the jump at `at` go to what comes next.
    fn land(&mut self, at: usize) {
        let next = self.code.len();
        match &mut self.code[at] {
            Action::JumpUnless(_, target) | Action::Jump(target) => *target = next,
            _ => {}
        }
    }

    fn declare(&mut self, name: &Ident, ty: DataType) -> Result<()> {
        self.variables.declare(name, ty, self.code.len());
        self.ticker.step()
    }

    fn statements(&mut self, list: Vec<Statement>) -> Result<()> {
        list.into_iter().try_for_each(|s| self.statement(s))
    }

    pub(super) fn statement(&mut self, statement: Statement) -> Result<()> {
        self.ticker.step()?;
        let compound = match statement.kind {
            StatementKind::Compound(compound) => *compound,
            // In a program each item is a statement of its own.
            StatementKind::Set(items) if items.len() > 1 || self.assigns(&items)? => {
                return items.into_iter().try_for_each(|item| self.assignment(item, statement.span));
            }
            kind => {
                let kind = self.checked(kind)?;
                self.declare_columns_in(&kind)?;
                self.emit(Action::Statement(Box::new(Statement { kind, ..statement })));
                return Ok(());
            }
        };
        match compound {
            Compound::Block(block) => self.block(block),
            Compound::If { branches, otherwise } => self.branches(branches, otherwise),
            Compound::Case { operand, branches, otherwise } => {
                let branches = match operand {
                    None => branches,
                    Some(x) => {
                        let branch = |(when, then)| {
                            // Each has a copy of the operand, however large that is.
                            datum::bounds::check()?;
                            Ok((equal(x.clone(), when), then))
                        };
                        branches.into_iter().map(branch).collect::<Result<_>>()?
                    }
                };
                self.case(branches, otherwise)
            }
            Compound::Loop { label, body } => self.repeat(label, None, body, None),
            Compound::While { label, condition, body } => self.repeat(label, Some(condition), body, None),
            Compound::Repeat { label, body, until } => self.repeat(label, None, body, Some(until)),
            Compound::Leave(name) => self.compile_leave(&name),
            Compound::Iterate(name) => self.iterate(&name),
            Compound::Return(value) => {
                self.declare_columns_of(&value)?;
                self.returns = true;
                self.emit(Action::Return(value));
                Ok(())
            }
            Compound::Open(name) => {
                let cursor = self.cursor(&name)?;
                self.emit(Action::OpenCursor(cursor));
                Ok(())
            }
            Compound::Fetch { cursor, into } => self.fetch(&cursor, &into),
            Compound::Close(name) => {
                let cursor = self.cursor(&name)?;
                self.emit(Action::CloseCursor(cursor));
                Ok(())
            }
        }
    }

    /// True if a SET assigns to variables of the routine, or columns of NEW.
    fn assigns(&mut self, items: &[SetItem]) -> Result<bool> {
        for item in items {
            if let SetItem::Variable { scope: None, name, .. } = item
                && self.assigned_place(name)?.is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The place in the frame that a name in SET means; `None` for other names.
    fn assigned_place(&mut self, name: &VariableName) -> Result<Option<usize>> {
        match &name.component {
            None => Ok(self.variables.find(&name.name, self.code.len())),
            Some(_) => self.assigned_of_row(name),
        }
    }

    /// One item of such a SET: each is done before the next is evaluated.
    fn assignment(&mut self, item: SetItem, span: Span) -> Result<()> {
        if let SetItem::Variable { scope: None, name, value } = &item
            && let Some(place) = self.assigned_place(name)?
        {
            if let Some(value) = value {
                self.declare_columns_of(value)?;
            } else if name.component.is_some() {
                return Err(SqlError::unsupported("DEFAULT for a column of NEW"));
            }
            self.emit(Action::Assign(place, value.clone().map(Arc::new)));
            return Ok(());
        }
        let kind = self.checked(StatementKind::Set(vec![item]))?;
        self.declare_columns_in(&kind)?;
        let (remarks, algorithm_and_lock) = (Remarks::default(), Vec::new());
        let statement = Statement { kind, span, parameters: 0, remarks, algorithm_and_lock };
        self.emit(Action::Statement(Box::new(statement)));
        Ok(())
    }

    fn block(&mut self, block: Block) -> Result<()> {
        let first = self.variables.len();
        let (conditions, cursors) = (self.conditions.len(), self.cursors.len());
        let mut own_handlers = Vec::new();
        self.labels.push(Label { name: block.label, start: None, leaves: Vec::new() });
        for declaration in block.declarations {
            match declaration {
                Declaration::Variables { names, ty, default } => {
                    default.as_ref().map_or(Ok(()), |default| self.declare_columns_of(default))?;
                    let default = default.map(Arc::new);
                    let shown = names.first().map_or("", |name| name.as_str());
                    let ty = DataType::resolve(&ty, shown, self.default)?;
                    for name in &names {
                        if self.variables.find(name, self.code.len()).is_some_and(|found| found >= first) {
                            return Err(error::SP_DUP_VAR.with(&[name]));
                        }
                        // The default is computed before the name is known.
                        self.emit(Action::Assign(self.variables.len(), default.clone()));
                        self.declare(name, ty.clone())?;
                    }
                }
                Declaration::Condition { name, value } => {
                    if self.conditions[conditions..].iter().any(|(known, _)| known.is(&name)) {
                        return Err(error::SP_DUP_COND.with(&[&name]));
                    }
                    check_number(&value)?;
                    self.conditions.push((name, value));
                }
                Declaration::Cursor { name, query } => {
                    if self.cursors[cursors..].iter().any(|(known, _)| known.is(&name)) {
                        return Err(error::SP_DUP_CURS.with(&[&name]));
                    }
                    if query.into.is_some() {
                        return Err(error::SP_BAD_CURSOR_SELECT.plain());
                    }
                    let number = self.program.cursors.len();
                    let at = self.emit(Action::DeclareCursor(number, Box::new(query_statement(query))));
                    self.program.cursors.push(at);
                    self.cursors.push((name, number));
                }
                Declaration::Handler { action, conditions, body } => {
                    own_handlers.push(self.handler(action, conditions, *body, &own_handlers)?);
                }
            }
        }
        let start = self.code.len();
        self.statements(block.body)?;
        let end = self.code.len();
        own_handlers.iter().for_each(|&own| self.program.handlers[own].serves = start..end);
        self.conditions.truncate(conditions);
        self.cursors.truncate(cursors);
        self.end_label();
        self.variables.end_block(first..self.variables.len(), self.code.len());
        Ok(())
    }

    fn end_label(&mut self) {
        if let Some(label) = self.labels.pop() {
            label.leaves.into_iter().for_each(|at| self.land(at));
        }
    }

    fn branches(
        &mut self,
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    ) -> Result<()> {
        let mut ends = Vec::new();
        let mut tests = Vec::new();
        for (condition, body) in branches {
            self.declare_columns_of(&condition)?;
            let skip = self.emit(Action::JumpUnless(condition, 0));
            tests.push(skip);
            self.statements(body)?;
            ends.push(self.emit(Action::Jump(0)));
            self.land(skip);
        }
        if let Some(body) = otherwise {
            self.statements(body)?;
        }
        ends.into_iter().for_each(|at| self.land(at));
        self.resume_here(tests);
        Ok(())
    }

    fn case(
        &mut self,
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    ) -> Result<()> {
        let mut ends = Vec::new();
        let mut tests = Vec::new();
        for (condition, body) in branches {
            self.declare_columns_of(&condition)?;
            let skip = self.emit(Action::JumpUnless(condition, 0));
            tests.push(skip);
            self.statements(body)?;
            ends.push(self.emit(Action::Jump(0)));
            self.land(skip);
        }
        match otherwise {
            Some(body) => self.statements(body)?,
            None => drop(self.emit(Action::CaseNotFound)),
        }
        ends.into_iter().for_each(|at| self.land(at));
        self.resume_here(tests);
        Ok(())
    }

    /// LOOP, WHILE and REPEAT.
    fn repeat(
        &mut self,
        label: Option<Ident>,
        condition: Option<Expr>,
        body: Vec<Statement>,
        until: Option<Expr>,
    ) -> Result<()> {
        let start = self.code.len();
        let mut tests = Vec::new();
        self.labels.push(Label { name: label, start: Some(start), leaves: Vec::new() });
        if let Some(condition) = condition {
            tests.push(start);
            self.declare_columns_of(&condition)?;
            let end = self.emit(Action::JumpUnless(condition, 0));
            self.labels.last_mut().expect("it was pushed above").leaves.push(end);
        }
        self.statements(body)?;
        match until {
            Some(until) => {
                self.declare_columns_of(&until)?;
                tests.push(self.emit(Action::JumpUnless(until, start)));
            }
            None => drop(self.emit(Action::Jump(start))),
        }
        self.end_label();
        self.resume_here(tests);
        Ok(())
    }

    /// A CONTINUE handler of what failed there goes on with what comes next.
    fn resume_here(&mut self, tests: Vec<usize>) {
        let next = self.code.len();
        self.program.resume.extend(tests.into_iter().map(|at| (at, next)));
    }

    /// The number of the cursor of this name; error 1324.
    fn cursor(&self, name: &Ident) -> Result<usize> {
        let found = self.cursors.iter().rev().find(|(known, _)| known.is(name));
        found.map(|(_, number)| *number).ok_or_else(|| error::SP_CURSOR_MISMATCH.with(&[name]))
    }

    fn fetch(&mut self, cursor: &Ident, into: &[Ident]) -> Result<()> {
        let cursor = self.cursor(cursor)?;
        let place = |name: &Ident| {
            let place = self.variables.find(name, self.code.len());
            place.ok_or_else(|| error::SP_UNDECLARED_VAR.with(&[name]))
        };
        let into = into.iter().map(place).collect::<Result<_>>()?;
        self.emit(Action::Fetch(cursor, into));
        Ok(())
    }

    /// The value of a named condition; error 1319.
    fn condition(&self, name: &Ident) -> Result<ConditionValue> {
        let found = self.conditions.iter().rev().find(|(known, _)| known.is(name));
        found.map(|(_, value)| value.clone()).ok_or_else(|| error::SP_COND_MISMATCH.with(&[name]))
    }

    /// Compiles a handler, and returns its number; which instructions it serves is not known yet.
    fn handler(
        &mut self,
        action: HandlerAction,
        conditions: Vec<ConditionValue>,
        body: Statement,
        others: &[usize],
    ) -> Result<usize> {
        let mut values: Vec<ConditionValue> = Vec::with_capacity(conditions.len());
        for value in conditions {
            let value = match value {
                ConditionValue::Named(name) => self.condition(&name)?,
                value => value,
            };
            check_number(&value)?;
            let of_others = others.iter().flat_map(|&other| &self.program.handlers[other].conditions);
            if values.iter().chain(of_others).any(|known| *known == value) {
                return Err(error::SP_DUP_HANDLER.plain());
            }
            values.push(value);
        }
        let over = self.emit(Action::Jump(0));
        let start = self.code.len();
        let number = self.program.handlers.len();
        let (serves, own) = (0..0, start..start);
        self.program.handlers.push(Handler { action, conditions: values, serves, body: own });
        self.statement(body)?;
        self.emit(Action::EndHandler);
        self.program.handlers[number].body.end = self.code.len();
        self.land(over);
        Ok(number)
    }

    /// A statement that may stand in the body, with its conditions resolved.
    fn checked(&mut self, kind: StatementKind) -> Result<StatementKind> {
        match self.kind {
            ProgramKind::Procedure => super::call::check_allowed(&kind, &mut self.program.effects)?,
            of => check_allowed(&kind, of)?,
        }
        let StatementKind::Signal(signal) = kind else { return Ok(kind) };
        let condition = match &signal.condition {
            Some(ConditionValue::Named(name)) => match self.condition(name)? {
                value @ ConditionValue::SqlState(_) => Some(value),
                _ => return Err(error::SIGNAL_BAD_CONDITION_TYPE.plain()),
            },
            given => given.clone(),
        };
        Ok(StatementKind::Signal(Box::new(Signal { condition, ..*signal })))
    }

    fn compile_leave(&mut self, name: &Ident) -> Result<()> {
        let at = self.emit(Action::Jump(0));
        let label = self.labels.iter_mut().rev().find(|l| l.name.as_ref().is_some_and(|n| n.is(name)));
        match label {
            Some(label) => label.leaves.push(at),
            None => return Err(error::SP_LILABEL_MISMATCH.with(&[&"LEAVE", name])),
        }
        Ok(())
    }

    fn iterate(&mut self, name: &Ident) -> Result<()> {
        let label = self.labels.iter().rev().find(|l| l.name.as_ref().is_some_and(|n| n.is(name)));
        match label.and_then(|l| l.start) {
            Some(start) => {
                self.emit(Action::Jump(start));
                Ok(())
            }
            None => Err(error::SP_LILABEL_MISMATCH.with(&[&"ITERATE", name])),
        }
    }
}

/// A cursor's query as the statement that it would be.
fn query_statement(query: Box<ast::Query>) -> Statement {
    Statement {
        kind: StatementKind::Query(query),
        span: ast::Span::default(),
        parameters: 0,
        remarks: ast::Remarks::default(),
        algorithm_and_lock: Vec::new(),
    }
}

fn equal(left: Expr, right: Expr) -> Expr {
    let span = right.span;
    let (left, right) = (Box::new(left), Box::new(right));
    Expr { span, kind: ExprKind::Binary { op: ast::BinaryOp::Equal, left, right } }
}

/// Error 1525 for the number of no error.
fn check_number(value: &ConditionValue) -> Result<()> {
    match value {
        ConditionValue::Error(0) => Err(error::WRONG_VALUE.with(&[&"CONDITION", &0])),
        _ => Ok(()),
    }
}

/// (F1) What a function's or trigger's body may hold besides control flow.
fn check_allowed(kind: &StatementKind, of: ProgramKind) -> Result<()> {
    use StatementKind as S;
    match kind {
        S::Query(query) if query.into.is_some() => Ok(()),
        S::Query(_) | S::Show(_) | S::Explain(_) => Err(error::SP_NO_RETSET.with(&[&of.name()])),
        S::Insert(_) | S::Update(_) | S::Delete(_) | S::Set(_) | S::Do(_) => Ok(()),
        S::Call { .. } | S::Signal(_) | S::GetDiagnostics(_) => Ok(()),
        S::AlterRoutine { kind, .. } | S::DropRoutine { kind, .. } => {
            Err(error::SP_NO_DROP_SP.with(&[&kind.name()]))
        }
        S::Flush(_) => Err(error::STMT_NOT_ALLOWED_IN_SF_OR_TRG.with(&[&"FLUSH"])),
        S::LoadData(_) => Err(error::SP_BADSTATEMENT.with(&[&"LOAD DATA"])),
        S::LockTables(_) => Err(error::SP_BADSTATEMENT.with(&[&"LOCK"])),
        S::UnlockTables => Err(error::SP_BADSTATEMENT.with(&[&"UNLOCK"])),
        S::Commit(_) | S::Rollback(_) | S::Begin(_) | S::Savepoint(_) | S::RollbackTo(_) => {
            Err(error::COMMIT_NOT_ALLOWED_IN_SF_OR_TRG.plain())
        }
        kind if crate::statement_class::commits_implicitly(kind) => {
            Err(error::COMMIT_NOT_ALLOWED_IN_SF_OR_TRG.plain())
        }
        S::Use(_) => Err(error::SP_BADSTATEMENT.with(&[&"USE"])),
        S::Prepare { .. } | S::Execute { .. } | S::Deallocate(_) => {
            Err(error::STMT_NOT_ALLOWED_IN_SF_OR_TRG.with(&[&"Dynamic SQL"]))
        }
        _ => Err(SqlError::unsupported(format_args!("this statement in a stored {}", of.name()))),
    }
}
