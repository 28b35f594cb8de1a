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
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

    /// The option of the server that says one of its values.
    pub fn option(self) -> &'static str {
        match self {
            FilterRule::DoDatabase => "replicate_do_db",
            FilterRule::IgnoreDatabase => "replicate_ignore_db",
            FilterRule::DoTable => "replicate_do_table",
            FilterRule::IgnoreTable => "replicate_ignore_table",
            FilterRule::WildDoTable => "replicate_wild_do_table",
            FilterRule::WildIgnoreTable => "replicate_wild_ignore_table",
            FilterRule::RewriteDatabase => "replicate_rewrite_db",
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
    /// An option of the server says it, not a statement: the file of channels does not.
    pub of_option: bool,
    /// When it was set, microseconds since 1970.
    pub since: u64,
    /// How often it has decided since then.
    pub uses: Uses,
}

/// A number that copies of a rule count together. It says nothing of what the rule is.
#[derive(Debug, Clone, Default)]
pub struct Uses(Arc<AtomicU64>);

impl Uses {
    /// Once more.
    fn count(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// How often by now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl PartialEq for Uses {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Uses {}

/// One value of a rule, as an option of the server says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterOption {
    /// Which rule.
    pub rule: FilterRule,
    /// For this channel only.
    pub channel: Option<String>,
    /// As in [`Filter::values`].
    pub value: (String, String),
}

impl FilterOption {
    /// Reads `[channel:]database`, `[channel:]database.table` or `[channel:]from->to`; `None` for
    /// what is none of them.
    pub fn parse(rule: FilterRule, text: &str) -> Option<Self> {
        let (channel, text) = match text.split_once(':') {
            Some((channel, text)) => (Some(channel.to_owned()), text),
            None => (None, text),
        };
        let pair = |a: &str, b: &str| (a.trim().to_owned(), b.trim().to_owned());
        let value = match rule {
            FilterRule::DoDatabase | FilterRule::IgnoreDatabase => pair(text, ""),
            FilterRule::DoTable | FilterRule::IgnoreTable => {
                text.split_once('.').map(|(database, table)| pair(database, table))?
            }
            FilterRule::WildDoTable | FilterRule::WildIgnoreTable if text.contains('.') => pair(text, ""),
            FilterRule::WildDoTable | FilterRule::WildIgnoreTable => return None,
            FilterRule::RewriteDatabase => text.split_once("->").map(|(from, to)| pair(from, to))?,
        };
        let needs_second =
            matches!(rule, FilterRule::DoTable | FilterRule::IgnoreTable | FilterRule::RewriteDatabase);
        let is_whole = !(value.0.is_empty() || needs_second && value.1.is_empty());
        is_whole.then_some(Self { rule, channel, value })
    }
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

    /// Sets the rules that options say: of `channel`, or `None` for those of all.
    pub(super) fn set_options(&mut self, options: &[FilterOption], channel: Option<&str>, since: u64) {
        for rule in FilterRule::ALL {
            let of = |wanted: Option<&str>| -> Vec<(String, String)> {
                let is_wanted = |o: &&FilterOption| o.rule == rule && o.channel.as_deref() == wanted;
                options.iter().filter(is_wanted).map(|option| option.value.clone()).collect()
            };
            let (all, own) = (of(None), channel.map_or(Vec::new(), |name| of(Some(name))));
            let of_channel = !own.is_empty();
            let values = if of_channel { own } else { all };
            if !values.is_empty() {
                self.set(rule, Filter { values, of_channel, of_option: true, since, ..Filter::default() });
            }
        }
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
        match self.rule_of_database(database) {
            Some(rule) => rule == FilterRule::DoDatabase,
            None => self.values(FilterRule::DoDatabase).is_empty(),
        }
    }

    /// The rule that lists a database; the others don't matter then.
    fn rule_of_database(&self, database: &str) -> Option<FilterRule> {
        let rule = match self.values(FilterRule::DoDatabase) {
            [] => FilterRule::IgnoreDatabase,
            _ => FilterRule::DoDatabase,
        };
        self.values(rule).iter().any(|(name, _)| name == database).then_some(rule)
    }

    /// Whether a table passes the rules of tables, whatever those of databases say.
    pub fn takes_table(&self, database: &str, table: &str) -> bool {
        match self.rule_of_table(database, table) {
            Some(rule) => is_to_do(rule),
            None => !self.has_tables_to_do(),
        }
    }

    /// Whether a statement passes that changes these tables: the first decides that a rule names.
    /// The rule is counted.
    pub fn takes_tables(&self, tables: &[(&str, &str)]) -> bool {
        let rule = tables.iter().find_map(|(database, table)| self.rule_of_table(database, table));
        self.count(rule);
        match rule {
            Some(rule) => is_to_do(rule),
            None if tables.is_empty() => !self.has_any(&RULES_OF_TABLES),
            None => !self.has_tables_to_do(),
        }
    }

    /// Whether CREATE, ALTER or DROP DATABASE passes, of a database that passes itself. Where no
    /// rule lists databases, the patterns of tables decide that match the name with a dot after
    /// it; the rule is counted.
    pub fn takes_database_definition(&self, database: &str) -> bool {
        if self.has_any(&[FilterRule::DoDatabase, FilterRule::IgnoreDatabase]) {
            return true;
        }
        let rule = self.rule_of_table(database, "");
        self.count(rule);
        rule.map_or(self.values(FilterRule::WildDoTable).is_empty(), is_to_do)
    }

    fn has_tables_to_do(&self) -> bool {
        self.has_any(&[FilterRule::DoTable, FilterRule::WildDoTable])
    }

    /// One of these rules lists something.
    fn has_any(&self, rules: &[FilterRule]) -> bool {
        rules.iter().any(|rule| !self.values(*rule).is_empty())
    }

    /// The first rule that names a table.
    fn rule_of_table(&self, database: &str, table: &str) -> Option<FilterRule> {
        let lists = |rule| self.values(rule).iter().any(|(d, t)| d == database && t == table);
        let named = [FilterRule::DoTable, FilterRule::IgnoreTable].into_iter().find(|rule| lists(*rule));
        if named.is_some() {
            return named;
        }
        let full: Vec<char> = database.chars().chain(['.']).chain(table.chars()).collect();
        let fits = |rule| self.values(rule).iter().any(|(pattern, _)| matches_pattern(&full, pattern));
        [FilterRule::WildDoTable, FilterRule::WildIgnoreTable].into_iter().find(|rule| fits(*rule))
    }

    fn count(&self, rule: Option<FilterRule>) {
        if let Some(filter) = rule.and_then(|rule| self.by_rule.get(&rule)) {
            filter.uses.count();
        }
    }

    /// Counts the rules that decide about a database of the source, as MySQL does it for each
    /// statement.
    pub fn count_database(&self, of_source: &str) {
        let here = self.rewritten(of_source);
        self.count((here != of_source).then_some(FilterRule::RewriteDatabase));
        self.count(self.rule_of_database(here));
    }

    /// Counts the rule that decides about a table of here.
    pub fn count_table(&self, database: &str, table: &str) {
        self.count(self.rule_of_table(database, table));
    }
}

const RULES_OF_TABLES: [FilterRule; 4] =
    [FilterRule::DoTable, FilterRule::IgnoreTable, FilterRule::WildDoTable, FilterRule::WildIgnoreTable];

/// Which of the two a rule of tables says.
fn is_to_do(rule: FilterRule) -> bool {
    matches!(rule, FilterRule::DoTable | FilterRule::WildDoTable)
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
    #[test]
    fn options_of_the_server() {
        use FilterRule as R;
        let read = |rule, text| {
            let option = FilterOption::parse(rule, text)?;
            Some((option.channel, option.value.0, option.value.1))
        };
        let some = |channel: Option<&str>, a: &str, b: &str| {
            Some((channel.map(str::to_owned), a.to_owned(), b.to_owned()))
        };
        assert_eq!(read(R::DoDatabase, "a"), some(None, "a", ""));
        assert_eq!(read(R::DoDatabase, "c:a"), some(Some("c"), "a", ""));
        assert_eq!(read(R::IgnoreDatabase, ":a:b"), some(Some(""), "a:b", ""));
        assert_eq!(read(R::DoTable, "c:a.t"), some(Some("c"), "a", "t"));
        assert_eq!(read(R::WildDoTable, "a%.t%"), some(None, "a%.t%", ""));
        assert_eq!(read(R::RewriteDatabase, "c:a -> b"), some(Some("c"), "a", "b"));
        for (rule, text) in
            [(R::DoDatabase, ""), (R::DoTable, "a"), (R::WildDoTable, "a"), (R::RewriteDatabase, "a->")]
        {
            assert_eq!(read(rule, text), None, "{text}");
        }
    }

    #[test]
    fn options_of_a_channel_come_before_those_of_all() {
        let option = |text| FilterOption::parse(FilterRule::DoDatabase, text).expect("an option");
        let options = [option("a"), option("b"), option("c:d")];
        let mut filters = Filters::default();
        filters.set_options(&options, Some("other"), 1);
        assert_eq!(filters.text(FilterRule::DoDatabase), "a,b");
        filters.set_options(&options, Some("c"), 1);
        assert_eq!(filters.text(FilterRule::DoDatabase), "d");
    }

    #[test]
    fn what_decides_is_counted() {
        let mut filters = Filters::default();
        let values = vec![("a".to_owned(), String::new())];
        filters.set(FilterRule::DoDatabase, Filter { values, ..Filter::default() });
        let copy = filters.clone();
        for database in ["a", "b", "a"] {
            copy.count_database(database);
        }
        assert_eq!(filters.iter().map(|(_, filter)| filter.uses.get()).collect::<Vec<_>>(), [2]);
    }

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
