//! Statements as trees that know how they can be made simpler.

use std::borrow::Cow;
use std::fmt;

/// A piece of SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sql {
    /// Text that stays as it is.
    Text(Cow<'static, str>),
    /// One after the other.
    Sequence(Vec<Sql>),
    /// What may be omitted, such as a WHERE clause.
    Optional(Box<Sql>),
    /// Items of which some may be omitted.
    List {
        /// In their order.
        items: Vec<Sql>,
        /// What stands between them.
        separator: &'static str,
        /// How many have to stay.
        least: usize,
    },
    /// An expression: one right inside of it may replace it if it is of the same class, and so
    /// may NULL.
    Expression {
        /// All of it, as it is without a reduction.
        whole: Box<Sql>,
        /// The simplest literal of its class, which may replace it too, and which names the
        /// class.
        simplest: &'static str,
    },
}

/// A piece that no reduction changes.
pub fn text(text: impl Into<Cow<'static, str>>) -> Sql {
    Sql::Text(text.into())
}

/// An expression of the class whose simplest literal this is.
pub fn expression(whole: Sql, simplest: &'static str) -> Sql {
    Sql::Expression { whole: Box::new(whole), simplest }
}

/// An optional piece.
pub fn optional(piece: Sql) -> Sql {
    Sql::Optional(Box::new(piece))
}

/// A list with commas that keeps one item at least.
pub fn commas(items: Vec<Sql>) -> Sql {
    Sql::List { items, separator: ", ", least: 1 }
}

/// Replaces each `{}` in `pattern` by the next piece.
pub fn sql(pattern: &str, pieces: impl IntoIterator<Item = Sql>) -> Sql {
    let mut pieces = pieces.into_iter();
    let mut all = Vec::new();
    for (i, part) in pattern.split("{}").enumerate() {
        if i > 0 {
            all.extend(pieces.next());
        }
        if !part.is_empty() {
            all.push(text(part.to_owned()));
        }
    }
    Sql::Sequence(all)
}

impl Sql {
    /// Everything that is one step simpler, the largest steps first within each node.
    pub fn simpler(&self) -> Vec<Sql> {
        match self {
            Self::Text(_) => Vec::new(),
            Self::Sequence(pieces) => each_simpler(pieces).map(Self::Sequence).collect(),
            Self::Optional(piece) => {
                let within = piece.simpler().into_iter().map(optional);
                std::iter::once(Self::Sequence(Vec::new())).chain(within).collect()
            }
            Self::List { items, separator, least } => {
                let list = |items| Self::List { items, separator, least: *least };
                let mut simpler: Vec<_> = shorter(items, *least).into_iter().map(list).collect();
                simpler.extend(each_simpler(items).map(list));
                simpler
            }
            Self::Expression { whole, simplest } => self.simpler_expressions(whole, simplest),
        }
    }

    fn simpler_expressions(&self, whole: &Sql, simplest: &'static str) -> Vec<Sql> {
        let mut simpler = Vec::new();
        whole.operands(simplest, &mut simpler);
        let written = self.to_string();
        // Only towards what is shorter: literals are as simple as it gets.
        simpler.extend(
            ["NULL", simplest]
                .into_iter()
                .filter(|l| l.len() < written.len())
                .map(|l| expression(text(l), simplest)),
        );
        simpler.extend(whole.simpler().into_iter().map(|w| expression(w, simplest)));
        simpler
    }

    /// The outermost expressions within that are of this class.
    fn operands(&self, class: &str, found: &mut Vec<Sql>) {
        match self {
            Self::Text(_) => {}
            Self::Sequence(pieces) | Self::List { items: pieces, .. } => {
                pieces.iter().for_each(|p| p.operands(class, found));
            }
            Self::Optional(piece) => piece.operands(class, found),
            Self::Expression { simplest, .. } if *simplest == class => found.push(self.clone()),
            Self::Expression { whole, .. } => whole.operands(class, found),
        }
    }
}

/// The pieces with one of them simpler.
fn each_simpler(pieces: &[Sql]) -> impl Iterator<Item = Vec<Sql>> {
    pieces.iter().enumerate().flat_map(move |(i, piece)| {
        piece.simpler().into_iter().map(move |simpler| {
            let mut all = pieces.to_vec();
            all[i] = simpler;
            all
        })
    })
}

/// The items without their first half, without their second, and without each.
fn shorter(items: &[Sql], least: usize) -> Vec<Vec<Sql>> {
    let half = items.len() / 2;
    let mut all = Vec::new();
    if half >= 2 && half >= least {
        all.push(items[..half].to_vec());
        all.push(items[half..].to_vec());
    }
    if items.len() > least {
        all.extend((0..items.len()).map(|i| [&items[..i], &items[i + 1..]].concat()));
    }
    all
}

impl fmt::Display for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Sequence(pieces) => pieces.iter().try_for_each(|p| p.fmt(f)),
            Self::Optional(piece) | Self::Expression { whole: piece, .. } => piece.fmt(f),
            Self::List { items, separator, .. } => {
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(separator)?;
                    }
                    item.fmt(f)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(name: &'static str) -> Sql {
        expression(text(name), "1")
    }

    #[test]
    fn steps_of_a_query() {
        let sum = expression(sql("({} + {})", [leaf("abc"), leaf("2")]), "1");
        let query = sql("SELECT {}{}", [sum, optional(sql(" LIMIT 3", []))]);
        let simpler: Vec<_> = query.simpler().iter().map(Sql::to_string).collect();
        assert_eq!(
            simpler,
            [
                "SELECT abc LIMIT 3",
                "SELECT 2 LIMIT 3",
                "SELECT NULL LIMIT 3",
                "SELECT 1 LIMIT 3",
                "SELECT (1 + 2) LIMIT 3",
                "SELECT (abc + 2)"
            ]
        );
    }

    #[test]
    fn lists_keep_their_least() {
        let list = commas(vec![text("a"), text("b")]);
        assert_eq!(list.simpler().iter().map(Sql::to_string).collect::<Vec<_>>(), ["b", "a"]);
        assert!(commas(vec![text("a")]).simpler().is_empty());
    }

    #[test]
    fn every_chain_of_steps_ends() {
        let mut tree = expression(sql("f({})", [commas((0..20).map(|_| leaf("column")).collect())]), "1");
        let mut steps = 0;
        while let Some(simpler) = tree.simpler().into_iter().last() {
            tree = simpler;
            steps += 1;
            assert!(steps < 1000, "{tree}");
        }
    }
}
