//! Passwords that a statement does not say: SET PASSWORD's account, and random ones, which the
//! client is told.

use crate::catalog::UserAtHost;
use crate::listing::{Listing, text, uint};
use crate::session::Context;
use datum::error::{Result, SqlError};
use datum::sink::ResultSink;
use datum::value::Datum;
use syntax::ast::{
    Account, AlterUser, Authentication, Secret, SetItem, Statement, StatementKind, Text, UserOptions,
    UserSpec,
};

/// SET PASSWORD as the ALTER USER that it is.
pub(super) fn as_alter_user(item: &SetItem) -> Result<Statement> {
    let SetItem::Password { user, password, replace, retain_current } = item else {
        return Err(SqlError::internal("SET PASSWORD without a password"));
    };
    let secret = password.as_ref().map_or(Secret::Random, |p| Secret::Password(p.clone()));
    let spec = UserSpec {
        user: user.clone().unwrap_or(Account::CurrentUser),
        factors: vec![Authentication { plugin: None, secret }],
        replace: replace.clone(),
        retain_current: *retain_current,
        discard_old: false,
    };
    let alter = AlterUser {
        if_exists: false,
        users: vec![spec],
        default_role: None,
        options: UserOptions::default(),
    };
    let kind = StatementKind::AlterUser(Box::new(alter));
    let (span, remarks) = Default::default();
    Ok(Statement { kind, span, parameters: 0, remarks, algorithm_and_lock: Vec::new() })
}

/// A password that was chosen for an account.
pub(super) struct Chosen {
    account: UserAtHost,
    password: String,
}

/// The statement with passwords in the places of RANDOM PASSWORD; `None` if it has none.
pub(super) fn choose(cx: &Context, statement: &Statement) -> Option<(Statement, Vec<Chosen>)> {
    let is_random = |spec: &UserSpec| spec.factors.iter().any(|f| f.secret == Secret::Random);
    let mut statement = match &statement.kind {
        StatementKind::CreateUser(create) if create.users.iter().any(is_random) => statement.clone(),
        StatementKind::AlterUser(alter) if alter.users.iter().any(is_random) => statement.clone(),
        _ => return None,
    };
    let users = match &mut statement.kind {
        StatementKind::CreateUser(create) => &mut create.users,
        StatementKind::AlterUser(alter) => &mut alter.users,
        _ => return None,
    };
    let mut chosen = Vec::new();
    for spec in users {
        let account = match &spec.user {
            Account::CurrentUser => cx.connection.account.clone(),
            Account::Named { user, host } => UserAtHost::new(user.to_str_lossy(), host.to_str_lossy()),
        };
        for factor in spec.factors.iter_mut().filter(|f| f.secret == Secret::Random) {
            let password = random_password(cx);
            factor.secret = Secret::Password(Text::new(password.as_bytes()));
            chosen.push(Chosen { account: account.clone(), password });
        }
    }
    Some((statement, chosen))
}

/// Twenty printable characters (`generated_random_password_length`'s default): 128 bits and more.
fn random_password(cx: &Context) -> String {
    const LENGTH: usize = 20;
    const CHARACTERS: &[u8] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&()*+,-./:;<=>?@[]^_{|}~";
    let mut password = String::new();
    while password.len() < LENGTH {
        // Bytes at the end of the range would make the first characters likelier than the others.
        let fair = 256 / CHARACTERS.len() * CHARACTERS.len();
        let bytes = cx.random_bytes();
        let fair = bytes.iter().map(|b| usize::from(*b)).filter(|b| *b < fair);
        password
            .extend(fair.map(|b| char::from(CHARACTERS[b % CHARACTERS.len()])).take(LENGTH - password.len()));
    }
    password
}

/// Tells the client what was chosen.
pub(super) fn show(cx: &Context, chosen: Vec<Chosen>, sink: &mut dyn ResultSink) -> Result<()> {
    let columns = [text("user", 32), text("host", 255), text("generated password", 255), uint("auth_factor")];
    let mut out = Listing::new(columns);
    for Chosen { account: UserAtHost { user, host }, password } in chosen {
        let texts = [user, host, password].map(|text| Datum::owned(text.into_bytes()));
        out.push(texts.into_iter().chain([Datum::UInt(1)]).collect());
    }
    out.send(cx, sink)
}
