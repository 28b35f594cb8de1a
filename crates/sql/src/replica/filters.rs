//! What a channel's applier leaves out (CHANGE REPLICATION FILTER).
//!
//! MySQL's rules for row events, in its order: the database of the table, renamed first
//! (REPLICATE_REWRITE_DB), must pass the rules of databases, then the table those of tables.
//!
//! 1. databases  Without rules all pass. With REPLICATE_DO_DB those that it lists pass and no
//!    others; else all that REPLICATE_IGNORE_DB does not list.
//! 2. tables     The first rule that names the table decides: DO_TABLE, IGNORE_TABLE,
//!    WILD_DO_TABLE, WILD_IGNORE_TABLE. If none does, it passes unless there is a rule that says
//!    which ones to do.
//!
//! Names differ in case, as they do in tables' names here (`lower_case_table_names` is 0).

use std::collections::BTreeMap;

/// A rule of CHANGE REPLICATION FILTER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterRule {
    /// `REPLICATE_DO_DB`
    DoDatabase,
    /// `REPLICATE_IGNORE_DB`
    IgnoreDatabase,
    /// `REPLICATE_DO_TABLE`
    DoTable,
    /// `REPLICATE_IGNORE_TABLE`
    IgnoreTable,
    /// `REPLICATE_WILD_DO_TABLE`
    WildDoTable,
    /// `REPLICATE_WILD_IGNORE_TABLE`
    WildIgnoreTable,
    /// `REPLICATE_REWRITE_DB`
    RewriteDatabase,
}

impl FilterRule {
    /// Every rule, in the order in which MySQL lists them.
    pub const ALL: [FilterRule; 7] = [
        FilterRule::DoDatabase,
        FilterRule::IgnoreDatabase,
        FilterRule::DoTable,
        FilterRule::IgnoreTable,
        FilterRule::WildDoTable,
        FilterRule::WildIgnoreTable,
        FilterRule::RewriteDatabase,
    ];

    /// The word of the statement.
    pub fn name(self) -> &'static str {
        match self {
            FilterRule::DoDatabase => "REPLICATE_DO_DB",
            FilterRule::IgnoreDatabase => "REPLICATE_IGNORE_DB",
            FilterRule::DoTable => "REPLICATE_DO_TABLE",
            FilterRule::IgnoreTable => "REPLICATE_IGNORE_TABLE",
            FilterRule::WildDoTable => "REPLICATE_WILD_DO_TABLE",
            FilterRule::WildIgnoreTable => "REPLICATE_WILD_IGNORE_TABLE",
            FilterRule::RewriteDatabase => "REPLICATE_REWRITE_DB",
        }
    }

    /// The rule of this word, in upper case.
    pub fn find(name: &str) -> Option<FilterRule> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

/// What one rule lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// A database, or a pattern `db.table`, with an empty text; database and table; or the database
    /// of the source and that of here.
    pub values: Vec<(String, String)>,
    /// FOR CHANNEL was said: the statement without does not say it again for this channel.
    pub of_channel: bool,
    /// When it was set, microseconds since 1970.
    pub since: u64,
}

/// A channel's rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filters {
    by_rule: BTreeMap<FilterRule, Filter>,
}

impl Filters {
    /// The rules that were set, also to nothing.
    pub fn iter(&self) -> impl Iterator<Item = (FilterRule, &Filter)> {
        self.by_rule.iter().map(|(rule, filter)| (*rule, filter))
    }

    /// Sets a rule; what it listed before is forgotten. Tables are listed once and in order, as
    /// MySQL shows them.
    pub fn set(&mut self, rule: FilterRule, mut filter: Filter) {
        if matches!(rule, FilterRule::DoTable | FilterRule::IgnoreTable) {
            filter.values.sort();
            filter.values.dedup();
        }
        self.by_rule.insert(rule, filter);
    }

    fn values(&self, rule: FilterRule) -> &[(String, String)] {
        self.by_rule.get(&rule).map_or(&[], |filter| &filter.values)
    }

    /// True if everything passes, under its own name.
    pub fn is_empty(&self) -> bool {
        self.by_rule.values().all(|filter| filter.values.is_empty())
    }

    /// What a rule lists, as SHOW REPLICA STATUS shows it; empty for nothing.
    pub fn text(&self, rule: FilterRule) -> String {
        let one = |(first, second): &(String, String)| match rule {
            FilterRule::RewriteDatabase => format!("({first},{second})"),
            FilterRule::DoTable | FilterRule::IgnoreTable => format!("{first}.{second}"),
            _ => first.clone(),
        };
        self.values(rule).iter().map(one).collect::<Vec<_>>().join(",")
    }

    /// The name here of one of the source's databases.
    pub fn rewritten<'n>(&'n self, database: &'n str) -> &'n str {
        let rewrites = self.values(FilterRule::RewriteDatabase);
        rewrites.iter().find(|(from, _)| from == database).map_or(database, |(_, to)| to)
    }

    /// Whether a table's rows are applied. The database is the one of here ([`Self::rewritten`]).
    pub fn takes(&self, database: &str, table: &str) -> bool {
        self.takes_database(database) && self.takes_table(database, table)
    }

    /// Whether a database passes the rules of databases: a statement's default database, or that
    /// of a table.
    pub fn takes_database(&self, database: &str) -> bool {
        let lists = |rule| self.values(rule).iter().any(|(name, _)| name == database);
        match self.values(FilterRule::DoDatabase) {
            [] => !lists(FilterRule::IgnoreDatabase),
            _ => lists(FilterRule::DoDatabase),
        }
    }

    /// Whether a table passes the rules of tables, whatever those of databases say.
    pub fn takes_table(&self, database: &str, table: &str) -> bool {
        let lists = |rule| self.values(rule).iter().any(|(d, t)| d == database && t == table);
        if lists(FilterRule::DoTable) {
            return true;
        }
        if lists(FilterRule::IgnoreTable) {
            return false;
        }
        let full: Vec<char> = database.chars().chain(['.']).chain(table.chars()).collect();
        let fits = |rule| self.values(rule).iter().any(|(pattern, _)| matches_pattern(&full, pattern));
        if fits(FilterRule::WildDoTable) {
            return true;
        }
        if fits(FilterRule::WildIgnoreTable) {
            return false;
        }
        self.values(FilterRule::DoTable).is_empty() && self.values(FilterRule::WildDoTable).is_empty()
    }
}

/// LIKE with `\` as escape, without a collation. Goes back to the last `%` only, which takes no
/// more steps than name times pattern.
fn matches_pattern(name: &[char], pattern: &str) -> bool {
    enum Piece {
        Any,
        One,
        Char(char),
    }
    let mut pieces = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        pieces.push(match c {
            '%' => Piece::Any,
            '_' => Piece::One,
            '\\' => Piece::Char(chars.next().unwrap_or('\\')),
            c => Piece::Char(c),
        });
    }
    let (mut at, mut piece, mut retry) = (0, 0, None);
    while at < name.len() {
        let fits = match pieces.get(piece) {
            Some(Piece::Any) => {
                piece += 1;
                retry = Some((at, piece));
                continue;
            }
            Some(Piece::One) => true,
            Some(Piece::Char(c)) => *c == name[at],
            None => false,
        };
        if fits {
            (at, piece) = (at + 1, piece + 1);
            continue;
        }
        let Some((from, behind_any)) = retry else { return false };
        (at, piece) = (from + 1, behind_any);
        retry = Some((at, piece));
    }
    pieces[piece..].iter().all(|piece| matches!(piece, Piece::Any))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(rules: &[(FilterRule, &[(&str, &str)])]) -> Filters {
        let mut filters = Filters::default();
        for (rule, values) in rules {
            let values = values.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
            filters.set(*rule, Filter { values, ..Filter::default() });
        }
        filters
    }

    #[test]
    fn without_rules_everything_passes() {
        assert!(Filters::default().is_empty() && Filters::default().takes("d", "t"));
        let emptied = filters(&[(FilterRule::DoDatabase, &[]), (FilterRule::DoTable, &[])]);
        assert!(emptied.is_empty() && emptied.takes("d", "t"));
    }

    #[test]
    fn databases_to_do_exclude_all_others() {
        let some =
            filters(&[(FilterRule::DoDatabase, &[("a", "")]), (FilterRule::IgnoreDatabase, &[("a", "")])]);
        assert!(some.takes("a", "t") && !some.takes("b", "t") && !some.takes("A", "t"));
        let others = filters(&[(FilterRule::IgnoreDatabase, &[("a", "")])]);
        assert!(!others.takes("a", "t") && others.takes("b", "t"));
    }

    #[test]
    fn the_first_rule_that_names_a_table_decides() {
        let rules = filters(&[
            (FilterRule::DoTable, &[("d", "one")]),
            (FilterRule::IgnoreTable, &[("d", "one"), ("d", "two")]),
            (FilterRule::WildDoTable, &[("d.t%", "")]),
            (FilterRule::WildIgnoreTable, &[("d.%", "")]),
        ]);
        assert!(rules.takes("d", "one") && !rules.takes("d", "two") && rules.takes("d", "three"));
        assert!(!rules.takes("d", "four") && !rules.takes("e", "five"));
        let ignored = filters(&[(FilterRule::WildIgnoreTable, &[("d.%", "")])]);
        assert!(!ignored.takes("d", "t") && ignored.takes("e", "t"));
    }

    /// A database that the rules of databases refuse is refused whatever those of tables say.
    #[test]
    fn both_kinds_of_rules_must_pass() {
        let rules =
            filters(&[(FilterRule::IgnoreDatabase, &[("d", "")]), (FilterRule::DoTable, &[("d", "t")])]);
        assert!(!rules.takes("d", "t") && rules.takes_table("d", "t"));
    }

    #[test]
    fn databases_are_renamed_before() {
        let rules = filters(&[(FilterRule::RewriteDatabase, &[("a", "b"), ("c", "d")])]);
        assert_eq!((rules.rewritten("a"), rules.rewritten("b"), rules.rewritten("c")), ("b", "b", "d"));
        assert_eq!(rules.text(FilterRule::RewriteDatabase), "(a,b),(c,d)");
    }

    #[test]
    fn patterns_are_those_of_like() {
        let fits = |name: &str, pattern: &str| matches_pattern(&name.chars().collect::<Vec<_>>(), pattern);
        assert!(fits("a.b", "a.%") && fits("a.b", "%") && fits("a.b", "a_b") && fits("a.b", "%.%b%"));
        assert!(
            fits("a_x.b", "a\\_x.%") && !fits("aax.b", "a\\_x.%") && !fits("a.b", "a.") && !fits("a.b", "")
        );
        let long = "a".repeat(64);
        assert!(!fits(&long, &format!("{}b", "%a".repeat(60))));
    }
}
