//! Sentences of a grammar that is written down as text.

use std::collections::HashMap;
use stdx::random::Random;

/// What the soak says; its head explains the notation.
const TEXT: &str = include_str!("grammar.txt");
/// How deep rules may nest before the shortest alternative is taken.
const DEPTH: u32 = 14;

/// A grammar, ready to speak.
#[derive(Debug)]
pub struct Grammar {
    rules: Vec<Rule>,
    start: usize,
}

#[derive(Debug)]
struct Rule {
    alternatives: Vec<Vec<Symbol>>,
    /// The alternative that ends soonest.
    shortest: usize,
}

#[derive(Debug)]
enum Symbol {
    Word(String),
    /// Nothing stands between the words before and after.
    Join,
    Rule {
        index: usize,
        is_optional: bool,
    },
}

impl Grammar {
    /// The soak's own.
    pub fn sql() -> Self {
        Self::parse(TEXT)
    }

    /// Reads a grammar; the first rule is where sentences start.
    fn parse(text: &str) -> Self {
        let mut sources: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
            match line.split_once(": ").filter(|(name, _)| !line.starts_with(' ') && !name.contains(' ')) {
                Some((name, rest)) => sources.push((name, rest.split(" | ").collect())),
                None => {
                    if let Some((_, alternatives)) = sources.last_mut() {
                        alternatives.extend(line.trim().trim_start_matches("| ").split(" | "));
                    }
                }
            }
        }
        let names: HashMap<&str, usize> =
            sources.iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
        let symbol = |word: &str| {
            let (name, is_optional) = word.strip_suffix('?').map_or((word, false), |name| (name, true));
            match names.get(name) {
                Some(&index) => Symbol::Rule { index, is_optional },
                None if word == "^" => Symbol::Join,
                None => Symbol::Word(word.to_owned()),
            }
        };
        let alternative = |text: &&str| text.split_whitespace().map(symbol).collect();
        let rules = sources
            .iter()
            .map(|(_, alternatives)| Rule {
                alternatives: alternatives.iter().map(alternative).collect(),
                shortest: 0,
            })
            .collect();
        let mut grammar = Self { rules, start: 0 };
        grammar.find_shortest();
        grammar
    }

    /// Finds for each rule the alternative that needs the fewest levels.
    fn find_shortest(&mut self) {
        let mut levels = vec![u32::MAX; self.rules.len()];
        while levels.contains(&u32::MAX) {
            let before = levels.clone();
            for (rule, level) in self.rules.iter_mut().zip(&mut levels) {
                let needs = |alternative: &Vec<Symbol>| {
                    let needed = alternative.iter().map(|s| match s {
                        Symbol::Rule { index, is_optional: false } => before[*index],
                        _ => 0,
                    });
                    needed.max().unwrap_or(0)
                };
                let least = (0..).zip(&rule.alternatives).min_by_key(|(_, a)| needs(a));
                if let Some((shortest, alternative)) = least
                    && *level == u32::MAX
                {
                    rule.shortest = shortest;
                    *level = needs(alternative).saturating_add(1);
                }
            }
            assert_ne!(before, levels, "a rule of the grammar never ends");
        }
    }

    /// Draws a sentence from the start symbol; deep rules take their shortest way out.
    pub fn sentence(&self, random: &mut Random) -> String {
        let mut text = String::new();
        self.speak(self.start, 0, random, &mut text);
        text
    }

    fn speak(&self, rule: usize, depth: u32, random: &mut Random, text: &mut String) {
        let rule = &self.rules[rule];
        let choice = match depth {
            0..DEPTH => random.below(rule.alternatives.len() as u64) as usize,
            _ => rule.shortest,
        };
        for symbol in &rule.alternatives[choice] {
            match symbol {
                Symbol::Word(word) => {
                    text.push_str(word);
                    text.push(' ');
                }
                Symbol::Join => text.truncate(text.trim_end().len()),
                Symbol::Rule { index, is_optional } => {
                    if !is_optional || depth < DEPTH && random.chance(1, 2) {
                        self.speak(*index, depth + 1, random, text);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_follow_the_rules() {
        let grammar = Grammar::parse("s: A b c? | A s\nb: x ^ y\n  | z\nc: LAST\n");
        let mut random = Random::new(1);
        for _ in 0..200 {
            let sentence = grammar.sentence(&mut random);
            let end = sentence.trim_start_matches("A ");
            assert!(["xy ", "z ", "xy LAST ", "z LAST "].contains(&end), "{sentence}");
        }
    }

    #[test]
    fn the_grammar_ends_and_varies() {
        let grammar = Grammar::sql();
        let mut random = Random::new(1);
        let mut starts = std::collections::HashSet::new();
        for _ in 0..5_000 {
            let sentence = grammar.sentence(&mut random);
            assert!(sentence.len() < 1 << 20);
            starts.extend(sentence.split_whitespace().next().map(str::to_owned));
        }
        assert!(
            ["SELECT", "INSERT", "ALTER", "CREATE", "BEGIN"].iter().all(|w| starts.contains(*w)),
            "{starts:?}"
        );
    }
}
